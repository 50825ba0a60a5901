"""`manage.py qcluster`: startup recovery, then django-q2's cluster."""

from typing import Any

from django.db import connections
from django_q.management.commands import qcluster

from leases.jobs import ensure_schedules
from leases.recover import recover_all


class Command(qcluster.Command):  # type: ignore[misc]
    help = "Recover what is stale, then run the job cluster."

    def handle(self, *arguments: Any, **options: Any) -> None:
        for claim, why in recover_all(actor="startup recovery").failed:
            self.stderr.write(f"Could not recover {claim.full_key}: {why}")
        ensure_schedules()
        connections.close_all()  # the cluster forks
        super().handle(*arguments, **options)
