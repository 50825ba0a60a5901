"""One journey over HTTP that produces every type of event there is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F

from graph.events import TYPES
from leases.models import Lease
from leases.problems import ClaimRefused
from tests.journeys.site import Site
from tests.processes import serve

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = 3_600_000_000
WHY = {"reason": "to see it"}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with serve(tmp_path / "server", REJECT_LIMIT="1") as server:
        site = Site(server, tmp_path)
        with site.lead, site.client:
            yield site


def plan(*tasks: dict[str, Any], title: str = "API") -> dict[str, Any]:
    return {"plan": "p", "objectives": [{"key": "api", "title": title, "tasks": [*tasks]}]}


def task(key: str, *needs: str) -> dict[str, Any]:
    return {"key": key, "title": key, "needs": [*needs]}


def test_every_event_type_is_produced(site: Site) -> None:
    lead, worker = site.lead, site.client
    lead.post("plans/", plan(task("a"), task("b", "a"), task("c", "b")))
    lead.post("plans/", plan(task("a"), task("b", "a"), task("c"), title="The API"))  # an edge goes, a title changes
    ids = {full_key: node["id"] for full_key, node in site.nodes().items()}
    a, b, c = (ids[f"api/{key}"] for key in "abc")

    (edge,) = lead.node(b)["needs"]
    lead.post(f"edges/{edge['id']}/waive/", WHY)
    lead.post(f"edges/{edge['id']}/unwaive/", WHY)

    worker.release(worker.claim(a))
    worker.reject(worker.claim(a), "no")  # the limit is one: blocked
    lead.post(f"nodes/{a}/unblock/", WHY)
    worker.claim(a)
    lead.post(f"nodes/{a}/abandon/", WHY)
    worker.report(worker.claim(a), "done")
    lead.post(f"nodes/{a}/reopen/", WHY)
    worker.report(worker.claim(a), "partial")
    lead.post(f"nodes/{c}/cancel/", WHY)
    lead.release(lead.claim(ids["api"], hand=True))

    worker.claim(b)
    Lease.objects.filter(ended_at=None).update(expires_at=F("expires_at") - HOUR)
    with pytest.raises(ClaimRefused):
        worker.claim(b)  # finds it stale, and marks it
    site.manage("recover")
    worker.report(worker.claim(b), "done")

    events = lead.get("events/", {"limit": "500"})["results"]
    assert {event["type"] for event in events} == TYPES
    assert site.states() == {"api/a": "partial", "api/b": "done", "api/c": "cancelled"}
    assert "clean" in site.manage("audit")
