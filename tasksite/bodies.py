"""Bodies are taken in by the threads that wait, before one of the few that work is asked for: a client that sends
slowly, or whose network died half-way, holds up nobody else.
"""

import tempfile
import threading
from typing import IO, Any, Final

SMALL: Final = 1024 * 1024
"""Bytes that a body may have and be kept in memory. Whatever is larger is a plan, and goes to a temporary file."""
LARGE_AT_ONCE: Final = 4
"""Large bodies that one process takes in at the same time: those who send slowly fill no disk."""
CHUNK: Final = 64 * 1024

_large: Final = threading.BoundedSemaphore(LARGE_AT_ONCE)


def take(environ: dict[str, Any], most: int) -> bool:
    """Put the body, up to `most` bytes of it, in the place of the connection; False where too many large ones come.

    A body without a length is left where it is: no view reads it.
    """
    announced = environ.get("CONTENT_LENGTH") or ""
    length = min(int(announced), most) if announced.isdecimal() and len(announced) < 20 else 0
    if not length:
        return True
    if length <= SMALL:
        environ["wsgi.input"] = _copy(environ["wsgi.input"], length)
        return True
    if not _large.acquire(blocking=False):
        return False
    try:
        environ["wsgi.input"] = _copy(environ["wsgi.input"], length)
    finally:
        _large.release()
    return True


def _copy(source: IO[bytes], length: int) -> IO[bytes]:
    """What came of it: less, where the client left early."""
    body = tempfile.SpooledTemporaryFile(max_size=SMALL)  # noqa: SIM115  # closed when the request is forgotten
    while length and (chunk := source.read(min(CHUNK, length))):
        body.write(chunk)
        length -= len(chunk)
    body.seek(0)
    return body
