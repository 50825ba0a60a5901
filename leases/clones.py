"""The directory of a lane and generation: `<objective key>-<objective id>.<generation>`, made once, used as it stands.

A clone is made under another name and renamed when it is whole, so that a worker that is killed in between leaves no
half of one where the next would take it for the work of its predecessor.
"""

import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from leases.grants import Clone

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")

# Where the plan may point: no helper (`ext::`), no plain http. Nobody is there to answer a question.
GIT_ENV: Final = {"GIT_ALLOW_PROTOCOL": "file:https:ssh", "GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never"}
# Set by a git that runs us as a hook: they would turn our clone into its repository.
GIT_HERE: Final = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"}
)

Run = Callable[[Sequence[str], Path, Mapping[str, str]], None]
"""Runs a command in a directory with an environment; raises CloneFailed when it does not end well."""


class CloneFailed(Exception):
    """The directory could not be made: the repository, the ref or the name is wrong, or git could not reach it."""


def run_plainly(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
    """Run git and wait for it."""
    done = subprocess.run(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise CloneFailed(done.stderr.decode(errors="replace").strip() or f"git ended with {done.returncode}")


def make(root: Path, clone: Clone, run: Run = run_plainly) -> Path:
    """The clone's directory in `root`; made from the repository at the ref if it is not there yet.

    Without a repository the directory starts empty. Raises CloneFailed; then nothing is left behind.
    """
    if not NAME.fullmatch(clone.dir):
        raise CloneFailed(f"not a name for a directory: {clone.dir!r}")
    place = root / clone.dir
    if place.is_dir():
        return place
    root.mkdir(parents=True, exist_ok=True)
    for rest in root.glob(f".{clone.dir}.*"):  # of a worker that was killed; the lane has no other now
        shutil.rmtree(rest)
    making = root / f".{clone.dir}.{secrets.token_hex(4)}"
    making.mkdir()
    try:
        if clone.repo is not None:
            _fill(making, clone.repo, clone.ref, run)
        making.rename(place)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    return place


def _fill(making: Path, repo: str, ref: str | None, run: Run) -> None:
    for word in (repo, ref or ""):
        if word.startswith("-"):
            raise CloneFailed(f"an option where a repository or a ref should be: {word!r}")
    env = {name: value for name, value in os.environ.items() if name not in GIT_HERE} | GIT_ENV
    if ref is None:
        run(["git", "clone", "-q", "--", repo, "."], making, env)
    else:
        run(["git", "clone", "-q", "--no-checkout", "--", repo, "."], making, env)
        run(["git", "checkout", "-q", ref, "--"], making, env)
