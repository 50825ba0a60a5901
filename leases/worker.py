"""The reference worker: claim, work in the lane's clone, heartbeat meanwhile, settle; and again.

It speaks HTTP only and knows no Django. What it promises:

- The command runs only while the lease lives. It is ended, with all its processes, when the server says that the
  lease is lost, and when the worker's own deadline passes: the moment the last good heartbeat was sent, plus the
  life that its answer gave. Then nothing is reported.
- A server that is away for a while costs nothing before that deadline.
- A node is given back only after its work has really ended.

The loop is this module, the command's life is `attempt`, its processes `group`, its files `desk`, its directory
`clones`, its end `verdict`; heartbeats are `pulse`, the API is `client`.
"""

import logging
import random
import threading
from typing import Final

from leases.attempt import TOO_LATE, Attempt, LeaseGone, Orders
from leases.client import Client
from leases.grants import Grant, clock
from leases.problems import ApiError, Invalid, Unreachable
from leases.pulse import Pulse
from leases.verdict import Reject, Release, Report, Verdict, clean, line

log: Final = logging.getLogger("leases.work")

LAST_TRIES_S: Final = 10.0
"""How long a worker that stops waits for a server that is away, before it leaves the lease to expire."""


class Worker:
    """One worker: one task at a time, for as long as `run` runs."""

    def __init__(self, client: Client, orders: Orders) -> None:
        self._client = client
        self._orders = orders
        self._stopping = threading.Event()
        self._bell = threading.Event()
        """Rung when there is something to look at: the command exited, the lease is lost, the worker is to stop."""

    def stop(self) -> None:
        """End the work and release the node; `run` returns. Takes a lock: not for a signal handler in its thread."""
        self._stopping.set()
        self._bell.set()

    def run(self, *, once: bool = False) -> bool:
        """Work until `stop()`, or with `once` on one task at most. False when that task was lost.

        Raises ApiError when the server does not let this worker claim, OSError when this machine does not let it work,
        StillAlive when a command cannot be ended.
        """
        while not self._stopping.is_set():
            grant = self._claim()
            verdict = self.work(grant) if grant else None
            if once:
                return grant is None or verdict is not None
            if not isinstance(verdict, Report | Reject):  # nothing there, or nothing that would go better at once
                self._stopping.wait(self._orders.poll_s * random.uniform(0.5, 1.5))
        return True

    def _claim(self) -> Grant | None:
        try:
            return self._client.claim_next(plan=self._orders.plan, ttl_s=self._orders.ttl_s, stop=self._stopping)
        except Unreachable:
            if self._stopping.is_set():
                return None
            raise

    def work(self, grant: Grant) -> Verdict | None:
        """One task, from its claim to its end. Answers what the server was told last, or None for a lost lease."""
        log.info("%s: claimed under fence %d, in %s", grant.full_key, grant.fence, grant.clone.dir)
        verdict: Verdict | None = None
        try:
            self._begin(grant)
            with Pulse(self._client, grant, bell=self._bell) as pulse:
                number = grant.attempt
                while number is not None:
                    verdict = self._attempt(grant, number, pulse)
                    number = self._settle(grant, verdict, pulse)
        except LeaseGone as fault:
            log.error("%s: lost, nothing is reported: %s", grant.full_key, fault)
            return None
        return verdict

    def _begin(self, grant: Grant) -> None:
        """A claim that was answered after a long wait may be over by now: nothing is begun, and the node given back."""
        if clock() < grant.deadline:
            return
        try:
            self._client.release(grant, TOO_LATE, until=clock() + LAST_TRIES_S)
        except ApiError as fault:
            raise LeaseGone(f"the claim was answered too late: {fault}") from fault
        raise LeaseGone("the claim was answered too late; released")

    def _attempt(self, grant: Grant, number: int, pulse: Pulse) -> Verdict:
        attempt = Attempt(self._orders, grant, number, pulse=pulse, stopping=self._stopping, bell=self._bell)
        try:
            return attempt.run()
        except OSError as fault:  # the disk is full, say: no fault of the task, so another machine may do better
            self._settle(grant, Release(clean(f"fault of the worker's machine: {fault}")), pulse)
            raise

    def _settle(self, grant: Grant, verdict: Verdict, pulse: Pulse) -> int | None:
        """Tell the server, as long as there is a right to; answers the number of the next attempt, if there is one."""
        if pulse.lost or clock() >= pulse.deadline:
            raise LeaseGone(pulse.lost or TOO_LATE)
        log.info("%s: %s", grant.full_key, line(verdict))
        try:
            return self._tell(grant, verdict, pulse.deadline)
        except Invalid as fault:
            if isinstance(verdict, Report):  # a result that the server cannot take: the attempt has to say so
                return self._settle(grant, Reject(clean(f"the report was refused: {fault}")), pulse)
            raise LeaseGone(str(fault)) from fault
        except ApiError as fault:
            raise LeaseGone(str(fault)) from fault

    def _tell(self, grant: Grant, verdict: Verdict, until: float) -> int | None:
        match verdict:
            case Report(outcome, summary, result):
                self._client.report(grant, outcome, summary=summary, result=result, until=until)
            case Reject(reason):
                return self._client.reject(grant, reason, until=until)
            case Release(reason):
                if self._stopping.is_set():
                    until = min(until, clock() + LAST_TRIES_S)
                self._client.release(grant, reason, until=until)
        return None
