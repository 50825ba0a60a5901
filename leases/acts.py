"""Acts of a lead by which an objective may settle outside a report: its run closes in the same transaction."""

from graph import editing
from graph.actors import Caller
from graph.editing import Edited
from graph.transaction import entry
from leases import runs


@entry
def cancel(*, node_id: str, caller: Caller, reason: str) -> Edited:
    """Drop a leaf, or all below a container that has not settled. Raises NotFound, WrongState."""
    edited = editing.cancel_node(node_id=node_id, caller=caller, reason=reason)
    runs.close_settled(edited.settled, now=edited.now, actor=caller.name)
    return edited
