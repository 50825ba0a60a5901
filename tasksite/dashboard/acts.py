"""What a lead does from a page: the verbs with their forms, and what is said of their answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django import forms

from graph.actors import Caller
from graph.editing import Edited, reopen, unblock, unwaive, waive
from graph.errors import Refusal
from leases.acts import cancel
from leases.recover import abandon
from tasksite.api.problems import STATUS

REASON_LIMIT: Final = 1000


class ReasonForm(forms.Form):
    reason = forms.CharField(
        max_length=REASON_LIMIT,
        error_messages={"required": "Say why: the reason stays with the event."},
        widget=forms.Textarea(attrs={"rows": 3, "autofocus": True, "maxlength": REASON_LIMIT}),
    )

    def clean_reason(self) -> str:
        return str(self.cleaned_data["reason"]).replace("\r\n", "\n")


class FencedForm(ReasonForm):
    """The fence says which claim is meant: a second click never ends the one after it."""

    fence = forms.IntegerField(min_value=1, max_value=2**63 - 1, widget=forms.HiddenInput)


@dataclass(frozen=True, slots=True)
class Act:
    """A verb on a node or, where `of_edge`, on an edge: `perform` calls its one service."""

    name: str
    title: str
    done: str
    form: type[ReasonForm]
    perform: Callable[[str, Caller, str, int | None], Edited]
    of_edge: bool = False

    @property
    def explained(self) -> str:
        """The template that says what it is for."""
        return f"partials/act_{self.name}.html"


def _abandon(node_id: str, caller: Caller, reason: str, fence: int | None) -> Edited:
    return abandon(node_id=node_id, caller=caller, reason=reason, fence=fence)


def _unblock(node_id: str, caller: Caller, reason: str, fence: int | None) -> Edited:
    return unblock(node_id=node_id, caller=caller, reason=reason)


def _reopen(node_id: str, caller: Caller, reason: str, fence: int | None) -> Edited:
    return reopen(node_id=node_id, caller=caller, reason=reason)


def _cancel(node_id: str, caller: Caller, reason: str, fence: int | None) -> Edited:
    return cancel(node_id=node_id, caller=caller, reason=reason)


def _waive(edge_id: str, caller: Caller, reason: str, fence: int | None) -> Edited:
    return waive(edge_id=edge_id, caller=caller, reason=reason)


def _unwaive(edge_id: str, caller: Caller, reason: str, fence: int | None) -> Edited:
    return unwaive(edge_id=edge_id, caller=caller, reason=reason)


ABANDON: Final = Act("abandon", "Abandon the claim", "The claim is abandoned", FencedForm, _abandon)
UNBLOCK: Final = Act("unblock", "Unblock", "Unblocked", ReasonForm, _unblock)
REOPEN: Final = Act("reopen", "Reopen", "Reopened", ReasonForm, _reopen)
CANCEL: Final = Act("cancel", "Cancel the work", "Cancelled", ReasonForm, _cancel)
WAIVE: Final = Act("waive", "Waive the need", "Waived", ReasonForm, _waive, of_edge=True)
UNWAIVE: Final = Act("unwaive", "Take the waiver back", "The waiver is taken back", ReasonForm, _unwaive, of_edge=True)


def told(act: Act, edited: Edited) -> str:
    """The answer of a service in a sentence."""
    more = len(edited.became_ready)
    also = f", and {more:,} more became ready" if more else ""
    return f"{act.done}: {edited.node.full_key} is {edited.node.state} now{also}."


def refused(refusal: Refusal) -> str:
    """The same for a refusal: nothing was changed."""
    return f"{refusal.detail} Nothing was changed."


def status_of(refusal: Refusal) -> int:
    return STATUS[type(refusal)]
