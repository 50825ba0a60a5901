"""Faults, each planted by patching one thing: what a careless change could do to the services.

Faults of locking (a lane not locked, readiness counted before the lock) need two connections that race: the controls
in `tests.concurrency` plant those.
"""

from collections.abc import Callable
from dataclasses import astuple, replace
from types import SimpleNamespace
from typing import Any, Final

import pytest

from graph import editing, events, readiness, sql, transitions
from graph.actors import Caller
from graph.errors import Refusal
from graph.states import SATISFYING
from graph.transaction import entry
from leases import acts, answers, claim, heartbeat, recover, rights, runs, settle
from leases import sql as lease_sql

Patch = pytest.MonkeyPatch

_NEWEST: Final = "(SELECT max(fence) FROM leases_lease WHERE subject_id = l.subject_id)"


def _replaced(patch: Patch, module: Any, name: str, old: str, new: str) -> None:
    text = getattr(module, name)
    assert old in text, f"{name} reads otherwise now: plant the fault anew"
    patch.setattr(module, name, text.replace(old, new))


def no_fence_check(patch: Patch) -> None:
    judge = rights.judge

    def any_fence(*, lease_id: str, **rest: Any) -> rights.Held:
        rows = sql.fetch("SELECT fence FROM leases_lease WHERE id = %s", [lease_id])
        return judge(lease_id=lease_id, **{**rest, "fence": rows[0][0] if rows else 0})

    _replaced(patch, lease_sql, "HELD", _NEWEST, "l.fence")
    patch.setattr(rights, "judge", any_fence)


def no_token_check(patch: Patch) -> None:
    judge = rights.judge

    def anybody(*, lease_id: str, caller: Caller, **rest: Any) -> rights.Held:
        rows = sql.fetch("SELECT token_id FROM leases_lease WHERE id = %s", [lease_id])
        return judge(lease_id=lease_id, caller=replace(caller, token_id=rows[0][0]), **rest)

    patch.setattr(rights, "judge", anybody)


def expiry_a_microsecond_late(patch: Patch) -> None:
    patch.setattr(rights.Held, "stale", lambda held, now: held.expired_at is not None or now > held.expires_at)


def a_mark_that_the_clock_takes_back(patch: Patch) -> None:
    patch.setattr(rights.Held, "stale", lambda held, now: now >= held.expires_at)


def marks_undone_by_the_refusal(patch: Patch) -> None:
    patch.setattr(Refusal, "keeps_marks", property(lambda self: False, lambda self, value: None), raising=False)


def no_ripple(patch: Patch) -> None:
    patch.setattr(transitions, "_ripple", lambda effect: None)


def ripple_in_a_transaction_of_its_own(patch: Patch) -> None:
    ripple, report = transitions._ripple, settle.report
    owed: list[transitions.Effect] = []

    @entry
    def catch_up() -> None:
        for effect in owed:
            known = dict(effect.moves)
            ripple(effect)
            late = transitions.Effect({key: move for key, move in effect.moves.items() if key not in known})
            events.append(transitions.state_events(late), actor="late", now=1)

    def report_and_catch_up(**arguments: Any) -> settle.Reported:
        reported = report(**arguments)
        catch_up()
        return reported

    patch.setattr(transitions, "_ripple", owed.append)
    patch.setattr(settle, "report", report_and_catch_up)


def heartbeat_of_one_lease(patch: Patch) -> None:
    """With the row count looked away from, too: it would tell."""
    _replaced(patch, lease_sql, "BEAT", "(id = %s OR moves_with_id = %s)", "(id = %s AND id = %s)")
    patch.setattr(heartbeat, "expect", lambda *_: None)


def fence_reset_on_import(patch: Patch) -> None:
    import_plan = acts.import_plan

    def forgetful(**arguments: Any) -> Any:
        result = import_plan(**arguments)
        _replaced(patch, lease_sql, "LAST", "SELECT max(fence)", "SELECT max(fence) * 0")
        return result

    patch.setattr(acts, "import_plan", forgetful)


def fence_raised_by_two(patch: Patch) -> None:
    _replaced(patch, lease_sql, "LAST", "SELECT max(fence)", "SELECT max(fence) + 1")


def key_looked_up_after_the_work(patch: Patch) -> None:
    once = answers.once

    def late(*, work: Callable[[], tuple[int, str]], **rest: Any) -> answers.StoredAnswer:
        done = work()
        return once(work=lambda: done, **rest)

    patch.setattr(answers, "once", entry(late))


def event_without_change(patch: Patch) -> None:
    patch.setattr(transitions, "_write", lambda moves: None)


def change_without_event(patch: Patch) -> None:
    append = events.append
    patch.setattr(
        events, "append",
        lambda drafts, **rest: append([each for each in drafts if each.type not in events.STATE_EVENTS], **rest),
    )  # fmt: skip


class AlwaysStale(rights.Held):
    def stale(self, now: int) -> bool:
        return True


