"""axe-core finds nothing wrong with any page of ours: light and dark, on a desktop and on a phone."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import connection
from django.urls import URLPattern, get_resolver
from playwright.sync_api import expect

from graph.editing import waive
from graph.models import Edge, Event, Plan
from leases.acts import cancel
from leases.claim import claim
from leases.settle import reject, report
from tasksite.dashboard import urls
from tests.browser import Visitor
from tests.builders import LEAD, make_plan, make_worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]

NOWHERE: Final = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

PAGES: Final = {
    "overview": ["/"],
    "node": ["/nodes/{running}/", "/nodes/{waiting}/", "/nodes/{blocked}/", "/nodes/{objective}/"],
    "abandon": ["/nodes/{stale}/abandon/", "/nodes/{blocked}/abandon/"],
    "unblock": ["/nodes/{blocked}/unblock/", "/nodes/{running}/unblock/"],
    "reopen": ["/nodes/{done}/reopen/", "/nodes/{running}/reopen/"],
    "cancel": ["/nodes/{waiting}/cancel/", "/nodes/{objective}/cancel/"],
    "waive": ["/edges/{edge}/waive/"],
    "unwaive": ["/edges/{waived}/unwaive/"],
    "bulk_abandon": ["/bulk/abandon/"],
    "bulk_unblock": ["/bulk/unblock/"],
    "login": [],
    "plans": ["/plans/"],
    "plan": ["/plans/{plan}/"],
    "import": ["/plans/import/"],
    "import_again": ["/plans/{plan}/import/"],
    "lane": ["/lanes/{objective}/"],
    "workers": ["/workers/"],
    "worker": ["/workers/worker-1/"],
    "events": ["/events/"],
    "event": ["/events/{event}/"],
    "search": ["/search/", "/search/?q=a"],
    "tokens": ["/tokens/"],
    "revoke": ["/tokens/{token}/revoke/"],
}
"""Every page by the name of its URL, as somebody sees it in whose plan much has happened. The sign-in page is looked
at by the one who is not signed in yet."""

NO_PAGES: Final = {
    "watch": "a stream",
    "node-body": "a part of the node's page",
    "graph": "data of the plan's page",
    "graph_states": "data of the plan's page",
    "export_yaml": "a file",
    "export_json": "a file",
    "logout": "leads to the sign-in page",
}

STRANGERS: Final = [
    f"/nodes/{NOWHERE}/",
    "/admin/",
    "/admin/graph/node/",
    "/admin/graph/node/{running}/change/",
]
"""Pages that have no URL of their own, and those that are Django's with parts of ours."""

OPTIONS: Final = {"resultTypes": ["violations"], "preload": False}
"""It fetches no style sheet again: only an experimental rule has a use for that."""

