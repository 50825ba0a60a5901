"""The pages of plans: the list, one plan with its table and its progress, and its file."""

import json
import re
from collections.abc import Iterator

import pytest
import yaml
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph import editing
from graph.models import Node, Plan
from leases.claim import claim_next
from leases.settle import report
from tests.builders import LEAD, make_plan, make_worker
from tests.doors.test_dashboard import HTMX, text

pytestmark = pytest.mark.django_db

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def lead(client: Client) -> Client:
    client.force_login(User.objects.create_user("ann", password="pw", is_staff=True))
    return client


@pytest.fixture
def watcher() -> Iterator[Client]:
    client = Client()
    client.force_login(User.objects.create_user("sam", password="pw"))
    yield client


def plan_page(client: Client, query: str = "", **headers: str) -> str:
    answer = client.get(f"/plans/{Plan.objects.get().id}/{query}", headers=headers)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def settle(count: int) -> None:
    worker = make_worker(f"worker-{Node.objects.count()}-{count}")
    for _ in range(count):
        grant = claim_next(caller=worker)
        assert grant is not None
        report(
            node_id=grant.node.id, lease_id=grant.lease.id, fence=grant.lease.fence, caller=worker, outcome="done"
        )  # fmt: skip


# The list


def test_the_list_shows_each_plan_with_its_progress(lead: Client, watcher: Client) -> None:
    assert "There is no plan yet" in lead.get("/plans/").content.decode()
    make_plan({"a": {}, "b": {}}, name="pay")
    make_plan({"a": {}}, name="ship")
    settle(1)
    for client in (lead, watcher):
        shown = client.get("/plans/").content.decode()
        for plan in Plan.objects.all():
            assert f'<a class="name" href="/plans/{plan.id}/">{plan.name}</a>' in shown
        assert "1 of 3 tasks settled" in text(shown)
    assert Client().get("/plans/")["Location"] == "/login/?next=/plans/"
    assert lead.post("/plans/").status_code == 405


# One plan


def test_a_plan_shows_its_progress_and_its_objectives(watcher: Client) -> None:
    make_plan({"a": {"tasks": {"one": {}, "two": {}}}, "b": {"needs": ["a"]}}, name="pay")
    shown = text(plan_page(watcher))
    assert "pay" in shown and "0 of 3 tasks settled" in shown and "Nothing has settled yet." in shown
    assert re.search(r"a Title of a ready .*0/2", shown) and re.search(r"b Title of b pending", shown)
    assert "Title of one" not in shown
    settle(1)
    shown = plan_page(watcher)
    assert "1 of 3 tasks settled" in text(shown)
    line = re.search(r'<polyline points="([^"]+)"', shown)
    assert line is not None and line[1].startswith("0,100 ") and line[1].endswith(" 1000,67")
    assert len(line[1].split()) == 101


def test_a_reopened_task_takes_the_line_down_again(lead: Client) -> None:
    ids = make_plan({"a": {}, "b": {}})
    settle(2)
    assert " 1000,0" in plan_page(lead)
    editing.reopen(node_id=ids["a"], caller=LEAD, reason="again")
    cache.clear()
    assert re.search(r'<polyline points="[^"]* 1000,50"', plan_page(lead))


def test_an_objective_opens_without_scripts(lead: Client) -> None:
    ids = make_plan({"a": {"tasks": {"one": {"tasks": {"deep": {}}}}}, "b": {"tasks": {"two": {}}}})
    closed = plan_page(lead)
    assert f'href="?open={ids["a"]}#o-{ids["a"]}"' in closed
    shown = plan_page(lead, f"?open={ids['a'].lower()}")
    assert f'href="/nodes/{ids["a/one"]}/">one</a>' in shown and "Title of deep" in shown and "of two" not in shown
    assert shown.index('class="task depth-1"') < shown.index('class="task depth-2"')


