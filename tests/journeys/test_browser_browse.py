"""Lanes, search and the keyboard in a real browser: seen without a reload, found without a mouse."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from graph.models import Event
from leases.claim import Grant, claim, claim_next
from leases.settle import reject, report
from tests.browser import Visitor, visitor
from tests.builders import make_plan, make_worker
from tests.journeys.conftest import PASSWORD

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


def held(grant: Grant) -> dict[str, Any]:
    return {"node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence}


def width(page: Page) -> float:
    return float((page.locator(".lanes rect.growing").first.get_attribute("width") or "").rstrip("%"))


def test_lanes_fill_and_the_pool_empties_before_the_readers_eyes(
    arrive: Callable[..., Visitor], clock: Callable[[int], None]
) -> None:
    make_plan({key: {"tasks": {"one": {}, "two": {}}} for key in ("a", "b")})
    worker = make_worker()
    person = arrive("sam", lead=False)
    page = person.page
    page.evaluate("document.body.dataset.loaded = 'once'")
    expect(page.locator(".pool > li")).to_have_count(4)
    for done in range(0, 4, 2):
        grants = [claim_next(caller=worker, ttl_s=600) for _ in range(2)]
        expect(page.locator(".lanes rect.claim-running")).to_have_count(2)  # two lanes side by side
        before = width(page)
        page.wait_for_function(
            "before => parseFloat(document.querySelector('rect.growing').getAttribute('width')) > before", arg=before
        )
        clock(60)
        for grant in grants:
            assert grant is not None
            report(**held(grant), caller=worker, outcome="done")
        expect(page.locator(".lanes rect.claim-done")).to_have_count(done + 2)
        expect(page.locator(".lanes rect.claim-running")).to_have_count(0)
    expect(page.locator(".pool")).to_have_count(0)
    expect(page.get_by_text("The pool is empty: everything is settled.")).to_be_visible()
    assert page.evaluate("document.body.dataset.loaded") == "once"
    assert person.faults == []


def test_live_bars_grow_by_the_script_alone(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan({"a": {}})
    claim(node_id=ids["a"], caller=make_worker(), ttl_s=600)
    person = arrive()
    page = person.page
    page.route("**/*", lambda route: route.abort())  # nothing comes from the server any more
    before, slid = width(page), page.locator(".lanes svg.slide").get_attribute("x")
    page.wait_for_timeout(2500)
    assert width(page) > before
    assert page.locator(".lanes svg.slide").get_attribute("x") != slid


def test_a_bar_opens_its_node_and_a_row_its_lane(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}}}})
    claim(node_id=ids["a/one"], caller=make_worker(), holder="a/strange one", ttl_s=600)
    person = arrive()
    page = person.page
    page.locator(".lanes .track").get_by_role("link", name=re.compile("^a.one: running")).click(force=True)
    expect(page).to_have_url(f"{person.url}/nodes/{ids['a/one']}/")
    page.go_back()
    page.locator(".lanes").get_by_role("link", name="a", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Lane a")
    page.get_by_role("link", name="a/strange one").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Worker a/strange one")
    assert page.url == person.url + reverse("worker", args=["a/strange one"])
    assert person.faults == []


def test_search_answers_while_one_types(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan({"api": {"tasks": {"schema": {}, "rest": {}}}, "web": {}})
    person = arrive()
    page = person.page
    press(page, "/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("api/")
    expect(page.locator("#found a")).to_have_count(2)
    page.keyboard.type("xyz")
    expect(page.locator("#found")).to_contain_text("Nothing is called “api/xyz”.")
    for _ in "xyz":
        page.keyboard.press("Backspace")
    expect(page.locator("#found a")).to_have_count(2)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#found a").nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    expect(page.locator("#search")).to_be_focused()
    expect(page.locator("#found a")).to_have_count(0)
    page.keyboard.press("Enter")  # the whole page, as it is without scripts
    expect(page).to_have_url(re.compile(r"/search/\?q=api%2F$"))
    expect(page.locator("main .found a")).to_have_count(2)
    page.locator("main .found a").first.click()
    expect(page).to_have_url(re.compile(f"/nodes/({ids['api/schema']}|{ids['api/rest']})/"))
    assert person.faults == []


def press(page: Page, keys: str) -> None:
    """One key after the other, once the page's scripts listen."""
    page.wait_for_load_state("domcontentloaded")
    for key in keys.split():
        page.keyboard.press(key)


