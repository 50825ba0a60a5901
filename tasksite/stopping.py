"""Whether the web server is on its way down: said by its own process, heard in each that it forked.

What waits without an end (a page's stream) looks here, so that a stop need not wait for it.
"""

import multiprocessing
from typing import Final

_said: Final = multiprocessing.get_context("fork").Event()


def say() -> None:
    _said.set()


def said() -> bool:
    return _said.is_set()
