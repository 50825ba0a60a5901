"""Settings of the tests. TEST_DATABASE chooses: sqlite (a file: threads need one) or postgresql."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from tasksite.environment import NAMES
from tests.postgresql import server_url

_folder = Path(tempfile.mkdtemp(prefix="tasksite-test-"))
atexit.register(shutil.rmtree, _folder, ignore_errors=True)

_given = os.environ.get("DATABASE_URL", "")
_kind = os.environ.get("TEST_DATABASE") or ("postgresql" if _given.startswith("postgres") else "sqlite")
if _kind not in ("sqlite", "postgresql"):
    raise RuntimeError(f"TEST_DATABASE must be sqlite or postgresql, not {_kind!r}.")

# The tests, and the servers that they start, see no setting of whoever runs them.
for _name in NAMES:
    os.environ.pop(_name, None)
os.environ["VAR_DIR"] = str(_folder / "var")
os.environ["SECRET_KEY"] = "a key that signs nothing but the sessions of tests"
if _kind == "postgresql":
    os.environ["DATABASE_URL"] = _given if _given.startswith("postgres") else server_url()

from tasksite.settings import *  # noqa: E402, F403
from tasksite.settings import DATABASES  # noqa: E402

if _kind == "sqlite":
    DATABASES["default"]["TEST"] = {"NAME": str(_folder / "test.sqlite3")}

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
LOGGING_CONFIG = None  # pytest catches what is logged
