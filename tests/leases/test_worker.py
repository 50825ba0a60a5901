"""The worker, as long as all goes well or the command does not: what it gives to a command and tells the server."""

import json
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import psutil
import pytest

from tests.leases.crew import Bench, ended, runs
from tests.leases.peer import BUSY, DROP, HTML, TOKEN, Peer, problem
from tests.processes import LONG_S

DONE: dict[str, Any] = {"outcome": "done", "summary": "", "result": None}
TELL = 'echo > "$FIFO"'
AWAIT = 'cat "$FIFO" > /dev/null'


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer("api/schema") as peer:
        yield peer


@pytest.fixture
def bench(peer: Peer, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(peer, tmp_path)
    with bench.client:
        yield bench


def test_what_a_command_finds(peer: Peer, bench: Bench, tmp_path: Path) -> None:
    peer.body = "Design it.\n\nIn full: ü"
    peer.inputs = [{"full_key": "db/tables", "outcome": "done", "summary": "made", "result": {"ü": [1]}}]
    seen = tmp_path / "seen"
    seen.mkdir()
    assert bench.once(
        f'pwd > {seen}/pwd; env -0 > {seen}/env; cp "$TASK_BODY_FILE" {seen}/body; '
        f'cp "$TASK_INPUTS_FILE" {seen}/inputs; cp "$ASKS_FILE" {seen}/asks; ls -A > {seen}/clone'
    )
    found = dict(pair.split("=", 1) for pair in (seen / "env").read_text().split("\0") if pair)
    plain = {name: found[name] for name in found if name.startswith("TASK_") and not name.endswith("_FILE")}
    assert plain == {
        "TASK_ID": "01NODE",
        "TASK_KEY": "api/schema",
        "TASK_TITLE": "Title of api/schema",
        "TASK_ATTEMPT": "1",
        "TASK_FENCE": "1",
    }
    assert (seen / "body").read_text() == peer.body
    assert json.loads((seen / "inputs").read_text()) == peer.inputs
    assert json.loads((seen / "asks").read_text()) == []
    assert (seen / "pwd").read_text().strip() == str(bench.root / "lane-01.1")
    assert (seen / "clone").read_text() == "", "the files lie beside the clone, not in it"
    files = [Path(found[name]) for name in found if name.endswith("_FILE") and found[name].startswith(gettempdir())]
    assert len(files) == 5 and not any(file.parent.exists() for file in files), "they are gone afterwards"
    assert found["PATH"] == os.environ["PATH"]


def test_the_token_stays_with_the_worker(
    peer: Peer, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TASK_TOKEN", TOKEN)
    monkeypatch.setenv("HEADER", f"Authorization: Bearer {TOKEN}")
    hook = tmp_path / "git"
    hook.write_text(f'#!/bin/sh\nenv >> {tmp_path}/git-env\nexec /usr/bin/git "$@"\n')
    hook.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    origin = tmp_path / "origin"
    subprocess.run(["/usr/bin/git", "init", "-q", origin], check=True)
    peer.clone |= {"repo": str(origin)}
    assert bench.once(f'env > {tmp_path}/env; cat "$(dirname "$RESULT_FILE")"/* > {tmp_path}/files')
    for seen in ("env", "git-env", "files"):
        assert (tmp_path / seen).exists() and TOKEN not in (tmp_path / seen).read_text()
    assert TOKEN not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("exit 0", ("report", DONE)),
        ("exit 10", ("report", DONE | {"outcome": "partial"})),
        ("exit 75", ("release", {})),
        (
            """echo '{"summary": "three pages", "result": {"pages": 3}}' > "$RESULT_FILE" """,
            ("report", DONE | {"summary": "three pages", "result": {"pages": 3}}),
        ),
        ("""echo '{"reason": "not now"}' > "$RESULT_FILE"; exit 75""", ("release", {"reason": "not now"})),
    ],
)
def test_how_it_ends_is_what_the_server_is_told(bench: Bench, command: str, told: tuple[str, dict[str, Any]]) -> None:
    assert bench.once(command)
    assert bench.told() == [told]