DEVICES: Final = {"desktop": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
SCHEMES: Final = ("light", "dark")

VARIANTS: Final = {
    "sqlite": [("desktop", "light"), ("phone", "dark")],
    "postgresql": [("desktop", "dark"), ("phone", "light")],
}
"""What a page looks like does not depend on the database: one test run looks at each of the four once."""


def names() -> Iterator[str]:
    for pattern in urls.urlpatterns:
        assert isinstance(pattern, URLPattern) and pattern.name
        yield pattern.name


def test_no_page_is_left_out() -> None:
    assert set(names()) - PAGES.keys() - NO_PAGES.keys() == set()
    assert get_resolver().url_patterns  # the door of the pages is one of them


def test_each_variant_is_looked_at_once() -> None:
    together = [variant for half in VARIANTS.values() for variant in half]
    assert sorted(together) == sorted(itertools.product(DEVICES, SCHEMES))


def busy_world(clock: Callable[[int], None]) -> dict[str, str]:
    """A plan with a node in every state; ids by what they are."""
    tasks = {
        "one": {}, "two": {"needs": ["a/one"]}, "dropped": {}, "half": {}, "next": {}, "waived": {"waived": ["b/gone"]},
    }  # fmt: skip
    ids = make_plan({"a": {"tasks": tasks}, "b": {"tasks": {"gone": {}}}, "c": {}, "d": {}, "e": {"needs": ["b"]}})
    worker = make_worker("worker-1")
    for key, outcome in (("a/one", "done"), ("a/half", "partial")):
        grant = claim(node_id=ids[key], caller=worker)
        report(node_id=ids[key], lease_id=grant.lease.id, fence=1, caller=worker, outcome=outcome, summary="*it* is")
    cancel(node_id=ids["a/dropped"], caller=LEAD, reason="not needed")
    for key in ("c", "d"):
        grant = claim(node_id=ids[key], caller=worker)
        for _ in range(3):
            reject(node_id=ids[key], lease_id=grant.lease.id, fence=1, caller=worker, reason="the network is away")
    for lane in ("x", "y"):
        ids |= make_plan({lane: {}}, name=f"plan-{lane}")
        claim(node_id=ids[lane], caller=worker, ttl_s=5)
    clock(400)
    waive(edge_id=Edge.objects.get(dependent=ids["e"]).id, caller=LEAD, reason="it can wait")
    claim(node_id=ids["a/two"], caller=worker)
    claim(node_id=ids["b/gone"], caller=worker, ttl_s=3600)
    found = {"running": "a/two", "waiting": "e", "blocked": "c", "stale": "x", "objective": "a", "done": "a/one"}
    others = {
        "plan": Plan.objects.get(name="plan").id,
        "edge": Edge.objects.get(dependent=ids["a/two"]).id,
        "waived": Edge.objects.get(dependent=ids["e"]).id,
        "event": str(Event.objects.latest("seq").seq),
        "token": worker.token_id or "",
    }
    return {name: ids[key] for name, key in found.items()} | others


def violations(person: Visitor) -> list[str]:
    """What axe says against the page, each with the element."""
    before = len(person.faults)
    found: list[dict[str, Any]] = Axe().run(person.page, options=OPTIONS).response["violations"]
    # It tries styles on, which the policy of the page forbids; what it asks for counts.
    person.faults[before:] = [fault for fault in person.faults[before:] if "Applying inline style" not in fault]
    return [
        f"{person.page.url}: {each['id']}: {node['html'][:200]}: {node.get('failureSummary', '')}"
        for each in found
        for node in each["nodes"]
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("device", "scheme"), VARIANTS[connection.vendor])
def test_axe_finds_nothing(
    arrive: Callable[..., Visitor], clock: Callable[[int], None], device: str, scheme: Any
) -> None:
    world = busy_world(clock)
    person = arrive(viewport=DEVICES[device], color_scheme=scheme)
    page = person.page
    found = []
    there = set(names())
    addresses = [address for name, listed in PAGES.items() if name in there for address in listed]
    for address in [*addresses, *STRANGERS]:
        page.goto(person.url + address.format(**world))
        found += violations(person)
    person.faults[:] = [fault for fault in person.faults if "404" not in fault]  # the page that is nowhere
    assert found == []
    assert person.faults == []


@pytest.mark.parametrize("scheme", ["light" if connection.vendor == "sqlite" else "dark"])
def test_axe_finds_nothing_in_what_opens_and_what_goes_wrong(
    arrive: Callable[..., Visitor], clock: Callable[[int], None], scheme: Any
) -> None:
    person = arrive(color_scheme=scheme)
    page = person.page
    found = violations(person)  # there is no plan yet
    busy_world(clock)
    page.reload()
    for name in ("Abandon all", "Unblock these"):
        page.get_by_role("link", name=name).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        found += violations(person)
        page.get_by_label("Reason").fill(" ")
        page.get_by_role("dialog").get_by_role("button").click()
        expect(page.get_by_role("alert")).to_be_visible()
        found += violations(person)
        page.get_by_label("Reason").fill("it has gone")
        page.get_by_role("dialog").get_by_role("button").click()
        expect(page.locator("#notices .notice")).to_be_visible()
        found += violations(person)
    page.goto(f"{person.url}/tokens/")
    page.get_by_label("Name").fill("worker-7")
    page.get_by_role("button", name="Make a token").click()
    expect(page.locator("#secret")).to_be_visible()
    found += violations(person)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    found += violations(person)
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    found += violations(person)
    assert found == []
    assert person.faults == []
