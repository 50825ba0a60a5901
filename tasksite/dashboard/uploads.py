"""A plan file that comes from a page: chosen, dropped, typed, or carried from the page that showed what it changes."""

import base64
import binascii
import zlib
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import HttpRequest

from graph.plan_file import Format, guess_format

CARRIED: Final = 150_000
"""Characters that a page carries, packed. A larger file is sent again."""
TYPED: Final = 100_000
"""Bytes of a file that the page without scripts shows in its box of text, to be mended there."""
SLACK: Final = 4 << 20
"""Bytes of a request beside the file."""


@dataclass(frozen=True, slots=True)
class Upload:
    """What was sent; of a file that is too large as much as shows it."""

    data: bytes
    name: str = ""

    @property
    def form(self) -> Format:
        if self.name.lower().endswith(".json"):
            return Format.JSON
        return guess_format(self.data)

    @property
    def carried(self) -> str:
        """It, packed; empty where that is too large for a page."""
        packed = base64.b64encode(zlib.compress(self.data)).decode()
        return packed if len(packed) <= CARRIED else ""

    @property
    def text(self) -> str:
        """It, for the box of text; empty where it is too large or no text."""
        try:
            return self.data.decode() if len(self.data) <= TYPED else ""
        except UnicodeDecodeError:
            return ""


def too_large(request: HttpRequest) -> bool:
    """Whether the request holds more than a plan file may have: known before anything of it is read."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return not length.isdecimal() or int(length) > settings.PLAN_MAX_BYTES + SLACK


def read(request: HttpRequest) -> Upload | None:
    """What was carried before what was chosen, and that before what was typed; None where nothing was sent."""
    carried = request.POST.get("document", "")
    if carried and "shown" in request.POST:
        return Upload(_unpacked(carried), request.POST.get("name", ""))
    chosen = request.FILES.get("file")
    if chosen is not None:
        return Upload(chosen.read(settings.PLAN_MAX_BYTES + 1), chosen.name or "")
    typed = request.POST.get("text", "").replace("\r\n", "\n")  # forms send all ends of lines so
    return Upload(typed.encode("utf-8", "surrogatepass")) if typed.strip() else None


def _unpacked(carried: str) -> bytes:
    try:
        return zlib.decompressobj().decompress(base64.b64decode(carried, validate=True), settings.PLAN_MAX_BYTES + 1)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise BadRequest("The file that the page carried is not whole.") from error
