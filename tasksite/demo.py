"""What `make run` does: a real plan, a server, workers, and the words that tell how it goes.

Everything runs as an operator would run it: the commands of `manage.py`, as children of this process.
"""

import contextlib
import fcntl
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

from tasksite import listening
from tasksite.environment import ROOT

WORKERS: Final = 3
PORT: Final = 8000
"""Taken where it is free and none is asked for."""

PATIENCE_S: Final = 600
"""Seconds after which a plan that has not drained will not."""

START_S: Final = 60
STOP_S: Final = 30
LOOK_S: Final = 0.2
"""Seconds between two looks at what may have changed."""

READY: Final = "tasksite is ready at "
AUTHOR: Final = ("-c", "user.name=tasksite demo", "-c", "user.email=demo@example.org", "-c", "commit.gpgsign=false")


class Failed(Exception):
    """It cannot go on; the sentence says why."""


class Stopped(Exception):
    """A signal asked for the end."""


class Stop:
    """Whether a signal has asked for the end.

    The handlers only note it. One that raised could do so between the start of a child and the note of it, or in
    the midst of taking the children down, and leave some behind.
    """

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:  # nohup stays nohup
                signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True

    def look(self) -> None:
        """Raises Stopped where the end was asked for."""
        if self.asked:
            raise Stopped


@dataclass(frozen=True)
class Demo:
    """Where the demo keeps its things, and the environment of its children."""

    folder: Path
    environment: dict[str, str]

    @classmethod
    def at(cls, var: Path) -> "Demo":
        folder = var.resolve() / "demo"
        folder.mkdir(parents=True, exist_ok=True)
        ours = {"CLONE_LOCAL_ROOTS": str(folder), "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
        return cls(folder, {**os.environ, **ours})

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other demo works in this folder meanwhile. What an earlier one left there goes."""
        with (self.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Failed(f"Another demo is at work in {self.folder}: stop it first.") from None
            for name in ("clones", "source", "repo.git"):
                shutil.rmtree(self.folder / name, ignore_errors=True)
            self.page.unlink(missing_ok=True)
            yield

    @property
    def page(self) -> Path:
        return self.folder / "REPORT.md"

    def manage(self, *arguments: str, given: str | None = None) -> str:
        """Run a command of `manage.py` to its end; what it printed."""
        return self._run(command(*arguments), f"manage.py {arguments[0]}", given)

    def git(self, *arguments: str) -> str:
        return self._run(["git", *arguments], f"git {arguments[0]}")

    def _run(self, words: list[str], what: str, given: str | None = None) -> str:
        done = subprocess.run(
            words, env=self.environment, input=given, capture_output=True, encoding="utf-8", check=False
        )
        if done.returncode:
            raise Failed(f"{what} failed:\n{done.stdout}{done.stderr}".rstrip())
        return done.stdout.strip()

    def repository(self) -> Path:
        """A bare clone of this tree; of a copy of it where the tree is not a repository that git can read."""
        if shutil.which("git") is None:
            raise Failed("git is missing: the plan's objectives work in clones of a repository.")
        bare, source = self.folder / "repo.git", ROOT
        if not self._is_repository():
            source = self.folder / "source"
            kept_out = shutil.ignore_patterns("var", ".venv*", "__pycache__", "*.egg-info", ".git", ".*_cache")
            ours = str(self.folder.parent)  # the copy is made in there, and must not hold itself
            shutil.copytree(
                ROOT, source, symlinks=True,
                ignore=lambda at, names: {*kept_out(at, names), *(n for n in names if os.path.join(at, n) == ours)},
            )  # fmt: skip
            self.git("-C", str(source), "init", "-q")
            self.git("-C", str(source), "add", "-A")
            self.git("-C", str(source), *AUTHOR, "commit", "-q", "-m", "As it came")
        self.git("clone", "-q", "--bare", str(source), str(bare))
        return bare

    def _is_repository(self) -> bool:
        """Without `.git` of its own the tree may still lie in another repository, which is none of our business."""
        if not (ROOT / ".git").exists():
            return False
        try:
            self.git("-C", str(ROOT), "rev-parse", "-q", "--verify", "HEAD")
        except Failed:  # without a commit, or another user's
            return False
        return True

    def report(self) -> Path:
        """The report as the plan's last task pushed it, in a file."""
        shown = self.git("--git-dir", str(self.folder / "repo.git"), "show", "self-study:REPORT.md")
        self.page.write_text(shown + "\n", encoding="utf-8")
        return self.page

    def token(self, name: str) -> str:
        with contextlib.suppress(Failed):  # there is none on the first run
            self.manage("revoke_token", name)
        return self.manage("create_token", name, "--role", "worker").splitlines()[-1]


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), *arguments]


