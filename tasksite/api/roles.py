"""Who may call what. Each operation declares its access; one that does not is closed to everybody."""

from enum import StrEnum
from typing import TYPE_CHECKING

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from leases.models import Role
from tasksite.api.authentication import caller_of
from tasksite.api.errors import Forbidden

if TYPE_CHECKING:  # the framework reads its settings, and so this module, before it has views
    from rest_framework.views import APIView


class Access(StrEnum):
    ANYONE = "anyone"
    WORKER = "worker"
    LEAD = "lead"

    def admits(self, role: str) -> bool:
        """A lead may do all that a worker may."""
        return self is not Access.LEAD or role == Role.LEAD


class HasAccess(BasePermission):
    """Asks the operation (`tasksite.api.operations`) that the method leads to."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        method = "get" if request.method == "HEAD" else (request.method or "").lower()
        handler = getattr(view, method, None) if method in view.http_method_names else None
        if handler is None:
            return True  # there is nothing to guard: the answer is 405
        operation = getattr(handler, "operation", None)
        if operation is None:
            raise Forbidden("Nobody may call this.")
        if operation.access is Access.ANYONE:
            return True
        if not operation.access.admits(caller_of(request).role):
            raise Forbidden(f"This takes a {operation.access} token.")
        return True
