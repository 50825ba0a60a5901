"""The lead's verbs as actions of the admin, the links between rows, and that nothing else changes one."""

import re
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client, RequestFactory

from graph.models import Edge, Event, Node, Plan
from leases.audit import audit
from leases.claim import claim
from leases.models import Attempt, Lease, Run
from leases.settle import report
from tests.builders import make_plan, make_worker, states
from tests.doors.test_admin import act, url

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead(client: Client) -> Client:
    client.force_login(User.objects.create_user("ann", password="pw", is_staff=True))
    return client


def done(key: str, ids: dict[str, str], worker: str = "worker-1") -> None:
    caller = make_worker(worker)
    grant = claim(node_id=ids[key], caller=caller)
    report(node_id=ids[key], lease_id=grant.lease.id, fence=1, caller=caller, outcome="done")


def messages(html: str) -> list[str]:
    listed = re.search(r'<ul class="messagelist">(.*?)</ul>', html, re.DOTALL)
    return re.findall(r"<li[^>]*>(.*?)</li>", listed[1], re.DOTALL) if listed else []


# The verbs


def test_reopen_asks_for_a_reason_and_then_acts(lead: Client) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    done("a", ids)
    asked = act(lead, Node, "reopen_nodes", ids["a"])
    assert "<code>a</code>: done" in asked and states(ids) == {"a": "done", "b": "ready"}
    assert "Say why" in act(lead, Node, "reopen_nodes", ids["a"], confirmed="1", reason="  ")
    shown = messages(act(lead, Node, "reopen_nodes", ids["a"], ids["b"], confirmed="1", reason="wrong"))
    assert shown[0].startswith("Reopened: a is ready now")
    assert shown[1] == "Refused for b: b is pending, not done, partial or cancelled. Nothing was changed."
    assert states(ids) == {"a": "ready", "b": "pending"}
    event = Event.objects.get(type="node.reopened")
    assert (event.actor, event.reason) == ("ann", "wrong") and audit() == []


def test_cancel_drops_the_work_and_refuses_what_runs(lead: Client) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}, "two": {}}}, "b": {}})
    claim(node_id=ids["b"], caller=make_worker())
    assert "<code>a</code>: ready" in act(lead, Node, "cancel_nodes", ids["a"])
    shown = messages(act(lead, Node, "cancel_nodes", ids["a"], ids["b"], confirmed="1", reason="dropped"))
    assert shown[0].startswith("Cancelled: a is cancelled now")
    assert shown[1] == "Refused for b: b is running, not pending, ready or blocked. Nothing was changed."
    assert states(ids) == {"a": "cancelled", "a/one": "cancelled", "a/two": "cancelled", "b": "running"}
    assert audit() == []


def test_needs_are_waived_and_the_waivers_taken_back(lead: Client) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    edge = Edge.objects.get()
    assert "<code>b needs a</code>: counts" in act(lead, Edge, "waive_edges", edge.id)
    shown = messages(act(lead, Edge, "waive_edges", edge.id, confirmed="1", reason="by hand"))
    assert shown[0].startswith("Waived: b is ready now") and states(ids)["b"] == "ready"
    again = messages(act(lead, Edge, "waive_edges", edge.id, confirmed="1", reason="by hand"))
    assert again == ["Refused for b needs a: The edge is waived already. Nothing was changed."]
    assert "<code>b needs a</code>: waived" in act(lead, Edge, "unwaive_edges", edge.id)
    shown = messages(act(lead, Edge, "unwaive_edges", edge.id, confirmed="1", reason="no"))
    assert shown[0].startswith("The waiver is taken back: b is pending now") and states(ids)["b"] == "pending"
    assert Event.objects.get(type="edge.waived").reason == "by hand" and audit() == []


@pytest.mark.parametrize(
    ("model", "actions"),
    [
        (Plan, set()),
        (Node, {"abandon_nodes", "unblock_nodes", "reopen_nodes", "cancel_nodes"}),
        (Edge, {"waive_edges", "unwaive_edges"}),
        (Event, set()),
        (Lease, {"abandon_leases"}),
        (Run, set()),
        (Attempt, set()),
    ],
)
def test_these_are_all_the_actions(lead: Client, model: type[Any], actions: set[str]) -> None:
    request = RequestFactory().get("/")
    request.user = User.objects.create_superuser("root")
    assert set(admin.site._registry[model].get_actions(request)) == actions


