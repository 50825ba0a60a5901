"""Real workers, a real server, real clones: the graph drains, and what goes wrong on the way is as promised."""

import itertools
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from graph.models import Event
from leases.audit import audit
from leases.client import Client
from leases.grants import Clone, Grant
from leases.models import Lease, Run
from leases.problems import ClaimRefused, LeaseLost
from tests.journeys.site import Site
from tests.leases.crew import ended
from tests.processes import LONG_S, serve, until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]

COMMITS: Final = """set -e
git config user.name Someone && git config user.email someone@example.org
echo "$TASK_KEY" >> log && git add log && git commit -q -m "$TASK_KEY"
git push -q origin "HEAD:refs/heads/${TASK_KEY%%/*}"
printf '{"summary": "committed", "result": {"commit": "%s", "inputs": %s}}' \
    "$(git rev-parse HEAD)" "$(cat "$TASK_INPUTS_FILE")" > "$RESULT_FILE"
"""
WORKS: Final = 'echo $$ "$PWD" > "$FIFO"; exec sleep 600'


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with serve(tmp_path / "server", CLONE_LOCAL_ROOTS=str(tmp_path), REJECT_LIMIT="3") as server:
        site = Site(server, tmp_path)
        with site.lead, site.client:
            yield site
    assert audit() == []


def tasks(*keys: str) -> list[dict[str, Any]]:
    return [{"key": key, "title": f"Title of {key}"} for key in keys]


