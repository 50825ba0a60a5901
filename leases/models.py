"""Lease, Run, Attempt, Token, Answer: the schema, with its invariants as constraints."""

from enum import StrEnum
from typing import ClassVar

from django.db import models
from django.db.models import Q

from graph.fields import BytewiseField, InstantField, JsonText, Ulid
from graph.models import Node


class Role(StrEnum):
    WORKER = "worker"
    LEAD = "lead"


class Ending(StrEnum):
    OPEN = ""
    RELEASED = "released"
    REVOKED = "revoked"
    RECOVERED = "recovered"


class RunOutcome(StrEnum):
    ACTIVE = ""
    DONE = "done"
    PARTIAL = "partial"
    REJECTED = "rejected"
    RELEASED = "released"
    ABANDONED = "abandoned"
    CANCELLED = "cancelled"


class AttemptOutcome(StrEnum):
    OPEN = ""
    DONE = "done"
    PARTIAL = "partial"
    REJECTED = "rejected"
    RELEASED = "released"
    CANCELLED = "cancelled"


class Token(models.Model):
    """A bearer token: shown once, stored as the SHA-256 of its 256 random bits."""

    id = Ulid(primary_key=True)
    name = BytewiseField(max_length=100)
    role = models.CharField(max_length=6)
    digest = BytewiseField(max_length=64, unique=True, help_text="SHA-256, hexadecimal")
    created_at = InstantField()
    expires_at = InstantField(null=True, blank=True)
    revoked_at = InstantField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["name"], condition=Q(revoked_at__isnull=True), name="token_name_unique_while_valid"
            ),
            models.CheckConstraint(condition=Q(role__in=[role.value for role in Role]), name="token_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.role})"


class Lease(models.Model):
    """The right to work on one subject until `expires_at`, carrying a fence. Open until `ended_at` is set.

    The fence of a subject's next lease is one above that of its last: leases are never deleted, so it never falls.
    """

    id = Ulid(primary_key=True)
    subject = models.ForeignKey(Node, models.PROTECT, related_name="leases", db_index=False)
    objective = models.ForeignKey(Node, models.PROTECT, related_name="lane_leases", db_index=False)
    moves_with = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        related_name="companions",
        db_index=False,
        help_text="the lease this objective lease was taken with; null for the lease that a worker uses",
    )
    token = models.ForeignKey(Token, models.PROTECT, related_name="leases", db_index=False)
    holder = models.CharField(max_length=200)
    fence = models.PositiveBigIntegerField()
    generation = models.PositiveIntegerField(help_text="of the lane's clone, from 1")
    ttl_s = models.PositiveIntegerField(help_text="seconds")
    acquired_at = InstantField()
    expires_at = InstantField()
    beat_at = InstantField(help_text="of the claim or of the last heartbeat")
    progress = models.TextField(blank=True, default="")
    expired_at = InstantField(null=True, blank=True, help_text="when the expiry was first noticed")
    ended_at = InstantField(null=True, blank=True)
    ending = models.CharField(max_length=9, blank=True, default=Ending.OPEN.value)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["subject", "fence"], name="lease_fence_once"),
            models.UniqueConstraint(
                fields=["subject"], condition=Q(ended_at__isnull=True), name="lease_one_open_per_subject"
            ),
            models.UniqueConstraint(
                fields=["objective"],
                condition=Q(ended_at__isnull=True, moves_with__isnull=True),
                name="lease_one_open_per_lane",
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True, ending=Ending.OPEN.value)
                | Q(ended_at__isnull=False, ending__in=[end.value for end in Ending if end]),
                name="lease_ending_known",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["objective", "id"], name="lease_of_lane"),
            models.Index(fields=["objective"], name="lease_open_of_lane", condition=Q(ended_at__isnull=True)),
            models.Index(fields=["expires_at"], name="lease_open_by_expiry", condition=Q(ended_at__isnull=True)),
            models.Index(fields=["moves_with"], name="lease_companions", condition=Q(moves_with__isnull=False)),
            models.Index(fields=["token"], name="lease_open_by_token", condition=Q(ended_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"{self.subject_id} #{self.fence} {self.holder}"


class Run(models.Model):
    """One execution of a node. Of a container objective: from its first claim until it settles."""

    id = Ulid(primary_key=True)
    node = models.ForeignKey(Node, models.PROTECT, related_name="runs", db_index=False)
    lease = models.ForeignKey(Lease, models.PROTECT, related_name="runs", help_text="the lease that opened it")
    opened_at = InstantField()
    closed_at = InstantField(null=True, blank=True)
    outcome = models.CharField(max_length=9, blank=True, default=RunOutcome.ACTIVE.value)
    summary = models.TextField(blank=True, default="")
    result = JsonText(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["node"], condition=Q(closed_at__isnull=True), name="run_one_active_per_node"
            ),
            models.CheckConstraint(
                condition=Q(closed_at__isnull=True, outcome=RunOutcome.ACTIVE.value)
                | Q(closed_at__isnull=False, outcome__in=[end.value for end in RunOutcome if end]),
                name="run_outcome_known",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["node", "id"], name="run_of_node")]

    def __str__(self) -> str:
        return f"run {self.id} of {self.node_id}"


class Attempt(models.Model):
    """One try inside a leaf's run, numbered from 1."""

    id = Ulid(primary_key=True)
    run = models.ForeignKey(Run, models.PROTECT, related_name="attempts", db_index=False)
    number = models.PositiveIntegerField()
    opened_at = InstantField()
    closed_at = InstantField(null=True, blank=True)
    outcome = models.CharField(max_length=9, blank=True, default=AttemptOutcome.OPEN.value)
    reason = models.TextField(blank=True, default="")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "number"], name="attempt_number_once"),
            models.UniqueConstraint(
                fields=["run"], condition=Q(closed_at__isnull=True), name="attempt_one_open_per_run"
            ),
            models.CheckConstraint(
                condition=Q(closed_at__isnull=True, outcome=AttemptOutcome.OPEN.value)
                | Q(closed_at__isnull=False, outcome__in=[end.value for end in AttemptOutcome if end]),
                name="attempt_outcome_known",
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.run_id}"


class Answer(models.Model):
    """The first 2xx answer to an Idempotency-Key, kept for 24 hours."""

    id = models.BigAutoField(primary_key=True)
    token = models.ForeignKey(Token, models.CASCADE, related_name="answers", db_index=False)
    key = BytewiseField(max_length=255)
    fingerprint = BytewiseField(max_length=64, help_text="SHA-256 of method, path, query and body")
    status = models.PositiveSmallIntegerField(null=True, help_text="null only inside the transaction that makes it")
    body = models.TextField(blank=True, default="")
    created_at = InstantField(db_index=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["token", "key"], name="answer_key_once")]

    def __str__(self) -> str:
        return f"{self.token_id} {self.key}"
