"""Column types that order and compare alike on SQLite and PostgreSQL."""

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from graph.ids import LENGTH

if TYPE_CHECKING:
    Text = models.CharField[str, str]
    Integer = models.BigIntegerField[Any, Any]
    Json = models.TextField[Any, Any]
else:
    Text = models.CharField
    Integer = models.BigIntegerField
    Json = models.TextField

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """Whole microseconds since 1970 UTC, exactly (no float in between)."""
    return (moment - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def iso(micros: int) -> str:
    """The API's spelling of an instant: UTC, always six digits of a second, a Z."""
    return from_micros(micros).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def json_text(value: Any) -> str:
    """As JSON is stored: without spaces, in the order given, every character itself."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class BytewiseField(Text):
    """Text compared by its bytes: SQLite does so by itself, PostgreSQL when its collation is C."""

    def db_parameters(self, connection: BaseDatabaseWrapper) -> dict[str, Any]:
        parameters = super().db_parameters(connection)
        if connection.vendor == "postgresql":
            parameters["collation"] = "C"
        return parameters


class Ulid(BytewiseField):
    """A ULID (`graph.ids`)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["max_length"] = LENGTH
        super().__init__(*args, **kwargs)


class JsonText(Json):
    """JSON, stored as the text that came.

    PostgreSQL's own type reorders objects and writes `1e308` out with all its zeros; nothing here searches in it.
    """

    description = "JSON text"

    def from_db_value(self, value: str | None, *_: object) -> Any:
        return None if value is None else json.loads(value)

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else json_text(value)

    def value_to_string(self, obj: models.Model) -> str:
        return json_text(self.value_from_object(obj))


class InstantField(Integer):
    """A moment, stored as whole microseconds since 1970 UTC.

    SQLite keeps datetimes as text and drops a zero fraction, PostgreSQL has a type of its own: as an
    integer both compare and round alike, and hand-written SQL reads it without parsing.
    """

    description = "moment in microseconds since 1970 UTC"

    if TYPE_CHECKING:  # a datetime is assigned and read, though the column is whole numbers
        _pyi_private_set_type: Any
        _pyi_private_get_type: Any
        _pyi_lookup_exact_type: Any

    def from_db_value(self, value: int | None, *_: object) -> datetime | None:
        return None if value is None else from_micros(value)

    def to_python(self, value: Any) -> Any:
        return from_micros(value) if isinstance(value, int) else value

    def get_prep_value(self, value: Any) -> Any:
        return to_micros(value) if isinstance(value, datetime) else super().get_prep_value(value)

    def formfield(self, **kwargs: Any) -> Any:
        return forms.DateTimeField(required=not self.null)
