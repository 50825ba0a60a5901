"""Reads every bad plan in a child of its own, held to a processor time, and tells what came of each.

Run as `python -m tests.graph.limited`; prints one JSON object: {name: {faults, megabytes, seconds, signal}}. Under
ORDINARY is what a plan of the same size without a fault takes, as the measure of this machine in this minute.
"""

import json
import os
import resource
import sys
from typing import Any, Final

from graph.errors import PlanInvalid
from graph.plan_file import read_plan
from graph.plan_types import Limits
from tests.graph.bad_plans import CORPUS, LOCAL_ROOTS, MIB, BadPlan

SECONDS: Final = 60
ORDINARY: Final = "an ordinary plan"


def ordinary() -> BadPlan:
    """A mebibyte of objectives, each with a chain of tasks."""
    tasks = "\n".join(
        f"      - {{key: t{n}, title: Task {n}, body: what to do, needs: [{f't{n - 1}' if n else ''}]}}"
        for n in range(20)
    )
    one = f"  - key: objective-0000\n    title: Some title\n    tasks:\n{tasks}\n"
    many = [one.replace("0000", f"{n:04}") for n in range(MIB // len(one))]
    return BadPlan(f"plan: ordinary\nobjectives:\n{''.join(many)}".encode(), [])


def _answer(bad: BadPlan) -> dict[str, Any]:
    try:
        read_plan(bad.data, bad.form, Limits(local_roots=LOCAL_ROOTS))
    except PlanInvalid as refusal:
        faults = json.loads(json.dumps(refusal.fields["faults"]).encode())
    else:
        faults = []
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"faults": faults, "megabytes": used.ru_maxrss / 1024, "seconds": used.ru_utime + used.ru_stime}


def in_a_child(bad: BadPlan) -> dict[str, Any]:
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        with os.fdopen(send, "w") as pipe:
            json.dump(_answer(bad), pipe)
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    answer: dict[str, Any] = json.loads(text) if text else {"faults": [], "megabytes": 0, "seconds": SECONDS}
    return answer | {"signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0}


if __name__ == "__main__":
    json.dump({name: in_a_child(bad) for name, bad in {ORDINARY: ordinary(), **CORPUS}.items()}, sys.stdout)
