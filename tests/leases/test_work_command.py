"""`manage.py work` as a program: exit statuses, signals, and no database."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.leases.crew import ended
from tests.leases.fifo import Fifo
from tests.leases.peer import HTML, TOKEN, Peer, problem
from tests.processes import LONG_S, environment, manage

pytestmark = pytest.mark.processes

WORKS = 'echo $$ > "$FIFO"; exec sleep 600'


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer("api/schema", "api/endpoints") as peer:
        yield peer


def ignoring(number: signal.Signals) -> Callable[[], object]:
    return lambda: signal.signal(number, signal.SIG_IGN)


class Program:
    def __init__(self, peer: Peer, folder: Path) -> None:
        self.peer = peer
        self.folder = folder
        self.fifo = Fifo(folder)

    @contextmanager
    def start(
        self, *arguments: str, before: Callable[[], object] | None = None, **settings: str
    ) -> Iterator["subprocess.Popen[str]"]:
        """With a database that nobody can reach."""
        settings = {"TASK_TOKEN": TOKEN, "FIFO": str(self.fifo)} | settings
        process = subprocess.Popen(
            manage("work", "--url", self.peer.url, "--poll", "0.01", *arguments),
            cwd=self.folder,
            env=environment(self.folder, DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing", **settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=before,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def run(self, *arguments: str, before: Callable[[], object] | None = None, **settings: str) -> tuple[int, str, str]:
        with self.start(*arguments, before=before, **settings) as process:
            out, err = process.communicate(timeout=LONG_S)
            return process.returncode, out, err

    def command(self) -> psutil.Process:
        return psutil.Process(int(self.fifo.hear()))


@pytest.fixture
def program(peer: Peer, tmp_path: Path) -> Program:
    return Program(peer, tmp_path)


def test_one_task(peer: Peer, program: Program) -> None:
    code, out, err = program.run("--once", "--exec", "echo out; echo err >&2; pwd")
    assert code == 0
    assert out == f"out\n{program.folder}/clones/lane-01.1\n"
    assert "err\n" in err and "api/schema" in err and TOKEN not in err
    assert peer.settled == {"01LEASE1": "report"}
    holder = peer.calls("claims")[0].body["holder"]
    assert holder.startswith(f"{os.uname().nodename}:")


def test_options_reach_the_claim_and_the_clone(peer: Peer, program: Program) -> None:
    words = ["--once", "--dir", "here", "--plan", "p", "--ttl", "30", "--holder", "me", "--token", TOKEN, "-v", "0"]
    code, out, err = program.run(*words, "--exec", "pwd; env", TASK_TOKEN="")
    assert (code, err) == (0, "")
    assert out.startswith(f"{program.folder}/here/lane-01.1\n") and TOKEN not in out
    assert peer.calls("claims")[0].body == {"plan": "p", "ttl_s": 30, "holder": "me"}


def test_nothing_to_do_is_no_failure(peer: Peer, program: Program) -> None:
    peer.waiting.clear()
    code, out, err = program.run("--once", "--exec", "exit 0")
    assert (code, out, err) == (0, "", "")


def test_a_rejected_task_is_no_failure_of_the_worker(peer: Peer, program: Program) -> None:
    assert program.run("--once", "--exec", "exit 3")[0] == 0
    assert peer.settled == {"01LEASE1": "reject"}


def test_a_lost_task_is_one(peer: Peer, program: Program) -> None:
    peer.beat_s = 0.01
    peer.always["heartbeat"] = problem(409, "lease_closed")
    code, _, err = program.run("--once", "--exec", "sleep 600")
    assert code == 1 and "lease_closed" in err and "the task was lost" in err


@pytest.mark.parametrize(
    ("arguments", "settings", "says"),
    [
        (["--exec", "true"], {"TASK_TOKEN": ""}, "--token is missing, and so is TASK_TOKEN"),
        (["--exec", "true", "--url", "localhost"], {}, "not an http or https URL"),
        ([], {}, "--exec"),
        (["--exec", "true", "--poll", "-1"], {}, "--poll"),
        (["--exec", "true", "--grace", "inf"], {}, "--grace"),
    ],
)
def test_wrong_usage_is_2(program: Program, arguments: list[str], settings: dict[str, str], says: str) -> None:
    code, _, err = program.run(*arguments, before=None, **settings)
    assert code == 2 and says in err and "Traceback" not in err


def test_a_server_that_refuses_the_worker(program: Program) -> None:
    code, _, err = program.run("--exec", "true", TASK_TOKEN="wrong-token")
    assert code == 1 and "unauthenticated" in err and "Traceback" not in err


def test_an_address_that_is_not_tasksite(peer: Peer, program: Program) -> None:
    peer.always["claims"] = HTML
    code, _, err = program.run("--exec", "true")
    assert code == 1 and f"{peer.url}/api/v1/claims/ does not answer as tasksite does: 404" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_gives_the_task_back(peer: Peer, program: Program, number: signal.Signals) -> None:
    with program.start("--exec", WORKS) as worker:
        command = program.command()
        worker.send_signal(number)
        worker.send_signal(signal.SIGTERM)  # a second one changes nothing
        assert worker.wait(LONG_S) == 0
        assert ended(command)
    assert peer.settled == {"01LEASE1": "release"}


def test_nohup_is_heard(peer: Peer, program: Program) -> None:
    command = 'echo > "$FIFO"; cat "$FIFO"'
    with program.start("--once", "--exec", command, before=ignoring(signal.SIGHUP)) as worker:
        program.fifo.hear()
        worker.send_signal(signal.SIGHUP)
        program.fifo.say()
        assert worker.wait(LONG_S) == 0
    assert peer.settled == {"01LEASE1": "report"}


def test_a_signal_while_there_is_nothing_to_do(peer: Peer, program: Program) -> None:
    peer.waiting.clear()
    with program.start("--exec", WORKS, "--poll", "600") as worker:
        peer.said("claims")
        worker.terminate()
        assert worker.wait(LONG_S) == 0


def test_kill_9_takes_the_command_along_and_tells_nobody(peer: Peer, program: Program) -> None:
    with program.start("--exec", WORKS) as worker:
        command = program.command()
        worker.kill()
        worker.wait(LONG_S)
        assert ended(command)
    assert [heard.verb for heard in peer.heard if heard.verb != "heartbeat"] == ["claims"]


def test_exit_statuses_are_seen_whatever_was_inherited(peer: Peer, program: Program) -> None:
    """A parent that ignores SIGCHLD hands that down."""
    peer.limit = 1
    program.run("--once", "--exec", "exit 3", before=ignoring(signal.SIGCHLD))
    assert peer.settled == {"01LEASE1": "reject"}
