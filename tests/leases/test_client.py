"""The client: what is tried again and under which key, until when a grant may be trusted, and what a no becomes."""

import datetime
import itertools
import subprocess
import sys
import threading
from collections.abc import Iterator
from email.utils import format_datetime

import httpx
import pytest

import graph.errors
import leases.errors
from graph.errors import Refusal
from leases import problems
from leases.channel import retry_after
from leases.client import Client
from leases.grants import Grant
from tests.leases.peer import BUSY, DROP, HTML, REFUSE, TOKEN, Answer, Peer, problem


class Waits(threading.Event):
    """Takes note of every pause instead of making it."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout or 0.0)
        return self.is_set()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leases.channel.FIRST_PAUSE_S", 0.01)


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer("api/schema", "api/endpoints") as peer:
        yield peer


@pytest.fixture
def client(peer: Peer) -> Iterator[Client]:
    with Client(peer.url, TOKEN, holder="me:1") as client:
        yield client


def claimed(client: Client) -> Grant:
    grant = client.claim_next()
    assert grant is not None
    return grant


def test_a_claim_says_all_that_the_work_needs(peer: Peer, client: Client) -> None:
    peer.inputs = [{"full_key": "db/tables", "outcome": "done", "summary": "made", "result": {"tables": 3}}]
    grant = claimed(client)
    assert (grant.full_key, grant.fence, grant.attempt, grant.heartbeat_every_s) == ("api/schema", 1, 1, 20.0)
    assert (grant.clone.repo, grant.clone.dir) == (None, "lane-01.1")
    assert grant.inputs == peer.inputs
    assert peer.calls("claims")[0].body == {"holder": "me:1"}


def test_wishes_go_along_with_a_claim(peer: Peer, client: Client) -> None:
    client.claim_next(plan="p", objective="o", q="text", ttl_s=30)
    assert peer.calls("claims")[0].body == {
        "plan": "p", "objective": "o", "q": "text", "ttl_s": 30, "holder": "me:1",
    }  # fmt: skip


def test_nothing_to_claim_is_none(client: Client) -> None:
    assert [bool(client.claim_next()) for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize("fault", [DROP, REFUSE, BUSY, Answer(502), Answer(504), Answer(429), Answer(500)])
def test_a_claim_is_tried_again_under_its_key(peer: Peer, client: Client, fault: Answer) -> None:
    peer.faults["claims"].extend([fault, fault])
    grant = claimed(client)
    assert grant.full_key == "api/schema", "a second task was claimed, and the first is lost"
    keys = [call.key for call in peer.calls("claims")]
    assert len(keys) == 3 and len(set(keys)) == 1 and keys[0]


def test_every_call_has_a_key_of_its_own(peer: Peer, client: Client) -> None:
    grant = claimed(client)
    client.reject(grant, "no")
    client.reject(grant, "no")
    client.report(grant, "done")
    keys = [call.key for call in peer.heard]
    assert len(set(keys)) == len(keys) == 4 and None not in keys


def test_no_connection_at_all_is_unreachable_when_patience_ends(peer: Peer) -> None:
    with Peer() as gone:
        url = gone.url
    with Client(url, TOKEN, patience_s=0.2) as client, pytest.raises(problems.Unreachable):
        client.status()


def test_retry_after_is_honoured(peer: Peer, client: Client) -> None:
    stop = Waits()
    peer.faults["claims"].extend([Answer(503, headers={"Retry-After": "7"}), Answer(429, headers={"Retry-After": "3"})])
    assert client.claim_next(stop=stop) is not None
    assert [round(pause) for pause in stop.pauses] == [7, 3]


def test_retry_after_longer_than_patience_is_not_waited_for(peer: Peer, client: Client) -> None:
    grant = claimed(client)
    peer.always["report"] = Answer(503, headers={"Retry-After": "3600"})
    with pytest.raises(problems.Unreachable) as caught:
        client.report(grant, "done")
    assert caught.value.retry_after == 3600
    assert len(peer.calls("report")) == 1


def test_retry_after_reads_both_forms() -> None:
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    assert 3500 < retry_after(format_datetime(soon, usegmt=True)) <= 3600
    assert (retry_after("2"), retry_after(""), retry_after("soon"), retry_after("-1")) == (2.0, 0.0, 0.0, 0.0)


def test_pauses_grow_and_differ(peer: Peer, client: Client) -> None:
    stop = Waits()
    peer.faults["claims"].extend([BUSY] * 6)
    client.claim_next(stop=stop)
    assert len(set(stop.pauses)) == 6
    assert all(0.005 * 2**n <= pause <= 0.01 * 2**n for n, pause in enumerate(stop.pauses))


def test_a_claim_that_is_told_to_stop_tries_once_more(peer: Peer, client: Client) -> None:
    """The first try may have claimed: its answer is worth a second question."""
    stop = threading.Event()
    stop.set()
    peer.faults["claims"].append(DROP)
    with pytest.raises(problems.Unreachable):
        client.claim_next(stop=stop)
    assert len(peer.calls("claims")) == 1, "it was told before it asked"

    class StopsInThePause(Waits):
        def wait(self, timeout: float | None = None) -> bool:
            self.set()
            return super().wait(timeout)

    peer.faults["claims"].append(DROP)
    assert client.claim_next(stop=StopsInThePause()) is not None
    peer.always["claims"] = BUSY
    with pytest.raises(problems.Unreachable):
        client.claim_next(stop=StopsInThePause())
    assert len(peer.calls("claims")) == 5


def test_a_grant_is_trusted_from_the_first_sending(peer: Peer, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer to the second try is the one that was made for the first."""
    ticks = itertools.count(1000.0, 10.0)
    monkeypatch.setattr("leases.client.clock", lambda: next(ticks))
    peer.faults["claims"].append(DROP)
    grant = client.claim_next(stop=threading.Event())
    assert grant is not None and grant.deadline == 1000.0 + 60.0
    assert len(peer.calls("claims")) == 2


