"""Claim + report pairs a second: over HTTP with 8 worker processes, beside raw SQL that writes the same rows.

Both drain the same plan, 50 lanes of 20 tasks in a chain, on the same kind of database in the same run, in turn,
and the median of the ratios is what counts. The raw side is a script without Django, HTTP or checks: it picks a
free task under the lane's lock and writes the leases, runs, attempts, states and events that the server would.
"""

import argparse
import http.client
import json
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks import raw
from benchmarks.databases import KINDS, ROOT, environment, manage

LANES, TASKS, WORKERS = 50, 20, 8
WANTED = {"sqlite": 0.12, "postgresql": 0.35}


def plan() -> dict[str, Any]:
    def tasks() -> list[dict[str, Any]]:
        return [
            {"key": f"task-{i:02}", "title": f"Task {i}", "needs": [f"task-{i - 1:02}"] if i else []}
            for i in range(TASKS)
        ]

    return {
        "plan": "bench",
        "objectives": [{"key": f"lane-{n:02}", "title": f"Lane {n}", "tasks": tasks()} for n in range(LANES)],
    }


def prepared(url: str, folder: Path) -> str:
    """A migrated database with the plan in it; a worker's token."""
    manage(url, folder, "migrate", "--verbosity", "0")
    manage(url, folder, "import_plan", "-", given=json.dumps(plan()))
    return manage(url, folder, "create_token", "bench", "--role", "worker").splitlines()[-1]


def together(work: Callable[..., None], *arguments: Any) -> float:
    """Pairs a second of 8 processes that start at one barrier and end when nothing is left."""
    context = multiprocessing.get_context("spawn")
    barrier, done = context.Barrier(WORKERS + 1), context.Queue()
    crew = [context.Process(target=work, args=(barrier, done, *arguments)) for _ in range(WORKERS)]
    for member in crew:
        member.start()
    barrier.wait()
    started = time.perf_counter()
    pairs: int = sum(done.get() for _ in crew)
    elapsed = time.perf_counter() - started
    for member in crew:
        member.join()
    assert pairs == LANES * TASKS, f"{pairs} of {LANES * TASKS} tasks were worked"
    return pairs / elapsed


def over_http(barrier: Any, done: Any, port: int, token: str) -> None:
    """One worker: claim and report until the pool stays empty."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def post(path: str, body: dict[str, Any]) -> tuple[int, Any]:
        connection.request("POST", f"/api/v1/{path}", json.dumps(body), headers)
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status < 400, content
        return answer.status, json.loads(content) if content else None

    barrier.wait()
    pairs = empty = 0
    while empty < 5:
        status, grant = post("claims/", {})
        if status == 204:
            empty += 1
            time.sleep(0.005)
            continue
        empty = 0
        right = {"lease": grant["lease"]["id"], "fence": grant["lease"]["fence"], "outcome": "done"}
        post(f"nodes/{grant['node']['id']}/report/", right)
        pairs += 1
    done.put(pairs)


def serve(
    url: str, folder: Path, *options: str, settings: str = "tasksite.settings"
) -> tuple["subprocess.Popen[str]", int]:
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "serve", "--port", "0", *options],
        env=environment(url, folder, settings), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("tasksite is ready at "):
            return process, int(urlsplit(line.split()[4]).port or 0)
    raise RuntimeError("the server did not come up")


def http_rate(kind: str) -> float:
    with KINDS[kind]() as url, tempfile.TemporaryDirectory() as folder:
        token = prepared(url, Path(folder))
        process, port = serve(url, Path(folder))
        try:
            rate = together(over_http, port, token)
        finally:
            process.terminate()
            process.wait()
        manage(url, Path(folder), "audit")
        return rate


def raw_rate(kind: str) -> float:
    with KINDS[kind]() as url, tempfile.TemporaryDirectory() as folder:
        prepared(url, Path(folder))
        return together(raw.drain, url)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("kinds", nargs="*", default=[*KINDS])
    options = parser.parse_args()
    for kind in options.kinds:
        ratios = []
        for _ in range(options.rounds):
            ours, bare = http_rate(kind), raw_rate(kind)
            ratios.append(ours / bare)
            print(f"{kind:<12}{ours:>8.0f} pairs/s over HTTP {bare:>8.0f} raw   ratio {ratios[-1]:.2f}", flush=True)
        print(f"{kind:<12}median ratio {statistics.median(ratios):.2f} (at least {WANTED[kind]})", flush=True)


if __name__ == "__main__":
    main()
