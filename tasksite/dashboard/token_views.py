"""The pages of the tokens, for leads: make one and see its secret once, list them, revoke one."""

import logging

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from graph import clock, ids
from graph.errors import Invalid, Refusal
from leases.tokens import create_token, revoke_token
from tasksite.dashboard import acts, tokens
from tasksite.dashboard.access import is_fragment, leads_only
from tasksite.dashboard.tokens import TokenForm

log = logging.getLogger(__name__)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@leads_only
def show_tokens(request: HttpRequest) -> HttpResponse:
    """The list. A new token's secret stands in the answer that made it, and nowhere after it."""
    if request.method != "POST":
        return _page(request, TokenForm())
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=400)
    values = form.cleaned_data
    try:
        token, secret = create_token(name=values["name"], role=values["role"], days=values["days"])
    except Invalid as invalid:
        for name, told in invalid.fields["errors"].items():
            form.add_error(name, [_sentence(text) for text in told])
        return _page(request, form, status=400)
    except Refusal as refusal:
        form.add_error(None, acts.refused(refusal))
        return _page(request, form, status=acts.status_of(refusal))
    log.info("%s made the token %s for the role %s", request.user, token.name, token.role)
    return _page(request, TokenForm(), made=token.name, secret=secret)


def _sentence(told: str) -> str:
    """What a service says of a field, as people read it."""
    return f"It {told}." if told.startswith("must ") else f"{told[:1].upper()}{told[1:]}."


def _page(
    request: HttpRequest, form: TokenForm, *, made: str = "", secret: str = "", status: int = 200
) -> HttpResponse:
    before = request.GET.get("before", "")
    cursor = ids.parse(before) if before else ""
    if cursor is None:
        raise BadRequest("No token has such an id.")
    now = clock.read()
    shown, older = tokens.listed(now, before=cursor)
    context = {"form": form, "tokens": shown, "older": older, "made": made, "secret": secret, "now": now}
    return render(request, "pages/tokens.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@leads_only
def show_revoke(request: HttpRequest, token_id: str) -> HttpResponse:
    """Ask once, then end it: this token, and none that has got its name since."""
    now = clock.read()
    token = tokens.found(token_id, now)
    if token is None:
        raise Http404
    context = {"token": token, "now": now, "fragment": is_fragment(request)}
    if request.method != "POST":
        return _ask(request, context)
    try:
        revoke_token(name=token.name, token_id=token.id)
    except Refusal as refusal:
        return _ask(request, {**context, "refused": acts.refused(refusal)}, status=acts.status_of(refusal))
    log.info("%s revoked the token %s", request.user, token.name)
    messages.success(request, f"The token {token.name} is revoked.")
    there = reverse("tokens")
    return HttpResponseClientRedirect(there) if is_fragment(request) else HttpResponseRedirect(there)


def _ask(request: HttpRequest, context: dict[str, object], *, status: int = 200) -> HttpResponse:
    if is_fragment(request):  # answered as such a form always is: see `views.show_act`
        return render(request, "partials/revoke.html", context)
    return render(request, "pages/revoke.html", context, status=status)
