"""What every room of the tests may use."""

import os
import shutil
from collections.abc import Iterator

import pytest
from django.db import connection

from graph import ids


@pytest.fixture
def on_postgresql() -> None:
    """Skips the test on SQLite, which cannot show what it is about."""
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL can show this")


@pytest.fixture
def falling_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each id is smaller than those made before it, as of hosts whose clocks differ; those of one import rise."""
    last = 1 << 127

    def reserve(count: int) -> int:
        nonlocal last
        last -= count
        return last

    monkeypatch.setattr(ids, "_reserve", reserve)


@pytest.fixture(autouse=True)
def _fresh_cache() -> Iterator[None]:
    """Nothing that one test cached is seen by the next."""
    from django.core.cache import cache

    yield
    cache.clear()


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's path. Without one its tests are skipped, but never where CI counts on them."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        message = "there is no chromium on the path"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return path
