"""Refusals as answers: the one table from errors to HTTP status, and problem+json (RFC 9457) for each of them."""

import json
import logging
from collections.abc import Mapping
from typing import Any, Final

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.views import defaults
from rest_framework import exceptions as drf

from graph import errors as graph
from graph.errors import Refusal
from leases import errors as leases
from tasksite.api import errors as hall

log = logging.getLogger(__name__)

STATUS: Final[Mapping[type[Refusal], int]] = {
    graph.Invalid: 400,
    graph.PlanInvalid: 400,
    hall.Unauthenticated: 401,
    hall.Forbidden: 403,
    leases.NotHolder: 403,
    graph.NotFound: 404,
    hall.MethodNotAllowed: 405,
    hall.NotAcceptable: 406,
    graph.NotReady: 409,
    graph.PlanConflict: 409,
    graph.WrongState: 409,
    leases.AncestorIncomplete: 409,
    leases.Container: 409,
    leases.LeaseClosed: 409,
    leases.LeaseExpired: 409,
    leases.LeaseRefused: 409,
    leases.StaleFence: 409,
    hall.LengthRequired: 411,
    hall.TooLarge: 413,
    hall.UnsupportedMediaType: 415,
    leases.IdempotencyMismatch: 422,
    hall.Internal: 500,
    graph.Busy: 503,
}

CONTENT_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = 1
CHALLENGE: Final = 'Bearer realm="tasksite"'
PREFIX: Final = "/api/"


def title(kind: type[Refusal]) -> str:
    """One sentence for the kind of refusal: the first line of its docstring."""
    return (kind.__doc__ or "").strip().splitlines()[0]


def document(refusal: Refusal) -> dict[str, Any]:
    """What the answer says: the members of RFC 9457, our code, and the fields of this refusal."""
    return {
        "type": f"urn:tasksite:problem:{refusal.code}",
        "title": title(type(refusal)),
        "status": STATUS[type(refusal)],
        "detail": refusal.detail,
        "code": refusal.code,
        **refusal.fields,
    }


def answer(refusal: Refusal) -> HttpResponse:
    """The refusal as an HTTP answer."""
    status = STATUS[type(refusal)]
    # ASCII alone: a refusal may quote what a client sent, and that may be no text that UTF-8 can spell.
    response = HttpResponse(json.dumps(document(refusal)), status=status, content_type=CONTENT_TYPE)
    response["Cache-Control"] = "no-store"
    if status == 401:
        response["WWW-Authenticate"] = CHALLENGE
    if status == 503:
        response["Retry-After"] = str(RETRY_AFTER_S)
    return response


def of_drf(error: drf.APIException) -> Refusal:
    """What the framework itself refuses, in our words."""
    if isinstance(error, drf.MethodNotAllowed):
        return hall.MethodNotAllowed()
    if isinstance(error, drf.NotAcceptable):
        return hall.NotAcceptable("Answers are application/json, and application/problem+json for refusals.")
    if isinstance(error, drf.UnsupportedMediaType):
        return hall.UnsupportedMediaType()
    if isinstance(error, drf.NotAuthenticated | drf.AuthenticationFailed):
        return hall.Unauthenticated()
    if isinstance(error, drf.PermissionDenied):
        return hall.Forbidden()
    if isinstance(error, drf.NotFound):
        return graph.NotFound()
    return graph.Invalid({"request": [str(error)]})


def translated(error: Exception) -> Refusal | None:
    """The refusal that an exception comes to, or None where it is a fault of the server."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, drf.APIException):
        return of_drf(error)
    if isinstance(error, Http404):
        return graph.NotFound()
    if isinstance(error, RequestDataTooBig):
        return hall.TooLarge()
    if isinstance(error, SuspiciousOperation):
        return graph.Invalid({"request": ["cannot be read"]})
    if isinstance(error, UnreadablePostError):
        return graph.Invalid({"body": ["ended before its length"]})
    if isinstance(error, OperationalError | InterfaceError):
        log.warning("the database did not answer: %s", error)
        return graph.Busy()
    return None


def handler(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """What DRF calls for an exception in a view: always an answer, and a log entry where the server is at fault."""
    refusal = translated(error)
    if refusal is None:
        view, request = context.get("view"), context["request"]
        log.error("%s %s failed", request.method, request.path, exc_info=error)
        got_request_exception.send(sender=type(view), request=getattr(request, "_request", request))
        refusal = hall.Internal()
    return answer(refusal)


# What Django answers outside of any view: problems below /api/, pages elsewhere.


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not request.path.startswith(PREFIX):
        return defaults.bad_request(request, exception)
    return answer(translated(exception) or graph.Invalid({"request": ["cannot be read"]}))


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not request.path.startswith(PREFIX):
        return defaults.permission_denied(request, exception)
    return answer(hall.Forbidden())


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not request.path.startswith(PREFIX):
        return defaults.page_not_found(request, exception)
    return answer(graph.NotFound("There is nothing at this URL."))


def server_error(request: HttpRequest) -> HttpResponse:
    if not request.path.startswith(PREFIX):
        return defaults.server_error(request)
    return answer(hall.Internal())
