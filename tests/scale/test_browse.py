"""The lead's pages on a database of many nodes and events: no big table is read whole, and no page grows."""

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.db.transaction import atomic
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph.models import Event, Node
from leases.claim import claim_next
from leases.models import Role, Token
from leases.settle import reject
from leases.tokens import create_token
from tests.builders import make_worker
from tests.large import fill
from tests.scale.plans import whole_reads

NODES = 70_000
COUNTS = 'COUNT("graph_node"'
"""Counting all leaves by state reads as many; an index is as long as the table to that."""


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_no_page_reads_a_table_whole(capsys: pytest.CaptureFixture[str]) -> None:
    create_token(name="worker", role=Role.WORKER)
    with atomic():
        plan = fill(NODES, Token.objects.get(name="worker"))
    worker = make_worker("bee")
    grants = [claim_next(caller=worker) for _ in range(20)]
    grant = grants[-1]
    assert grant is not None
    for _ in range(3):
        reject(node_id=grant.node.id, lease_id=grant.lease.id, fence=grant.lease.fence, caller=worker, reason="no")
    client = Client()
    client.force_login(User.objects.create_user("ann", password="pw", is_staff=True))
    done = Node.objects.filter(state="done", leaf=True).order_by("position")[NODES // 4]
    last = Event.objects.order_by("-seq")[0].seq
    paths = (
        "/", "/?window=24h", f"/lanes/{done.objective_id}/", f"/lanes/{grant.node.objective_id}/", "/workers/",
        "/workers/bee/", "/workers/worker/", "/events/", "/events/?type=node.done", f"/events/?plan={plan}",
        f"/events/?node={done.id}", f"/events/?lane={done.objective_id}", "/events/?actor=bee", "/events/?text=it",
        f"/events/?plan={plan}&type=node.done&actor=bee&before={last}", f"/events/{last}/", "/search/?q=task-7",
        "/search/?q=lane-77/task-3", "/search/?q=nowhere",
    )  # fmt: skip
    whole, lengths = {}, {}
    for path in paths:
        cache.clear()
        with CaptureQueriesContext(connection) as captured:
            answer = client.get(path)
        assert answer.status_code == 200, path
        lengths[path] = (len(captured), len(answer.content), sum(float(query["time"]) for query in captured))
        whole[path] = whole_reads([query["sql"] for query in captured.captured_queries if COUNTS not in query["sql"]])
    with capsys.disabled():
        print(f"\n{connection.vendor}, {NODES:,} nodes, {Event.objects.count():,} events:")
        for path, (queries, length, seconds) in lengths.items():
            print(f"  {path[:70]:<72}{queries:>4} statements {1000 * seconds:>6.0f} ms {length:>8,} bytes")
    assert max(length for _, length, _ in lengths.values()) < 300_000
    wrong = {path: found for path, found in whole.items() if found}
    assert not wrong, "\n".join(text for found in wrong.values() for text in found)
