"""Signing in, throttled: a name from an address gets so many wrong tries in a while, and then waits.

Nobody else is held up by that, not even the same name from elsewhere. A try is counted before the password is looked
at, and taken back when it was right: however many come at once, no more than these are answered.
"""

import hashlib
import ipaddress
import logging
from typing import Any, Final

from django.conf import settings
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

from graph import clock, sql
from graph.errors import Refusal
from graph.transaction import entry

log = logging.getLogger(__name__)

PASSED: Final = "DELETE FROM tasksite_failedsignin WHERE last_at <= %s"
# No row comes back where all tries have been used.
COUNT: Final = """
    INSERT INTO tasksite_failedsignin (who, failures, last_at) VALUES (%s, 1, %s)
    ON CONFLICT (who) DO UPDATE SET failures = tasksite_failedsignin.failures + 1, last_at = excluded.last_at
    WHERE tasksite_failedsignin.failures < %s RETURNING failures"""
LAST: Final = "SELECT last_at FROM tasksite_failedsignin WHERE who = %s"
FORGET: Final = "DELETE FROM tasksite_failedsignin WHERE who = %s"


# Counting


def identity(name: str, address: str) -> str:
    return hashlib.sha256(f"{address}\0{name}".encode()).hexdigest()


@entry
def admit(*, who: str) -> int:
    """Count a try. Answers 0, or how many seconds to wait where there is none left: such a one does not count."""
    now = clock.read()
    window = settings.SIGNIN_WINDOW_S * 1_000_000
    sql.execute(PASSED, [now - window])
    if sql.fetch(COUNT, [who, now, settings.SIGNIN_LIMIT]):
        return 0
    last = int(sql.fetch(LAST, [who])[0][0])
    return max(1, -(-(last + window - now) // 1_000_000))


@entry
def forget(*, who: str) -> None:
    """It was the right password."""
    sql.execute(FORGET, [who])


# Who asks


def address_of(request: HttpRequest) -> str:
    """Where the request comes from: what the outermost of our own proxies saw. Of IPv6 the network, which is one's own.

    What stands further left in the header is the caller's word.
    """
    seen = str(request.META.get("REMOTE_ADDR", ""))
    if settings.PROXIES:
        told = [part.strip() for part in str(request.META.get("HTTP_X_FORWARDED_FOR", "")).split(",")]
        seen = told[-settings.PROXIES] if len(told) >= settings.PROXIES and told[-settings.PROXIES] else seen
    try:
        address = ipaddress.ip_address(seen)
    except ValueError:
        return seen
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False))


# The doors


class Throttled(AuthenticationForm):
    """`waits` is set where the form was refused unread."""

    waits = 0

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if not name or not password or self.request is None:
            return super().clean()
        address = address_of(self.request)
        who = identity(name, address)
        try:
            self.waits = admit(who=who)
        except Refusal as refusal:
            raise ValidationError(refusal.detail, code=refusal.code) from refusal
        if self.waits:
            log.warning("no more tries to sign in for one name from %s", address)
            minutes = -(-self.waits // 60)
            raise ValidationError(
                f"Too many wrong tries with this name from where you are. Try again in {minutes} min.", code="throttled"
            )
        cleaned = super().clean()
        forget(who=who)
        return cleaned


class ThrottledAdmin(Throttled, AdminAuthenticationForm):
    """The same for the admin's own sign-in page."""


class SignIn(LoginView):
    template_name = "pages/login.html"
    form_class = Throttled
    redirect_authenticated_user = True

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        if form.waits:
            response.status_code = 429
            response["Retry-After"] = str(form.waits)
        return response
