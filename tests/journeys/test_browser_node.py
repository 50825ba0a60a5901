"""A node's page in a real browser: a lead reads why it stands still and acts, beside another lead who does the same."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from graph.models import Edge, Node
from leases.claim import claim
from leases.settle import reject, report
from tests.browser import Visitor
from tests.builders import make_plan, make_worker, states
from tests.doors.people import held

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


def visit(person: Visitor, node_id: str) -> Page:
    person.page.goto(f"{person.url}/nodes/{node_id}/")
    return person.page


def ask(page: Page, name: str) -> None:
    """Open the dialog of an act, by a link that may show itself only under the pointer."""
    page.get_by_role("link", name=name).dispatch_event("click")
    expect(page.get_by_label("Reason")).to_be_focused()


def act(page: Page, button: str, reason: str) -> None:
    page.get_by_label("Reason").fill(reason)
    page.get_by_role("button", name=button).click()


def test_a_lead_finds_the_cause_and_unblocks_it_from_there(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan(
        {"db": {"tasks": {"setup": {}, "tables": {"needs": ["db/setup"]}}}, "api": {"needs": ["db/tables"]}}
    )
    worker = make_worker()
    grant = claim(node_id=ids["db/setup"], caller=worker)
    for _ in range(3):
        reject(**held(grant), caller=worker, reason="the fixture is missing")
    person = arrive()
    page = visit(person, ids["api"])
    expect(page.locator(".causes")).to_contain_text("which waits for db/setup")
    expect(page.locator(".causes")).to_contain_text("the fixture is missing")
    ask(page, "Unblock… db/setup")
    expect(page.locator(".preview")).to_contain_text("It becomes ready, and nothing else moves.")
    act(page, "Unblock", "it is there now")
    expect(page.locator("#notices")).to_contain_text("Unblocked: db/setup is ready now.")
    expect(page.locator(".causes")).to_contain_text("ready, nobody")
    claim(node_id=ids["db/setup"], caller=worker)
    expect(page.locator(".causes")).to_contain_text("running, worker-1")  # without a reload
    assert states(ids)["db/setup"] == "running" and person.faults == []


def test_waiving_says_what_becomes_ready_before_it_does_it(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"], "tasks": {"one": {}, "two": {"needs": ["b/one"]}}}})
    person = arrive()
    page = visit(person, ids["b"])
    ask(page, "Waive… that it needs a")
    preview = page.locator(".preview")
    expect(preview).to_contain_text("b becomes ready.")
    expect(preview).to_contain_text("1 will be ready")
    expect(preview).to_contain_text("b/one")
    assert states(ids)["b/one"] == "pending"
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).not_to_be_visible()
    ask(page, "Waive… that it needs a")
    act(page, "Waive the need", "good enough")
    expect(page.locator("#notices")).to_contain_text("Waived: b is ready now. 1 became ready: b/one.")
    expect(page.locator("dialog")).not_to_be_visible()
    expect(page.locator(".tag")).to_have_text("waived")
    expect(page.locator(".reason")).to_contain_text("good enough")
    assert states(ids) == {"a": "ready", "b": "ready", "b/one": "ready", "b/two": "pending"}
    assert person.faults == []


def test_reopening_names_what_falls_back_before_it_does_it(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan({"a": {}, **{key: {"needs": ["a"]} for key in ("falls", "runs", "ended")}})
    worker = make_worker()
    report(**held(claim(node_id=ids["a"], caller=worker)), caller=worker, outcome="done", summary="all of it")
    report(**held(claim(node_id=ids["ended"], caller=worker)), caller=worker, outcome="done")
    claim(node_id=ids["runs"], caller=worker)
    person = arrive()
    page = visit(person, ids["a"])
    ask(page, "Reopen")
    for said in ("It becomes ready.", "1 will fall back and wait", "1 will run on", "1 will stay settled"):
        expect(page.locator(".preview")).to_contain_text(said)
    assert states(ids)["a"] == "done"
    act(page, "Reopen", "half of it was missing")
    told = "Reopened: a is ready now. 1 fell back to waiting: falls. 1 kept running: runs. 1 stayed settled: ended."
    expect(page.locator("#notices")).to_contain_text(told)
    expect(page.locator(".node-state")).to_contain_text("ready")
    visit(person, ids["runs"])
    expect(page.locator("main")).to_contain_text("Upstream reopened.")
    assert states(ids) == {"a": "ready", "falls": "pending", "runs": "running", "ended": "done"}
    assert person.faults == []


def test_the_slower_of_two_leads_is_told_and_sees_what_the_other_did(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    first, second = arrive("ann"), arrive("bob")
    for lead in (first, second):
        ask(visit(lead, ids["b"]), "Waive… that it needs a")
    act(first.page, "Waive the need", "says ann")
    expect(first.page.locator("#notices")).to_contain_text("Waived: b is ready now.")
    expect(second.page.locator(".node-state")).to_contain_text("ready")  # behind the dialog
    act(second.page, "Waive the need", "says bob")
    expect(second.page.get_by_role("alert")).to_contain_text("The edge is waived already. Nothing was changed.")
    expect(second.page.get_by_label("Reason")).to_have_count(0)
    second.page.get_by_role("link", name="Back").click()
    expect(second.page.locator("dialog")).not_to_be_visible()
    expect(second.page.locator(".reason")).to_contain_text("says ann")
    assert Edge.objects.get().waive_reason == "says ann"
    assert first.faults == second.faults == []


HOSTILE = """# <script>document.title = "taken"</script>