def test_hostile_texts_are_escaped_on_the_confirming_page(lead: Client) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    evil = "<script>alert(1)</script>"
    claim(node_id=ids["a"], caller=make_worker(evil))
    shown = act(lead, Node, "abandon_nodes", ids["a"], confirmed="1", reason="")
    assert f"held by {evil}" not in shown and "held by &lt;script&gt;alert(1)" in shown


def test_those_who_are_no_leads_come_nowhere_near(client: Client) -> None:
    ids = make_plan({"a": {}})
    client.force_login(User.objects.create_user("sam", password="pw"))
    answer = client.post(
        url(Node),
        {"action": "cancel_nodes", "_selected_action": [ids["a"]], "index": 0, "confirmed": "1", "reason": "x"},
    )
    assert answer.status_code == 302 and "/admin/login/" in answer["Location"]
    assert states(ids) == {"a": "ready"}


# The links


def test_a_node_leads_to_all_that_is_its_own(lead: Client) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}}}, "b": {"needs": ["a"]}})
    done("a/one", ids)
    plan, node = Plan.objects.get(), ids["a/one"]
    shown = lead.get(url(Node, f"{node}/change/")).content.decode()
    ways = [
        url(Plan, f"{plan.id}/change/"),
        url(Node, f"{ids['a']}/change/"),
        f"{url(Run)}?node__id__exact={node}",
        f"{url(Lease)}?subject__id__exact={node}",
        f"{url(Event)}?node__exact={node}",
        f"/nodes/{node}/",
    ]
    for way in ways:
        assert f'href="{way}"' in shown
        assert lead.get(way).status_code == 200
    listed = lead.get(url(Node), {"kind": "task"}).content.decode()
    assert url(Plan, f"{plan.id}/change/") in listed and url(Node, f"{ids['a']}/change/") in listed
    assert "1 result" in listed and "2 results" in lead.get(url(Node), {"kind": "objective"}).content.decode()


def test_every_link_of_every_row_leads_somewhere(lead: Client) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}, "two": {}}}, "b": {"needs": ["a"]}})
    done("a/one", ids)
    claim(node_id=ids["a/two"], caller=make_worker("worker-2"))
    seen: set[str] = set()
    for label in ("graph", "leases"):
        for model in apps.get_app_config(label).get_models():
            if model in admin.site._registry:
                for row in model._default_manager.all():
                    shown = lead.get(url(model, f"{row.pk}/change/")).content.decode()
                    seen |= set(re.findall(r'href="(/admin/(?:graph|leases)/[^"]+|/nodes/[^"]+)"', shown))
    assert len(seen) > 40
    for way in seen:
        assert lead.get(way.replace("&amp;", "&"), follow=True).status_code == 200, way


def test_a_plan_leads_to_what_is_blocked_in_it(lead: Client) -> None:
    make_plan({"a": {}})
    Node.objects.update(state="blocked")
    shown = lead.get(url(Plan)).content.decode()
    [way] = re.findall(r'href="([^"]+)">blocked<', shown)
    assert "1 result" in lead.get(way.replace("&amp;", "&")).content.decode()


# Nothing else


def test_no_field_of_ours_can_be_edited_and_no_row_deleted(lead: Client) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    done("a", ids)
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    for someone in (lead, root):
        for model in (Plan, Node, Edge, Event, Lease, Run, Attempt):
            row = model._default_manager.order_by("pk").first()
            assert row is not None
            shown = someone.get(url(model, f"{row.pk}/change/")).content.decode().partition('id="content-main"')[2]
            fields = set(re.findall(r'<(?:input|select|textarea)[^>]* name="([^"]+)"', shown))
            assert fields <= {"csrfmiddlewaretoken"}, model
            assert "/delete/" not in shown and "_save" not in shown
            assert someone.post(url(model, f"{row.pk}/delete/"), {"post": "yes"}).status_code == 403
