"""The periodic jobs and the start of the job cluster. Nothing else in the tests has the cluster running."""

import pytest
from django.apps import apps
from django.core.management import call_command
from django.utils.module_loading import import_string
from django_q.management.commands import qcluster
from django_q.models import Schedule

from graph.models import Event
from leases import jobs
from leases.claim import claim
from leases.models import Lease
from tests.builders import make_plan, make_worker, states


def stale_plan() -> dict[str, str]:
    """One claim that lives and one that is stale."""
    ids = make_plan({"live": {}, "dead": {}})
    worker = make_worker()
    for key in ("live", "dead"):
        claim(node_id=ids[key], caller=worker)
    Lease.objects.filter(subject=ids["dead"]).update(expires_at=1)
    return ids


@pytest.mark.django_db
def test_each_expiry_is_told_once_and_heals_nothing(caplog: pytest.LogCaptureFixture) -> None:
    ids = stale_plan()
    assert jobs.report_expiries() == 1
    assert "1 lease has expired" in caplog.text
    assert jobs.report_expiries() == 0
    assert Event.objects.filter(type="lease.expired").count() == 1
    assert states(ids) == {"live": "running", "dead": "running"}


@pytest.mark.django_db
def test_every_schedule_names_a_job_that_can_be_called() -> None:
    for path, minutes in jobs.SCHEDULES.values():
        assert import_string(path)() >= 0
        assert minutes >= 1, "the scheduler looks no more often"


@pytest.mark.django_db
def test_schedules_that_two_clusters_wrote_at_once_become_one() -> None:
    """Names of schedules are not unique in the database: a start must not trip over the other's."""
    for minutes in (5, 7):
        Schedule.objects.create(name="report expiries", func="old", schedule_type=Schedule.MINUTES, minutes=minutes)
    jobs.ensure_schedules()
    jobs.ensure_schedules()
    assert {*Schedule.objects.values_list("name", "func", "minutes", "repeats")} == {
        (name, path, minutes, -1) for name, (path, minutes) in jobs.SCHEDULES.items()
    }
    assert Schedule.objects.count() == len(jobs.SCHEDULES)


@pytest.mark.django_db(transaction=True)
def test_the_cluster_starts_after_recovery_and_with_its_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = stale_plan()
    seen = []

    class Cluster:
        def start(self) -> None:
            seen.append((states(ids), Schedule.objects.count()))

    monkeypatch.setattr(qcluster, "Cluster", Cluster)
    call_command("qcluster")
    assert seen == [({"live": "running", "dead": "ready"}, len(jobs.SCHEDULES))]
    assert Event.objects.get(type="node.recovered").actor == "startup recovery"


@pytest.mark.django_db
def test_an_app_that_is_loaded_recovers_nothing() -> None:
    """It is loaded by every command: `manage.py status` must not end claims."""
    ids = stale_plan()
    for app in ("graph", "leases", "tasksite"):
        apps.get_app_config(app).ready()
    assert states(ids)["dead"] == "running"
