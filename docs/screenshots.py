"""`make screenshots`: pictures of the pages for the documents, of the demo's plans as they stand on a busy afternoon.

The database is made anew each time: the plans are imported, and workers do part of them by the services themselves,
at moments of the last hour. A picture is one line in SHOTS.
"""

import argparse
import logging
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
MOST_BYTES: Final = 300_000
PASSWORD: Final = "shown to nobody"


@dataclass(frozen=True)
class Shot:
    """A page by the name of its URL; `of` is what it is about: a plan's name, or the full key of a node."""

    file: str
    page: str
    of: str = ""
    scheme: str = "light"
    width: int = 1280
    height: int = 860


SHOTS: Final = (
    Shot("overview-light", "overview"),
    Shot("overview-dark", "overview", scheme="dark"),
    Shot("overview-phone", "overview", width=390, height=844),
    Shot("plan", "plan", of="checkout-rewrite"),
    Shot("node", "node", of="payments/capture"),
    Shot("lane", "lane", of="api"),
)


# What has happened so far


class Story:
    """Calls services as workers and leads would have, so and so many minutes ago."""

    def __init__(self) -> None:
        from graph.models import Node

        self._grants: dict[str, Any] = {}
        self._ids = dict(Node.objects.values_list("full_key", "id"))

    def claim(self, ago: float, worker: str, key: str, *, ttl_s: int = 3600) -> None:
        from leases.claim import claim

        with moment(ago):
            self._grants[key] = claim(node_id=self._ids[key], caller=caller(worker), ttl_s=ttl_s), caller(worker)

    def say(self, ago: float, key: str, progress: str) -> None:
        from leases.heartbeat import heartbeat

        with moment(ago):
            heartbeat(**self._held(key), progress=progress)

    def done(self, ago: float, key: str, summary: str, outcome: str = "done") -> None:
        from leases.settle import report

        with moment(ago):
            report(**self._held(key), outcome=outcome, summary=summary)

    def reject(self, ago: float, key: str, reason: str) -> None:
        from leases.settle import reject

        with moment(ago):
            reject(**self._held(key), reason=reason)

    def release(self, ago: float, key: str, reason: str) -> None:
        from leases.settle import release

        with moment(ago):
            release(**self._held(key), reason=reason)

    def waive(self, ago: float, dependent: str, dependency: str, reason: str) -> None:
        from graph.actors import Caller
        from graph.editing import waive
        from graph.models import Edge

        edge = Edge.objects.get(dependent__full_key=dependent, dependency__full_key=dependency)
        with moment(ago):
            waive(edge_id=edge.id, caller=Caller("ann", "lead"), reason=reason)

    def _held(self, key: str) -> dict[str, Any]:
        grant, worker = self._grants[key]
        return {"node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence, "caller": worker}


def study(story: Story) -> None:
    """The demo's own plan, drained in the morning."""
    tasks = {
        "survey/lines": "9,412 lines in 118 modules",
        "checks/compile": "every module compiles",
        "survey/imports": "no room looks upward",
        "checks/walk": "300 plans, all in order",
        "survey/functions": "the longest has 38 lines",
        "checks/links": "no link leads nowhere",
        "report/write": "REPORT.md is on the branch self-study",
    }
    for number, (key, summary) in enumerate(tasks.items()):
        story.claim(200 - 4 * number, f"worker-{1 + number % 3}", key)
        story.done(197 - 4 * number, key, summary)


def checkout(story: Story) -> None:
    """A plan in the middle of its work, with all that can go wrong."""
    story.claim(56, "worker-1", "db/tables")
    story.claim(56, "worker-2", "web/mock")
    story.claim(55, "worker-3", "payments/provider")
    story.claim(54, "worker-4", "mail/templates")
    story.claim(53, "worker-5", "ops/dashboards")
    story.reject(50, "payments/provider", "The sandbox answers 403: the key in the vault has run out.")
    story.done(49, "web/mock", "Four steps, drawn and agreed.")
    story.claim(48, "worker-2", "web/cart")
    story.done(47, "db/tables", "Three tables, and the migration to go back.")
    story.claim(46, "worker-1", "db/history")
    story.claim(45, "worker-7", "api/schema")
    story.reject(44, "payments/provider", "Still 403 with the new key; the provider wants a contract number.")
    story.done(41, "mail/templates", "English, French and Polish stand; German waits for its words.", "partial")
    story.reject(39, "payments/provider", "403 again. Somebody must ask the provider.")
    story.reject(38, "api/schema", "Two fields have no type yet.")
    story.release(33, "db/history", "the host is being drained")
    story.claim(31, "worker-6", "db/history")
    story.done(30, "ops/dashboards", "Four dashboards, one for each step.")
    story.done(29, "web/cart", "With and without an account.")
    story.claim(28, "worker-5", "ops/alerts", ttl_s=300)
    story.claim(27, "worker-2", "web/address")
    story.done(26, "api/schema", "Eleven endpoints, every field with a type.")
    story.claim(25, "worker-7", "api/endpoints")
    story.waive(20, "rollout", "mail", "receipts can follow a day later")
    story.say(4, "db/history", "2018 of 2016 to 2026")
    story.say(2, "web/address", "12 of 31 countries")
    story.say(1, "api/endpoints", "7 of 11 endpoints")


@contextmanager
def moment(ago: float) -> Iterator[None]:
    """The services judge by a clock that stands so many minutes back."""
    from graph import clock

    judged = clock.judged
    clock.judged = lambda micros: judged(micros) - int(ago * 60_000_000)
    try:
        yield
    finally:
        clock.judged = judged


def caller(name: str) -> Any:
    from graph.actors import Caller
    from leases.models import Role, Token
    from leases.tokens import create_token

    token = Token.objects.filter(name=name).first()
    if token is None:
        with moment(300):
            token = create_token(name=name, role=Role.WORKER)[0]
    return Caller(name, Role.WORKER, token.id)


def prepare() -> None:
    """The database, the plans, and what has become of them."""
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from graph.actors import Caller
    from graph.importing import read_file
    from graph.plan_file import Format
    from leases.acts import import_plan
    from tasksite.demo import plan_text

    call_command("migrate", verbosity=0)
    User.objects.create_user("ann", password=PASSWORD, is_staff=True)
    lead = Caller("ann", "lead")
    texts = {210: plan_text("self-study", Path("/srv/git/house.git")), 58: checkout_text()}
    for ago, text in texts.items():
        with moment(ago):
            import_plan(plan=read_file(text.encode(), Format.YAML, prune=False), caller=lead)
    study(Story())
    checkout(Story())


def checkout_text() -> str:
    return (ROOT / "examples" / "checkout.yaml").read_text(encoding="utf-8")


# The pictures


def address(shot: Shot) -> str | None:
    """Where the page is; None where there is none of that name (yet)."""
    from django.urls import NoReverseMatch, reverse

    from graph.models import Node, Plan

    found: Any = [Plan.objects.get(name=shot.of).id] if shot.page == "plan" else []
    if shot.of and not found:
        found = [Node.objects.get(full_key=shot.of).id]
    try:
        return reverse(shot.page, args=found)
    except NoReverseMatch:
        return None


@contextmanager
def server() -> Iterator[str]:
    """The site alone, in this process: the job cluster would recover what is to be seen as stale."""
    from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler

    from tasksite.wsgi import application

    logging.getLogger("django.server").setLevel(logging.ERROR)  # a line for each request else
    with ThreadedWSGIServer(("127.0.0.1", 0), WSGIRequestHandler) as running:
        running.set_app(application)
        running.daemon_threads = True
        running.block_on_close = False
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def take(shots: dict[Shot, str], folder: Path, chromium: str) -> list[str]:
    """The pictures, and what is wrong with them."""
    from playwright.sync_api import sync_playwright

    from tests.browser import FLAGS, visitor

    wrong = []
    with server() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for shot, path in shots.items():
            size: Any = {"width": shot.width, "height": shot.height}
            person = visitor(browser, url, viewport=size, color_scheme=shot.scheme, reduced_motion="reduce")
            person.sign_in("ann", PASSWORD)
            person.page.goto(url + path)
            person.page.wait_for_timeout(1_500)  # what scripts draw is there by then
            picture = folder / f"{shot.file}.png"
            person.page.screenshot(path=picture)
            wrong += [f"{picture.name}: {fault}" for fault in person.faults]
            if picture.stat().st_size > MOST_BYTES:
                wrong.append(f"{picture.name} has {picture.stat().st_size:,} bytes")
            print(f"{picture.name}: {path}, {picture.stat().st_size // 1000} kB")
            person.page.context.close()
        browser.close()
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--to", type=Path, default=ROOT / "docs" / "screenshots", metavar="FOLDER")
    folder: Path = parser.parse_args().to
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("There is no chromium on the path.", file=sys.stderr)
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tasksite-", ignore_cleanup_errors=True) as var:
        os.environ.update(
            DJANGO_SETTINGS_MODULE="tasksite.settings",
            VAR_DIR=var,
            DATABASE_URL="",
            LOG_LEVEL="ERROR",
            CLONE_LOCAL_ROOTS="/srv/git",
        )
        import django

        django.setup()
        prepare()
        there = {shot: path for shot in SHOTS if (path := address(shot)) is not None}
        for shot in SHOTS:
            if shot not in there:
                print(f"{shot.file}: there is no page {shot.page}")
        wrong = take(there, folder, chromium)
    for fault in wrong:
        print(fault, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
