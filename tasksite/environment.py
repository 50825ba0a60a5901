"""The settings that the environment may give, each with its default, its reader and one sentence.

`Environment.load` reads them all and refuses an unknown or wrong one with a sentence that names it.
"""

import difflib
import os
import secrets
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

ROOT: Final = Path(__file__).resolve().parent.parent
MEBIBYTE: Final = 1024 * 1024

Value = TypeVar("Value")


class WrongSetting(ImproperlyConfigured):
    """A setting in the environment is unknown or has a value that cannot be used."""


@dataclass(frozen=True)
class Database:
    """What DATABASE_URL says, in Django's words."""

    engine: str
    name: str
    user: str = ""
    password: str = field(default="", repr=False)
    host: str = ""
    port: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_sqlite(self) -> bool:
        return self.engine.endswith("sqlite3")


def _text(value: str) -> str:
    return value


def _flag(value: str) -> bool:
    known = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
    if value.lower() not in known:
        raise ValueError("must be on or off")
    return known[value.lower()]


def _whole(least: int, most: int) -> Callable[[str], int]:
    def read(value: str) -> int:
        if not (value.isascii() and value.isdigit() and len(value) < 19 and least <= int(value) <= most):
            raise ValueError(f"must be a whole number from {least} to {most}")
        return int(value)

    return read


