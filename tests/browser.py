"""A real Chromium for tests: Debian's, which Playwright drives. Without one they are skipped, under CI they fail."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

# Without these Chromium asks its maker's servers for updates and lists, at every start.
FLAGS: Final = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def executable() -> str:
    found = shutil.which("chromium")
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no chromium, and under CI it must be there")
        pytest.skip("there is no chromium on this machine")
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    path = executable()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visitor:
    """One person at one browser window, and all that went wrong in it."""

    page: Page
    url: str
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda said: self._note(said.type in ("error", "warning"), said.text))
        self.page.on("pageerror", lambda error: self._note(True, str(error)))
        self.page.on("request", lambda asked: self._note(not self._ours(asked.url), f"asked for {asked.url}"))

    def _ours(self, address: str) -> bool:
        return urlsplit(address).netloc == urlsplit(self.url).netloc

    def _note(self, wrong: bool, text: str) -> None:
        if wrong:
            self.faults.append(text)

    def sign_in(self, name: str, password: str) -> None:
        self.page.goto(f"{self.url}/login/")
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("heading", name="Plans").wait_for()


def visitor(browser: Browser, url: str, **context: Any) -> Visitor:
    opened: BrowserContext = browser.new_context(**context)
    opened.set_default_timeout(30_000)
    return Visitor(opened.new_page(), url)
