"""Server-sent events: a page that is open is told that something changed, and asks for the part that did.

One thread in each web process looks at the revision while anybody watches there, however many they are, and nobody
looks while nobody watches. What a stream says is the revision alone; a page that shows it already asks for nothing.
"""

import logging
import threading
import time
from collections.abc import Iterator
from typing import Final

from django.conf import settings
from django.db import Error, connection, connections
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse

from graph import clock
from tasksite import stopping
from tasksite.dashboard import revision

log: Final = logging.getLogger(__name__)

LOOK_S: Final = 0.3
"""Seconds between two looks while all is quiet."""
BUSY_S: Final = 0.5
"""Seconds from telling of a change to the next look: every page asks once for each, however much happens."""
STILL_S: Final = 15.0
"""Seconds between two signs of life: a reader that has gone is noticed by them."""
LONGEST_S: Final = 300.0
"""Seconds that a stream lasts; the browser opens the next, and whether it may is judged anew."""


class Hub:
    """What all streams of this process wait at."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._revision = ""
        self._watchers = 0
        self._looks = False

    @property
    def looks(self) -> bool:
        """Whether its thread is at work: it ends soon after the last watcher has left."""
        return self._looks

    def join(self) -> bool:
        """Whether there is a place; who got one gives it back by `leave`."""
        with self._changed:
            if self._watchers >= settings.WATCHERS:
                return False
            self._watchers += 1
            if not self._looks:
                self._looks = True
                threading.Thread(target=self._look, name="watch", daemon=True).start()
            return True

    def leave(self) -> None:
        with self._changed:
            self._watchers -= 1

    def next(self, known: str, within_s: float) -> str:
        """The revision as soon as it is another than `known`, or `known` when the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._revision not in ("", known) or stopping.said(), within_s)
            return self._revision or known

    def _look(self) -> None:
        while True:
            before = self._revision
            try:
                found = revision.read(clock.read()).text
            except Error:
                log.warning("The revision could not be read; the next look may.", exc_info=True)
                found = ""
            finally:
                connection.close()
            with self._changed:
                self._revision = found or self._revision
                self._changed.notify_all()
                if not self._watchers:
                    self._revision, self._looks = "", False
                    return
            time.sleep(LOOK_S if found in ("", before) else BUSY_S)


HUB: Final = Hub()


class Stream(StreamingHttpResponse):
    """Ends when its reader does. `waits` tells the server that it waits far more than it works."""

    waits = True

    def __init__(self, hub: Hub) -> None:
        super().__init__(_say(hub), content_type="text/event-stream")
        self._hub: Hub | None = hub
        self.headers["Cache-Control"] = "no-store"
        self.headers["X-Accel-Buffering"] = "no"  # a proxy that collects answers would keep it for itself

    def close(self) -> None:
        """Called once the reader is gone, whether or not anything was read."""
        hub, self._hub = self._hub, None
        if hub is not None:
            hub.leave()
        super().close()


def _say(hub: Hub) -> Iterator[bytes]:
    connections.close_all()  # a thread that waits needs none
    ends = time.monotonic() + LONGEST_S
    known = ""
    yield b"retry: 2000\n\n"
    while time.monotonic() < ends and not stopping.said():
        found = hub.next(known, STILL_S)
        yield b": still here\n\n" if found == known else f"event: revision\ndata: {found}\n\n".encode()
        known = found


def answer() -> HttpResponseBase:
    """A stream, or 204 where all places are taken: a browser gives up on that, and the page polls."""
    if HUB.join():
        return Stream(HUB)
    return HttpResponse(status=204, headers={"Cache-Control": "no-store"})
