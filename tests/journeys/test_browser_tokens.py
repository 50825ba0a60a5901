"""A worker's token in a real browser: made, copied, gone from the page when its reader goes, revoked."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Error, expect

from leases.tokens import authenticate
from tests.browser import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


def test_a_token_is_made_copied_and_revoked(arrive: Callable[..., Visitor]) -> None:
    person = arrive(permissions=["clipboard-read", "clipboard-write"])
    page = person.page
    page.get_by_role("link", name="Tokens").click()
    page.get_by_label("Name").fill("night shift")
    page.get_by_role("button", name="Make a token").click()
    shown = page.locator("#secret").inner_text()
    caller = authenticate(shown)
    assert caller is not None and caller.role == "worker"
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == shown

    page.get_by_role("link", name="Overview").click()
    with pytest.raises(Error, match="ERR_CACHE_MISS"):  # the browser has not kept it, and asks before it sends again
        page.go_back()
    expect(page.locator("body")).not_to_contain_text(shown)
    page.goto(f"{person.url}/tokens/")
    page.get_by_role("link", name="Revoke… night shift").click()
    page.get_by_role("button", name="Revoke the token").click()
    expect(page.locator("#notices")).to_contain_text("The token night shift is revoked.")
    expect(page.locator(".tokens")).to_contain_text("revoked")
    assert authenticate(shown) is None
    assert person.faults == []
