"""Plan, Node, Edge, Event: the schema, with its invariants as constraints.

Nobody saves a Node's state through these models: `graph.transitions` is its only writer.
"""

from typing import ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q

from graph.fields import BytewiseField, InstantField, JsonText, Ulid
from graph.states import State


class Plan(models.Model):
    """One imported graph, re-importable under its name."""

    id = Ulid(primary_key=True)
    name = BytewiseField(max_length=100, unique=True)
    created_at = InstantField()
    imported_at = InstantField(help_text="of the last import that changed something")

    def __str__(self) -> str:
        return self.name


class Node(models.Model):
    """An objective (no parent; one lane) or a task below one."""

    id = Ulid(primary_key=True)
    plan = models.ForeignKey(Plan, models.PROTECT, related_name="nodes", db_index=False)
    objective = models.ForeignKey(
        "self", models.PROTECT, related_name="lane_nodes", db_index=False, help_text="the lane; an objective's own id"
    )
    parent = models.ForeignKey("self", models.PROTECT, null=True, related_name="children", db_index=False)
    key = BytewiseField(max_length=100)
    full_key = BytewiseField(max_length=201, help_text="objective, or objective/task")
    title = models.CharField(max_length=500)
    body = models.TextField(blank=True)
    state = models.CharField(max_length=9, default=State.PENDING.value)
    leaf = models.BooleanField(help_text="has no children: it is work")
    position = models.BigIntegerField(help_text="index of the node's (open) vertex in the walk of its plan")
    ever_claimed = models.BooleanField(default=False, help_text="it or anything below it was ever claimed")
    held = models.BooleanField(default=False, help_text="a container that is claimed by hand")
    rejections = models.PositiveIntegerField(default=0, help_text="since it last became claimable")
    stale_ends = models.PositiveIntegerField(default=0, help_text="stale claims ended, since the same moment")
    cancel_act = Ulid(blank=True, default="", help_text="the cancel or prune that cancelled this node")
    last_cancel = Ulid(blank=True, default="", help_text="the last cancel that was called on this container")
    pruned = models.BooleanField(default=False, help_text="cancelled by a re-import, not by a lead")
    clone_repo = models.TextField(blank=True, default="", help_text="objectives only")
    clone_ref = models.CharField(max_length=255, blank=True, default="")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["plan", "full_key"], name="node_full_key_unique"),
            models.CheckConstraint(condition=Q(state__in=[state.value for state in State]), name="node_state_known"),
            models.CheckConstraint(
                condition=Q(parent__isnull=False) | Q(objective=F("id")), name="node_objective_is_own_lane"
            ),
            models.CheckConstraint(condition=Q(held=False) | Q(leaf=False), name="node_held_is_container"),
            models.CheckConstraint(
                condition=Q(leaf=True) | ~Q(state=State.BLOCKED.value), name="node_container_never_blocked"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["plan", "position"], name="node_walk"),
            models.Index(fields=["objective", "position"], name="node_lane_walk"),
            models.Index(fields=["state", "plan", "position"], name="node_state_walk"),
            models.Index(
                fields=["plan", "position"], name="node_pool", condition=Q(state=State.READY.value, leaf=True)
            ),
            models.Index(fields=["parent", "state"], name="node_children"),
            models.Index(fields=["plan", "leaf", "state"], name="node_counts"),
        ]

    def __str__(self) -> str:
        return self.full_key

    @property
    def kind(self) -> str:
        return "objective" if self.parent_id is None else "task"


class Edge(models.Model):
    """`dependent` needs `dependency`, unless the edge is waived."""

    id = Ulid(primary_key=True)
    dependent = models.ForeignKey(Node, models.PROTECT, related_name="needs", db_index=False)
    dependency = models.ForeignKey(Node, models.PROTECT, related_name="needed_by")
    waived = models.BooleanField(default=False)
    waive_reason = models.TextField(blank=True, default="")
    reopened = models.BooleanField(
        default=False,
        help_text="the dependent ran or had settled when the dependency last left done or partial",
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["dependent", "dependency"], name="edge_once"),
            models.CheckConstraint(condition=~Q(dependent=F("dependency")), name="edge_not_to_itself"),
        ]

    def __str__(self) -> str:
        return f"{self.dependent_id} needs {self.dependency_id}"


class Event(models.Model):
    """One change, written in the transaction that made it; never changed, never deleted.

    `seq` is drawn after the transaction holds its lanes, so of one lane the order is that of the commits.
    Ids of leases, runs and attempts are plain text: no key points upward.
    """

    seq = models.BigAutoField(primary_key=True)
    type = models.CharField(max_length=20)
    at = InstantField()
    actor = models.CharField(max_length=200)
    plan = Ulid(blank=True, default="")
    objective = Ulid(blank=True, default="")
    node = Ulid(blank=True, default="")
    lease = Ulid(blank=True, default="")
    run = Ulid(blank=True, default="")
    attempt = Ulid(blank=True, default="")
    reason = models.TextField(blank=True, default="")
    data = JsonText(default=dict)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["node", "seq"], name="event_of_node"),
            models.Index(fields=["plan", "seq"], name="event_of_plan"),
            models.Index(fields=["type", "seq"], name="event_of_type"),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"

    def save(self, *args: object, **kwargs: object) -> None:
        raise ValidationError("events are appended by graph.events and never saved")

    def delete(self, *args: object, **kwargs: object) -> tuple[int, dict[str, int]]:
        raise ValidationError("events are never deleted")
