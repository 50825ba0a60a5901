"""The overview in a real browser: it follows the work without a reload, and the lead acts from it."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from leases.claim import Grant, claim
from leases.settle import reject, report
from tests.browser import Visitor
from tests.builders import make_plan, make_worker, states

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


def held(grant: Grant) -> dict[str, Any]:
    return {"node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence}


def test_a_plan_drains_before_the_readers_eyes(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}, "two": {"needs": ["a/one"]}}}}, name="pay")
    worker = make_worker()
    person = arrive("sam", lead=False)
    page = person.page
    page.evaluate("document.body.dataset.loaded = 'once'")
    for key in ("a/one", "a/two"):
        grant = claim(node_id=ids[key], caller=worker)
        expect(page.locator(".lanes")).to_contain_text(key)
        expect(page.locator(".lanes")).to_contain_text("worker-1")
        report(**held(grant), caller=worker, outcome="done", summary=f"report of {key}")
    expect(page.locator(".drained")).to_contain_text("report of a/two")
    expect(page.locator(".timeline")).to_contain_text("worker-1 finished a/two")
    assert page.evaluate("document.body.dataset.loaded") == "once"
    assert person.faults == []


def test_a_stale_claim_is_abandoned_and_the_second_lead_is_told(
    arrive: Callable[..., Visitor], clock: Callable[[int], None]
) -> None:
    ids = make_plan({"a": {}})
    worker = make_worker()
    claim(node_id=ids["a"], caller=worker, ttl_s=5)
    first, second = arrive("ann"), arrive("bob")
    clock(90)
    for lead in (first, second):
        lead.page.locator(".banner").get_by_role("link", name="Abandon").click()
        lead.page.get_by_label("Reason").fill(f"it is gone, says {lead.url}")
    submit = first.page.get_by_role("button", name="Abandon the claim")
    submit.click()
    expect(first.page.locator("#notices")).to_contain_text("The claim is abandoned: a is ready now.")
    expect(first.page.locator("dialog")).not_to_be_visible()
    expect(first.page.locator(".banner")).to_have_count(0)
    claim(node_id=ids["a"], caller=worker)
    second.page.get_by_role("button", name="Abandon the claim").click()
    expect(second.page.get_by_role("alert")).to_contain_text("The current fence is 2. Nothing was changed.")
    expect(second.page.locator("dialog")).to_contain_text("holds a newer one")
    assert states(ids)["a"] == "running"
    assert first.faults == second.faults == []


def test_unblocking_by_keyboard_alone(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan({"a": {}})
    worker = make_worker()
    grant = claim(node_id=ids["a"], caller=worker)
    for _ in range(3):
        reject(**held(grant), caller=worker, reason="the fixture is missing")
    person = arrive()
    page = person.page
    page.locator(".blocked").get_by_role("link", name="Unblock").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).not_to_be_visible()
    page.keyboard.press("Enter")  # the focus is back where it was
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("it is there now")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#notices")).to_contain_text("Unblocked: a is ready now.")
    expect(page.locator(".blocked")).to_have_count(0)
    assert person.faults == []


def test_all_of_it_works_without_scripts(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan({"a": {}})
    claim(node_id=ids["a"], caller=make_worker())
    person = arrive(java_script_enabled=False)
    page = person.page
    page.locator(".lanes > li").hover()
    page.locator(".lanes").get_by_role("link", name="Abandon").click()
    page.get_by_label("Reason").fill("by hand")
    page.get_by_role("button", name="Abandon the claim").click()
    expect(page.locator("#notices")).to_contain_text("The claim is abandoned: a is ready now.")
    assert states(ids)["a"] == "ready" and person.faults == []


def test_a_server_that_does_not_answer_is_said_and_forgiven(arrive: Callable[..., Visitor]) -> None:
    person = arrive()
    page = person.page
    page.route("**/*", lambda route: route.abort())
    make_plan({"a": {}})  # it is told of it, and cannot ask
    expect(page.locator("#offline")).to_be_visible()
    page.unroute("**/*")
    expect(page.locator("#offline")).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_in_light_and_dark(
    arrive: Callable[..., Visitor], clock: Callable[[int], None], scheme: str
) -> None:
    ids = make_plan({"an-objective-with-a-rather-long-key": {"tasks": {"a-task-with-a-rather-long-key-too": {}}}})
    claim(node_id=ids["an-objective-with-a-rather-long-key/a-task-with-a-rather-long-key-too"], caller=make_worker())
    clock(90)
    person = arrive(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page = person.page
    expect(page.locator(".banner")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((part) => part < 60)")
    assert dark == (scheme == "dark")
    assert person.faults == []


def test_the_admin_stands_under_the_same_policy(arrive: Callable[..., Visitor], clock: Callable[[int], None]) -> None:
    ids = make_plan({"a": {}})
    claim(node_id=ids["a"], caller=make_worker(), ttl_s=5)
    clock(90)
    person = arrive()
    page = person.page
    page.goto(f"{person.url}/admin/graph/node/")
    expect(page.locator(".banner")).to_contain_text("1 stale claim")
    page.locator("#action-toggle").check()
    page.locator("select[name=action]").select_option("abandon_nodes")
    page.locator("button[name=index]").click()  # its words differ between releases
    page.get_by_label("Reason").fill("from the admin")
    page.get_by_role("button", name="Abandon the claim").click()
    expect(page.locator(".messagelist")).to_contain_text("The claim is abandoned: a is ready now.")
    assert person.faults == []