<img src=x onerror="document.title = 'taken'"> ![pixel](https://elsewhere.example/pixel.png)
[run](javascript:document.title='taken') <svg onload="document.title='taken'"> <style>body { display: none }</style>

| a | b |
|:-:|--:|
| 1 | <iframe src="https://elsewhere.example/"></iframe> |
"""


def test_nothing_in_a_hostile_text_lives(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan({"a": {}})
    Node.objects.update(body=HOSTILE, title="<img src=x onerror=alert(1)>")
    person = arrive()
    page = visit(person, ids["a"])
    prose = page.locator(".prose")
    expect(prose).to_contain_text("<script>")
    assert prose.locator("script, img, svg, style, iframe, [onerror], [onload], [style]").count() == 0
    assert [link.get_attribute("href") for link in prose.locator("a").all()] == ["https://elsewhere.example/pixel.png"]
    prose.get_by_text("[run]").click()
    expect(page).to_have_title("a · tasksite")
    assert person.faults == []  # no request off the host, no report of the policy


def test_what_is_unfolded_stays_so_when_the_page_follows_the_work(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    worker = make_worker()
    report(**held(claim(node_id=ids["a"], caller=worker)), caller=worker, outcome="done", result={"rows": 7})
    person = arrive("sam", lead=False)
    page = visit(person, ids["a"])
    page.get_by_text("Result").click()
    expect(page.locator("details pre")).to_be_visible()
    claim(node_id=ids["b"], caller=worker)
    expect(page.locator("section", has_text="Needed by").last).to_contain_text("running")
    expect(page.locator("details pre")).to_be_visible()
    assert page.locator("#live a.button").count() == 0 and person.faults == []


def test_a_claim_that_goes_stale_shows_and_is_abandoned_from_here(
    arrive: Callable[..., Visitor], clock: Callable[[int], None]
) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    claim(node_id=ids["a"], caller=make_worker(), ttl_s=5)
    person = arrive()
    page = visit(person, ids["b"])
    expect(page.locator(".causes")).to_contain_text("running, worker-1")
    clock(90)
    expect(page.locator(".causes")).to_contain_text("stale, worker-1 silent")
    expect(page.locator(".banner")).to_contain_text("1 stale claim")
    ask(page, "Abandon the claim… a")
    expect(page.locator("dialog")).to_contain_text("stale for 1 min")
    act(page, "Abandon the claim", "it is gone")
    expect(page.locator("#notices")).to_contain_text("The claim is abandoned: a is ready now.")
    expect(page.locator(".banner")).to_have_count(0)
    expect(page.locator(".causes")).to_contain_text("ready, nobody")
    assert person.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(arrive: Callable[..., Visitor], scheme: str) -> None:
    long = "a-rather-long-key-that-goes-on-and-on-until-it-is-sixty-long"
    ids = make_plan({long: {"tasks": {long: {}, "b": {"needs": [f"{long}/{long}"]}}}})
    Node.objects.update(title="t" * 300, body=f"{'w' * 300}\n\n```\n{'c' * 300}\n```\n\n| {'h' * 90} | b |\n|--|--|\n")
    person = arrive(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    for key in (long, f"{long}/{long}", f"{long}/b"):
        page = visit(person, ids[key])
        expect(page.locator("#node-title")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    ask(page, f"Waive… that it needs {long}/{long}")
    assert page.evaluate("document.querySelector('dialog').scrollWidth") <= 360
    assert person.faults == []


def test_all_of_it_works_without_scripts(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan({"a": {}})
    person = arrive(java_script_enabled=False)
    page = visit(person, ids["a"])
    page.get_by_role("link", name="Cancel the work").click()
    expect(page.locator(".preview")).to_contain_text("It becomes cancelled, and nothing else moves.")
    act(page, "Cancel the work", "by hand")
    expect(page.locator("#notices")).to_contain_text("Cancelled: a is cancelled now.")
    expect(page.locator(".node-state")).to_contain_text("cancelled")
    assert states(ids)["a"] == "cancelled" and person.faults == []
