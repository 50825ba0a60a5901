"""The admin: everything is shown, nothing is written, and the two verbs ask for a reason."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph.models import Edge, Event, Node, Plan
from leases.claim import claim
from leases.models import Attempt, Lease, Run, Token
from leases.settle import reject, report
from tests.builders import make_plan, make_worker, states

pytestmark = pytest.mark.django_db

TABLES: tuple[type[Any], ...] = (Plan, Node, Edge, Event, Lease, Run, Attempt, Token)


@pytest.fixture
def lead(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ann", password="pw"))
    return client


def url(model: type[Any], rest: str = "") -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/{rest}"


def some_work(name: str = "pay", worker: str = "worker-1") -> dict[str, str]:
    ids = make_plan({"a": {"tasks": {"one": {}, "two": {"needs": ["a/one"]}}}, "b": {}, "c": {}}, name=name)
    caller = make_worker(worker)
    grant = claim(node_id=ids["a/one"], caller=caller)
    report(node_id=ids["a/one"], lease_id=grant.lease.id, fence=1, caller=caller, outcome="done", result={"n": "<b>"})
    claim(node_id=ids["b"], caller=caller)
    grant = claim(node_id=ids["c"], caller=caller)
    for _ in range(3):
        reject(node_id=ids["c"], lease_id=grant.lease.id, fence=1, caller=caller, reason="no")
    return ids


@pytest.mark.parametrize("model", TABLES)
def test_each_table_is_listed_and_shown_and_cannot_be_written(lead: Client, model: type[Any]) -> None:
    some_work()
    row = model._default_manager.order_by("pk").first()
    assert lead.get(url(model)).status_code == 200
    shown = lead.get(url(model, f"{row.pk}/change/"))
    assert shown.status_code == 200 and 'name="_save"' not in shown.content.decode()
    assert lead.get(url(model), {"q": "a"}).status_code == 200
    for path in (url(model, "add/"), url(model, f"{row.pk}/delete/")):
        assert lead.get(path).status_code == 403
        assert lead.post(path, {"post": "yes"}).status_code == 403
    before = model._default_manager.filter(pk=row.pk).values().get()
    assert lead.post(url(model, f"{row.pk}/change/"), {"state": "done", "name": "x"}).status_code == 403
    assert model._default_manager.filter(pk=row.pk).values().get() == before
    assert "delete_selected" not in lead.get(url(model)).content.decode()


def test_filters_work_and_read_no_values_from_the_tables(lead: Client) -> None:
    some_work()
    assert "a/two" in lead.get(url(Node), {"only_state": "ready"}).content.decode()
    blocked = lead.get(url(Node), {"only_state": "blocked"}).content.decode()
    assert ">c<" in blocked and "a/two" not in blocked
    assert "1 result" in lead.get(url(Lease), {"standing": "live"}).content.decode()
    assert "0 results" in lead.get(url(Lease), {"standing": "stale"}).content.decode()
    assert lead.get(url(Run), {"only_outcome": "none"}).status_code == 200
    assert lead.get(url(Attempt), {"only_outcome": "rejected"}).status_code == 200
    assert "attempt.closed" in lead.get(url(Event), {"only_type": "attempt.closed"}).content.decode()


def test_moments_read_as_moments_and_rows_lead_to_rows(lead: Client) -> None:
    ids = some_work()
    listed = lead.get(url(Lease)).content.decode()
    assert " UTC" in listed and url(Node, f"{ids['b']}/change/") in listed
    node = lead.get(url(Node, f"{ids['a/one']}/change/")).content.decode()
    for target in (url(Lease), url(Run), url(Event), url(Edge)):
        assert target + "?" in node
    narrowed = lead.get(url(Event), {"node__exact": ids["a/one"]})
    assert narrowed.status_code == 200 and "node.done" in narrowed.content.decode()
    event = Event.objects.filter(type="run.closed").latest("seq")
    assert "UTC" in lead.get(url(Event, f"{event.pk}/change/")).content.decode()


def test_a_token_shows_no_digest_and_a_result_is_escaped(lead: Client) -> None:
    some_work()
    Token.objects.update(digest="5eca1ed")
    token = Token.objects.get()
    for path in (url(Token), url(Token, f"{token.pk}/change/")):
        assert "5eca1ed" not in lead.get(path).content.decode()
    run = Run.objects.get(result__isnull=False)
    shown = lead.get(url(Run, f"{run.pk}/change/")).content.decode()
    assert "&lt;b&gt;" in shown and '"<b>"' not in shown


@pytest.mark.usefixtures("falling_ids")
def test_attempts_of_a_run_stand_newest_first_whatever_their_ids(lead: Client) -> None:
    run = Run.objects.get(node=some_work()["c"])
    listed = lead.get(url(Attempt), {"run__id__exact": run.id}).context["cl"].result_list
    assert [attempt.number for attempt in listed] == [3, 2, 1]


@pytest.mark.parametrize("model", TABLES)
def test_lists_take_as_many_queries_for_many_rows_as_for_few(lead: Client, model: type[Any]) -> None:
    some_work()

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert lead.get(url(model)).status_code == 200
        return len(captured)

    queries()
    few = queries()
    for number in range(4):
        some_work(f"plan-{number}", f"other-{number}")
    assert queries() == few


def act(lead: Client, model: type[Any], action: str, *rows: str, **more: Any) -> str:
    answer = lead.post(url(model), {"action": action, "_selected_action": rows, "index": 0, **more}, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def test_abandon_asks_for_a_reason_and_then_acts(lead: Client) -> None:
    ids = some_work()
    asked = act(lead, Node, "abandon_nodes", ids["b"])
    assert "held by worker-1" in asked and f'name="fence_{ids["b"]}" value="1"' in asked
    again = act(lead, Node, "abandon_nodes", ids["b"], confirmed="1", reason=" ")
    assert "Say why" in again and states(ids)["b"] == "running"
    done = act(lead, Node, "abandon_nodes", ids["b"], confirmed="1", reason="hung", **{f"fence_{ids['b']}": "1"})
    assert "b is ready now" in done
    assert Event.objects.get(type="node.abandoned").reason == "hung"


def test_the_fence_of_the_confirming_page_counts_and_refusals_are_messages(lead: Client) -> None:
    ids = some_work()
    stale = act(lead, Node, "abandon_nodes", ids["b"], confirmed="1", reason="x", **{f"fence_{ids['b']}": "7"})
    assert "Refused for b: The current fence is 1. Nothing was changed." in stale
    nobody = act(lead, Node, "abandon_nodes", ids["a/two"], confirmed="1", reason="x")
    assert "nobody held it when you were asked" in nobody
    assert states(ids)["b"] == "running"


def test_leases_are_abandoned_by_their_own_fence(lead: Client) -> None:
    ids = some_work()
    lease = Lease.objects.get(ended_at=None)
    act(lead, Lease, "abandon_leases", lease.id, confirmed="1", reason="x", **{f"fence_{lease.id}": "1"})
    assert states(ids)["b"] == "ready"


def test_unblock_is_an_action_too(lead: Client) -> None:
    ids = some_work()
    done = act(lead, Node, "unblock_nodes", ids["c"], ids["b"], confirmed="1", reason="fixed")
    assert "Unblocked: c is ready now." in done
    assert "Refused for b: b is running, not blocked. Nothing was changed." in done


def test_too_many_rows_at_once_are_refused(lead: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = some_work()
    monkeypatch.setattr("tasksite.admin_acts.MOST", 1)
    assert "At most 1 rows at once" in act(lead, Node, "unblock_nodes", ids["c"], ids["b"])


def test_staff_without_further_rights_see_all_of_ours_and_others_nothing(client: Client) -> None:
    ids = some_work()
    client.force_login(User.objects.create_user("bob", password="pw", is_staff=True))
    assert client.get(url(Node)).status_code == 200
    assert "c is ready now" in act(client, Node, "unblock_nodes", ids["c"], confirmed="1", reason="ok")
    assert client.get("/admin/auth/user/").status_code == 403
    client.force_login(User.objects.create_user("sam", password="pw"))
    assert client.get(url(Node)).status_code == 302


def test_every_table_of_ours_but_the_kept_answers_is_there() -> None:
    ours = {model for label in ("graph", "leases") for model in apps.get_app_config(label).get_models()}
    there = {model for model in admin.site._registry if model._meta.app_label in ("graph", "leases")}
    assert {model.__name__ for model in ours - there} == {"Answer"}
