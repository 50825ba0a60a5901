"""Real processes, each with a database connection of its own, that take every step from one barrier."""

import importlib
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from tests.processes import environment

PATIENCE_S = 120
"""How long a step may take before the barrier breaks and the test fails."""


@dataclass(frozen=True)
class Call:
    """A service by its path, `leases.claim:claim`, and its arguments."""

    service: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """`code` is empty where the call was granted, else that of the refusal; `value` is what the service answered."""

    code: str
    value: Any


class Crew:
    def __init__(self, pipes: Sequence[Connection]) -> None:
        self._pipes = pipes

    def run(self, *scripts: Sequence[Call]) -> list[list[Answer]]:
        """Each member works through its script, step by step, all of them starting each step together."""
        assert len({len(script) for script in scripts}) == 1, "all scripts have as many steps"
        for pipe, script in zip(self._pipes, scripts, strict=True):
            pipe.send(list(script))
        answers = [pipe.recv() for pipe in self._pipes]
        failed = [answer for answer in answers if isinstance(answer, BaseException)]
        if failed:  # the one that broke the barrier, not those that it kept waiting
            raise min(failed, key=lambda error: "BrokenBarrierError" in str(error))
        return answers


@contextmanager
def crew(size: int, folder: Path, *, sabotage: str = "") -> Iterator[Crew]:
    """`size` processes on the test's database; `sabotage` names a function of `tests.concurrency.sabotage` that
    takes a guard out in each of them, for the control of a test."""
    context = multiprocessing.get_context("forkserver")  # what all of them import, one of them imports
    context.set_forkserver_preload(["tests.concurrency.ready"])
    barrier = context.Barrier(size)
    kept = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment(folder))
    try:
        pairs = [context.Pipe() for _ in range(size)]
        members = [context.Process(target=_work, args=(theirs, barrier, sabotage), daemon=True) for _, theirs in pairs]
        for member in members:
            member.start()
    finally:
        os.environ.clear()
        os.environ.update(kept)
    ours = [mine for mine, _ in pairs]
    try:
        for pipe in ours:
            assert pipe.recv() == "here"
        yield Crew(ours)
    finally:
        for pipe in ours:
            pipe.close()
        for member in members:
            member.join(10)
            if member.is_alive():
                member.kill()
                member.join()


def _work(pipe: Connection, barrier: Barrier, sabotage: str) -> None:
    importlib.import_module("tests.concurrency.ready")
    if sabotage:
        getattr(importlib.import_module("tests.concurrency.sabotage"), sabotage)()
    pipe.send("here")
    while True:
        try:
            script = pipe.recv()
        except EOFError:
            return
        services = [_service(call.service) for call in script]
        answers: list[Answer] = []
        try:
            for service, call in zip(services, script, strict=True):
                barrier.wait(PATIENCE_S)
                answers.append(_answer(service, call))
        except Exception as error:
            barrier.abort()
            pipe.send(RuntimeError(f"{type(error).__name__}: {error}"))
        else:
            pipe.send(answers)


def _service(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    service: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return service


def _answer(service: Callable[..., Any], call: Call) -> Answer:
    from graph.errors import Refusal

    try:
        return Answer("", service(**call.arguments))
    except Refusal as refusal:
        return Answer(refusal.code, refusal.fields)
