"""What the operator's commands on one node share: its arguments, finding it, and saying what came of the act."""

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any, Protocol

from django.core.management.base import BaseCommand, CommandError

from graph.actors import Caller, operator
from graph.editing import Edited
from graph.errors import Refusal
from graph.queries import find_node


class Act(Protocol):
    """A lead's verb on one node."""

    def __call__(self, *, node_id: str, caller: Caller, reason: str) -> Edited: ...


class ActCommand(BaseCommand):
    """`manage.py VERB PLAN KEY --reason TEXT`: a verb names its `act`."""

    act: Act

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("plan", metavar="PLAN", type=_text, help="name of the plan")
        parser.add_argument("key", metavar="KEY", type=_text, help="full key: objective, or objective/task")
        parser.add_argument("--reason", required=True, metavar="TEXT", type=_text, help="lands in the event")

    def handle(self, *, plan: str, key: str, reason: str, **_: Any) -> None:
        try:
            edited = self.act(node_id=find_node(plan, key), caller=operator(), reason=reason)
        except Refusal as refusal:
            raise CommandError(f"{refusal.code}: {refusal.detail}") from refusal
        self.stdout.write(f"{edited.node.full_key} is {edited.node.state}.")


def _text(given: str) -> str:
    """What a shell gave, if a database can hold it; argparse names the argument otherwise."""
    if not given.strip():
        raise ArgumentTypeError("must not be blank")
    if any("\ud800" <= letter <= "\udfff" for letter in given):
        raise ArgumentTypeError("is not UTF-8")
    return given
