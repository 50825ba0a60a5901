"""Failed sign-ins are throttled for one name from one address, at every door, and hold up nobody else."""

import re
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import LazySettings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client, RequestFactory
from django.urls import resolve

from graph.errors import Busy
from tasksite import signin
from tasksite.models import FailedSignIn
from tests.processes import serve

GOOD = "good and long"
TOO_MANY = "Too many wrong tries with this name from where you are. Try again in 15 min."


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann", password=GOOD, is_staff=True)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Moves the judged clock on, in seconds."""
    shift = [0]
    monkeypatch.setattr("graph.clock.judged", lambda micros: micros + shift[0])

    def forward(seconds: int) -> None:
        shift[0] += seconds * 1_000_000

    return forward


def enter(password: str, *, name: str = "ann", address: str = "192.0.2.1", door: str = "/login/", **more: Any) -> Any:
    return Client().post(door, {"username": name, "password": password}, REMOTE_ADDR=address, **more)


def fail(times: int, **where: Any) -> None:
    for _ in range(times):
        assert enter("wrong", **where).status_code == 200


def inside(answer: Any) -> bool:
    return bool(answer.status_code == 302)


def test_after_five_wrong_tries_even_the_right_password_waits(ann: User, clock: Callable[[int], None]) -> None:
    fail(5)
    refused = enter(GOOD)
    assert refused.status_code == 429 and TOO_MANY in refused.content.decode()
    assert refused["Retry-After"] == "900" and 'role="alert"' in refused.content.decode()
    clock(840)
    assert "Try again in 1 min." in enter(GOOD).content.decode()  # what is refused does not count anew
    clock(60)
    assert inside(enter(GOOD))


def test_a_sign_in_that_succeeds_forgets_the_wrong_ones(ann: User) -> None:
    for _ in range(3):
        fail(4)
        assert inside(enter(GOOD))
    assert not FailedSignIn.objects.exists()


def test_nobody_else_is_held_up(ann: User) -> None:
    User.objects.create_user("bob", password=GOOD)
    fail(5)
    assert enter(GOOD).status_code == 429
    assert inside(enter(GOOD, address="192.0.2.2"))  # the same name from elsewhere
    assert inside(enter(GOOD, name="bob"))  # another name from there
    assert enter(GOOD).status_code == 429  # and that gave it no tries back


def test_one_who_is_signed_in_stays_so(ann: User, client: Client) -> None:
    client.force_login(ann)
    fail(5, address="127.0.0.1")
    assert client.get("/").status_code == 200


def test_the_admin_has_the_same_throttle(ann: User) -> None:
    fail(3)
    fail(2, door="/admin/login/")
    shown = enter(GOOD, door="/admin/login/")
    assert not inside(shown) and TOO_MANY in shown.content.decode()
    assert enter(GOOD).status_code == 429


def test_every_door_is_throttled() -> None:
    forms = [resolve("/login/").func.view_class.form_class, resolve("/admin/login/").func.__self__.login_form]  # type: ignore[attr-defined]
    assert all(issubclass(form, signin.Throttled) for form in forms)
    assert issubclass(signin.Throttled, AuthenticationForm)


def test_what_was_typed_is_kept_nowhere(ann: User, caplog: pytest.LogCaptureFixture) -> None:
    fail(5, name="my secret password")
    enter("x", name="my secret password")
    kept = FailedSignIn.objects.get()
    assert "secret" not in str(vars(kept)) + caplog.text
    assert "no more tries to sign in for one name from 192.0.2.1" in caplog.text


def test_what_has_passed_is_taken_away(ann: User, clock: Callable[[int], None]) -> None:
    for number in range(3):
        fail(1, name=f"nobody-{number}")
    clock(900)
    fail(1)
    assert FailedSignIn.objects.count() == 1


@pytest.mark.parametrize("name", ["\x00", "é" * 300, "<script>alert(1)</script>"])
def test_hostile_names_are_answered(ann: User, name: str) -> None:
    for _ in range(7):
        assert enter("x", name=name).status_code in (200, 429)


def test_the_limits_are_settings(ann: User, settings: LazySettings) -> None:
    settings.SIGNIN_LIMIT, settings.SIGNIN_WINDOW_S = 1, 61
    fail(1)
    assert "Try again in 2 min." in enter(GOOD).content.decode()


def test_a_busy_database_is_said(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(**_: object) -> int:
        raise Busy

    monkeypatch.setattr(signin, "admit", busy)
    assert "stayed busy; try again" in enter(GOOD).content.decode()


@pytest.mark.parametrize(
    ("proxies", "header", "address"),
    [
        (0, "203.0.113.9", "192.0.2.1"),
        (1, "203.0.113.9", "203.0.113.9"),
        (1, "6.6.6.6, 203.0.113.9", "203.0.113.9"),  # what stands in front of it is the caller's word
        (2, "6.6.6.6, 203.0.113.9, 10.0.0.1", "203.0.113.9"),
        (2, "203.0.113.9", "192.0.2.1"),
        (1, "", "192.0.2.1"),
        (1, None, "192.0.2.1"),
        (1, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        (1, "::ffff:203.0.113.9", "203.0.113.9"),
        (1, "not an address", "not an address"),
    ],
)
def test_whose_address_counts(settings: LazySettings, proxies: int, header: str | None, address: str) -> None:
    settings.PROXIES = proxies
    request = RequestFactory().get("/", REMOTE_ADDR="192.0.2.1")
    request.META |= {} if header is None else {"HTTP_X_FORWARDED_FOR": header}
    assert signin.address_of(request) == address


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_all_web_processes_count_together(tmp_path: Path) -> None:
    """Each try over a connection of its own, so that the processes share them out."""
    User.objects.create_user("ann", password=GOOD)
    statuses = []
    with serve(tmp_path, "--web-processes", "2") as server:
        for password in ["wrong"] * 5 + [GOOD]:
            with httpx.Client(base_url=server.url, trust_env=False, timeout=60.0) as visitor:
                token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', visitor.get("/login/").text)[0]
                sent = {"username": "ann", "password": password, "csrfmiddlewaretoken": token}
                statuses.append(visitor.post("/login/", data=sent).status_code)
    assert statuses == [200] * 5 + [429]
    assert FailedSignIn.objects.get().who == signin.identity("ann", "127.0.0.1")


@pytest.mark.django_db(transaction=True)
def test_many_at_once_get_no_more_tries_than_one_after_the_other() -> None:
    answers: Counter[bool] = Counter()
    barrier = threading.Barrier(12)

    def knock() -> None:
        try:
            barrier.wait()
            answers[signin.admit(who="x") == 0] += 1
        finally:
            connection.close()

    threads = [threading.Thread(target=knock) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {True: 5, False: 7}