def _one_of(*choices: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value.upper() not in choices:
            raise ValueError(f"must be {' or '.join(choices)}")
        return value.upper()

    return read


def _words(value: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in value.split(",") if word.strip())


def _origins(value: str) -> tuple[str, ...]:
    origins = _words(value)
    for origin in origins:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/"):
            raise ValueError("must list origins such as https://tasks.example.org, with commas between them")
    return tuple(origin.rstrip("/") for origin in origins)


def _folder(value: str) -> Path:
    if not value:
        raise ValueError("must name a folder")
    return ROOT / Path(value).expanduser()


def _folders(value: str) -> tuple[str, ...]:
    folders = _words(value)
    for folder in folders:
        if not Path(folder).is_absolute():
            raise ValueError("must list absolute paths, with commas between them")
    return tuple(os.path.realpath(folder) for folder in folders)


def _secret(value: str) -> str:
    if value and len(value) < 32:
        raise ValueError("must have 32 characters or more")
    return value


def _database(value: str) -> Database | None:
    """Relative SQLite paths start at the root of the tree, wherever the command is run."""
    if not value:
        return None
    try:
        parts = urlsplit(value)
    except ValueError:
        raise ValueError("must be a URL") from None
    options = dict(parse_qsl(parts.query))
    if parts.scheme == "sqlite":
        path = unquote(parts.path.removeprefix("/"))
        if parts.netloc or options or not path or path.startswith(":"):
            raise ValueError("must name a file: sqlite:///relative/path or sqlite:////absolute/path")
        return Database("django.db.backends.sqlite3", str(ROOT / path))
    if parts.scheme not in ("postgresql", "postgres"):
        raise ValueError("must start with sqlite:/// or postgresql://")
    try:
        port = str(parts.port or options.pop("port", ""))
    except ValueError:
        raise ValueError("has a port that is not a number") from None
    name = unquote(parts.path.strip("/"))
    if not name:
        raise ValueError("must name a database: postgresql://user:password@host:5432/name")
    return Database(
        "django.db.backends.postgresql",
        name,
        user=unquote(parts.username or options.pop("user", "")),
        password=unquote(parts.password or options.pop("password", "")),
        host=unquote(parts.hostname or options.pop("host", "")),
        port=port,
        options=options,
    )


def _setting(default: str, read: Callable[[str], Value], meaning: str, secret: bool = False) -> Value:
    value: Value = field(metadata={"default": default, "read": read, "meaning": meaning, "secret": secret})
    return value


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Every setting of tasksite, by the name it has in the environment."""

    DATABASE_URL: Database | None = _setting(
        "", _database, "SQLite (`sqlite:///path`) or PostgreSQL; empty is `tasksite.sqlite3` in VAR_DIR", secret=True
    )
    SECRET_KEY: str = _setting("", _secret, "signs sessions; made and kept in VAR_DIR where none is given", secret=True)
    ALLOWED_HOSTS: tuple[str, ...] = _setting(
        "localhost,127.0.0.1,[::1]", _words, "host names that the site answers to, with commas between them"
    )
    CSRF_TRUSTED_ORIGINS: tuple[str, ...] = _setting(
        "", _origins, "origins of the pages where a proxy changes host or scheme, such as `https://tasks.example.org`"
    )
    BEHIND_HTTPS: bool = _setting(
        "off",
        _flag,
        "a proxy speaks HTTPS to the users and sets `X-Forwarded-Proto`: secure cookies, HSTS, no plain HTTP",
    )
    PROXIES: int = _setting(
        "0",
        _whole(0, 16),
        "proxies in front that add to `X-Forwarded-For`, so that sign-ins are counted by where they come from",
    )
    SIGNIN_LIMIT: int = _setting(
        "5", _whole(1, 1000), "wrong tries to sign in with one name from one address, before it has to wait"
    )
    SIGNIN_WINDOW_S: int = _setting(
        "900", _whole(1, 86_400), "seconds that it then waits, and after which wrong tries are forgotten"
    )
    DEBUG: bool = _setting("off", _flag, "Django's pages for developers; never on a server that others reach")
    VAR_DIR: Path = _setting("var", _folder, "where the server keeps what it makes: database, key, static files")
    LEASE_TTL_S: int = _setting("60", _whole(5, 3600), "seconds that a lease lives where a claim does not say")
    REJECT_LIMIT: int = _setting("3", _whole(1, 1000), "the rejection of a task that blocks it")
    STALE_LIMIT: int = _setting("3", _whole(0, 1000), "the stale claim of a task whose end blocks it; 0 is never")
    CLONE_LOCAL_ROOTS: tuple[str, ...] = _setting(
        "", _folders, "folders below which a plan may name a git repository by path, with commas between them"
    )
    PLAN_MAX_BYTES: int = _setting(str(64 * MEBIBYTE), _whole(1, 1 << 40), "size of a plan file, in bytes")
    PLAN_MAX_NODES: int = _setting("200000", _whole(1, 10**9), "nodes of a plan")
    PLAN_MAX_EDGES: int = _setting("1000000", _whole(0, 10**9), "edges of a plan")
    PLAN_MAX_TITLE: int = _setting("500", _whole(1, 500), "characters of a title")
    PLAN_MAX_BODY: int = _setting("100000", _whole(1, 10**8), "characters of a body")
    PLAN_MAX_DEPTH: int = _setting("10", _whole(1, 100), "levels of a plan, its objectives counted")
    SQLITE_SYNCHRONOUS: str = _setting(
        "NORMAL", _one_of("NORMAL", "FULL"), "NORMAL survives the death of every process, FULL a power cut too"
    )
    WEB_PROCESSES: int = _setting("0", _whole(0, 64), "web processes of `serve`; 0 is 1 on SQLite and 2 on PostgreSQL")
    WEB_THREADS: int = _setting(
        "0", _whole(0, 256), "threads of each web process; 0 is 4 on SQLite and 8 on PostgreSQL"
    )
    WATCHERS: int = _setting(
        "100", _whole(0, 1000), "open pages of each web process that are told of changes; those beyond it poll"
    )
    LOG_LEVEL: str = _setting(
        "INFO", _one_of("DEBUG", "INFO", "WARNING", "ERROR"), "the least severe messages that are logged"
    )

    @classmethod
    def load(cls, environ: Mapping[str, str]) -> "Environment":
        """The settings in `environ`, or `WrongSetting` with one sentence for each that is unknown or wrong."""
        faults = [_unknown(name, close) for name, close in _strangers(environ)]
        values: dict[str, Any] = {}
        for each in fields(cls):
            given = environ.get(each.name, each.metadata["default"])
            try:
                values[each.name] = each.metadata["read"](given.strip())
            except ValueError as fault:
                shown = "" if each.metadata["secret"] else f", not {given!r}"
                faults.append(f"The setting {each.name} {fault}{shown}.")
        if faults:
            raise WrongSetting("\n".join(faults))
        return cls(**values)


NAMES: Final = tuple(each.name for each in fields(Environment))


def _strangers(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names in the environment that were surely meant for tasksite, each with the setting it may mean.

    The environment is shared with all other programs, so a name is only taken for ours where it wears the
    product's name or is nearly one of ours.
    """
    found = []
    for name in sorted(environ.keys() - set(NAMES)):
        bare = name.upper().removeprefix("TASKSITE_")
        cutoff = 0.6 if bare != name.upper() else 0.88
        close = difflib.get_close_matches(bare, NAMES, n=1, cutoff=cutoff)
        if bare != name.upper() or close:
            found.append((name, close[0] if close else ""))
    return found


def _unknown(name: str, close: str) -> str:
    return f"There is no setting {name}" + (f"; {close} may be meant." if close else ".")


def kept_secret(folder: Path) -> str:
    """The key kept in `folder`, made at the first call. Processes that start together get the same one."""
    path = folder / "secret_key"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(prefix=".secret_key.", dir=folder)  # its owner's alone
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first, and its key stands
        finally:
            os.unlink(draft)
    return _secret(path.read_text().strip())
