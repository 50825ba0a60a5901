"""The script that takes the pictures of the documents works, and the pictures that they show are its own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.screenshots import MOST_BYTES, SHOTS, checkout_text
from graph.importing import configured_limits
from graph.plan_file import Format, read_plan
from tasksite.environment import NAMES, ROOT
from tests.browser import executable
from tests.processes import environment


def test_the_documents_show_pictures_of_the_script() -> None:
    taken = {f"docs/screenshots/{shot.file}.png" for shot in SHOTS}
    texts = [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    shown = {image for text in texts for image in re.findall(r"!\[[^]]+\]\((?!http)([^)]+\.png)\)", text.read_text())}
    assert shown and {image if image.startswith("docs/") else f"docs/{image}" for image in shown} <= taken
    for picture in (ROOT / "docs" / "screenshots").glob("*"):
        assert f"docs/screenshots/{picture.name}" in taken and picture.stat().st_size <= MOST_BYTES


def test_the_plan_of_the_pictures_has_no_fault() -> None:
    assert read_plan(checkout_text().encode(), Format.YAML, configured_limits()).name == "checkout-rewrite"


@pytest.mark.slow
@pytest.mark.browser
def test_the_script_takes_them(tmp_path: Path) -> None:
    executable()  # or skip
    given = {name: value for name, value in environment(tmp_path).items() if name not in NAMES}
    done = subprocess.run(
        [sys.executable, "-m", "docs.screenshots", "--to", str(tmp_path)],
        cwd=ROOT, env=given, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert {f"{shot.file}.png" for shot in SHOTS if shot.page == "overview"} <= {
        path.name for path in tmp_path.iterdir()
    }
