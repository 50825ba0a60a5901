"""Reads every bad plan in a child of its own, held to two seconds of processor time, and tells what came of each.

Run as `python -m tests.graph.limited`; prints one JSON object: {name: {faults, megabytes, signal}}.
"""

import json
import os
import resource
import sys
from typing import Any, Final

from graph.errors import PlanInvalid
from graph.plan_file import read_plan
from graph.plan_types import Limits
from tests.graph.bad_plans import CORPUS, LOCAL_ROOTS, BadPlan

SECONDS: Final = 2


def _answer(bad: BadPlan) -> dict[str, Any]:
    try:
        read_plan(bad.data, bad.form, Limits(local_roots=LOCAL_ROOTS))
    except PlanInvalid as refusal:
        faults = json.loads(json.dumps(refusal.fields["faults"]).encode())
    else:
        faults = []
    return {"faults": faults, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


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
    answer: dict[str, Any] = json.loads(text) if text else {"faults": [], "megabytes": 0}
    return answer | {"signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0}


if __name__ == "__main__":
    json.dump({name: in_a_child(bad) for name, bad in CORPUS.items()}, sys.stdout)