def test_by_keyboard_alone_in_to_a_node_and_back(browser: Browser, live_server: Any) -> None:
    ids = make_plan({"api": {"tasks": {"schema": {}, "rest": {}}}, "web": {}})
    User.objects.create_user("kim", password=PASSWORD, is_staff=True)
    person = visitor(browser, live_server.url)
    page = person.page
    page.goto(f"{person.url}/login/")
    keys = page.keyboard
    page.get_by_label("Name").wait_for()
    for _ in range(5):  # the first field has the focus, or Tab leads to it
        if page.evaluate("document.activeElement.name") == "username":
            break
        keys.press("Tab")
    keys.type("kim")
    keys.press("Tab")
    keys.type(PASSWORD)
    keys.press("Enter")
    page.get_by_role("heading", name="Plans").wait_for()
    press(page, "/")
    keys.type("schema")
    expect(page.locator("#found a")).to_have_count(1)
    press(page, "ArrowDown")
    press(page, "Enter")
    expect(page).to_have_url(f"{person.url}/nodes/{ids['api/schema']}/")
    press(page, "g o")
    expect(page).to_have_url(f"{person.url}/")
    page.get_by_role("heading", name="Plans").wait_for()
    lane = page.locator(".lanes").get_by_role("link", name="api", exact=True)
    press(page, "j j k")
    for _ in range(5):  # rows of other lists stand before it
        if lane.evaluate("link => link === document.activeElement"):
            break
        press(page, "j")
    expect(lane).to_be_focused()
    press(page, "Enter")
    expect(page).to_have_url(f"{person.url}/lanes/{ids['api']}/")
    press(page, "g e")
    expect(page.get_by_role("heading", level=1)).to_have_text("Events")
    press(page, "g w")
    expect(page.get_by_role("heading", level=1)).to_have_text("Workers")
    press(page, "?")
    expect(page.locator("dialog")).to_be_visible()
    press(page, "g o")
    press(page, "Escape")
    expect(page.locator("dialog")).not_to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("Workers")  # nothing fires under the sheet
    assert person.faults == []


def test_nothing_fires_while_one_types(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan({"a": {}})
    claim(node_id=ids["a"], caller=make_worker(), ttl_s=600)
    person = arrive()
    page = person.page
    page.locator(".lanes > li").hover()
    page.locator(".lanes").get_by_role("link", name="Abandon").click()
    page.get_by_label("Reason").press_sequentially("go? j/k")
    assert page.get_by_label("Reason").input_value() == "go? j/k"
    page.keyboard.press("Escape")
    page.goto(f"{person.url}/events/")
    page.get_by_label("By").press_sequentially("gw/?")
    assert page.get_by_label("By").input_value() == "gw/?" and page.url.endswith("/events/")
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("Control+j")
    expect(page.locator("#search")).not_to_be_focused()
    assert person.faults == []


def test_the_events_page_is_live_and_keeps_what_one_types(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan({"a": {}})
    person = arrive()
    page = person.page
    page.goto(f"{person.url}/events/")
    page.get_by_label("By").fill("bee")
    grant = claim(node_id=ids["a"], caller=(bee := make_worker("bee")))
    expect(page.locator(".events")).to_contain_text("bee started a")
    assert page.get_by_label("By").input_value() == "bee"
    page.get_by_label("Type").select_option("node.running")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".events > li")).to_have_count(1)
    report(**held(grant), caller=bee, outcome="done")
    page.locator(".events .when").click()
    seq = Event.objects.get(type="node.running").seq
    expect(page).to_have_url(f"{person.url}/events/{seq}/")
    expect(page.locator("main")).to_contain_text('"by": "claim"')
    assert person.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_a_phone(
    arrive: Callable[..., Visitor], clock: Callable[[int], None], scheme: str
) -> None:
    long = "a-rather-long-key-" * 5
    ids = make_plan({long: {"tasks": {long: {}, "two": {}}}, "b": {"needs": [f"{long}/{long}"]}}, name="p" * 90)
    worker = make_worker("w" * 90)
    grant = claim(node_id=ids[f"{long}/two"], caller=worker)
    report(**held(grant), caller=worker, outcome="done", summary="s" * 300)
    grant = claim(node_id=ids[f"{long}/{long}"], caller=worker, ttl_s=30)
    reject(**held(grant), caller=worker, reason="r" * 300)
    clock(90)
    person = arrive(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page = person.page
    last = Event.objects.order_by("-seq")[0].seq
    for path in (
        "/", f"/lanes/{ids[long]}/", "/workers/", reverse("worker", args=["w" * 90]), "/events/", f"/events/{last}/",
        "/search/?q=rather",
    ):  # fmt: skip
        page.goto(person.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
    page.locator("#search").fill("rather-")
    expect(page.locator("#found a").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert person.faults == []
