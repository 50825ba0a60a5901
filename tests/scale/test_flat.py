"""The hot calls over HTTP cost the same with 100 and with 100,000 nodes, and read no table whole."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from leases.models import Role, Token
from leases.tokens import create_token
from tests.large import fill
from tests.scale.plans import whole_reads

SIZES = (100, 100_000)

pytestmark = pytest.mark.django_db(transaction=True)


class Caller:
    def __init__(self) -> None:
        _, secret = create_token(name="worker", role=Role.WORKER)
        self.client = Client(headers={"authorization": f"Bearer {secret}"})
        self.statements: dict[str, list[str]] = {}

    def call(self, name: str, request: Callable[[Client], Any], status: int) -> Any:
        with CaptureQueriesContext(connection) as captured:
            answer = request(self.client)
        assert answer.status_code == status, answer.content
        self.statements[name] = [query["sql"] for query in captured.captured_queries]
        return answer.json() if answer.content else None


def post(path: str, body: dict[str, Any]) -> Callable[[Client], Any]:
    return lambda client: client.post(f"/api/v1/{path}", body, content_type="application/json")


def work(nodes: int) -> dict[str, list[str]]:
    """Each hot call once, on a database of this many nodes; the statements that each of them ran."""
    caller = Caller()
    fill(nodes, Token.objects.get(name="worker"))
    caller.call("list", lambda client: client.get("/api/v1/nodes/?state=ready"), 200)
    caller.call("list free", lambda client: client.get("/api/v1/nodes/?state=ready&free=true"), 200)
    grant = caller.call("claim-next", post("claims/", {}), 201)
    node = grant["node"]["id"]
    right = {"lease": grant["lease"]["id"], "fence": grant["lease"]["fence"]}
    caller.call("heartbeat", post(f"nodes/{node}/heartbeat/", right), 200)
    caller.call("release", post(f"nodes/{node}/release/", right), 200)
    grant = caller.call("claim", post(f"nodes/{node}/claim/", {}), 201)
    right = {"lease": grant["lease"]["id"], "fence": grant["lease"]["fence"]}
    caller.call("reject", post(f"nodes/{node}/reject/", {**right, "reason": "no"}), 200)
    caller.call("report", post(f"nodes/{node}/report/", {**right, "outcome": "done"}), 200)
    return caller.statements


def empty() -> None:
    with connection.cursor() as cursor:
        for table in ("leases_attempt", "leases_run", "leases_lease", "leases_answer", "leases_token",
                      "graph_event", "graph_edge", "graph_node", "graph_plan"):  # fmt: skip
            cursor.execute(f"DELETE FROM {table}")


@pytest.mark.slow
def test_hot_calls_are_flat_and_read_by_index(capsys: pytest.CaptureFixture[str]) -> None:
    counts = []
    for size in SIZES:
        empty()
        statements = work(size)
        counts.append({name: len(each) for name, each in statements.items()})
    with capsys.disabled():
        print(f"\nstatements on {connection.vendor} at {SIZES[0]:,} and at {SIZES[1]:,} nodes:")
        for name in counts[0]:
            print(f"  {name:<12}{counts[0][name]:>4}{counts[1][name]:>4}")
    assert counts[0] == counts[1]
    whole = [text for each in statements.values() for text in whole_reads(each)]
    assert not whole, "\n\n".join(whole)


def test_the_check_sees_a_whole_read() -> None:
    """The control: a condition without an index is found out."""
    Caller()
    fill(2_000, Token.objects.get(name="worker"))
    assert whole_reads(["SELECT id FROM graph_node WHERE title = 'x'"])
    assert not whole_reads(["SELECT id FROM graph_node WHERE id = 'x'"])
