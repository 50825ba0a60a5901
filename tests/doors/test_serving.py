"""`manage.py serve` with real processes: up together, down together, and nothing left behind."""

import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from tests.processes import LONG_S, Server, environment, family, gone, manage, serve, until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serve(tmp_path) as running:
        yield running


def answers(server: Server) -> bool:
    try:
        return httpx.get(server.url + "readyz").text == '{"ready": true}'
    except httpx.TransportError:
        return False


def complete(server: Server) -> bool:
    """The web server has a worker, the job cluster its guard with worker, monitor and pusher."""
    (web,), (jobs,) = server.children("web"), server.children("jobs")
    return len(web.children()) >= 1 and len(jobs.children(recursive=True)) == 4


def test_it_says_where_it_is_when_it_can_be_asked(server: Server) -> None:
    assert httpx.get(server.url + "readyz").json() == {"ready": True}
    assert httpx.get(server.url + "static/admin/css/base.css").headers["Content-Type"].startswith("text/css")
    assert len(server.children("web")) == len(server.children("jobs")) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stop_takes_everything_down(tmp_path: Path, number: signal.Signals) -> None:
    with serve(tmp_path) as server:
        until(lambda: complete(server), "all its processes are there")
        below = family(server.process.pid)
        server.process.send_signal(number)
        assert server.process.wait(LONG_S) == 0
        assert not [process for process in below if process.is_running()]


def test_a_stop_lets_a_request_finish_that_has_begun(server: Server) -> None:
    body = b"username=a&password=b"
    with socket.create_connection(("127.0.0.1", server.port), timeout=LONG_S) as client:
        head = f"Host: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}"
        client.sendall(f"POST /admin/login/ HTTP/1.1\r\n{head}\r\n\r\n".encode() + body[:8])
        assert answers(server)  # another one has been answered meanwhile: ours has been read
        server.process.terminate()
        until(lambda: not answers(server), "no new request is taken")
        client.sendall(body[8:])
        assert client.recv(4096).startswith(b"HTTP/1.1 403")  # no CSRF token: the site itself answered
    assert server.process.wait(LONG_S) == 0


@pytest.mark.parametrize("role", ["web", "jobs"])
def test_a_child_that_dies_is_started_again(server: Server, role: str) -> None:
    (child,) = server.children(role)
    until(lambda: bool(child.children(recursive=True)), "it has children of its own")
    below = child.children(recursive=True)
    child.kill()
    assert gone([child, *below])  # what it left behind went with it
    until(lambda: bool(server.children(role)), "it is started again")
    until(lambda: answers(server), "the site answers again")
    assert server.children(role) != [child]


def test_a_web_worker_that_dies_is_started_again(server: Server) -> None:
    (web,) = server.children("web")
    worker, *_ = web.children()
    worker.kill()
    assert gone([worker])
    until(lambda: answers(server), "the site answers again")
    assert server.children("web") == [web]


def test_nothing_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        until(lambda: complete(server), "all its processes are there")
        below = family(server.process.pid)
        server.process.kill()
        assert gone(below)


def test_nothing_outlives_a_parent_that_is_killed_with_its_children(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        until(lambda: complete(server), "all its processes are there")
        below = family(server.process.pid)
        for process in (psutil.Process(server.process.pid), *server.children("web"), *server.children("jobs")):
            process.kill()
        assert gone(below)


def test_it_refuses_an_address_that_is_taken(server: Server, tmp_path: Path) -> None:
    second = subprocess.run(
        manage("serve", "--port", str(server.port)),
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=LONG_S,
    )
    assert second.returncode == 1
    assert second.stderr.strip() == (
        f"CommandError: Nothing can listen at 127.0.0.1 port {server.port}: Address already in use."
    )
    assert answers(server)


def test_it_refuses_a_database_that_is_not_migrated(tmp_path: Path) -> None:
    refused = subprocess.run(
        manage("serve", "--port", "0"),
        env=environment(tmp_path, DATABASE_URL=f"sqlite:////{str(tmp_path).lstrip('/')}/new.sqlite3"),
        capture_output=True,
        text=True,
        timeout=LONG_S,
    )
    assert refused.returncode == 1
    assert refused.stderr.strip() == (
        "CommandError: The database is not up to date: give --migrate, or run manage.py migrate first."
    )


def test_it_gives_up_where_the_web_server_cannot_start(tmp_path: Path) -> None:
    """A broken site is no matter for restarts."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['granian'] = None\n")
    refused = subprocess.run(
        manage("serve", "--port", "0"),
        env=environment(tmp_path, PYTHONPATH=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=LONG_S,
    )
    assert refused.returncode == 1
    assert "The web server ended with exit code 1 before it was ready." in refused.stderr


def test_clients_that_send_slowly_hold_up_nobody(server: Server) -> None:
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
    try:
        for connection in slow:
            connection.sendall(
                b"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n"
                b"Content-Type: application/x-www-form-urlencoded\r\nCookie: csrftoken=" + b"a" * 32 + b"\r\n\r\nhalf"
            )
        assert httpx.get(f"{server.url}healthz", timeout=LONG_S, trust_env=False).status_code == 200
        assert httpx.post(f"{server.url}login/", timeout=LONG_S, trust_env=False).status_code == 403
    finally:
        for connection in slow:
            connection.close()


def test_large_files_that_are_sent_slowly_make_others_come_again(server: Server) -> None:
    slow: list[socket.socket] = []

    def answered() -> httpx.Response:
        return httpx.post(f"{server.url}api/v1/plans/", content=b" " * 2_000_000, timeout=LONG_S, trust_env=False)

    def refused() -> bool:
        slow.append(socket.create_connection(("127.0.0.1", server.port)))
        slow[-1].sendall(
            b"POST /api/v1/plans/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2000000\r\n"
            b"Content-Type: application/yaml\r\n\r\nplan: p"
        )
        answer = answered()
        return answer.status_code == 503 and answer.json()["code"] == "busy" and "Retry-After" in answer.headers

    try:
        until(refused, "large files are refused")
        assert httpx.get(f"{server.url}healthz", timeout=LONG_S, trust_env=False).status_code == 200
    finally:
        for connection in slow:
            connection.close()
    until(lambda: answered().status_code == 401, "large files are taken in again")
