"""A server on a real socket that speaks as much of the contract as a worker hears, and has bad moments on command."""

import json
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

TOKEN: Final = "a-token-that-no-environment-holds-by-chance"


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    kind: str = "application/json"


def problem(status: int, code: str, **fields: Any) -> Answer:
    body = {"type": "about:blank", "title": code, "status": status, "detail": f"it is {code}", "code": code} | fields
    return Answer(status, body, kind="application/problem+json")


# Bad moments. DROP and HANG do what was asked and do not answer; REFUSE does nothing.
DROP: Final = Answer(-1)
REFUSE: Final = Answer(-2)
HANG: Final = Answer(-3)
BUSY: Final = Answer(503, {"detail": "busy"})
HTML: Final = Answer(404, "<h1>no such page</h1>", kind="text/html")


@dataclass(frozen=True)
class Heard:
    verb: str
    key: str | None
    body: dict[str, Any]
    answer: Answer


class Peer:
    """`faults[verb]` are taken one by one, `always[verb]` then stays. `heard` is what was asked, in order.

    `said(verb)` waits until a call of this verb has been answered (or was meant to be).
    """

    def __init__(self, *tasks: str, ttl_s: float = 60.0, beat_s: float = 20.0) -> None:
        self.waiting = deque(tasks)
        self.ttl_s = ttl_s
        self.beat_s = beat_s
        self.clone: dict[str, Any] = {"repo": None, "ref": None, "dir": "lane-01.1"}
        self.body = "Do it."
        self.inputs: list[dict[str, Any]] = []
        self.asks: list[str] = []
        self.limit = 3
        self.faults: dict[str, deque[Answer]] = defaultdict(deque)
        self.always: dict[str, Answer] = {}
        self.heard: list[Heard] = []
        self.kept: dict[str, Answer] = {}
        self.settled: dict[str, str] = {}
        self.fence = 0
        self.attempt = 0
        self.watch: Callable[[str], None] = lambda verb: None
        """Called with each verb before it is answered."""
        self.changed = threading.Condition()
        self.over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def calls(self, verb: str) -> list[Heard]:
        with self.changed:
            return [heard for heard in self.heard if heard.verb == verb]

    def said(self, verb: str, times: int = 1, *, within_s: float = 30.0) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: sum(h.verb == verb for h in self.heard) >= times, within_s), verb

    def ask(self, verb: str, key: str | None, body: dict[str, Any]) -> Answer:
        self.watch(verb)
        with self.changed:
            bad = self.faults[verb].popleft() if self.faults[verb] else self.always.get(verb)
            if bad is None or bad in (DROP, HANG):
                answer = self.kept[key] if key in self.kept else self._act(verb, body)
                if key and answer.status < 300 and answer.status != 204:
                    self.kept[key] = answer
                answer = bad or answer
            else:
                answer = bad
            self.heard.append(Heard(verb, key, body, answer))
            self.changed.notify_all()
            return answer

    def _act(self, verb: str, body: dict[str, Any]) -> Answer:
        match verb:
            case "claims":
                return self._claim() if self.waiting else Answer(204)
            case "status":
                return Answer(200, {"states": {}})
        if body["fence"] != self.fence:
            return problem(409, "stale_fence", fence=self.fence)
        if verb == "heartbeat":
            return Answer(200, {"expires_at": "…", "expires_in_s": self.ttl_s, "asks": self.asks})
        node = {"id": "01NODE", "state": verb}
        if verb == "reject" and self.attempt < self.limit:
            self.attempt += 1
            return Answer(200, {"node": node, "attempt": {"id": "01A", "number": self.attempt}})
        self.settled[body["lease"]] = verb
        return Answer(200, {"node": node, "attempt": None, "became_ready": []})

    def _claim(self) -> Answer:
        key = self.waiting.popleft()
        self.fence += 1
        self.attempt = 1
        node = {"id": "01NODE", "full_key": key, "title": f"Title of {key}", "body": self.body, "state": "running"}
        lease = {"id": f"01LEASE{self.fence}", "fence": self.fence, "expires_in_s": self.ttl_s}
        attempt = {"id": "01ATTEMPT", "number": 1}
        return Answer(
            201,
            {
                "node": node,
                "lease": lease,
                "objective_lease": lease,
                "attempt": attempt,
                "heartbeat_every_s": self.beat_s,
                "inputs": self.inputs,
                "clone": self.clone,
            },
        )


def _handler(peer: Peer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self._serve()

        def do_GET(self) -> None:
            self._serve()

        def _serve(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                return self._answer(problem(401, "unauthenticated"))
            verb = self.path.partition("?")[0].rstrip("/").rpartition("/")[2]
            self._answer(peer.ask(verb, self.headers["Idempotency-Key"], json.loads(content or b"{}")))

        def _answer(self, answer: Answer) -> None:
            if answer == HANG:
                peer.over.wait()
            if answer.status < 0:
                self.close_connection = True
                return
            text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
            content = b"" if answer.status == 204 else text.encode()
            self.send_response(answer.status)
            for name, value in {"Content-Type": answer.kind, **answer.headers}.items():
                self.send_header(name, value)
            if answer.status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Silence: `heard` is the log."""

    return Handler