def test_a_failing_command_is_tried_until_the_limit(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    assert bench.once('echo "try $TASK_ATTEMPT fails" >&2; exit 3')
    assert bench.told() == [("reject", {"reason": f"exit status 3\ntry {n} fails"}) for n in (1, 2, 3)]
    assert "try 1 fails\ntry 2 fails\ntry 3 fails\n" in capfd.readouterr().err


def test_the_next_attempt_goes_on_in_the_clone_with_a_clean_desk(bench: Bench) -> None:
    assert bench.once(
        'test -e "$RESULT_FILE" && exit 99; echo {} > "$RESULT_FILE"; test -e half || { > half; exit 1; }'
    )
    assert [verb for verb, _ in bench.told()] == ["reject", "report"]


def test_a_directory_that_is_there_is_used_as_it_stands(bench: Bench) -> None:
    (bench.root / "lane-01.1").mkdir(parents=True)
    (bench.root / "lane-01.1" / "work").write_text("of yesterday")
    assert bench.once("""printf '"%s"' "$(cat work)" > "$RESULT_FILE" """)
    assert bench.told() == [("report", DONE | {"result": "of yesterday"})]


def test_nothing_to_do(peer: Peer, bench: Bench) -> None:
    peer.waiting.clear()
    assert bench.once("exit 0")
    assert [heard.verb for heard in peer.heard] == ["claims"]


def test_it_goes_on_to_the_next(peer: Peer, bench: Bench) -> None:
    peer.waiting.extend(["api/endpoints", "web/mock"])
    worker = bench.worker('printf \'"%s"\' "$TASK_KEY" > "$RESULT_FILE"')
    with bench.running(worker, once=False) as ending:
        peer.said("claims", 5)  # two of them in vain
    assert ending.result() is True
    assert [body["result"] for _, body in bench.told()] == ["api/schema", "api/endpoints", "web/mock"]


@pytest.mark.parametrize(("command", "pauses"), [("exit 0", 0), ("exit 10", 0), ("exit 75", 1)])
def test_what_was_given_back_is_not_taken_again_at_once(
    peer: Peer, bench: Bench, monkeypatch: pytest.MonkeyPatch, command: str, pauses: int
) -> None:
    worker = bench.worker(command)
    taken: list[tuple[float, float]] = []

    def uniform(low: float, high: float) -> float:
        if (low, high) == (0.5, 1.5):  # between two tasks; heartbeats have their own
            taken.append((low, high))
            worker.stop()
        return low

    monkeypatch.setattr(random, "uniform", uniform)
    peer.watch = lambda verb: worker.stop() if verb in ("report", "reject") else None
    assert worker.run()
    assert len(taken) == pauses


def test_heartbeats_meanwhile(peer: Peer, bench: Bench) -> None:
    peer.beat_s = 0.01
    with bench.running(bench.worker(f'printf "half\\033[1m way\\n" > "$PROGRESS_FILE"; {TELL}; {AWAIT}')) as ending:
        bench.fifo.hear()
        peer.said("heartbeat", len(peer.calls("heartbeat")) + 3)
        beat = peer.calls("heartbeat")[-1]
        bench.fifo.say()
        assert ending.result(LONG_S)
    assert beat.body == {"lease": "01LEASE1", "fence": 1, "progress": "half way"}
    assert bench.told() == [("report", DONE)]


def test_progress_is_the_end_of_what_was_written(peer: Peer, bench: Bench) -> None:
    peer.beat_s = 0.01
    with bench.running(bench.worker(f'seq 1000 > "$PROGRESS_FILE"; {TELL}; {AWAIT}')) as ending:
        bench.fifo.hear()
        peer.said("heartbeat", len(peer.calls("heartbeat")) + 3)
        progress = peer.calls("heartbeat")[-1].body["progress"]
        bench.fifo.say()
        assert ending.result(LONG_S)
    assert len(progress.encode()) <= 1024 and progress.endswith("\n999\n1000")


def test_a_progress_that_is_refused_does_not_cost_the_lease(peer: Peer, bench: Bench) -> None:
    peer.beat_s = 0.01
    with bench.running(bench.worker(f'echo half > "$PROGRESS_FILE"; {TELL}; {AWAIT}')) as ending:
        bench.fifo.hear()
        peer.faults["heartbeat"].append(problem(400, "invalid", errors={"progress": ["no"]}))
        peer.said("heartbeat", len(peer.calls("heartbeat")) + 4)
        bench.fifo.say()
        assert ending.result(LONG_S)
    assert bench.told() == [("report", DONE)]


def test_what_the_server_asks_for_reaches_the_command(peer: Peer, bench: Bench) -> None:
    peer.beat_s, peer.asks = 0.01, ["upstream_reopened"]
    assert bench.once('until grep -q upstream_reopened "$ASKS_FILE"; do sleep 0.01; done')
    assert bench.told() == [("report", DONE)]


def test_a_server_that_is_away_for_a_while_costs_nothing(peer: Peer, bench: Bench) -> None:
    peer.beat_s = 0.01
    peer.faults["heartbeat"].extend([BUSY, DROP, HTML, BUSY])
    with bench.running(bench.worker(AWAIT)) as ending:
        peer.said("heartbeat", 6)
        bench.fifo.say()
        assert ending.result(LONG_S)
    assert bench.told() == [("report", DONE)]


def test_a_report_is_told_until_it_is_heard(peer: Peer, bench: Bench) -> None:
    peer.faults["report"].extend([DROP, BUSY, DROP])
    assert bench.once("exit 0")
    assert len(peer.calls("report")) == 4 and len({call.key for call in peer.calls("report")}) == 1
    assert peer.settled == {"01LEASE1": "report"}


def test_a_result_that_the_server_refuses_rejects_the_attempt(peer: Peer, bench: Bench) -> None:
    peer.faults["report"].append(problem(400, "invalid", errors={"result": ["too deep"]}))
    assert bench.once("exit 0")
    (_, (verb, body), second) = bench.told()
    assert verb == "reject" and body["reason"].startswith("the report was refused: invalid: it is invalid")
    assert second == ("report", DONE), "the next attempt may do better"


def test_what_a_command_leaves_behind_is_ended_before_the_report(peer: Peer, bench: Bench) -> None:
    """The lane is free with the report: nobody may still write in its clone then."""
    left: list[psutil.Process] = []
    running_at_report: list[bool] = []

    def look(verb: str) -> None:
        if verb == "report":
            running_at_report.extend(runs(process) for process in left)

    peer.watch = look
    with bench.running(bench.worker(f'sleep 600 & echo $! > "$FIFO"; {AWAIT}')) as ending:
        left.append(psutil.Process(int(bench.fifo.hear())))
        bench.fifo.say()
        assert ending.result(LONG_S)
    assert running_at_report == [False] and ended(*left)


def test_an_attempt_that_takes_too_long_is_rejected(bench: Bench) -> None:
    assert bench.once("test $TASK_ATTEMPT = 2 || sleep 600", timeout_s=0.5)
    assert bench.told() == [("reject", {"reason": "took longer than 0.5 s"}), ("report", DONE)]


def test_a_clone_that_cannot_be_made_rejects_and_says_why(peer: Peer, bench: Bench, tmp_path: Path) -> None:
    peer.clone |= {"repo": str(tmp_path / "nowhere")}
    assert bench.once("exit 0")
    reasons = [body["reason"] for verb, body in bench.told() if verb == "reject"]
    assert len(reasons) == 3 and all(reason.startswith("clone: ") and "nowhere" in reason for reason in reasons)
    assert list(bench.root.iterdir()) == []