def recovery_without_a_second_look(patch: Patch) -> None:
    """Neither in the judgement nor in the statement that ends the lease."""
    end, open_on = runs.end_leases, rights.open_on

    def as_it_was(node_id: str) -> rights.Held | None:
        held = open_on(node_id)
        return held and AlwaysStale(*astuple(held))

    patch.setattr(recover, "rights", SimpleNamespace(open_on=as_it_was))
    patch.setattr(runs, "end_leases", lambda *args, stale=False, **rest: end(*args, **rest))


def one_rejection_too_many(patch: Patch) -> None:
    patch.setattr(settle, "settings", SimpleNamespace(REJECT_LIMIT=4))


def one_stale_end_too_many(patch: Patch) -> None:
    patch.setattr(recover, "settings", SimpleNamespace(STALE_LIMIT=4))


def counts_that_never_start_again(patch: Patch) -> None:
    patch.setattr(editing, "reset_counts", lambda leaves: None)


def roll_up_blind_to_partial(patch: Patch) -> None:
    roll_up = transitions.roll_up
    patch.setattr(transitions, "roll_up", lambda *, partial, **rest: roll_up(partial=False, **rest))


def roll_up_of_one_level(patch: Patch) -> None:
    move_leaf = transitions.move_leaf
    patch.setattr(transitions, "move_leaf", lambda chain, to, **rest: move_leaf(chain[:2], to, **rest))


def a_regression_that_demotes_nobody(patch: Patch) -> None:
    ripple = transitions._ripple

    def forwards_only(effect: transitions.Effect) -> None:
        if not any(move.before in SATISFYING for move in effect.changed()):
            ripple(effect)

    patch.setattr(transitions, "_ripple", forwards_only)


def waiver_that_nobody_follows(patch: Patch) -> None:
    patch.setattr(readiness, "flip", lambda ids: [])


def objective_run_left_open(patch: Patch) -> None:
    patch.setattr(runs, "close_settled", lambda ids, **_: None)


def objective_run_opened_again(patch: Patch) -> None:
    """Each claim opens one, with the schema's guard gone."""
    sql.execute("DROP INDEX run_one_active_per_node")
    _replaced(patch, lease_sql, "LAST", "AND closed_at IS NULL", "AND 1 = 0")


def attempt_left_open(patch: Patch) -> None:
    _replaced(patch, lease_sql, "CLOSE_ATTEMPT", "WHERE id = %s", "WHERE id = %s AND 1 = 0")
    patch.setattr(runs, "expect", lambda *_: None)


def lane_lease_left_open(patch: Patch) -> None:
    _replaced(patch, lease_sql, "END_LEASES", "(id = %s OR moves_with_id = %s)", "(id = %s AND id = %s)")


def hold_that_nobody_notes(patch: Patch) -> None:
    execute = sql.execute

    def forgetful(statement: str, params: Any = ()) -> int:
        return 0 if "SET held = (1 = 1)" in statement else execute(statement, params)

    patch.setattr(claim, "graph_sql", SimpleNamespace(**{**vars(sql), "execute": forgetful}))


def clone_kept_after_an_unclean_end(patch: Patch) -> None:
    patch.setattr(claim, "Ending", SimpleNamespace(REVOKED="-", RECOVERED="-"))


FAULTS: Final[dict[str, tuple[Callable[[Patch], None], str]]] = {
    fault.__name__: (fault, check)
    for fault, check in [
        (no_fence_check, "a_wrong_fence_is_refused"),
        (no_token_check, "another_token_is_refused"),
        (expiry_a_microsecond_late, "rights_end_at_the_expiry"),
        (a_mark_that_the_clock_takes_back, "what_is_marked_stays_stale"),
        (marks_undone_by_the_refusal, "what_is_marked_stays_stale"),
        (no_ripple, "a_plan_drains"),
        (ripple_in_a_transaction_of_its_own, "every_commit_is_sound"),
        (heartbeat_of_one_lease, "a_heartbeat_moves_both"),
        (fence_reset_on_import, "fences_rise_over_an_import"),
        (fence_raised_by_two, "fences_rise_over_an_import"),
        (key_looked_up_after_the_work, "a_retry_is_answered_alike"),
        (event_without_change, "a_plan_drains"),
        (change_without_event, "a_plan_drains"),
        (recovery_without_a_second_look, "recovery_looks_twice"),
        (one_rejection_too_many, "the_third_rejection_blocks"),
        (one_stale_end_too_many, "the_third_stale_end_blocks"),
        (counts_that_never_start_again, "the_third_rejection_blocks"),
        (roll_up_blind_to_partial, "a_plan_drains"),
        (roll_up_of_one_level, "a_plan_drains"),
        (a_regression_that_demotes_nobody, "reopening_demotes"),
        (waiver_that_nobody_follows, "a_waiver_is_followed"),
        (objective_run_left_open, "a_plan_drains"),
        (objective_run_opened_again, "a_plan_drains"),
        (attempt_left_open, "a_plan_drains"),
        (lane_lease_left_open, "a_plan_drains"),
        (hold_that_nobody_notes, "a_hold_is_noted"),
        (clone_kept_after_an_unclean_end, "an_unclean_end_gives_a_new_clone"),
    ]
}
"""Name → the fault, and the check that must catch it."""
