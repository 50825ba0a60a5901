"""`manage.py abandon PLAN KEY --reason TEXT`."""

from leases.operators import ActCommand
from leases.recover import abandon


class Command(ActCommand):
    help = "End the open claim of a node, live or stale."
    act = staticmethod(abandon)
