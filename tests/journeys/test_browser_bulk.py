"""Bulk acts in a real browser: a stale claim, all of them at once, and the second lead who comes too late."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from leases.claim import claim
from leases.settle import reject
from tests.browser import Visitor
from tests.builders import make_plan, make_worker, states

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


def gone(clock: Callable[[int], None], *keys: str) -> dict[str, str]:
    ids = make_plan({key: {} for key in keys})
    worker = make_worker()
    for key in keys:
        claim(node_id=ids[key], caller=worker, ttl_s=5)
    clock(90)
    return ids


def open_all(page: Page) -> None:
    page.locator(".banner").get_by_role("link", name="Abandon all").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def test_a_stale_claim_is_abandoned_in_two_clicks(arrive: Callable[..., Visitor], clock: Callable[[int], None]) -> None:
    ids = gone(clock, "a")
    person = arrive()
    page = person.page
    expect(page.get_by_role("link", name="Abandon all")).to_have_count(0)
    page.locator(".banner").get_by_role("link", name="Abandon").click()
    page.get_by_label("Reason").fill("it is gone")
    page.get_by_role("button", name="Abandon the claim").click()
    expect(page.locator("#notices")).to_contain_text("The claim is abandoned: a is ready now.")
    expect(page.locator(".banner")).to_have_count(0)
    assert states(ids) == {"a": "ready"} and person.faults == []


def test_all_but_one_are_abandoned_at_once(arrive: Callable[..., Visitor], clock: Callable[[int], None]) -> None:
    ids = gone(clock, "a", "b", "c")
    person = arrive()
    page = person.page
    open_all(page)
    all_of_them, boxes = page.get_by_label("All of them"), page.locator("input[name=target]")
    expect(all_of_them).to_be_checked()
    page.get_by_label("b held by").uncheck()
    assert all_of_them.evaluate("box => box.indeterminate")
    all_of_them.check()
    assert all(box.is_checked() for box in boxes.all())
    all_of_them.uncheck()
    page.get_by_label("Reason").fill("the power went")
    submit = page.get_by_role("button", name="Abandon stale claims")
    submit.click()
    expect(page.get_by_role("alert")).to_have_text("Tick at least one.")
    expect(page.get_by_label("Reason")).to_have_value("the power went")
    all_of_them.check()
    page.get_by_label("b held by").uncheck()
    submit.click()
    expect(page.locator("#notices")).to_contain_text("2 claims abandoned.")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".banner")).to_contain_text("1 stale claim")
    assert states(ids) == {"a": "ready", "b": "running", "c": "ready"} and person.faults == []


def test_two_leads_at_once_and_the_second_is_told(arrive: Callable[..., Visitor], clock: Callable[[int], None]) -> None:
    ids = gone(clock, "a", "b")
    first, second = arrive("ann"), arrive("bob")
    for lead in (first, second):
        open_all(lead.page)
        lead.page.get_by_label("Reason").fill("gone")
    first.page.get_by_role("button", name="Abandon stale claims").click()
    expect(first.page.locator("#notices")).to_contain_text("2 claims abandoned.")
    claim(node_id=ids["a"], caller=make_worker("worker-2"))
    second.page.get_by_role("button", name="Abandon stale claims").click()
    expect(second.page.locator("#notices")).to_contain_text("0 claims abandoned, 2 refused.")
    expect(second.page.locator("#notices")).to_contain_text("Refused for a: The current fence is 2.")
    expect(second.page.locator(".banner")).to_have_count(0)  # its page shows what the first one did
    assert states(ids) == {"a": "running", "b": "ready"}
    assert first.faults == second.faults == []


def test_without_scripts_it_is_a_page(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan({"a": {}, "b": {}})
    worker = make_worker()
    for key in ids:
        grant: Any = claim(node_id=ids[key], caller=worker)
        for _ in range(3):
            reject(node_id=ids[key], lease_id=grant.lease.id, fence=1, caller=worker, reason="no network")
    person = arrive(java_script_enabled=False)
    page = person.page
    page.get_by_role("link", name="Unblock these").click()
    expect(page).to_have_url(f"{person.url}/bulk/unblock/")
    page.get_by_label("Reason").fill("there is one now")
    page.get_by_role("button", name="Unblock tasks").click()
    expect(page.locator("#notices")).to_contain_text("2 tasks unblocked.")
    assert {*states(ids).values()} == {"ready"} and person.faults == []
