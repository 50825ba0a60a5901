"""What all our tables share in the admin: they are shown, linked and filtered, and never written."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from tasksite.dashboard.access import is_lead

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
else:
    Base = admin.ModelAdmin

Shown = Callable[[Any, Any], Any]
NOTHING = "-"


class ReadOnly(Base):
    """Every lead sees every row; nobody adds, changes or deletes one here.

    Large tables are listed by id, so by index: newest first as far as the hosts' clocks agree. Fences and numbers
    are columns.
    """

    show_full_result_count = False
    list_per_page = 50
    list_max_show_all = 0

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_lead(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return is_lead(request.user)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


def instant(name: str, label: str = "") -> Shown:
    """A column for a moment: Django would format the stored number."""

    @admin.display(description=label or name.removesuffix("_at").replace("_", " "), ordering=name, empty_value=NOTHING)
    def shown(_: Any, row: Any) -> str | None:
        moment = getattr(row, name)
        return None if moment is None else f"{moment:%Y-%m-%d %H:%M:%S} UTC"

    return shown


def linked(name: str, label: str = "") -> Shown:
    """A column that leads to the row which a foreign key points at."""

    @admin.display(description=label or name, empty_value=NOTHING)
    def shown(_: Any, row: Any) -> SafeString | None:
        target = getattr(row, name)
        return None if target is None else link(target)

    return shown


def link(target: Model) -> SafeString:
    meta = target._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[target.pk])
    return format_html('<a href="{}">{}</a>', url, target)


def link_to(model: type[Model], name: str) -> Shown:
    """A field that holds the id of a row, as a link to it; the row is not read for that."""

    @admin.display(description=name, empty_value=NOTHING)
    def shown(_: Any, row: Any) -> SafeString | None:
        found = getattr(row, name)
        if not found:
            return None
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[found])
        return format_html('<a href="{}">{}</a>', url, found)

    return shown


def joined(*links: SafeString) -> SafeString:
    return format_html_join(" · ", "{}", ((each,) for each in links))


def listed(text: str, table: str, **only: str) -> SafeString:
    """A link to a list, narrowed."""
    return format_html('<a href="{}?{}">{}</a>', reverse(f"admin:{table}_changelist"), urlencode(only), text)


def one_of(field: str, values: Iterable[str], title: str = "") -> type[admin.SimpleListFilter]:
    """A filter by values that are known: Django's own would read the whole table to find them."""
    choices = [(value or "none", value or "open") for value in values]

    class Filter(admin.SimpleListFilter):
        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return choices

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            value = self.value()
            return queryset if value is None else queryset.filter(**{field: "" if value == "none" else value})

    Filter.title = title or field
    Filter.parameter_name = f"only_{field}"
    return Filter