def test_a_search_finds_objectives_and_tasks_and_a_state_narrows_it(lead: Client) -> None:
    make_plan({"a": {"tasks": {"one": {}, "two": {"needs": ["a/one"]}}}, "b": {}})
    shown = text(plan_page(lead, "?q=TWO"))
    assert "of two" in shown and "of one" not in shown and "of b" not in shown
    assert "Nothing here is like that." in plan_page(lead, "?q=nowhere")
    shown = text(plan_page(lead, "?state=ready"))
    assert "of one" in shown and "of two" not in shown and "of b" in shown
    part = plan_page(lead, "?q=two", **HTMX)
    assert part.lstrip().startswith('<div id="live"') and "hx-get" in part and "?q=two" in part


@pytest.mark.parametrize("query", ["state=odd", "open=x", "after=-1", "after=x", "after=" + "9" * 30, "q=" + "x" * 201])
def test_a_query_that_cannot_be_read_is_a_bad_request(lead: Client, query: str) -> None:
    make_plan({"a": {}})
    answer = lead.get(f"/plans/{Plan.objects.get().id}/?{query}")
    assert answer.status_code == 400 and "could not be read" in answer.content.decode()


def test_what_is_not_there_is_404(lead: Client) -> None:
    for there in ("", "export.yaml", "export.json"):
        assert lead.get(f"/plans/01ARZ3NDEKTSV4RRFFQ69G5FAV/{there}").status_code == 404


def test_text_from_a_file_is_escaped(lead: Client) -> None:
    make_plan({"a": {"tasks": {"one": {}}}}, name=EVIL)
    Node.objects.update(title=EVIL)
    node_id = Node.objects.get(parent=None).id
    for page in (
        lead.get("/plans/").content.decode(),
        plan_page(lead, f"?open={node_id}"),
        plan_page(lead, f"?q={EVIL}"),
    ):
        assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page


def grown(number: int) -> str:
    """Another plan, and its id."""
    tasks: dict[str, dict[str, object]] = {f"t{n}": {} for n in range(9)}
    make_plan({f"o{n}": {"tasks": tasks} for n in range(60 * number)}, name=f"plan-{number}")
    settle(4)
    return Plan.objects.get(name=f"plan-{number}").id


@pytest.mark.parametrize("query", ["", "?q=t", "?state=ready"])
def test_queries_do_not_grow_with_the_plan_and_the_page_is_bounded(lead: Client, query: str) -> None:
    def cost(plan_id: str) -> tuple[int, int]:
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            answer = lead.get(f"/plans/{plan_id}/{query}")
        return len(queries), len(answer.content)

    small, large = cost(grown(1)), cost(grown(3))
    assert large[0] - small[0] <= (1 if not query else 0), (small, large)  # how many more there are
    assert large[1] < 200_000
    Node.objects.update(title="x" * 500)
    assert cost(Plan.objects.get(name="plan-3").id)[1] < 300_000


def test_objectives_come_in_pages(lead: Client) -> None:
    plan_id = grown(3)
    shown = lead.get(f"/plans/{plan_id}/").content.decode()
    following = re.search(r'and 80 more objectives: <a href="(\?after=\d+)">', shown)
    assert following is not None
    assert shown.count('scope="row"') == 100
    rest = lead.get(f"/plans/{plan_id}/{following[1]}").content.decode()
    assert rest.count('scope="row"') == 80 and "from the first" in rest


# Its file


def test_a_plan_is_exported_as_yaml_and_as_json(watcher: Client) -> None:
    make_plan({"a": {"tasks": {"one": {}, "two": {"needs": ["a/one"]}}}}, name='pa"y')
    there = f"/plans/{Plan.objects.get().id}/export."
    as_yaml, as_json = watcher.get(there + "yaml"), watcher.get(there + "json")
    assert yaml.safe_load(as_yaml.content) == json.loads(as_json.content)
    assert json.loads(as_json.content)["objectives"][0]["tasks"][1]["needs"] == ["one"]
    assert as_yaml["Content-Disposition"] == r'attachment; filename="pa\"y.yaml"'
    assert Client().get(there + "yaml").status_code == 302


def test_what_an_export_leaves_out_stands_at_its_top(lead: Client) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    Node.objects.filter(id=ids["a"]).update(state="cancelled")
    shown = lead.get(f"/plans/{Plan.objects.get().id}/export.yaml").content.decode()
    assert shown.startswith("# warning: b needs a: left out, because a is cancelled.\n")
    assert [objective["key"] for objective in yaml.safe_load(shown)["objectives"]] == ["b"]
