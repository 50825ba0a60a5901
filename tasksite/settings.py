"""The one settings file. What an operator may change comes from the environment: see `tasksite.environment`."""

import os
from typing import Any

from tasksite.environment import ROOT, Database, Environment, WrongSetting, kept_secret

_env = Environment.load(os.environ)

BASE_DIR = ROOT
VAR_DIR = _env.VAR_DIR
try:
    VAR_DIR.mkdir(parents=True, exist_ok=True)
except OSError as _error:
    raise WrongSetting(f"The setting VAR_DIR names {VAR_DIR}, which cannot be made: {_error.strerror}.") from _error
DEBUG = _env.DEBUG
SECRET_KEY = _env.SECRET_KEY or kept_secret(VAR_DIR)
ALLOWED_HOSTS = list(_env.ALLOWED_HOSTS)
CSRF_TRUSTED_ORIGINS = list(_env.CSRF_TRUSTED_ORIGINS)

LEASE_TTL_S = _env.LEASE_TTL_S
REJECT_LIMIT = _env.REJECT_LIMIT
STALE_LIMIT = _env.STALE_LIMIT
CLONE_LOCAL_ROOTS = _env.CLONE_LOCAL_ROOTS
PLAN_MAX_BYTES = _env.PLAN_MAX_BYTES
PLAN_MAX_NODES = _env.PLAN_MAX_NODES
PLAN_MAX_EDGES = _env.PLAN_MAX_EDGES
PLAN_MAX_TITLE = _env.PLAN_MAX_TITLE
PLAN_MAX_BODY = _env.PLAN_MAX_BODY
PLAN_MAX_DEPTH = _env.PLAN_MAX_DEPTH

# Our apps stand before django_q: their commands of the same name win.
INSTALLED_APPS = [
    "tasksite",
    "leases",
    "graph",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_q",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "tasksite.middleware.ContentSecurityPolicy",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "tasksite.urls"
WSGI_APPLICATION = "tasksite.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# Database

SQLITE_SYNCHRONOUS = _env.SQLITE_SYNCHRONOUS
LOCK_TIMEOUT_S = 20
"""How long a statement waits for others' locks; then the answer is 503."""


def _sqlite(name: str) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": name,
        # Opening a file anew for each request costs more than the request.
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "timeout": LOCK_TIMEOUT_S,
            # A transaction that begins as a reader fails at once when it comes to write, whatever the timeout.
            "transaction_mode": "IMMEDIATE",
            "init_command": (
                f"PRAGMA journal_mode=WAL; PRAGMA synchronous={SQLITE_SYNCHRONOUS}; "
                "PRAGMA cache_size=-32000; PRAGMA temp_store=MEMORY"
            ),
        },
    }


# A random read costs little more than the next one on today's disks; the default makes whole reads look cheap.
_POSTGRESQL = f"-c random_page_cost=1.1 -c lock_timeout={LOCK_TIMEOUT_S}s"


def _postgresql(database: Database) -> dict[str, Any]:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise WrongSetting(
            "The setting DATABASE_URL names PostgreSQL, which needs the extra: pip install 'tasksite[postgres]'."
        ) from None
    return {
        "ENGINE": database.engine,
        "NAME": database.name,
        "USER": database.user,
        "PASSWORD": database.password,
        "HOST": database.host,
        "PORT": database.port,
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,  # a pooled connection may have died with the database's last restart
        "OPTIONS": {
            "application_name": "tasksite",
            "options": _POSTGRESQL,
            # At its second use, of what `graph.sql` runs: to parse and plan those costs more than to run them.
            "prepare_threshold": 1,
            **database.options,
        },
    }


_database = _env.DATABASE_URL or Database("django.db.backends.sqlite3", str(VAR_DIR / "tasksite.sqlite3"))
DATABASES = {"default": _sqlite(_database.name) if _database.is_sqlite else _postgresql(_database)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Fewer writing threads are faster on SQLite: its waiters are not served in order.
WEB_PROCESSES = _env.WEB_PROCESSES or (1 if _database.is_sqlite else 2)
WEB_THREADS = _env.WEB_THREADS or (4 if _database.is_sqlite else 8)
WATCHERS = _env.WATCHERS
# `tasksite.wsgi` adds these: the job cluster forks, which a connection pool does not survive.
WEB_DATABASE_OPTIONS: dict[str, Any] = (
    {} if _database.is_sqlite else {"pool": {"min_size": 1, "max_size": WEB_THREADS + 2, "timeout": 20}}
)

# Users, sessions, headers

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
SIGNIN_LIMIT = _env.SIGNIN_LIMIT
SIGNIN_WINDOW_S = _env.SIGNIN_WINDOW_S
PROXIES = _env.PROXIES
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
if _env.BEHIND_HTTPS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    # What holds for the other sites of the domain is not ours to say.
    SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

# Words, time, files

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# Served from where the apps keep them, indexed once at the start: nothing to collect, nothing to go stale.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

# API

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["tasksite.api.authentication.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["tasksite.api.roles.HasAccess"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_METADATA_CLASS": None,
    "EXCEPTION_HANDLER": "tasksite.api.problems.handler",
    "UNAUTHENTICATED_USER": None,
    # No parameter of a query changes what kind of answer it is.
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "tasksite",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "POSTPROCESSING_HOOKS": ["tasksite.api.schema.document.complete"],
}

# Jobs

Q_CLUSTER: dict[str, Any] = {
    "name": "tasksite",
    "label": "Jobs",
    "orm": "default",
    "workers": 1,
    "poll": 1,
    "timeout": 60,
    "retry": 120,
    "max_attempts": 3,
    "ack_failures": True,
    "catch_up": False,
    "recycle": 500,
    "save_limit": 200,
}

# Logging

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": _env.LOG_LEVEL},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        "django.server": {"handlers": [], "propagate": True},
        # A refusal is a normal answer: no line in the log for each 4xx.
        "django.request": {"handlers": [], "level": "ERROR", "propagate": True},
        # A request for a host that is not ours is answered 400; whoever sends many fills no log.
        "django.security.DisallowedHost": {"handlers": [], "level": "CRITICAL", "propagate": False},
        # At DEBUG it writes out whole contexts where a variable is missing, a token's secret among them.
        "django.template": {"handlers": [], "level": "INFO", "propagate": True},
        "django-q": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
    },
}
