"""PostgreSQL keeps the hot path's statements; what the ORM writes keeps its size."""

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.models import F

from graph import sql

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite keeps statements by itself"),
]
BEYOND_FOUR_BYTES = 3_600_000_000


def prepared(word: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE %s", [f"%{word}%"])
        return int(cursor.fetchone()[0])


def test_a_statement_is_prepared_once_for_all_values() -> None:
    for value in range(5):
        assert sql.fetch("SELECT %s::bigint AS kept_once", [value]) == [(value,)]
    assert prepared("AS kept_once") == 1
    assert prepared("never asked") == 0


def test_large_integers_keep_their_size() -> None:
    assert sql.fetch("SELECT %s::bigint + 1", [BEYOND_FOUR_BYTES]) == [(BEYOND_FOUR_BYTES + 1,)]
    kind = ContentType.objects.annotate(far=F("id") + BEYOND_FOUR_BYTES).first()
    assert kind is not None and kind.far == kind.pk + BEYOND_FOUR_BYTES
