"""What watching costs: 50 leads at the overview while 8 workers drain at half of what the server can do.

Three drains of the same plan in one run: as fast as it goes and unwatched, then at half that rate unwatched, then at
half that rate with all watchers listening, each asking for the fragment whenever it is told of a change. The last two
must come out alike, and the server renders the fragment once for each revision that it tells, not once for each who
asks. Then the plan is drained, the watchers stay, and what they and the server still ask for is counted.
"""

import argparse
import asyncio
import http.client
import json
import multiprocessing
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from benchmarks import counting
from benchmarks.databases import KINDS, manage
from benchmarks.drain import LANES, TASKS, WORKERS, prepared, serve

LEADS = 50
IDLE_S = 30
PASSWORD = "a long enough one"


def pace(barrier: Any, done: Any, port: int, token: str, every_s: float) -> None:
    """One worker: a claim and a report each `every_s` seconds, or as fast as it goes; what each pair took."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def post(path: str, body: dict[str, Any]) -> tuple[int, Any]:
        connection.request("POST", f"/api/v1/{path}", json.dumps(body), headers)
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status < 400, content
        return answer.status, json.loads(content) if content else None

    barrier.wait()
    took: list[float] = []
    due, empty = time.perf_counter(), 0
    while empty < 5:
        started = time.perf_counter()
        status, grant = post("claims/", {})
        if status == 204:
            empty += 1
            time.sleep(0.01)
            continue
        empty = 0
        right = {"lease": grant["lease"]["id"], "fence": grant["lease"]["fence"], "outcome": "done"}
        post(f"nodes/{grant['node']['id']}/report/", right)
        took.append(time.perf_counter() - started)
        due += every_s
        time.sleep(max(0.0, due - time.perf_counter()))
    done.put(took)


def drain(port: int, token: str, rate: float | None) -> tuple[float, list[float]]:
    """Pairs a second, and what each pair took in seconds."""
    context = multiprocessing.get_context("spawn")
    barrier, done = context.Barrier(WORKERS + 1), context.Queue()
    every_s = WORKERS / rate if rate else 0.0
    crew = [context.Process(target=pace, args=(barrier, done, port, token, every_s)) for _ in range(WORKERS)]
    for member in crew:
        member.start()
    barrier.wait()
    started = time.perf_counter()
    took = [each for _ in crew for each in done.get()]
    elapsed = time.perf_counter() - started
    for member in crew:
        member.join()
    assert len(took) == LANES * TASKS, f"{len(took)} tasks were worked"
    return len(took) / elapsed, took


async def _watch(client: httpx.AsyncClient, counts: Any) -> None:
    """As a browser does: listens, and asks for the fragment with the ETag of the one it shows."""
    etag = ""
    while True:
        async with client.stream("GET", "/watch/", timeout=None) as stream:
            assert stream.status_code == 200, stream.status_code
            async for line in stream.aiter_lines():
                if not line.startswith("data: "):
                    continue
                answer = await client.get("/", headers={"HX-Request": "true", "If-None-Match": etag, "Told": line[6:]})
                etag = answer.headers["ETag"]
                with counts.get_lock():
                    counts[0] += 1


def watchers(port: int, cookies: dict[str, str], counts: Any) -> None:
    async def all_of_them() -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        base = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(
            base_url=base, cookies=cookies, limits=limits, timeout=60, trust_env=False
        ) as client:
            await asyncio.gather(*[_watch(client, counts) for _ in range(LEADS)])

    asyncio.run(all_of_them())


def signed_in(port: int) -> dict[str, str]:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
        client.get("/login/")
        form = {"username": "lead", "password": PASSWORD, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        assert client.post("/login/", data=form).status_code == 302
        return dict(client.cookies)


def fresh(url: str, folder: Path, name: str) -> None:
    """The same plan again, under another name."""
    from benchmarks.drain import plan

    manage(url, folder, "import_plan", "-", given=json.dumps({**plan(), "plan": name}))


def shown(took: list[float]) -> str:
    cut = statistics.quantiles(took, n=100)
    return f"a pair takes {cut[49] * 1000:.0f} ms, 99% under {cut[98] * 1000:.0f} ms"


def measure(kind: str) -> None:
    with KINDS[kind]() as url, tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        token = prepared(url, folder)
        make_lead = (
            "from django.contrib.auth.models import User; "
            f"User.objects.create_user('lead', password='{PASSWORD}', is_staff=True)"
        )
        manage(url, folder, "shell", "--command", make_lead)
        process, port = serve(url, folder, settings="benchmarks.counted")
        try:
            full, took = drain(port, token, None)
            print(f"{kind:<12}unwatched, all out   {full:>6.0f} pairs/s   {shown(took)}", flush=True)
            fresh(url, folder, "second")
            half, took = drain(port, token, full / 2)
            print(f"{kind:<12}unwatched, half      {half:>6.0f} pairs/s   {shown(took)}", flush=True)
            fresh(url, folder, "third")
            counts = multiprocessing.get_context("spawn").Array("i", 1)
            crowd = multiprocessing.get_context("spawn").Process(
                target=watchers, args=(port, signed_in(port), counts), daemon=True
            )
            crowd.start()
            time.sleep(3)
            counts[0], before = 0, counting.read(folder)
            watched, took = drain(port, token, full / 2)
            print(f"{kind:<12}{LEADS} watch, half       {watched:>6.0f} pairs/s   {shown(took)}", flush=True)
            print(
                f"{kind:<12}  ratio {watched / half:.2f}; they asked for the fragment {counts[0]:,} times,"
                f" rendered {(counting.read(folder) - before).rendered} times",
                flush=True,
            )
            time.sleep(3)
            counts[0], before = 0, counting.read(folder)
            time.sleep(IDLE_S)
            quiet = counting.read(folder) - before
            print(
                f"{kind:<12}idle, {LEADS} watch: {counts[0] * 60 / IDLE_S:.0f} requests and"
                f" {quiet.statements * 60 / IDLE_S:.0f} statements a minute",
                flush=True,
            )
            crowd.kill()
            crowd.join()
            time.sleep(30)
            before = counting.read(folder)
            time.sleep(IDLE_S)
            quiet = counting.read(folder) - before
            print(
                f"{kind:<12}idle, nobody watches: {quiet.statements * 60 / IDLE_S:.0f} statements a minute", flush=True
            )
        finally:
            process.terminate()
            process.wait()
        print(f"{kind:<12}{manage(url, folder, 'audit')}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=[*KINDS])
    for kind in parser.parse_args().kinds:
        measure(kind)


if __name__ == "__main__":
    main()
