"""How long a change takes to the screen: from the answer of a worker's claim or report until Chromium shows it.

Four leads have the overview open, spread over two web processes; a claim or a report comes at a random moment, and
each page notes when its live part holds the words that say so. The clock is that of this machine on both ends.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from benchmarks.databases import KINDS, manage
from benchmarks.drain import serve
from tests.browser import Visitor, chromium, visitor

LEADS, CHANGES, WEB_PROCESSES = 4, 40, 2
PASSWORD = "a long enough one"

# The page itself notes when its live part says what is waited for.
LOOK = r"""words => {
    window.shown = new Promise(resolve => {
        const observer = new MutationObserver(() => {
            if (document.querySelector('#live').textContent.replace(/\s+/g, ' ').includes(words)) {
                observer.disconnect();
                resolve(Date.now());
            }
        });
        observer.observe(document.body, {subtree: true, childList: true, characterData: true});
    });
}"""


def plan() -> dict[str, Any]:
    return {
        "plan": "seen",
        "objectives": [{"key": f"lane-{number:02}", "title": f"Lane {number}"} for number in range(CHANGES // 2)],
    }


def measure(kind: str) -> None:
    with KINDS[kind]() as url, tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        manage(url, folder, "migrate", "--verbosity", "0")
        manage(url, folder, "import_plan", "-", given=json.dumps(plan()))
        token = manage(url, folder, "create_token", "worker", "--role", "worker").splitlines()[-1]
        make_lead = (
            f"from django.contrib.auth.models import User; User.objects.create_user('ann', password='{PASSWORD}')"
        )
        manage(url, folder, "shell", "--command", make_lead)
        process, port = serve(url, folder, "--web-processes", str(WEB_PROCESSES))
        try:
            took = changes(f"http://127.0.0.1:{port}", token)
        finally:
            process.terminate()
            process.wait()
        print(
            f"{kind:<12}{CHANGES} changes on {LEADS} screens, {WEB_PROCESSES} web processes:"
            f" median {statistics.median(took):.0f} ms, most {max(took):.0f} ms (at most 1,000)",
            flush=True,
        )


def changes(site: str, token: str) -> list[float]:
    """Milliseconds from the answer to a change until a page shows it, for each change and page."""
    took: list[float] = []
    chance = random.Random(1)
    with (
        chromium() as browser,
        httpx.Client(base_url=site, headers={"Authorization": f"Bearer {token}"}, trust_env=False) as worker,
    ):
        people = [visitor(browser, site) for _ in range(LEADS)]
        for person in people:
            person.sign_in("ann", PASSWORD)
        for lane in plan()["objectives"]:
            claimed, answered = told(people, f"worker started {lane['key']}", chance, worker, "claims/", {})
            right = {"lease": answered["lease"]["id"], "fence": answered["lease"]["fence"], "outcome": "done"}
            path = f"nodes/{answered['node']['id']}/report/"
            reported, _ = told(people, f"worker finished {lane['key']}", chance, worker, path, right)
            took += [*claimed, *reported]
        faults = [fault for person in people for fault in person.faults]
    assert not faults, faults
    return took


def told(
    people: list[Visitor], words: str, chance: random.Random, worker: httpx.Client, path: str, body: dict[str, Any]
) -> tuple[list[float], Any]:
    """Milliseconds until each screen held `words`, and what the post answered."""
    for person in people:
        person.page.evaluate(LOOK, words)
    time.sleep(chance.uniform(0.5, 1.5))
    answered = worker.post(f"/api/v1/{path}", json=body).raise_for_status().json()
    now = time.time() * 1000
    shown = [person.page.evaluate("window.shown") for person in people]
    return [each - now for each in shown], answered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=[*KINDS])
    for kind in parser.parse_args().kinds:
        measure(kind)


if __name__ == "__main__":
    main()
