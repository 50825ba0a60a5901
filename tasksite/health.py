"""What an operator's machines ask: is it alive, can it serve, how is it doing. No names, no ids, no login."""

from collections.abc import Iterator

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Count, Min, Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

import tasksite
from graph import clock
from graph.fields import to_micros
from graph.models import Node
from graph.states import State
from leases.models import Lease


@csrf_exempt
@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process lives. Asks nothing else, so that a slow database restarts no web server."""
    return HttpResponse("ok\n", content_type="text/plain")


@csrf_exempt
@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """The database answers and has the tables that this version needs: else 503 with the reason."""
    try:
        executor = MigrationExecutor(connection)
        behind = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return JsonResponse({"ready": False, "reason": "the database does not answer"}, status=503)
    if behind:
        return JsonResponse({"ready": False, "reason": "the database is not migrated"}, status=503)
    return JsonResponse({"ready": True})


@csrf_exempt
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Counted in the database at each call: every web process gives the same answer."""
    registry = CollectorRegistry()
    registry.register(Figures())
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(registry), content_type=content_type)


class Figures(Collector):
    def collect(self) -> Iterator[Metric]:
        info = InfoMetricFamily("tasksite", "The version that runs")
        info.add_metric([], {"version": tasksite.__version__})
        yield info
        yield from self._nodes()
        yield from self._leases()

    def _nodes(self) -> Iterator[Metric]:
        counted = {
            (leaf, state): count
            for leaf, state, count in Node.objects.order_by().values_list("leaf", "state").annotate(Count("id"))
        }
        nodes = GaugeMetricFamily("tasksite_nodes", "Nodes by kind and state", labels=["kind", "state"])
        for leaf, kind in ((True, "leaf"), (False, "container")):
            for state in State:
                nodes.add_metric([kind, state], counted.get((leaf, state), 0))
        yield nodes
        ready = counted.get((True, State.READY), 0)
        yield GaugeMetricFamily("tasksite_ready_leaves", "Leaves that wait for a worker", value=ready)

    def _leases(self) -> Iterator[Metric]:
        """A claim counts once: the objective's lease that moves with it is left out."""
        now = clock.read()
        stale = Q(expires_at__lte=now)
        found = Lease.objects.filter(ended_at__isnull=True, moves_with__isnull=True).aggregate(
            live=Count("id", filter=~stale), stale=Count("id", filter=stale), oldest=Min("expires_at", filter=stale)
        )
        age = (now - to_micros(found["oldest"])) / 1e6 if found["oldest"] else 0.0
        yield GaugeMetricFamily("tasksite_live_leases", "Claims that are held", value=found["live"])
        yield GaugeMetricFamily(
            "tasksite_stale_leases", "Claims past their expiry, not recovered", value=found["stale"]
        )
        yield GaugeMetricFamily(
            "tasksite_oldest_stale_lease_seconds",
            "Since the oldest stale claim expired; 0 where there is none",
            value=age,
        )


urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
]
