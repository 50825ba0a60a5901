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
        log.warning("%d leases have expired; abandon or recovery acts on them", marked)
    return marked


def purge_answers() -> int:
    """Answers to idempotency keys are kept for a day."""
    return purge()


def ensure_schedules() -> None:
    """Write the schedules where they are missing or differ; called as the cluster starts."""
    from django_q.models import Schedule

    for name, (function, minutes) in SCHEDULES.items():
        Schedule.objects.update_or_create(
            name=name, defaults={"func": function, "schedule_type": Schedule.MINUTES, "minutes": minutes, "repeats": -1}
        )