def plan_text(name: str, repository: Path) -> str:
    text = (ROOT / "examples" / "self-study.yaml").read_text(encoding="utf-8")
    return text.replace("@plan@", name).replace("@repo@", str(repository))


def make_lead() -> tuple[str, str]:
    """The name of the demo's own lead, and a new password for it."""
    from django.contrib.auth import get_user_model

    password = secrets.token_urlsafe(9)
    users: Any = get_user_model()
    lead, _ = users.objects.get_or_create(username="demo-lead", defaults={"is_staff": True, "is_superuser": True})
    lead.set_password(password)
    lead.save()
    return "demo-lead", password


def free_port() -> int:
    """The usual one, or 0, which is any, where that is taken."""
    try:
        with listening.held("127.0.0.1", PORT):
            return PORT
    except listening.AddressTaken:
        return 0


class Children:
    """The server and the workers."""

    def __init__(self, demo: Demo, stop: Stop) -> None:
        self._demo = demo
        self._stop = stop
        self._started: dict[str, subprocess.Popen[str]] = {}

    def start_server(self, port: int) -> str:
        """Its URL, once it is ready."""
        server = self._start("server", command("serve", "--port", str(port)), stdout=subprocess.PIPE)
        urls: list[str] = []
        threading.Thread(target=_listen, args=(server, urls), daemon=True).start()
        deadline = time.monotonic() + START_S
        while not urls:
            self.look()
            if time.monotonic() > deadline:
                raise Failed(f"The server did not come up in {START_S} s.")
            time.sleep(LOOK_S)
        return urls[0]

    def start_workers(self, url: str, plan: str, token: str) -> None:
        study = shlex.join([sys.executable, str(ROOT / "examples" / "study.py")])
        clones = str(self._demo.folder / "clones")
        for number in range(1, WORKERS + 1):
            name = f"worker-{number}"
            words = command("work", "--url", url, "--plan", plan, "--holder", f"demo-{name}", "--exec", study)
            with (self._demo.folder / f"{name}.log").open("w") as log:
                self._start(name, [*words, "--dir", clones, "--poll", "0.3"], stdout=log, stderr=log, TASK_TOKEN=token)

    def _start(
        self, name: str, words: list[str], stdout: Any, stderr: Any = None, **more: str
    ) -> "subprocess.Popen[str]":
        """In a session of its own: Ctrl-C on the terminal is for this process alone, which tells the others."""
        child = subprocess.Popen(
            words, env={**self._demo.environment, **more}, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
            encoding="utf-8", start_new_session=True,
        )  # fmt: skip
        self._started[name] = child
        return child

    def look(self) -> None:
        """Raises Stopped where the end was asked for, Failed where a child has died."""
        self._stop.look()
        for name, child in self._started.items():
            if child.poll() is not None:
                raise Failed(f"The {name} ended with {child.returncode}; logs are in {self._demo.folder}.")

    def end(self) -> None:
        """The workers first: they give their tasks back, and need the server for it."""
        server = self._started.pop("server", None)
        for group in ([*self._started.values()], [server] if server else []):
            for child in group:
                child.terminate()
            for child in group:
                try:
                    child.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()


def _listen(server: "subprocess.Popen[str]", urls: list[str]) -> None:
    """Hand on what the server says, to its end: nobody may let it write into a full pipe."""
    assert server.stdout is not None
    for line in server.stdout:
        if line.startswith(READY):
            urls.append(line.removeprefix(READY).split()[0])
        else:
            print(line, end="", flush=True)


def drained(plan: str, children: Children, say: Callable[[str], None]) -> bool:
    """Tell each task as it settles; whether all of them have in the end."""
    from graph.models import Node
    from graph.states import SETTLED

    told: set[str] = set()
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        children.look()
        leaves = [*Node.objects.filter(plan__name=plan, leaf=True).order_by("position")]
        for node in leaves:
            if node.state in (*SETTLED, "blocked") and node.full_key not in told:
                told.add(node.full_key)
                say(f"  {node.state:<10}{node.full_key:<20}{node.title}")
        if all(node.state in SETTLED for node in leaves):
            return True
        if any(node.state == "blocked" for node in leaves):
            return False
        time.sleep(LOOK_S)
    return False
