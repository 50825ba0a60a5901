"""The docs page of the API in a real browser: all of it is from here, the policy stops nothing, and it can be used."""

from typing import Any

import pytest
from django.db import connections
from playwright.sync_api import expect

from leases.models import Role
from leases.tokens import create_token
from tasksite.api.schema.document import openapi
from tests.browser import Visitor, chromium

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


def test_the_docs_page_lists_every_operation_and_tries_one_out(
    live_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    _, secret = create_token(name="w", role=Role.WORKER)
    with chromium() as browser:
        visitor = Visitor(browser.new_page(), live_server.url)
        page = visitor.page
        page.goto(f"{live_server.url}/api/v1/docs/")
        blocks = page.locator(".opblock")
        expect(blocks).to_have_count(sum(map(len, openapi()["paths"].values())))

        page.locator(".btn.authorize").click()
        page.locator("#auth-bearer-value").fill(secret)
        page.locator(".modal-ux .btn.authorize").click()
        page.locator(".modal-ux .btn-done").click()
        status = page.locator("#operations-asking-get_status")
        status.locator(".opblock-summary-control").click()
        status.locator(".try-out__btn").click()
        status.locator(".execute").click()
        expect(status.locator(".live-responses-table .response-col_status").last).to_contain_text("200")
        assert visitor.faults == []
        connections.close_all()
