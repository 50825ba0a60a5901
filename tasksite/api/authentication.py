"""Who calls: `Authorization: Bearer <token>`, and nothing else. No cookies, so nothing to forge across sites."""

from typing import cast

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from graph.actors import Caller
from leases import tokens
from tasksite.api.errors import Unauthenticated
from tasksite.api.problems import CHALLENGE


class BearerAuthentication(BaseAuthentication):
    """`request.user` becomes the Caller, `request.auth` the moment at which the token was found valid."""

    def authenticate(self, request: Request) -> tuple[Caller, int]:
        scheme, _, secret = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthenticated("The header Authorization must be given: Bearer, a space and a token.")
        verified = tokens.verify(secret.strip())
        if verified is None:
            raise Unauthenticated("The token is unknown, expired or revoked.")
        return verified.caller, verified.now

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


def caller_of(request: Request) -> Caller:
    return cast(Caller, request.user)
