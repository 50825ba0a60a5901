"""What every room of the tests may use."""

import os
import shutil
from collections.abc import Iterator

import pytest
from django.db import connection

from graph import ids


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes long comes first, so that at the end no process works alone; else the order stays the random one."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    if os.environ.get("TEST_DATABASE") == "postgresql":  # what knows no database was tried with SQLite
        same = [item for item in items if not uses_database(item)]
        items[:] = [item for item in items if uses_database(item)]
        config.hook.pytest_deselected(items=same)


def uses_database(item: pytest.Item) -> bool:
    fixtures: list[str] = getattr(item, "fixturenames", [])
    return item.get_closest_marker("django_db") is not None or not {"db", "transactional_db"}.isdisjoint(fixtures)


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
