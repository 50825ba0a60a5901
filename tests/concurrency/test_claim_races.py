"""Many processes want the same thing at the same moment."""

from collections import Counter
from pathlib import Path

import pytest

from graph.models import Event
from leases.audit import audit
from leases.models import Lease, Role
from leases.tokens import create_token
from tests.builders import Tree, make_plan, make_worker
from tests.concurrency.crew import Call, crew
from tests.processes import serve

PROCESSES = 32
TIMES = 100

pytestmark = pytest.mark.django_db(transaction=True)


def tokens() -> list[str]:
    return [create_token(name=f"worker-{n}", role=Role.WORKER)[1] for n in range(PROCESSES)]


def over_http(name: str, **arguments: object) -> Call:
    return Call(f"tests.concurrency.over_http:{name}", arguments)


@pytest.mark.slow
def test_one_node_is_granted_once(tmp_path: Path) -> None:
    """32 processes ask for the same node over HTTP, a hundred times: one 201 each time, and 31 refusals."""
    ids = make_plan({f"node-{i}": {"tasks": {"work": {}}} for i in range(TIMES)})
    work = [ids[f"node-{i}/work"] for i in range(TIMES)]
    with serve(tmp_path, "--web-processes", "2") as server, crew(PROCESSES, tmp_path) as crowd:
        answers = crowd.run(
            *[[over_http("claim", url=server.url, token=mine, node_id=node) for node in work] for mine in tokens()]
        )
    for i in range(TIMES):
        got = [mine[i].value for mine in answers]
        assert Counter(status for status, _ in got) == {201: 1, 409: PROCESSES - 1}
        assert {body["code"] for status, body in got if status == 409} == {"lease_refused"}
    assert Lease.objects.count() == 2 * TIMES
    assert Event.objects.filter(type="lease.claimed").count() == 2 * TIMES
    assert Event.objects.filter(type="node.running").count() == 2 * TIMES
    assert audit() == []


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [PROCESSES, 5])
def test_claim_next_gives_each_free_lane_to_one(tmp_path: Path, lanes: int) -> None:
    make_plan({f"lane-{i:02}": {"tasks": {"first": {}, "second": {}}} for i in range(lanes)})
    with serve(tmp_path, "--web-processes", "2") as server, crew(PROCESSES, tmp_path) as crowd:
        answers = crowd.run(*[[over_http("claim_next", url=server.url, token=mine)] for mine in tokens()])
    got = [answer.value for mine in answers for answer in mine]
    assert Counter(status for status, _ in got) == Counter({201: lanes, 204: PROCESSES - lanes})
    granted = [body["node"]["full_key"] for status, body in got if status == 201]
    assert sorted(granted) == [f"lane-{i:02}/first" for i in range(lanes)]
    assert audit() == []


@pytest.mark.slow
def test_workers_who_race_through_a_whole_plan_never_fail_each_other(tmp_path: Path) -> None:
    tasks: dict[str, Tree] = {f"task-{i:02}": {} for i in range(5)}
    make_plan({f"lane-{i:02}": {"tasks": tasks} for i in range(40)})
    with serve(tmp_path, "--web-processes", "2") as server, crew(16, tmp_path) as crowd:
        answers = crowd.run(*[[over_http("drain", url=server.url, token=mine)] for mine in tokens()[:16]])
    statuses: Counter[int] = sum((answer.value for mine in answers for answer in mine), Counter())
    assert statuses.pop(204) >= 16
    assert statuses == {201: 200, 200: 200}
    assert audit() == []


@pytest.mark.slow
def test_services_from_many_processes_grant_one_node_once(tmp_path: Path) -> None:
    """The same without a server between: every process has the database to itself."""
    ids = make_plan({f"node-{i}": {"tasks": {"work": {}}} for i in range(TIMES)})
    callers = [make_worker(f"worker-{n}") for n in range(16)]
    with crew(16, tmp_path) as crowd:
        answers = crowd.run(
            *[
                [Call("leases.claim:claim", {"node_id": ids[f"node-{i}/work"], "caller": me}) for i in range(TIMES)]
                for me in callers
            ]
        )
    for i in range(TIMES):
        codes = [mine[i].code for mine in answers]
        assert Counter(codes) == {"": 1, "lease_refused": 15}
    assert Lease.objects.count() == 2 * TIMES
    assert audit() == []


@pytest.mark.usefixtures("on_postgresql")
def test_without_the_lane_lock_a_node_would_be_granted_by_the_schema_alone(tmp_path: Path) -> None:
    """The control: with the lock gone, rivals run into the unique index, an error where a refusal belongs."""
    ids = make_plan({f"node-{i}": {"tasks": {"work": {}}} for i in range(20)})
    callers = [make_worker(f"worker-{n}") for n in range(8)]
    with (
        crew(8, tmp_path, sabotage="no_lane_lock_for_claims") as crowd,
        pytest.raises(RuntimeError, match=r"unique|Broken"),
    ):
        crowd.run(
            *[
                [Call("leases.claim:claim", {"node_id": ids[f"node-{i}/work"], "caller": me}) for i in range(20)]
                for me in callers
            ]
        )
