"""A node's page on a database of many nodes: small, and no big table is read whole for it."""

import pytest
from django.db import connection
from django.db.transaction import atomic
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph.models import Node
from leases.models import Token
from tests.builders import make_plan, make_worker
from tests.doors.people import signed_in
from tests.large import fill
from tests.scale.plans import whole_reads

NODES = 10_000


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_page_of_any_node_is_small_and_reads_no_table_whole() -> None:
    make_worker("worker")
    with atomic():
        plan = fill(NODES, Token.objects.get(name="worker"))
    chain = make_plan({"o0": {}, **{f"o{n}": {"needs": [f"o{n - 1}"]} for n in range(1, 1000)}}, name="chain")
    hub = make_plan({"hub": {}, **{f"o{n}": {"needs": ["hub"]} for n in range(300)}}, name="hub")
    nodes = Node.objects.filter(plan=plan).order_by("position")
    ids = {
        "pending": nodes.filter(state="pending", leaf=True).reverse()[0].id,
        "ready": nodes.filter(state="ready", leaf=True).reverse()[0].id,
        "done": nodes.filter(state="done", leaf=True)[NODES // 4].id,
        "objective": nodes.filter(state="ready", leaf=False)[NODES // 80].id,
        "end of a chain": chain["o999"],
        "hub": hub["hub"],
    }
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    lead = signed_in("ann", lead=True)
    whole = {}
    for name, node_id in ids.items():
        size, statements = ask(lead, node_id)
        assert size < 300_000, name
        whole[name] = whole_reads(statements)
    assert not {name: found for name, found in whole.items() if found}


def ask(client: Client, node_id: str) -> tuple[int, list[str]]:
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(f"/nodes/{node_id}/")
    assert answer.status_code == 200
    return len(answer.content), [query["sql"] for query in captured.captured_queries]
