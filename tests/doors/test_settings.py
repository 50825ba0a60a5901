"""The environment: what it may say, and the sentence that stops the start where it says something else."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.conf import settings
from django.core.checks import run_checks
from django.db import connection

from tasksite.environment import NAMES, ROOT, Database, Environment, WrongSetting, kept_secret
from tests.processes import environment, manage

PROMISED = [
    "DATABASE_URL",
    "SECRET_KEY",
    "ALLOWED_HOSTS",
    "LEASE_TTL_S",
    "REJECT_LIMIT",
    "STALE_LIMIT",
    "DEBUG",
]


def test_the_defaults() -> None:
    env = Environment.load({})
    assert (env.LEASE_TTL_S, env.REJECT_LIMIT, env.STALE_LIMIT, env.DEBUG) == (60, 3, 3, False)
    assert (env.PLAN_MAX_NODES, env.PLAN_MAX_EDGES, env.PLAN_MAX_BYTES) == (200_000, 1_000_000, 64 * 1024 * 1024)
    assert (env.PLAN_MAX_TITLE, env.PLAN_MAX_BODY, env.PLAN_MAX_DEPTH) == (500, 100_000, 10)
    assert env.ALLOWED_HOSTS == ("localhost", "127.0.0.1", "[::1]")
    assert env.DATABASE_URL is None
    assert env.VAR_DIR == ROOT / "var"


def test_it_reads_what_the_contract_names() -> None:
    assert set(PROMISED) <= set(NAMES)


def test_it_looks_at_no_name_of_other_programs() -> None:
    Environment.load(
        {"PATH": "/bin", "HOME": "/root", "DATABASE": "x", "WEB_CONCURRENCY": "4", "PORT": "80", "CI": "1"}
    )


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("LEASE_TTL_S", "4", "The setting LEASE_TTL_S must be a whole number from 5 to 3600, not '4'."),
        ("LEASE_TTL_S", "3601", "The setting LEASE_TTL_S must be a whole number from 5 to 3600, not '3601'."),
        ("LEASE_TTL_S", "1m", "The setting LEASE_TTL_S must be a whole number from 5 to 3600, not '1m'."),
        ("LEASE_TTL_S", "٦٠", "The setting LEASE_TTL_S must be a whole number from 5 to 3600, not '٦٠'."),
        ("LEASE_TTL_S", "", "The setting LEASE_TTL_S must be a whole number from 5 to 3600, not ''."),
        ("REJECT_LIMIT", "0", "The setting REJECT_LIMIT must be a whole number from 1 to 1000, not '0'."),
        ("STALE_LIMIT", "-1", "The setting STALE_LIMIT must be a whole number from 0 to 1000, not '-1'."),
        ("DEBUG", "maybe", "The setting DEBUG must be on or off, not 'maybe'."),
        ("SQLITE_SYNCHRONOUS", "OFF", "The setting SQLITE_SYNCHRONOUS must be NORMAL or FULL, not 'OFF'."),
        ("VAR_DIR", "", "The setting VAR_DIR must name a folder, not ''."),
        ("SECRET_KEY", "short", "The setting SECRET_KEY must have 32 characters or more."),
        (
            "CLONE_LOCAL_ROOTS",
            "srv/git",
            "The setting CLONE_LOCAL_ROOTS must list absolute paths, with commas between them, not 'srv/git'.",
        ),
        (
            "CSRF_TRUSTED_ORIGINS",
            "tasks.example.org",
            "The setting CSRF_TRUSTED_ORIGINS must list origins such as https://tasks.example.org, "
            "with commas between them, not 'tasks.example.org'.",
        ),
        (
            "DATABASE_URL",
            "mysql://u:secret@h/d",
            "The setting DATABASE_URL must start with sqlite:/// or postgresql://.",
        ),
        (
            "DATABASE_URL",
            "sqlite:///:memory:",
            "The setting DATABASE_URL must name a file: sqlite:///relative/path or sqlite:////absolute/path.",
        ),
        (
            "DATABASE_URL",
            "postgresql://u:secret@host/",
            "The setting DATABASE_URL must name a database: postgresql://user:password@host:5432/name.",
        ),
        ("DATABASE_URL", "postgresql://host:port/d", "The setting DATABASE_URL has a port that is not a number."),
        ("DATABASE_URL", "postgresql://[host/d", "The setting DATABASE_URL must be a URL."),
        ("LEASE_TTL", "60", "There is no setting LEASE_TTL; LEASE_TTL_S may be meant."),
        ("REJECTS_LIMIT", "3", "There is no setting REJECTS_LIMIT; REJECT_LIMIT may be meant."),
        ("allowed_hosts", "*", "There is no setting allowed_hosts; ALLOWED_HOSTS may be meant."),
        ("TASKSITE_DEBUG", "on", "There is no setting TASKSITE_DEBUG; DEBUG may be meant."),
        ("TASKSITE_COLOUR", "red", "There is no setting TASKSITE_COLOUR."),
    ],
)
def test_a_wrong_or_unknown_one_is_named(name: str, value: str, sentence: str) -> None:
    with pytest.raises(WrongSetting) as wrong:
        Environment.load({name: value})
    assert str(wrong.value) == sentence


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(WrongSetting) as wrong:
        Environment.load({"DEBUG": "maybe", "STALE_LIMIT": "x"})
    assert len(str(wrong.value).splitlines()) == 2


@pytest.mark.parametrize(
    ("url", "database"),
    [
        ("sqlite:///var/x.sqlite3", Database("django.db.backends.sqlite3", str(ROOT / "var/x.sqlite3"))),
        ("sqlite:////srv/a%20b.sqlite3", Database("django.db.backends.sqlite3", "/srv/a b.sqlite3")),
        (
            "postgresql://me:p%40ss@db.example.org:5433/tasks?sslmode=require",
            Database(
                "django.db.backends.postgresql",
                "tasks",
                user="me",
                password="p@ss",
                host="db.example.org",
                port="5433",
                options={"sslmode": "require"},
            ),
        ),
        (
            "postgres://me@/tasks?host=/run/Postgres&port=6000",
            Database("django.db.backends.postgresql", "tasks", user="me", host="/run/Postgres", port="6000"),
        ),
    ],
)
def test_database_urls(url: str, database: Database) -> None:
    read = Environment.load({"DATABASE_URL": url}).DATABASE_URL
    assert read == database


def test_a_password_is_not_shown() -> None:
    assert "s3cret" not in repr(Environment.load({"DATABASE_URL": "postgresql://me:s3cret@h/d"}))


@pytest.mark.django_db(transaction=True)
def test_every_command_stops_with_the_sentence(tmp_path: Path) -> None:
    refused = subprocess.run(
        manage("serve"), env=environment(tmp_path, STALE_LIMIT="many"), capture_output=True, text=True
    )
    assert refused.returncode == 1
    assert refused.stderr == "The setting STALE_LIMIT must be a whole number from 0 to 1000, not 'many'.\n"


def test_a_missing_driver_is_named(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['psycopg'] = None\n")
    refused = subprocess.run(
        manage("check"),
        env={**os.environ, "PYTHONPATH": str(tmp_path), "DATABASE_URL": "postgresql://h/d"}
        | {"DJANGO_SETTINGS_MODULE": "tasksite.settings"},
        capture_output=True,
        text=True,
    )
    assert refused.returncode == 1
    assert refused.stderr == (
        "The setting DATABASE_URL names PostgreSQL, which needs the extra: pip install 'tasksite[postgres]'.\n"
    )


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused = subprocess.run(
        manage("check"),
        env={"DJANGO_SETTINGS_MODULE": "tasksite.settings", "VAR_DIR": str(tmp_path / "file" / "var")},
        capture_output=True,
        text=True,
    )
    assert refused.returncode == 1
    assert refused.stderr == f"The setting VAR_DIR names {tmp_path}/file/var, which cannot be made: Not a directory.\n"


def test_behind_https_nothing_is_left_open(tmp_path: Path) -> None:
    checked = subprocess.run(
        manage("check", "--deploy", "--fail-level", "WARNING"),
        env={"DJANGO_SETTINGS_MODULE": "tasksite.settings", "VAR_DIR": str(tmp_path), "BEHIND_HTTPS": "on"},
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stderr


def test_the_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "var"
    with ThreadPoolExecutor(8) as threads:
        keys = set(threads.map(lambda _: kept_secret(folder), range(32)))
    assert len(keys) == 1
    assert len(keys.pop()) >= 50
    assert [path.name for path in folder.iterdir()] == ["secret_key"]
    assert stat.S_IMODE((folder / "secret_key").stat().st_mode) == 0o600


def test_nothing_is_debugged_by_default() -> None:
    asked = "from tasksite import settings; print(settings.DEBUG, settings.DATABASES['default'].get('ATOMIC_REQUESTS'))"
    said = subprocess.run([sys.executable, "-c", asked], env=dict(os.environ), cwd=ROOT, capture_output=True, text=True)
    assert said.stdout == "False None\n"


@pytest.mark.django_db
def test_the_database_is_set_as_the_settings_say() -> None:
    assert run_checks(tags=["database"], databases=["default"]) == []


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_set_otherwise_is_told() -> None:
    if connection.vendor == "sqlite":
        wrong, right = "PRAGMA busy_timeout = 1", f"PRAGMA busy_timeout = {settings.LOCK_TIMEOUT_S * 1000}"
        told = "SQLite's busy_timeout is 1 and must be 20000."
    else:
        wrong, right = "SET default_transaction_isolation = 'serializable'", "RESET default_transaction_isolation"
        told = "PostgreSQL's default isolation is serializable and must be read committed."
    with connection.cursor() as cursor:
        cursor.execute(wrong)
        try:
            assert [message.msg for message in run_checks(tags=["database"], databases=["default"])] == [told]
        finally:
            cursor.execute(right)
