"""`manage.py demo --once`, as `make run ONCE=1` runs it: drained, a report, a clean audit, no process left."""

import os
import subprocess
from pathlib import Path

import psutil

from tasksite.environment import NAMES
from tests.processes import manage


def test_it_drains_reports_and_leaves_nothing_behind(tmp_path: Path) -> None:
    inherited = {name: value for name, value in os.environ.items() if name not in NAMES}
    inherited["DJANGO_SETTINGS_MODULE"] = "tasksite.settings"
    done = subprocess.run(
        manage("demo", "--once"),
        env={**inherited, "VAR_DIR": str(tmp_path)},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "audit: clean" in done.stdout
    report = (tmp_path / "demo" / "REPORT.md").read_text()
    assert "survey/lines" in report and "checks/walk" in report
    assert not [process.pid for process in psutil.process_iter() if str(tmp_path) in " ".join(_words(process))]


def _words(process: psutil.Process) -> list[str]:
    try:
        words: list[str] = process.cmdline()
    except psutil.Error:
        return []
    return words
