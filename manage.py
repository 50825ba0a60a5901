#!/usr/bin/env python
"""The operator's door: every command of tasksite."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tasksite.settings")
    from django.core.management import execute_from_command_line

    from tasksite.environment import WrongSetting

    try:
        execute_from_command_line(sys.argv)
    except WrongSetting as fault:
        sys.exit(str(fault))


if __name__ == "__main__":
    main()