def git(where: Path, *words: str) -> str:
    who = ["-c", "user.name=Someone", "-c", "user.email=someone@example.org"]
    return subprocess.run(["git", *who, *words], cwd=where, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A bare repository with one commit on main."""
    repo, first = tmp_path / "origin.git", tmp_path / "first"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(repo))
    git(tmp_path, "clone", "-q", str(repo), str(first))
    git(first, "commit", "-q", "--allow-empty", "-m", "start")
    git(first, "push", "-q", "origin", "HEAD:refs/heads/main")
    return repo


def test_two_workers_drain_a_plan_of_three_lanes(site: Site, repo: Path) -> None:
    clone = {"repo": str(repo), "ref": "main"}
    endpoints = {"key": "endpoints", "title": "Endpoints", "needs": ["schema", "db/tables"]}
    site.import_plan(
        db={"clone": clone, "tasks": tasks("tables", "indexes")},
        api={"clone": clone, "tasks": [*tasks("schema"), endpoints]},
        docs={"clone": clone, "needs": ["api"]},
    )
    # Two tasks that wait for each other are done only if two workers do them at the same time.
    meets = """case $TASK_KEY in db/tables) echo > "$FIFO";; api/schema) cat "$FIFO";; esac"""
    with site.worker(f"{meets}\n{COMMITS}") as one, site.worker(f"{meets}\n{COMMITS}") as two:
        until(lambda: set(site.states().values()) <= {"done", "blocked"}, "it drains")
        for worker in (one, two):
            worker.terminate()
            assert worker.wait(LONG_S) == 0
    assert set(site.states().values()) == {"done"} and len(site.states()) == 5

    assert git(repo, "log", "--format=%s", "db").split() == ["db/indexes", "db/tables", "start"]
    assert git(repo, "log", "--format=%s", "api").split() == ["api/endpoints", "api/schema", "start"]
    assert git(repo, "log", "--format=%s", "docs").split() == ["docs", "start"]

    run = site.detail("api/endpoints")["runs"][-1]
    assert (run["summary"], run["result"]["commit"]) == ("committed", git(repo, "rev-parse", "api"))
    inputs = {given["full_key"]: given for given in run["result"]["inputs"]}
    assert inputs.keys() == {"api/schema", "db/tables"}
    assert inputs["db/tables"]["outcome"] == "done"
    assert inputs["db/tables"]["result"]["commit"] == git(repo, "rev-parse", "db~1"), "results flow on as inputs"

    runs = Run.objects.filter(node__leaf=True).order_by("opened_at")
    for lane in set(runs.values_list("node__objective", flat=True)):
        times = list(runs.filter(node__objective=lane).values_list("opened_at", "closed_at"))
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(times)), "a lane is serial"


@pytest.mark.slow
def test_a_killed_worker_leaves_a_stale_task_that_recovery_returns(site: Site, repo: Path) -> None:
    site.import_plan(api={"clone": {"repo": str(repo), "ref": "main"}, "tasks": tasks("schema", "mock")})
    with site.worker(f"echo spoilt > half; {WORKS}", "--ttl", "5", "--holder", "worker-1") as worker:
        command, place = site.command()
        held = Lease.objects.get(moves_with=None)
        worker.kill()
        worker.wait(LONG_S)
        assert ended(command), "the command outlived its worker"
    assert "stale claims: 0" in site.manage("status")
    assert "1 stale claim" not in site.page()

    until(lambda: site.lead.status()["stale"] != [], "its ttl passes")
    (stale,) = site.lead.status()["stale"]
    assert (stale["subject"], stale["fence"], stale["holder"]) == (held.subject_id, held.fence, "worker-1")
    shown = site.manage("status")
    assert "stale claims: 1" in shown
    assert f"p api/schema  held by worker-1  fence {held.fence}  expired " in shown
    assert "1 stale claim The worker is silent" in site.page()
    assert "api/schema held by worker-1 , stale for" in site.page()
    assert site.states() == {"api/schema": "running", "api/mock": "ready"}, "nothing heals by itself"

    assert site.client.claim_next() is None
    with pytest.raises(ClaimRefused) as refused:
        site.client.claim(site.nodes()["api/mock"]["id"])
    assert refused.value.code == "lease_refused"
    fields = refused.value.fields
    assert {name: fields[name] for name in ("relation", "subject", "holder", "fence", "stale")} == {
        "relation": "sibling", "subject": held.subject_id, "holder": "worker-1", "fence": held.fence, "stale": True
    }  # fmt: skip
    assert fields["expires_at"] == stale["expires_at"]
    assert [each["relation"] for each in fields["conflicts"]] == ["sibling"]

    assert "api/schema" in site.manage("recover")
    assert site.states() == {"api/schema": "ready", "api/mock": "ready"}
    assert "stale claims: 0" in site.manage("status")
    assert site.once(f"test ! -e half && {COMMITS}") == 0
    again = site.detail("api/schema")
    assert again["state"] == "done"
    assert Lease.objects.filter(subject=held.subject).latest("fence").fence == held.fence + 1
    assert place.name.endswith(".1") and place.with_name(f"{place.name[:-1]}2").is_dir()
    assert (place / "half").exists(), "what the first one did lies where nobody works any more"

    before = Event.objects.count()
    late = Grant({"id": held.subject_id}, held.id, held.fence, 1, 20.0, 0.0, Clone(None, None, place.name))
    worker_1 = Client(site.server.url, site.token)
    with worker_1, pytest.raises(LeaseLost) as no:
        worker_1.report(late, "done")
    assert (no.value.code, no.value.fields["fence"]) == ("stale_fence", held.fence + 1)
    assert site.detail("api/schema") == again and Event.objects.count() == before
    assert "clean" in site.manage("audit")


def test_a_stopped_worker_gives_back_and_the_next_goes_on_in_its_clone(site: Site, repo: Path) -> None:
    site.import_plan(api={"clone": {"repo": str(repo), "ref": "main"}, "tasks": tasks("schema")})
    with site.worker(f"echo mine > half; {WORKS}") as worker:
        command, place = site.command()
        worker.terminate()
        assert worker.wait(LONG_S) == 0
        assert ended(command)
    assert site.states() == {"api/schema": "ready"}
    (run,) = site.detail("api/schema")["runs"]
    assert run["outcome"] == "released"
    assert site.once(f'test "$(cat half)" = mine && {COMMITS}') == 0
    assert site.states() == {"api/schema": "done"} and [path.name for path in place.parent.iterdir()] == [place.name]


def test_a_poisonous_task_is_blocked_and_unblocked_for_three_more(site: Site) -> None:
    site.import_plan(api={"tasks": tasks("schema")})
    fails = "echo $TASK_ATTEMPT >> tries; echo no >&2; exit 1"
    assert site.once(fails) == 0
    assert site.states() == {"api/schema": "blocked"}
    (run,) = site.detail("api/schema")["runs"]
    assert [(attempt["number"], attempt["outcome"], attempt["reason"]) for attempt in run["attempts"]] == [
        (n, "rejected", "exit status 1\nno") for n in (1, 2, 3)
    ]
    assert site.once(fails) == 0, "there is nothing to do"
    site.lead.post(f"nodes/{site.nodes()['api/schema']['id']}/unblock/", {"reason": "again"})
    assert site.once(fails) == 0
    (tries,) = (site.folder / "clones").glob("*/tries")
    assert tries.read_text().split() == ["1", "2", "3"] * 2
    assert site.states() == {"api/schema": "blocked"}


def test_a_worker_that_cannot_be_heard_stops_itself(site: Site) -> None:
    """The server hangs for longer than the lease lives: the command ends while it hangs, and nothing is reported."""
    site.import_plan(api={"tasks": tasks("schema")})
    with site.worker(WORKS, "--once", "--ttl", "5") as worker:
        command, _ = site.command()
        web = psutil.Process(site.server.process.pid).children(recursive=True)
        for process in web:
            process.suspend()
        try:
            assert worker.wait(LONG_S) == 1
            assert ended(command)
        finally:
            for process in reversed(web):
                process.resume()
    assert site.states() == {"api/schema": "running"}
    until(lambda: len(site.lead.status()["stale"]) == 1, "its lease runs out")


@pytest.mark.slow
def test_a_worker_works_on_while_the_server_is_started_anew(site: Site, tmp_path: Path) -> None:
    site.import_plan(api={"tasks": tasks("schema")})
    with site.worker('echo $$ > "$FIFO"; cat "$FIFO" > /dev/null', "--once") as worker:
        site.command()
        site.server.process.send_signal(signal.SIGTERM)
        assert site.server.process.wait(LONG_S) == 0
        site.fifo.say()  # the command ends while nobody can be told
        with serve(tmp_path / "server", "--port", str(site.server.port)):
            assert worker.wait(LONG_S) == 0
            assert site.states() == {"api/schema": "done"}
