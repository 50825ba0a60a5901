"""The worker that may not go on: lease lost, deadline passed, told to stop, or hindered by its own machine."""

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from leases import attempt
from leases.group import Group, StillAlive
from leases.problems import Forbidden, NotTasksite, Unauthenticated
from tests.leases.crew import Bench, ended, runs
from tests.leases.peer import BUSY, DROP, HANG, HTML, Answer, Peer, problem
from tests.processes import LONG_S

STOPPED = ("release", {"reason": "the worker was stopped"})
WORKS = 'echo $$ > "$FIFO"; exec sleep 600'


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer("api/schema") as peer:
        yield peer


@pytest.fixture
def bench(peer: Peer, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(peer, tmp_path)
    with bench.client:
        yield bench


def working(bench: Bench) -> psutil.Process:
    """The command, which is known to run."""
    return psutil.Process(int(bench.fifo.hear()))


@pytest.mark.parametrize(
    "no",
    [
        problem(409, "stale_fence", fence=2),
        problem(409, "lease_closed"),
        problem(409, "lease_expired"),
        problem(404, "not_found"),
        problem(403, "not_holder"),
        problem(401, "unauthenticated"),
    ],
    ids=lambda no: str(no.body["code"]),
)
def test_a_lost_lease_ends_the_command_and_nothing_is_reported(peer: Peer, bench: Bench, no: Answer) -> None:
    peer.beat_s = 0.01
    with bench.running(bench.worker(WORKS)) as ending:
        command = working(bench)
        peer.always["heartbeat"] = no
        assert ending.result(LONG_S) is False
    assert ended(command) and bench.told() == []


@pytest.mark.parametrize(
    "fault",
    [BUSY, HANG, HTML, DROP, Answer(503, headers={"Retry-After": "3600"})],
    ids=["busy", "hangs", "strange", "drops", "later"],
)
def test_the_deadline_ends_the_command_and_nothing_is_reported(peer: Peer, bench: Bench, fault: Answer) -> None:
    """Whatever keeps the heartbeats from being answered."""
    peer.beat_s = 0.5
    with bench.running(bench.worker(WORKS)) as ending:
        command = working(bench)
        peer.ttl_s = 1.5
        peer.said("heartbeat", len(peer.calls("heartbeat")) + 2)  # the second moves the deadline by the new life
        peer.always["heartbeat"] = fault
        assert ending.result(LONG_S) is False
    assert ended(command) and bench.told() == []


def test_a_command_that_ended_in_time_is_not_reported_after_the_deadline(peer: Peer, bench: Bench) -> None:
    peer.ttl_s, peer.beat_s = 1.0, 0.1
    peer.always["heartbeat"] = peer.always["report"] = BUSY
    assert bench.once("exit 0") is False
    assert peer.settled == {}


def test_a_lease_that_is_lost_while_git_clones(
    peer: Peer, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = tmp_path / "git"
    git.write_text(f"#!/bin/sh\necho $$ > {bench.fifo}; exec sleep 600\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    peer.beat_s, peer.clone["repo"] = 0.01, "https://host.example/x.git"
    with bench.running(bench.worker("exit 0")) as ending:
        cloning = working(bench)
        peer.always["heartbeat"] = problem(409, "lease_closed")
        assert ending.result(LONG_S) is False
    assert ended(cloning) and bench.told() == [] and list(bench.root.iterdir()) == []


def test_a_claim_that_was_answered_too_late_is_given_back(peer: Peer, bench: Bench, tmp_path: Path) -> None:
    peer.ttl_s = 0.0
    assert bench.once(f"touch {tmp_path}/started") is False
    assert [verb for verb, _ in bench.told()] == ["release"]
    assert not (tmp_path / "started").exists()


def test_a_stop_gives_the_task_back_after_its_work_has_ended(peer: Peer, bench: Bench, tmp_path: Path) -> None:
    commands: list[psutil.Process] = []
    running_at_release: list[bool] = []

    def look(verb: str) -> None:
        if verb == "release":
            running_at_release.extend(runs(command) for command in commands)

    peer.watch = look
    below = """sh -c 'echo $$ $PPID > "$0"; exec sleep 600' "$FIFO" &"""
    worker = bench.worker(f"trap 'echo tidy > {tmp_path}/tidied; exit 0' TERM; {below} wait")
    with bench.running(worker, once=False) as ending:
        commands += [psutil.Process(int(word)) for word in bench.fifo.hear().split()]
        worker.stop()
        assert ending.result(LONG_S) is True
    assert bench.told() == [STOPPED]
    assert running_at_release == [False, False] and (tmp_path / "tidied").exists()


def test_a_stop_while_there_is_nothing_to_do(peer: Peer, bench: Bench) -> None:
    peer.waiting.clear()
    worker = bench.worker("exit 0", poll_s=LONG_S)
    with bench.running(worker, once=False) as ending:
        peer.said("claims")
        worker.stop()
        assert ending.result(LONG_S) is True
    assert bench.told() == []


def test_a_stop_that_meets_a_claim(peer: Peer, bench: Bench, tmp_path: Path) -> None:
    worker = bench.worker(f"touch {tmp_path}/started")
    peer.watch = lambda verb: worker.stop() if verb == "claims" else None
    assert worker.run()
    assert bench.told() == [STOPPED]
    assert not (tmp_path / "started").exists()


def test_a_stop_that_meets_a_claim_without_an_answer(peer: Peer, bench: Bench) -> None:
    """The claim was granted: the worker asks once more, and gives back what it never heard of."""
    worker = bench.worker("exit 0")
    peer.faults["claims"].append(DROP)
    peer.watch = lambda verb: worker.stop() if verb == "claims" else None
    assert worker.run()
    assert bench.told() == [STOPPED]
    assert len(peer.calls("claims")) == 2


def test_a_stop_while_the_server_is_away(peer: Peer, bench: Bench) -> None:
    peer.always["claims"] = BUSY
    worker = bench.worker("exit 0")
    peer.watch = lambda verb: worker.stop()
    assert worker.run()


def test_a_command_that_is_stopped_together_with_the_worker_did_not_fail(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt, "STOP_COMES_S", LONG_S)
    worker = bench.worker(WORKS)
    with bench.running(worker, once=False) as ending:
        command = working(bench)
        command.send_signal(signal.SIGTERM)
        assert ended(command)
        worker.stop()
        assert ending.result(LONG_S) is True
    assert bench.told() == [STOPPED]


def test_a_command_that_someone_ends_alone_has_failed(bench: Bench, peer: Peer) -> None:
    peer.limit = 1
    with bench.running(bench.worker(WORKS)) as ending:
        working(bench).send_signal(signal.SIGTERM)
        assert ending.result(LONG_S) is True
    assert bench.told() == [("reject", {"reason": "killed by SIGTERM"})]


def test_a_command_that_succeeds_while_the_worker_stops_is_reported(bench: Bench) -> None:
    """Its work is done: giving it back would have it done again."""
    worker = bench.worker("exit 0")
    bench.peer.watch = lambda verb: worker.stop() if verb == "report" else None
    assert worker.run()
    assert [verb for verb, _ in bench.told()] == ["report"]


@pytest.mark.parametrize(
    ("no", "kind"),
    [
        (problem(401, "unauthenticated"), Unauthenticated),
        (problem(403, "forbidden"), Forbidden),
        (HTML, NotTasksite),
    ],
)
def test_a_worker_that_may_not_claim_says_so_and_ends(
    peer: Peer, bench: Bench, no: Answer, kind: type[Exception]
) -> None:
    peer.always["claims"] = no
    with pytest.raises(kind):
        bench.worker("exit 0").run()


def test_a_fault_of_the_machine_is_not_the_task_s(bench: Bench) -> None:
    bench.root.write_text("a file where the clones should be")
    with pytest.raises(OSError):
        bench.once("exit 0")
    ((verb, body),) = bench.told()
    assert verb == "release" and body["reason"].startswith("fault of the worker's machine: ")


def test_what_may_still_run_is_not_given_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    end = Group.end

    def ends_but_cannot_tell(self: Group) -> None:
        end(self)
        raise StillAlive("process group 1 does not die")

    monkeypatch.setattr(Group, "end", ends_but_cannot_tell)
    with pytest.raises(StillAlive):
        bench.once("exit 0")
    assert bench.told() == []
