"""Who may see the pages and who may act: everybody who is signed in sees, leads act. Staff are the leads."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import resolve_url
from django.utils.http import urlencode
from django_htmx.http import HttpResponseClientRedirect

from graph.actors import Caller
from leases.models import Role

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def is_lead(user: AbstractBaseUser | AnonymousUser) -> bool:
    return bool(user.is_active and getattr(user, "is_staff", False))


def caller_of(user: AbstractBaseUser | AnonymousUser) -> Caller:
    """The lead as the services know one: by name, and without a token, so that no lease is ever theirs."""
    if not is_lead(user):
        raise PermissionDenied
    return Caller(user.get_username(), Role.LEAD)


def is_fragment(request: HttpRequest) -> bool:
    """Whether htmx asks for the part of the page that it swaps, and not the browser for a whole page."""
    htmx = request.htmx  # type: ignore[attr-defined]  # set by django_htmx's middleware
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def _shown_page(request: HttpRequest) -> str:
    """The page that the fragment was to become a part of."""
    return request.htmx.current_url_abs_path or "/"  # type: ignore[attr-defined]


def _sign_in(then: str) -> str:
    return f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': then})}"


def signed_in(view: View[P]) -> View[P]:
    """Others go to the sign-in page; a page whose session ended goes there as a whole."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        if is_fragment(request):
            return HttpResponseClientRedirect(_sign_in(_shown_page(request)))
        return redirect_to_login(request.get_full_path())

    return guarded


def leads_only(view: View[P]) -> View[P]:
    """403 for those who see and do not act."""

    @signed_in
    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not is_lead(request.user):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded
