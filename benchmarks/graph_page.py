"""The graph of a plan: what its layout, its data and its drawing take, with so many boxes drawn.

The first plans are all objectives, which are drawn one and all; the last is a large one with its tasks closed in, as
it opens. The browser is Debian's Chromium, without a graphics card.
"""

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.databases import KINDS, manage
from benchmarks.drain import serve
from benchmarks.watchers import PASSWORD
from tasksite.dashboard.layered import layout
from tests.browser import chromium, visitor

BOXES = (1_000, 5_000)
LANES, TASKS = 500, 19


def needs(chance: random.Random, number: int) -> list[str]:
    """One or two of the boxes shortly before this one."""
    near = range(max(0, number - 60), number)
    return [f"box-{other}" for other in chance.sample(near, min(len(near), chance.choice([1, 1, 2])))]


def flat(boxes: int) -> dict[str, Any]:
    chance = random.Random(boxes)
    objectives = [{"key": f"box-{n}", "title": f"Box {n}", "needs": needs(chance, n)} for n in range(boxes)]
    return {"plan": f"flat-{boxes}", "objectives": objectives}


def nested() -> dict[str, Any]:
    chance = random.Random(0)
    objectives = [
        {
            "key": f"box-{lane}",
            "title": f"Lane {lane}",
            "needs": needs(chance, lane),
            "tasks": [{"key": f"t{n}", "title": f"Task {n}"} for n in range(TASKS)],
        }
        for lane in range(LANES)
    ]
    return {"plan": "nested", "objectives": objectives}


def laid_out(boxes: int) -> float:
    """Seconds of the layout alone."""
    plan = flat(boxes)["objectives"]
    began = time.perf_counter()
    layout([(each["key"], None) for each in plan], [(each["key"], on) for each in plan for on in each["needs"]])
    return time.perf_counter() - began


def measure(kind: str) -> None:
    with KINDS[kind]() as url, tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        manage(url, folder, "migrate", "--verbosity", "0")
        for plan in (*(flat(boxes) for boxes in BOXES), nested()):
            manage(url, folder, "import_plan", "-", given=json.dumps(plan))
        make_lead = (
            f"from django.contrib.auth.models import User; User.objects.create_user('ann', password='{PASSWORD}')"
        )
        manage(url, folder, "shell", "--command", make_lead)
        process, port = serve(url, folder)
        try:
            with chromium() as browser:
                person = visitor(browser, f"http://127.0.0.1:{port}", viewport={"width": 1440, "height": 900})
                person.sign_in("ann", PASSWORD)
                for name in (*(f"flat-{boxes}" for boxes in BOXES), "nested"):
                    draw(kind, person.page, person.url, name)
                assert not person.faults, person.faults
        finally:
            process.terminate()
            process.wait()


def draw(kind: str, page: Any, url: str, name: str) -> None:
    page.goto(f"{url}/plans/")
    there = page.get_by_role("link", name=name, exact=True).get_attribute("href")
    taken = []
    for _ in range(2):
        began = time.perf_counter()
        answer = page.request.get(f"{url}{there}graph.json")
        taken.append((time.perf_counter() - began) * 1000)
    found = answer.json()
    page.goto(url + there)
    page.locator("#graph[data-drawn]").wait_for()
    took = int(page.locator("#graph").get_attribute("data-took"))
    print(
        f"{kind:<12}{name:<10}{len(found['nodes']):>6,} boxes {len(found['edges']):>6,} arrows"
        f"   data {taken[0]:>4.0f} ms, kept {taken[1]:>3.0f} ms, {len(answer.body()) / 1024:>4.0f} KiB"
        f"   on the screen after {took:>5,} ms",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=[*KINDS])
    options = parser.parse_args()
    for boxes in BOXES:
        print(f"layout of {boxes:,} boxes: {laid_out(boxes) * 1000:.0f} ms", flush=True)
    for kind in options.kinds:
        measure(kind)


if __name__ == "__main__":
    main()
