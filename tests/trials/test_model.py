"""The server against a model of it. TRIALS=long plays far more of it; TRIALS_SEED plays one run again."""

import os
import random
from typing import Final

import pytest
from django.db import connection
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.trials.machine import Server

SIZES: Final = {
    ("short", "sqlite"): (300, 50),
    ("short", "postgresql"): (60, 50),
    ("long", "sqlite"): (4_000, 80),
    ("long", "postgresql"): (1_000, 80),
}
"""Examples, and steps in each."""

MORE: Final = 100
MOST_MORE: Final = 10
"""Chance leaves something out now and then: so many examples are played on, so many times at most."""

OFTEN: Final = 5
_SHOWN: Final = ("not_found", "not_holder", "stale_fence", "lease_closed", "lease_expired", "wrong_state")
ANSWERS: Final[dict[str, tuple[str, ...]]] = {
    "claim": ("ok", "not_found", "ancestor_incomplete", "lease_refused", "not_ready"),
    "hold": ("ok", "container", "ancestor_incomplete", "lease_refused", "not_ready"),
    "claim_next": ("ok", "none"),
    "heartbeat": ("ok", "asked", *_SHOWN),
    "report": ("done", "partial", *_SHOWN),
    "reject": ("running", "blocked", *_SHOWN),
    "release": ("ready", "pending", "running", *_SHOWN),
    "abandon": ("ok", "not_found", "wrong_state", "stale_fence"),
    "recover": ("ready", "pending", "running", "blocked"),
    "mark_expired": ("some", "none"),
    "unblock": ("ok", "not_found", "wrong_state"),
    "unblock container": ("wrong_state",),
    "reopen": ("ok", "not_found", "wrong_state"),
    "reopen container": ("ok", "wrong_state"),
    "cancel": ("ok", "not_found", "wrong_state"),
    "cancel container": ("ok", "wrong_state"),
    "waive": ("ok", "not_found", "wrong_state"),
    "unwaive": ("ok", "wrong_state"),
    "import": ("changed", "nothing", "plan_conflict"),
}
"""Each must have been given at least so often, or the run did not try what it is there for."""


def play(number: int, examples: int, steps: int) -> None:
    run_state_machine_as_test(
        seed(number)(Server),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            print_blob=True,
            suppress_health_check=[*HealthCheck],
        ),
    )


def seldom() -> list[tuple[str, str]]:
    pairs = [(verb, answer) for verb, answers in ANSWERS.items() for answer in answers]
    return [pair for pair in pairs if Server.reached[pair] < OFTEN]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_server_is_as_the_model() -> None:
    length = os.environ.get("TRIALS", "short")
    examples, steps = SIZES[length, connection.vendor]
    number = int(os.environ.get("TRIALS_SEED") or random.SystemRandom().getrandbits(32))
    print(f"TRIALS_SEED={number}: {examples} examples of {steps} steps")
    Server.reached.clear()
    play(number, examples, steps)
    if (length, connection.vendor) != ("short", "postgresql"):  # too few there to say
        for more in range(1, MOST_MORE + 1):
            if seldom():
                play(number + more, MORE, steps)
    for (verb, answer), times in sorted(Server.reached.items()):
        print(f"{verb:20} {answer:20} {times}")
    assert (length, connection.vendor) == ("short", "postgresql") or not seldom()
