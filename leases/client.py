"""The API as a small class: one method for each call that a worker makes, with retries that are safe.

    with Client("https://tasks.example.org", token) as client:
        grant = client.claim_next()
        if grant:
            client.report(grant, "done", summary="written", result={"pages": 3})

Every POST that changes something carries an `Idempotency-Key`, made once for the call and kept through its retries:
an answer that was lost on the way is answered again, and nothing is done twice. A heartbeat carries none, because its
second try must move the deadline again instead of repeating what the first one was told.

No Django inside: with `channel`, `grants` and `problems` this module can be copied into a project of your own.
"""

import math
import threading
import uuid
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Literal, Self

import httpx

from leases.channel import Call, Channel, encode
from leases.grants import Beat, Grant, clock

Outcome = Literal["done", "partial"]


class Client:
    """A worker's (or lead's) side of the API.

    `url` is the server's, with or without `/api/v1`. `holder` names this process in claims; without it the token's
    name stands there. `patience_s` is how long a call is tried again where nothing else is said, `timeout_s` how long
    one try may wait. Every method raises `problems.Refused` (with `code` and `fields`) for a no, and
    `problems.Unreachable` when its time is over without an answer.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        holder: str | None = None,
        patience_s: float = 30.0,
        timeout_s: float = 15.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.holder = holder
        self.patience_s = patience_s
        self._channel = Channel(url, token, timeout_s=timeout_s, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._channel.close()

    # Claiming

    def claim_next(
        self,
        *,
        plan: str | None = None,
        objective: str | None = None,
        q: str | None = None,
        ttl_s: int | None = None,
        stop: threading.Event | None = None,
    ) -> Grant | None:
        """The first ready task whose lane is free, or None when there is none.

        With `stop` the call waits for an absent server until it is answered or `stop` is set, under one key: giving
        up and asking anew could leave a first claim behind that nobody works on.
        """
        wishes = {"plan": plan, "objective": objective, "q": q, "ttl_s": ttl_s, "holder": self.holder}
        return self._claim("claims/", wishes, stop=stop)

    def claim(self, node_id: str, *, ttl_s: int | None = None, hand: bool = False) -> Grant:
        """This very node. A container takes `hand=True`: it holds the whole lane for work by hand."""
        wishes = {"ttl_s": ttl_s, "holder": self.holder, "hand": hand or None}
        grant = self._claim(f"nodes/{node_id}/claim/", wishes)
        assert grant is not None, "a claim by id is granted or refused"
        return grant

    def _claim(self, path: str, wishes: dict[str, Any], *, stop: threading.Event | None = None) -> Grant | None:
        # The answer to a retry may be the one that was made for the first try: its life counts from then.
        sent_at = clock()
        answer = self.post(
            path,
            {name: value for name, value in wishes.items() if value is not None},
            until=math.inf if stop else None,
            stop=stop,
        )
        return None if answer is None else Grant.parse(answer, sent_at)

    # Holding and settling

    def heartbeat(self, grant: Grant, *, progress: str | None = None, timeout_s: float | None = None) -> Beat:
        """One try, no retry: whoever holds the lease decides how soon to try again, and the deadline stands till then.

        `progress` is a text of at most 1 KiB that is shown on the node.
        """
        body = self._held(grant) | ({} if progress is None else {"progress": progress})
        sent_at = clock()
        call = Call("POST", f"nodes/{grant.node_id}/heartbeat/", encode(body))
        answer = self._channel.once(call, timeout_s=timeout_s)
        return Beat(deadline=sent_at + float(answer["expires_in_s"]), asks=list(answer["asks"]))

    def report(
        self,
        grant: Grant,
        outcome: Outcome,
        *,
        summary: str = "",
        result: Any = None,
        until: float | None = None,
    ) -> dict[str, Any]:
        """The work is done, or as far as it goes. Answers the `node` and the ids that `became_ready`.

        `result` is JSON of at most 64 KiB; dependents find it among their inputs. `until` is a reading of `clock()`,
        here and below: how long an absent server is waited for.
        """
        body = {"outcome": outcome, "summary": summary, "result": result}
        return self._settle("report", grant, body, until)

    def reject(self, grant: Grant, reason: str, *, until: float | None = None) -> int | None:
        """This attempt failed. Answers the number of the next, under the same lease, or None: the node is blocked."""
        attempt = self._settle("reject", grant, {"reason": reason}, until).get("attempt")
        return attempt["number"] if attempt else None

    def release(self, grant: Grant, reason: str = "", *, until: float | None = None) -> dict[str, Any]:
        """Give the node back, unharmed: it counts towards nothing, and the next worker may take it."""
        return self._settle("release", grant, {"reason": reason} if reason else {}, until)

    def _settle(self, verb: str, grant: Grant, body: dict[str, Any], until: float | None) -> dict[str, Any]:
        answer: dict[str, Any] = self.post(f"nodes/{grant.node_id}/{verb}/", self._held(grant) | body, until=until)
        return answer

    @staticmethod
    def _held(grant: Grant) -> dict[str, Any]:
        return {"lease": grant.lease_id, "fence": grant.fence}

    # Asking

    def node(self, node_id: str) -> dict[str, Any]:
        """All of a node: needs, runs, lease, marks."""
        answer: dict[str, Any] = self.get(f"nodes/{node_id}/")
        return answer

    def nodes(self, **filters: str) -> Iterator[dict[str, Any]]:
        """Nodes in pool order, page after page: `state`, `plan`, `objective`, `kind`, `leaf`, `free`, `q`."""
        params: dict[str, str] | None = filters
        while params is not None:
            page = self.get("nodes/", params)
            yield from page["results"]
            # Only the query of `next` is followed: the token goes to no other address than its own server's.
            params = dict(httpx.URL(page["next"]).params) if page["next"] else None

    def status(self) -> dict[str, Any]:
        """Counts by state, live and stale leases."""
        answer: dict[str, Any] = self.get("status/")
        return answer

    # Any other call

    def get(self, path: str, params: dict[str, str] | None = None) -> Any:
        """GET a path below `/api/v1/`."""
        return self._channel.send(Call("GET", path, params=params), until=clock() + self.patience_s)

    def post(
        self, path: str, body: dict[str, Any], *, until: float | None = None, stop: threading.Event | None = None
    ) -> Any:
        """POST to a path below `/api/v1/` under a key of its own, which every retry carries."""
        call = Call("POST", path, encode(body), key=str(uuid.uuid4()))
        return self._channel.send(call, until=clock() + self.patience_s if until is None else until, stop=stop)