def test_a_heartbeat_counts_from_its_sending(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    grant = claimed(client)
    ticks = itertools.count(5000.0, 10.0)
    monkeypatch.setattr("leases.client.clock", lambda: next(ticks))
    assert client.heartbeat(grant).deadline == 5000.0 + 60.0


def test_a_heartbeat_is_one_try_without_a_key(peer: Peer, client: Client) -> None:
    """Under a key a second try would be told again what the first was told, and move nothing."""
    grant = claimed(client)
    peer.faults["heartbeat"].append(DROP)
    with pytest.raises(problems.Unreachable):
        client.heartbeat(grant, progress="half way")
    (call,) = peer.calls("heartbeat")
    assert call.key is None
    assert call.body == {"lease": "01LEASE1", "fence": 1, "progress": "half way"}


def test_settling(peer: Peer, client: Client) -> None:
    grant = claimed(client)
    assert client.reject(grant, "tests fail") == 2
    assert client.report(grant, "partial", summary="half", result=[1, "ü"])["became_ready"] == []
    client.release(grant, "later")
    held = {"lease": "01LEASE1", "fence": 1}
    assert [call.body for call in peer.heard[1:]] == [
        held | {"reason": "tests fail"},
        held | {"outcome": "partial", "summary": "half", "result": [1, "ü"]},
        held | {"reason": "later"},
    ]


def test_a_report_whose_answer_was_lost_is_done_once(peer: Peer, client: Client) -> None:
    grant = claimed(client)
    peer.faults["report"].extend([DROP, BUSY, DROP])
    assert client.report(grant, "done")["node"]["state"] == "report"
    assert len({call.key for call in peer.calls("report")}) == 1 and len(peer.kept) == 2


def test_a_result_that_is_not_json_is_not_sent(peer: Peer, client: Client) -> None:
    grant = claimed(client)
    with pytest.raises(ValueError):
        client.report(grant, "done", result=float("nan"))
    assert not peer.calls("report")


@pytest.mark.parametrize("code", sorted(problems.BY_CODE))
def test_a_no_is_an_exception_of_its_kind(peer: Peer, client: Client, code: str) -> None:
    peer.always["claims"] = problem(409, code, fence=4, holder="her")
    with pytest.raises(problems.BY_CODE[code]) as caught:
        client.claim_next()
    no = caught.value
    assert (no.status, no.code, no.detail) == (409, code, f"it is {code}")
    assert no.fields == {"fence": 4, "holder": "her"}
    assert len(peer.calls("claims")) == 1, "a no was asked again"


def test_a_code_that_is_new_is_still_a_no(peer: Peer, client: Client) -> None:
    peer.always["claims"] = problem(418, "teapot")
    with pytest.raises(problems.Refused) as caught:
        client.claim_next()
    assert caught.value.code == "teapot"


def test_every_refusal_of_the_server_has_an_exception_here() -> None:
    ours = {
        kind.code
        for module in (graph.errors, leases.errors)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Refusal) and kind is not Refusal
    }
    assert ours - {"busy"} <= problems.BY_CODE.keys()  # busy is a 503: it is tried again


def test_a_wrong_token(peer: Peer) -> None:
    with Client(peer.url, "another") as client, pytest.raises(problems.Unauthenticated):
        client.claim_next()


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host", "", "/api/v1"])
def test_a_wrong_url_is_said_at_once(url: str) -> None:
    with pytest.raises(ValueError):
        Client(url, TOKEN)


@pytest.mark.parametrize("tail", ["", "/", "/api/v1", "/api/v1/"])
def test_a_url_may_name_the_api_or_not(peer: Peer, tail: str) -> None:
    with Client(peer.url + tail, TOKEN) as client:
        assert client.status() == {"states": {}}


def test_an_address_that_never_spoke_our_language_is_wrong(peer: Peer, client: Client) -> None:
    peer.always["claims"] = HTML
    with pytest.raises(problems.NotTasksite, match="404"):
        client.claim_next(stop=threading.Event())
    assert len(peer.calls("claims")) == 1


def test_one_that_did_has_a_bad_moment(peer: Peer, client: Client) -> None:
    client.status()
    peer.faults["claims"].extend(
        [HTML, Answer(200, "<html>", kind="text/html"), Answer(200, "{", kind="application/json")]
    )
    assert claimed(client).fence == 1


def test_a_redirect_is_not_followed_with_the_token(peer: Peer, client: Client) -> None:
    with Peer() as stranger:
        peer.always["status"] = Answer(302, headers={"Location": f"{stranger.url}/api/v1/status/"})
        with pytest.raises(problems.NotTasksite, match=stranger.url):
            client.status()
        assert not stranger.heard


def test_pages_are_followed_at_the_same_address() -> None:
    asked: list[httpx.URL] = []

    def serve(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        more = "https://elsewhere.example/api/v1/nodes/?state=ready&cursor=c2" if len(asked) == 1 else None
        return httpx.Response(200, json={"results": [{"id": str(len(asked))}], "next": more})

    with Client("https://here.example", TOKEN, transport=httpx.MockTransport(serve)) as client:
        assert [node["id"] for node in client.nodes(state="ready")] == ["1", "2"]
    assert [str(url) for url in asked] == [
        "https://here.example/api/v1/nodes/?state=ready",
        "https://here.example/api/v1/nodes/?state=ready&cursor=c2",
    ]


def test_worker_and_client_know_no_django() -> None:
    code = (
        "import sys, leases.worker, leases.client; print([m for m in sys.modules if m.partition('.')[0] == 'django'])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
