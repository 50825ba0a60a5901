"""Refusals of the front hall itself: those that come before any service is asked."""

from graph.errors import Refusal


class Unauthenticated(Refusal):
    """The request carries no token that is valid now."""

    code = "unauthenticated"


class Forbidden(Refusal):
    """The role of the token does not allow this."""

    code = "forbidden"


class MethodNotAllowed(Refusal):
    """This URL does not answer to that method."""

    code = "method_not_allowed"


class NotAcceptable(Refusal):
    """The answer cannot be given in the media type that is asked for."""

    code = "not_acceptable"


class LengthRequired(Refusal):
    """The request has a body and does not say how long it is."""

    code = "length_required"


class TooLarge(Refusal):
    """The body is larger than this request may be."""

    code = "too_large"


class UnsupportedMediaType(Refusal):
    """The body is of a media type that is not read here."""

    code = "unsupported_media_type"


class Internal(Refusal):
    """The server failed; what happened is in its log."""

    code = "internal"
