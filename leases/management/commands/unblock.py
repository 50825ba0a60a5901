"""`manage.py unblock PLAN KEY --reason TEXT`."""

from graph.editing import unblock
from leases.operators import ActCommand


class Command(ActCommand):
    help = "Let a blocked task be claimed again; its counts start anew."
    act = staticmethod(unblock)
