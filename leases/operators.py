"""What the operator's commands on one node share: finding it by plan and full key, and saying what came of the act."""

import getpass
from argparse import ArgumentParser, ArgumentTypeError

from django.core.management.base import CommandError

from graph.actors import Caller
from graph.editing import Edited
from graph.models import Node
from leases.models import Role


def add_node(parser: ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN", type=_text, help="name of the plan")
    parser.add_argument("key", metavar="KEY", type=_text, help="full key: objective, or objective/task")
    parser.add_argument("--reason", required=True, metavar="TEXT", type=_text, help="lands in the event")


def _text(given: str) -> str:
    """What a shell gave, if a database can hold it; argparse names the argument otherwise."""
    if not given.strip():
        raise ArgumentTypeError("must not be blank")
    if any("\ud800" <= letter <= "\udfff" for letter in given):
        raise ArgumentTypeError("is not UTF-8")
    return given


def find(plan: str, key: str) -> str:
    """The id of a node. Raises CommandError."""
    found = Node.objects.filter(plan__name=plan, full_key=key).values_list("id", flat=True).first()
    if found is None:
        raise CommandError(f"There is no node {key} in a plan {plan}.")
    return found


def operator() -> Caller:
    """Whoever sits at the shell may do what a lead may."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # no such user in the password database, as in many containers
        name = "unknown"
    return Caller(f"operator:{name}", Role.LEAD)


def told(edited: Edited) -> str:
    return f"{edited.node.full_key} is {edited.node.state}."
