"""`manage.py demo [--once] [--port N]`: what `make run` runs."""

import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.urls import Resolver404, resolve

from tasksite import demo


class Command(BaseCommand):
    help = (
        "Drain the plan that ships with the repository with a server and three workers, and go on serving. Each run "
        "imports a new plan, named by the time, and replaces what the last one left in var/demo."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="stop when drained: exit 0, or 1 where it did not")
        parser.add_argument("--port", type=int, help=f"{demo.PORT} where it is free, else any free one")

    def handle(self, *, once: bool, port: int | None, **_: Any) -> None:
        stop = demo.Stop()
        self.drained = False
        try:
            self._run(stop, once, port)
        except demo.Stopped:
            self.say("Stopped.")
        except demo.Failed as failure:
            if not stop.asked:  # else the signal reached what was running, too
                raise CommandError(str(failure)) from failure
            self.say("Stopped.")
        if once and not self.drained:
            sys.exit(1)

    def say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

    def _run(self, stop: demo.Stop, once: bool, port: int | None) -> None:
        here = demo.Demo.at(settings.VAR_DIR)
        with here.alone():
            call_command("migrate", interactive=False, verbosity=0)
            plan = time.strftime("self-study-%Y%m%d-%H%M%S")
            here.manage("import_plan", "-", given=demo.plan_text(plan, here.repository()))
            token = here.token("demo-workers")
            children = demo.Children(here, stop)
            try:
                stop.look()
                url = children.start_server(demo.free_port() if port is None else port)
                children.start_workers(url, plan, token)
                self.say(f"tasksite serves at {url} and {demo.WORKERS} workers drain the plan {plan}.")
                self._introduce(url)
                self.drained = self._conclude(here, demo.drained(plan, children, self.say))
                if not once:
                    self.say(f"Serving at {url} until Ctrl-C.")
                while not once:
                    children.look()
                    time.sleep(demo.LOOK_S)
            finally:
                children.end()

    def _introduce(self, url: str) -> None:
        name, password = demo.make_lead()
        self.say(f"Sign in at {url}{_pages()} as {name} with the password {password}")

    def _conclude(self, here: demo.Demo, drained: bool) -> bool:
        """Tell the end of it; whether all is as it should be."""
        if not drained:
            self.say(f"The plan did not drain; the workers' logs are in {here.folder}.")
        try:
            self.say(here.manage("audit"))
            if drained:
                self.say(f"The plan is drained. Its report is {here.report()}")
        except demo.Failed as failure:
            self.say(str(failure))
            return False
        return drained


def _pages() -> str:
    """Where a lead looks first: the pages, or the admin where there are none."""
    try:
        resolve("/")
    except Resolver404:
        return "admin/"
    return ""
