"""What `make run` does: a real plan, a server, workers, and the words that tell how it goes.

Everything runs as an operator would run it: the commands of `manage.py`, as children of this process.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tasksite.environment import ROOT

WORKERS: Final = 3
PATIENCE_S: Final = 600
"""Seconds after which a plan that has not drained will not."""

STOP_S: Final = 30
READY: Final = "tasksite is ready at "


class Stopped(Exception):
    """A signal asked for the end."""


@dataclass(frozen=True)
class Demo:
    """Where the demo keeps its things, and the environment of its children."""

    folder: Path
    environment: dict[str, str]

    @classmethod
    def at(cls, var: Path) -> "Demo":
        folder = var.resolve() / "demo"
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder, {**os.environ, "CLONE_LOCAL_ROOTS": str(folder), "PYTHONUNBUFFERED": "1"})

    def manage(self, *arguments: str, given: str | None = None, check: bool = True) -> str:
        """Run a command to its end; what it printed. Raises SystemExit with what it said where it failed."""
        done = subprocess.run(
            command(*arguments), env=self.environment, input=given, capture_output=True, text=True, check=False
        )
        if check and done.returncode:
            raise SystemExit(f"manage.py {arguments[0]} failed:\n{done.stdout}{done.stderr}")
        return done.stdout.strip()

    def repository(self) -> Path:
        """A bare clone of this tree, made anew; of a copy of it where the tree came without git."""
        bare, source = self.folder / "repo.git", ROOT
        shutil.rmtree(bare, ignore_errors=True)
        if not (ROOT / ".git").exists():
            source = self.folder / "source"
            shutil.rmtree(source, ignore_errors=True)
            kept_out = shutil.ignore_patterns("var", ".venv*", "__pycache__", "*.egg-info", ".*_cache")
            shutil.copytree(ROOT, source, ignore=kept_out)
            for arguments in (
                ["init", "-q"],
                ["add", "-A"],
                ["-c", "user.name=tasksite demo", "-c", "user.email=demo@example.org", "commit", "-qm", "As it came"],
            ):
                subprocess.run(["git", "-C", str(source), *arguments], check=True)
        subprocess.run(["git", "clone", "-q", "--bare", str(source), str(bare)], check=True)
        return bare

    def report(self) -> Path:
        """The report as the plan's last task pushed it, in a file."""
        shown = subprocess.run(
            ["git", "-C", str(self.folder / "repo.git"), "show", "self-study:REPORT.md"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        page = self.folder / "REPORT.md"
        page.write_text(shown.stdout)
        return page

    def token(self, name: str) -> str:
        self.manage("revoke_token", name, check=False)  # there is none on the first run
        return self.manage("create_token", name, "--role", "worker").splitlines()[-1]


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), *arguments]


def plan_text(name: str, repository: Path) -> str:
    text = (ROOT / "examples" / "self-study.yaml").read_text()
    return text.replace("@plan@", name).replace("@repo@", str(repository))


def make_lead() -> tuple[str, str]:
    """The lead's name and a new password for it."""
    from django.contrib.auth import get_user_model

    password = secrets.token_urlsafe(9)
    users: Any = get_user_model()
    lead, _ = users.objects.get_or_create(username="lead", defaults={"is_staff": True, "is_superuser": True})
    lead.set_password(password)
    lead.save()
    return "lead", password


@contextmanager
def children(demo: Demo, port: int, plan: str, token: str) -> Iterator[str]:
    """The server and the workers, as long as the block runs; yields the server's URL."""
    started: list[subprocess.Popen[str]] = []
    try:
        server = subprocess.Popen(
            command("serve", "--port", str(port)),
            env=demo.environment, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        started.append(server)
        url = _url(server)
        study = f"{sys.executable} {ROOT / 'examples' / 'study.py'}"
        for number in range(1, WORKERS + 1):
            arguments = ["work", "--url", url, "--token", token, "--plan", plan, "--holder", f"demo-worker-{number}"]
            arguments += ["--exec", study, "--dir", str(demo.folder / "clones"), "--poll", "0.3"]
            log = (demo.folder / f"worker-{number}.log").open("w")
            started.append(
                subprocess.Popen(
                    command(*arguments), env=demo.environment, stdout=log, stderr=log, text=True, start_new_session=True
                )
            )
            log.close()
        yield url
    finally:
        for child in reversed(started):
            child.terminate()
        for child in started:
            try:
                child.wait(STOP_S)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()


def _url(server: "subprocess.Popen[str]") -> str:
    assert server.stdout is not None
    for line in server.stdout:
        if line.startswith(READY):
            return line.removeprefix(READY).split()[0]
        print(line, end="")
    raise SystemExit("The server did not come up.")


def drained(plan: str, say: Any) -> bool:
    """Tell each task as it settles; whether all of them are done in the end."""
    from graph.models import Node

    told: set[str] = set()
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        leaves = [*Node.objects.filter(plan__name=plan, leaf=True).order_by("position")]
        for node in leaves:
            if node.state in ("done", "partial", "blocked") and node.full_key not in told:
                told.add(node.full_key)
                say(f"  {node.state:<8}{node.full_key:<20}{node.title}")
        if all(node.state == "done" for node in leaves):
            return True
        if any(node.state == "blocked" for node in leaves):
            return False
        time.sleep(0.3)
    return False
