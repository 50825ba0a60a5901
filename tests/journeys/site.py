"""A server as it is run for people, and those who use it: a lead, workers, and one who claims by hand."""

import html
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from django.contrib.auth.models import User
from django.test import Client as Browser

from leases.client import Client
from leases.models import Role
from leases.tokens import create_token
from tests.leases.fifo import Fifo
from tests.processes import LONG_S, Server, environment, manage


class Site:
    """A server with a lead, a worker's token, and workers that are started as an operator starts them."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.fifo = Fifo(folder)
        self.token = create_token(name="worker", role=Role.WORKER)[1]
        self.lead = Client(server.url, create_token(name="lead", role=Role.LEAD)[1])
        self.client = Client(server.url, self.token, holder="by hand")

    @contextmanager
    def worker(self, command: str, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
        words = ["--url", self.server.url, "--poll", "0.1", "--dir", str(self.folder / "clones"), "--exec", command]
        process = subprocess.Popen(
            manage("work", *words, *arguments),
            env=environment(self.folder, DATABASE_URL="", TASK_TOKEN=self.token, FIFO=str(self.fifo)),
            cwd=self.folder,
        )
        try:
            yield process
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(LONG_S)
            process.kill()
            process.wait()

    def once(self, command: str) -> int:
        with self.worker(command, "--once") as process:
            return process.wait(LONG_S)

    def command(self) -> tuple[psutil.Process, Path]:
        """The command that has just started, and where."""
        pid, _, place = self.fifo.hear().strip().partition(" ")
        return psutil.Process(int(pid)), Path(place)

    def import_plan(self, **objectives: dict[str, Any]) -> None:
        self.lead.post(
            "plans/", {"plan": "p", "objectives": [{"key": k, "title": k} | o for k, o in objectives.items()]}
        )

    def nodes(self) -> dict[str, dict[str, Any]]:
        return {node["full_key"]: node for node in self.lead.nodes(leaf="any")}

    def states(self) -> dict[str, str]:
        return {full_key: node["state"] for full_key, node in self.nodes().items() if node["leaf"]}

    def detail(self, full_key: str) -> dict[str, Any]:
        return self.lead.node(self.nodes()[full_key]["id"])

    def manage(self, *words: str) -> str:
        """What a command of `manage.py` prints; it must succeed."""
        done = subprocess.run(
            manage(*words), env=environment(self.folder / "server"), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def page(self) -> str:
        """The overview as somebody sees it who is signed in, as words without tags."""
        reader = Browser()
        reader.force_login(User.objects.get_or_create(username="sam")[0])
        return " ".join(re.sub(r"<[^>]+>", " ", html.unescape(reader.get("/").content.decode())).split())
