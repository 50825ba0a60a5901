"""Import of 100,000 nodes and 300,000 edges in one transaction, on both databases: time and peak memory.

    python -m benchmarks.import_large [--objectives 1000] [--database sqlite|postgresql]

Each database gets a process of its own, so that the peak is its own.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Final

TASKS: Final = 99
DATABASES: Final = ("sqlite", "postgresql")


def plan_text(objectives: int) -> str:
    """A plan of a hundred nodes an objective and about three edges a node, as YAML."""
    return "".join(_lines(objectives, random.Random(1)))


def _lines(objectives: int, chance: random.Random) -> Iterator[str]:
    yield "plan: large\nobjectives:\n"
    for objective in range(objectives):
        yield f"- key: o{objective}\n  title: Objective {objective}\n  tasks:\n"
        for task in range(TASKS):
            needs = {f"o{chance.randrange(objective)}/t{chance.randrange(TASKS)}" for _ in range(2 if objective else 0)}
            while task and len(needs) < min(task, 3):
                needs.add(f"t{chance.randrange(task)}")
            yield f"  - key: t{task}\n    title: Task {task} of {objective}\n    body: Do it and say what came of it.\n"
            yield f"    needs: [{', '.join(sorted(needs))}]\n"


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(objectives: int) -> None:
    """Import the plan into the database of this process's settings, twice, and print what each step took."""
    import django

    django.setup()

    from django.db import connection
    from django.test.utils import setup_databases, teardown_databases

    from graph.actors import Caller
    from graph.importing import configured_limits
    from graph.plan_file import Format, read_plan
    from leases.acts import import_plan

    data = plan_text(objectives).encode()
    made = setup_databases(verbosity=0, interactive=False)
    try:
        start = time.perf_counter()
        plan = read_plan(data, Format.YAML, configured_limits())
        print(f"{connection.vendor}: {len(plan.nodes):,} nodes, {len(plan.edges):,} edges, {len(data) / 1e6:.1f} MB")
        print(f"  read the file       {time.perf_counter() - start:6.1f} s, peak {_megabytes():5.0f} MB")
        for what in ("import", "import again"):
            start = time.perf_counter()
            result = import_plan(plan=plan, caller=Caller("benchmark", "lead"))
            seconds = time.perf_counter() - start
            print(f"  {what:20}{seconds:6.1f} s, peak {_megabytes():5.0f} MB, {result.changed=}")
    finally:
        teardown_databases(made, verbosity=0)


def main() -> None:
    parser = argparse.ArgumentParser(description="Import of a large plan: time and peak memory.")
    parser.add_argument("--objectives", type=int, default=1000, help="of a hundred nodes each")
    parser.add_argument("--database", choices=DATABASES, help="measure here, in this process")
    options = parser.parse_args()
    if options.database:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "TEST_DATABASE": options.database}
        measure(options.objectives)
        return
    for database in DATABASES:
        again = [sys.executable, "-m", "benchmarks.import_large", "--database", database]
        subprocess.run([*again, "--objectives", str(options.objectives)], check=True)


if __name__ == "__main__":
    main()
