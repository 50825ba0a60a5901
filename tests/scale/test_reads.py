"""What the API can be asked, on a database of many nodes: no big table is read whole for a page."""

from typing import Any

import pytest
from django.db import connection
from django.db.transaction import atomic
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph.models import Node
from leases.models import Role, Token
from leases.tokens import create_token
from tests.large import fill
from tests.scale.plans import whole_reads

NODES = 30_000


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_no_page_reads_a_table_whole() -> None:
    secret = create_token(name="worker", role=Role.WORKER)[1]
    with atomic():
        plan = fill(NODES, Token.objects.get(name="worker"))
    client = Client(headers={"authorization": f"Bearer {secret}"})
    for _ in range(20):
        claimed = client.post("/api/v1/claims/", {}, content_type="application/json")
    lane = claimed.json()["objective_lease"]["subject"]
    done = Node.objects.filter(state="done", leaf=True).order_by("position")[NODES // 4]
    asked = [
        *(f"nodes/?state={state}" for state in ("pending", "ready", "running", "done", "cancelled")),
        *(f"nodes/?state=ready&leaf={leaf}" for leaf in ("true", "false", "any")),
        "nodes/", "nodes/?free=true&state=ready", f"nodes/?plan={plan}", f"nodes/?plan=large-{NODES}&state=done",
        f"nodes/?objective={lane}", f"nodes/?objective={lane}&state=pending",
        "nodes/?kind=objective", "nodes/?q=lane-7",
        f"nodes/{done.id}/", f"nodes/{done.id}/events/", f"nodes/{lane}/", f"plans/{plan}/graph/?limit=100",
        "leases/", "leases/?live=true", "leases/?live=false",
        "events/", "events/?after=1000", f"events/?plan={plan}", f"events/?node={done.id}", "events/?type=node.done",
        f"events/?plan={plan}&type=node.done&after=50000",
    ]  # fmt: skip
    whole = {}
    for path in asked:
        answer, statements = ask(client, path)
        whole[path] = whole_reads(statements)
        if answer.get("next"):
            _, statements = ask(client, answer["next"].partition("/api/v1/")[2])
            whole[f"{path}, second page"] = whole_reads(statements)
    assert not {path: found for path, found in whole.items() if found}


def ask(client: Client, path: str) -> tuple[dict[str, Any], list[str]]:
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(f"/api/v1/{path}")
    assert answer.status_code == 200, answer.content
    return answer.json(), [query["sql"] for query in captured.captured_queries]
