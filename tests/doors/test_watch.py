"""The stream that tells open pages of changes: from any process, to as many as there are places, until the stop."""

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from tests.builders import make_plan
from tests.processes import LONG_S, serve

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]


@contextmanager
def watching(url: str) -> Iterator[httpx.Response]:
    """A stream, as the browser of somebody who is signed in opens it."""
    reader = Client()
    reader.force_login(User.objects.get_or_create(username="sam")[0])
    cookies = {"sessionid": reader.cookies["sessionid"].value}
    with (
        httpx.Client(cookies=cookies, timeout=LONG_S, trust_env=False) as client,
        client.stream("GET", f"{url}watch/") as stream,
    ):
        yield stream


def revisions(stream: httpx.Response) -> Iterator[str]:
    return (line.partition(": ")[2] for line in stream.iter_lines() if line.startswith("data: "))


def test_a_change_is_told_by_every_web_process(tmp_path: Path) -> None:
    with serve(tmp_path, "--web-processes", "2", SECRET_KEY=settings.SECRET_KEY) as server, ExitStack() as open_:
        told = [revisions(open_.enter_context(watching(server.url))) for _ in range(3)]
        first = {next(each) for each in told}
        assert len(first) == 1
        make_plan({"a": {}})
        then = {next(each) for each in told}
        assert first.isdisjoint(then)


def test_who_finds_no_place_is_told_to_poll(tmp_path: Path) -> None:
    with serve(tmp_path, "--web-processes", "1", WATCHERS="1", SECRET_KEY=settings.SECRET_KEY) as server:
        with watching(server.url) as first:
            assert first.status_code == 200
            assert next(revisions(first))
            with watching(server.url) as second:
                assert second.status_code == 204
        assert httpx.get(f"{server.url}healthz", trust_env=False).status_code == 200


def test_a_stop_ends_the_streams_instead_of_cutting_them(tmp_path: Path) -> None:
    with serve(tmp_path, SECRET_KEY=settings.SECRET_KEY) as server, watching(server.url) as stream:
        told = revisions(stream)
        assert next(told)
        server.process.send_signal(signal.SIGTERM)
        assert list(told) == []
        assert server.process.wait(LONG_S) == 0


def test_it_is_for_people_who_are_signed_in(client: Client) -> None:
    assert client.get("/watch/")["Location"] == "/login/?next=/watch/"
