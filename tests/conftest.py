"""What every room of the tests may use."""

from collections.abc import Iterator

import pytest
from django.db import connection


@pytest.fixture
def on_postgresql() -> None:
    """Skips the test on SQLite, which cannot show what it is about."""
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL can show this")


@pytest.fixture(autouse=True)
def _fresh_cache() -> Iterator[None]:
    """Nothing that one test cached is seen by the next."""
    from django.core.cache import cache

    yield
    cache.clear()
