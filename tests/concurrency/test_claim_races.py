"""Many processes want the same thing at the same moment."""

from pathlib import Path

import pytest

from graph.models import Event
from leases.models import Lease
from tests.builders import make_plan, make_worker
from tests.concurrency.crew import Call, crew

PROCESSES = 32
TIMES = 100

pytestmark = pytest.mark.django_db(transaction=True)


def test_one_node_is_granted_once(tmp_path: Path) -> None:
    ids = make_plan({f"node-{i}": {"tasks": {"work": {}}} for i in range(TIMES)})
    callers = [make_worker(f"worker-{n}") for n in range(PROCESSES)]
    with crew(PROCESSES, tmp_path) as crowd:
        answers = crowd.run(
            *[
                [Call("leases.claim:claim", {"node_id": ids[f"node-{i}/work"], "caller": me}) for i in range(TIMES)]
                for me in callers
            ]
        )
    for i in range(TIMES):
        codes = [mine[i].code for mine in answers]
        assert codes.count("") == 1
        assert codes.count("lease_refused") == PROCESSES - 1
    assert Lease.objects.count() == 2 * TIMES
    assert Event.objects.filter(type="lease.claimed").count() == 2 * TIMES
    assert Event.objects.filter(type="node.running").count() == 2 * TIMES


@pytest.mark.parametrize("lanes", [PROCESSES, 5])
def test_claim_next_gives_each_free_lane_to_one(tmp_path: Path, lanes: int) -> None:
    make_plan({f"lane-{i:02}": {"tasks": {"first": {}, "second": {}}} for i in range(lanes)})
    callers = [make_worker(f"worker-{n}") for n in range(PROCESSES)]
    with crew(PROCESSES, tmp_path) as crowd:
        answers = crowd.run(*[[Call("leases.claim:claim_next", {"caller": me})] for me in callers])
    assert {answer.code for mine in answers for answer in mine} == {""}
    granted = [mine[0].value.node.full_key for mine in answers if mine[0].value is not None]
    assert sorted(granted) == [f"lane-{i:02}/first" for i in range(lanes)]


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
