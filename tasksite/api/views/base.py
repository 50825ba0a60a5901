"""What all views of the API share: guard, query, body, problem answers, ids out of URLs."""

from collections.abc import Callable, Sequence
from typing import Any

from django.http import HttpResponse
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from graph import ids
from graph.errors import NotFound
from tasksite.api import problems
from tasksite.api.authentication import BearerAuthentication
from tasksite.api.operations import operation_of
from tasksite.api.parsing import NO_BODY, NO_QUERY
from tasksite.api.roles import HasAccess
from tasksite.api.schema.auto import Schema


class ApiView(APIView):
    """`self.params` are the parameters of the query that were given, checked."""

    authentication_classes: Sequence[type[BaseAuthentication]] = (BearerAuthentication,)
    permission_classes: Sequence[type[BasePermission]] = (HasAccess,)
    http_method_names = ("get", "head", "post")
    schema = Schema()
    params: dict[str, Any]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        operation = operation_of(self, request.method or "")
        self.params = (operation.query if operation else NO_QUERY).read(request)

    def body(self, request: Request) -> dict[str, Any]:
        """The fields of the body that were given, checked as the operation declares them."""
        operation = operation_of(self, request.method or "")
        return ((operation and operation.body) or NO_BODY).read(request)

    def get_exception_handler(self) -> Callable[..., HttpResponse]:
        return problems.handler


def known(text: str, what: str = "node") -> str:
    """The id in a URL. What cannot be an id names nothing: raises NotFound."""
    found = ids.parse(text)
    if found is None:
        raise NotFound(f"There is no {what} under that id.")
    return found
