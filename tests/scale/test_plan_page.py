"""The pages of a plan of 10,000 nodes in 500 lanes beside others: short, and no big table is read whole."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.transaction import atomic
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph.models import Node
from leases.models import Role, Token
from leases.tokens import create_token
from tests.large import fill
from tests.scale.plans import whole_reads


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_no_page_of_a_plan_reads_a_table_whole() -> None:
    create_token(name="worker", role=Role.WORKER)
    with atomic():
        plans = [fill(10_000 + 20 * number, Token.objects.get(name="worker")) for number in range(9)]
    plan = plans[0]
    client = Client()
    client.force_login(User.objects.create_user("sam"))
    lane = Node.objects.filter(plan=plan, parent=None).order_by("position")[300].id
    whole = {}
    for path in (
        "", "?q=task-7", "?state=ready", f"?open={lane}", "?after=4000",
        "graph.json", f"graph.json?open={lane}", "states.json", f"states.json?open={lane}",
    ):  # fmt: skip
        with CaptureQueriesContext(connection) as captured:
            answer = client.get(f"/plans/{plan}/{path}")
        assert answer.status_code == 200
        assert len(answer.content) < 300_000, path
        # The drawing reads all edges of its plan, once an import: how it best does so is the database's choice.
        statements = [
            query["sql"] for query in captured.captured_queries if "min(CASE WHEN e.waived" not in query["sql"]
        ]
        whole[path] = whole_reads(statements)
    assert not {path: found for path, found in whole.items() if found}
