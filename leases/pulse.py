"""Heartbeats: a thread that keeps one lease alive, and the moment until which the work may go on."""

import logging
import random
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from leases.channel import FIRST_PAUSE_S
from leases.client import Client
from leases.grants import Beat, Grant, clock
from leases.problems import Invalid, Refused, Unreachable

log: Final = logging.getLogger("leases.work")

LONGEST_BEAT_S: Final = 10.0


class Pulse:
    """Beats while the `with` block runs.

    `deadline` is when the work must have stopped: it moves with each good heartbeat, and is counted from the moment
    that heartbeat was sent. `lost` says why there is no right to work any more, once the server has said so. What
    never changes here is the answer of a server that cannot be reached: it leaves the deadline where it was.
    """

    def __init__(
        self,
        client: Client,
        grant: Grant,
        *,
        bell: threading.Event,
        progress: Callable[[], str | None] = lambda: None,
        asked: Callable[[list[str]], None] = lambda asks: None,
    ) -> None:
        self.deadline = grant.deadline
        self.lost: str | None = None
        self.progress = progress
        """Where the text comes from that goes along with each heartbeat."""
        self.asked = asked
        """Is told what the server asks for, when that has changed."""
        self._client = client
        self._grant = grant
        self._bell = bell
        self._asks: list[str] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"heartbeat {grant.full_key}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        every = self._grant.heartbeat_every_s
        pause = 0.0 if self.deadline - clock() < 2 * every else self._jittered(every)  # the claim took its time
        retry = FIRST_PAUSE_S
        while not self._over.wait(pause):
            try:
                self._take(self._beat())
                pause, retry = self._jittered(every), FIRST_PAUSE_S
            except Unreachable as fault:
                pause = min(max(fault.retry_after, self._jittered(retry)), every)
                retry = min(retry * 2, every)
                log.warning("%s: no heartbeat, %.0f s left: %s", self._grant.full_key, self.deadline - clock(), fault)
            except Refused as fault:
                self.lost = str(fault)
                self._bell.set()
                return

    def _beat(self) -> Beat:
        timeout_s = min(self._grant.heartbeat_every_s, LONGEST_BEAT_S)
        try:
            return self._client.heartbeat(self._grant, progress=self.progress(), timeout_s=timeout_s)
        except Invalid as fault:  # a text that the server does not like must not cost the lease
            log.warning("%s: progress was refused: %s", self._grant.full_key, fault)
            return self._client.heartbeat(self._grant, timeout_s=timeout_s)

    def _take(self, beat: Beat) -> None:
        before, self.deadline = self.deadline, beat.deadline
        if self.deadline < before:  # whoever waits for the later one would sleep through it
            self._bell.set()
        if beat.asks != self._asks:
            self._asks = beat.asks
            self.asked(beat.asks)

    @staticmethod
    def _jittered(seconds: float) -> float:
        """A little less, so that workers that started together do not beat together, and none beats late."""
        return seconds * random.uniform(0.8, 1.0)
