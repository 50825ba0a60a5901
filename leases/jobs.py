"""The periodic jobs, as django-q2 runs them. Nothing waits for them: rights end by comparison, not by a job."""

import logging

from leases.answers import purge
from leases.recover import mark_expired

log = logging.getLogger(__name__)

SCHEDULES = {"report expiries": ("leases.jobs.report_expiries", 1), "purge answers": ("leases.jobs.purge_answers", 60)}
"""Name: the function, and the minutes between two runs."""


def report_expiries() -> int:
    """Each lease that ran past its expiry is told once: an event and a line in the log."""
    marked = mark_expired()
    if marked:
        log.warning(
            "%d %s expired; abandon or recovery acts on them", marked, "lease has" if marked == 1 else "leases have"
        )
    return marked


def purge_answers() -> int:
    """Answers to idempotency keys are kept for a day."""
    return purge()


def ensure_schedules() -> None:
    """Write the schedules where they are missing or differ; called as the cluster starts.

    Their names are not unique in the database: where two clusters that started at once each wrote one, the later
    goes.
    """
    from django_q.models import Schedule

    for name, (function, minutes) in SCHEDULES.items():
        wanted = {"func": function, "schedule_type": Schedule.MINUTES, "minutes": minutes, "repeats": -1}
        first, *others = Schedule.objects.filter(name=name).order_by("id").values_list("id", flat=True) or [None]
        Schedule.objects.filter(id__in=others).delete()
        Schedule.objects.update_or_create(id=first, defaults=wanted, create_defaults={"name": name, **wanted})
