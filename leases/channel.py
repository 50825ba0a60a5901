"""One logical call to the server, however many tries it takes."""

import email.utils
import json
import logging
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx

from leases.grants import clock
from leases.problems import ApiError, NotTasksite, Unreachable, refusal

log: Final = logging.getLogger("leases.work")

FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 5.0
SHORTEST_TRY_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Call:
    """A request as it is sent on every try: the same bytes, under the same key."""

    method: str
    path: str
    body: bytes | None = None
    params: Mapping[str, str] | None = None
    key: str | None = None


class Channel:
    """Sends calls to one server under one token; safe to use from several threads."""

    def __init__(self, url: str, token: str, *, timeout_s: float, transport: httpx.BaseTransport | None = None) -> None:
        base = url.rstrip("/").removesuffix("/api/v1")
        if httpx.URL(base).scheme not in {"http", "https"}:
            raise ValueError(f"not an http or https URL: {url}")
        self.timeout_s = timeout_s
        self._http = httpx.Client(
            base_url=f"{base}/api/v1/",
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json, application/problem+json"},
            transport=transport,
        )
        self._spoken = False
        """Whether this URL has ever answered as tasksite does; until then a strange answer is a wrong URL."""

    def close(self) -> None:
        self._http.close()

    def send(self, call: Call, *, until: float, stop: threading.Event | None = None) -> Any:
        """The answer's JSON, or None for 204. Tries at least once, then again until `until` (on `clock()`).

        After `stop` is set there is one more try, so that a claim whose answer was lost is not left behind.
        Raises Refused for a no, Unreachable when there was no answer in time.
        """
        stop = stop or threading.Event()
        ceiling = FIRST_PAUSE_S
        while True:
            last = stop.is_set()
            try:
                return self.once(call, timeout_s=min(self.timeout_s, until - clock()))
            except Unreachable as fault:
                if isinstance(fault, NotTasksite) and not self._spoken:
                    raise
                left = until - clock()
                pause = max(fault.retry_after, min(random.uniform(ceiling / 2, ceiling), left / 2))
                if last or left < SHORTEST_TRY_S or pause >= left:
                    raise
                log.warning("%s %s: %s; again in %.1f s", call.method, call.path, fault, pause)
                stop.wait(pause)
                ceiling = min(ceiling * 2, LONGEST_PAUSE_S)

    def once(self, call: Call, *, timeout_s: float | None = None) -> Any:
        """One try, with the same answers and exceptions."""
        headers = {"Idempotency-Key": call.key} if call.key else {}
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        timeout = max(self.timeout_s if timeout_s is None else timeout_s, SHORTEST_TRY_S)
        try:
            response = self._http.request(
                call.method, call.path, content=call.body, params=call.params, headers=headers, timeout=timeout
            )
        except httpx.RequestError as fault:
            raise Unreachable(f"{type(fault).__name__} {fault}".rstrip()) from fault
        answer = self._read(response)
        if isinstance(answer, ApiError):
            self._spoken = self._spoken or not isinstance(answer, Unreachable)
            raise answer
        self._spoken = True
        return answer

    @staticmethod
    def _read(response: httpx.Response) -> Any:
        """The JSON of a good answer, or what is wrong with it, as an exception that is not raised yet."""
        status, said = response.status_code, f"{response.status_code} {response.reason_phrase}"
        if status == 429 or status >= 500:
            return Unreachable(said, retry_after=retry_after(response.headers.get("Retry-After", "")))
        if status == 204:
            return None
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip()
        try:
            answer = response.json() if kind in {"application/json", "application/problem+json"} else None
        except ValueError:
            answer = None
        if response.is_success and answer is not None:
            return answer
        if kind == "application/problem+json" and isinstance(answer, dict) and "code" in answer:
            return refusal(status, answer)
        where = response.headers.get("Location", "")
        return NotTasksite(f"{response.url} does not answer as tasksite does: {said} {where or kind}".rstrip())


def encode(value: object) -> bytes:
    """JSON as it is sent: compact UTF-8. Raises ValueError for what JSON or UTF-8 cannot hold."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def retry_after(header: str) -> float:
    """Seconds of a `Retry-After`, given as a number or as a date; 0 for one that is absent or makes no sense."""
    if header.strip().isdecimal():
        return float(header)
    try:
        return max(email.utils.parsedate_to_datetime(header).timestamp() - time.time(), 0.0)
    except ValueError:
        return 0.0
