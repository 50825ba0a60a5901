"""Tokens: shown once, stored hashed, ended by time or by word; the commands that make, list and end them."""

import hashlib
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from graph.errors import Invalid, NotFound
from leases import tokens
from leases.models import Role, Token
from leases.tokens import authenticate, create_token, list_tokens, revoke_token, verify

pytestmark = pytest.mark.django_db


def test_a_token_is_stored_as_its_hash_alone() -> None:
    token, secret = create_token(name="w", role=Role.WORKER)
    assert len(secret) == len(tokens.PREFIX) + 43, "256 bits"
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM leases_token")
        assert secret not in str(cursor.fetchall())
    assert token.digest == hashlib.sha256(secret.encode()).hexdigest()


def test_two_tokens_have_nothing_in_common() -> None:
    assert create_token(name="a", role=Role.WORKER)[1] != create_token(name="b", role=Role.WORKER)[1]


def test_a_caller_has_the_token_s_name_and_role() -> None:
    token, secret = create_token(name="night shift", role=Role.LEAD)
    caller = authenticate(secret)
    assert caller is not None
    assert (caller.name, caller.role, caller.token_id) == ("night shift", "lead", token.id)


@pytest.mark.parametrize("secret", ["", "ts_", "x", "ts_" + "a" * 43, "ts_" + "a" * 44, "ts_" + "é" * 43, "ts_\x00"])
def test_what_is_no_secret_is_nobody(secret: str) -> None:
    create_token(name="w", role=Role.WORKER)
    assert verify(secret) is None


def test_a_wrong_shape_costs_no_statement(django_assert_num_queries: object) -> None:
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert verify("nonsense") is None


def test_a_token_is_valid_until_the_microsecond_it_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000_000
    monkeypatch.setattr("graph.clock.judged", lambda _: now)
    _, secret = create_token(name="w", role=Role.WORKER, days=1)
    now += tokens.DAY - 1
    assert authenticate(secret) is not None
    now += 1
    assert authenticate(secret) is None


def test_a_revoked_token_is_nobody_and_its_name_is_free_again() -> None:
    _, secret = create_token(name="w", role=Role.WORKER)
    with pytest.raises(Invalid, match="already"):
        create_token(name="w", role=Role.LEAD)
    revoke_token(name="w")
    assert authenticate(secret) is None
    with pytest.raises(NotFound):
        revoke_token(name="w")
    _, other = create_token(name="w", role=Role.LEAD)
    assert authenticate(secret) is None
    assert authenticate(other) is not None
    assert [token.role for token in list_tokens()] == ["worker", "lead"]


@pytest.mark.parametrize(
    ("name", "role", "days", "field"),
    [
        ("", "worker", None, "name"),
        ("  ", "worker", None, "name"),
        ("x" * 101, "worker", None, "name"),
        ("a\nb", "worker", None, "name"),
        ("a\x00b", "worker", None, "name"),
        ("\x1b[2J", "worker", None, "name"),
        ("\ud800", "worker", None, "name"),
        ("w", "admin", None, "role"),
        ("w", "", None, "role"),
        ("w", "worker", 0, "days"),
        ("w", "worker", -1, "days"),
        ("w", "worker", 10**9, "days"),
    ],
)
def test_what_no_token_may_be(name: str, role: str, days: int | None, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        create_token(name=name, role=role, days=days)
    assert [*refused.value.fields["errors"]] == [field]
    assert not Token.objects.exists()


# The commands


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_create_token_prints_the_token_and_nothing_else() -> None:
    printed = run("create_token", "w", "--role", "worker", "--days", "30")
    assert printed == printed.strip() + "\n"
    caller = authenticate(printed.strip())
    assert caller is not None and caller.name == "w"


def test_the_commands_say_what_is_wrong() -> None:
    run("create_token", "w", "--role", "lead")
    with pytest.raises(CommandError, match="already"):
        run("create_token", "w", "--role", "lead")
    with pytest.raises(CommandError, match="invalid choice"):
        run("create_token", "x", "--role", "admin")
    with pytest.raises(CommandError, match="no token"):
        run("revoke_token", "x")


def test_list_tokens_shows_what_became_of_each_and_no_secret() -> None:
    secrets = [run("create_token", name, "--role", "worker", *days).strip() for name, *days in
               (["plain"], ["short", "--days", "1"], ["gone"], ["ended", "--days", "1"])]  # fmt: skip
    run("revoke_token", "gone")
    Token.objects.filter(name="ended").update(expires_at=1)
    listed = run("list_tokens")
    states = {line.split()[0]: line for line in listed.splitlines()[1:]}
    assert states["plain"].endswith("valid")
    assert "valid until" in states["short"]
    assert "revoked" in states["gone"]
    assert "expired 1970-01-01" in states["ended"]
    for secret in secrets:
        assert secret not in listed and tokens.digest(secret) not in listed


@pytest.mark.usefixtures("falling_ids")
def test_list_tokens_has_the_oldest_first_whatever_their_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    for day, name in enumerate(["first", "second", "third"]):
        monkeypatch.setattr("graph.clock.judged", lambda _, now=day * tokens.DAY: now)
        run("create_token", name, "--role", "worker")
    assert [line.split()[0] for line in run("list_tokens").splitlines()[1:]] == ["first", "second", "third"]
