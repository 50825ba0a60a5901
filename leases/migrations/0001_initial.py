import django.db.models.deletion
from django.db import migrations, models

import graph.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("graph", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Lease",
            fields=[
                ("id", graph.fields.Ulid(max_length=26, primary_key=True, serialize=False)),
                ("holder", models.CharField(max_length=200)),
                ("fence", models.PositiveBigIntegerField()),
                ("generation", models.PositiveIntegerField(help_text="of the lane's clone, from 1")),
                ("ttl_s", models.PositiveIntegerField(help_text="seconds")),
                ("acquired_at", graph.fields.InstantField()),
                ("expires_at", graph.fields.InstantField()),
                ("beat_at", graph.fields.InstantField(help_text="of the claim or of the last heartbeat")),
                ("progress", models.TextField(blank=True, default="")),
                (
                    "expired_at",
                    graph.fields.InstantField(blank=True, help_text="when the expiry was first noticed", null=True),
                ),
                ("ended_at", graph.fields.InstantField(blank=True, null=True)),
                ("ending", models.CharField(blank=True, default="", max_length=9)),
                (
                    "moves_with",
                    models.ForeignKey(
                        db_index=False,
                        help_text="the lease this objective lease was taken with; null for the lease that a worker uses",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="companions",
                        to="leases.lease",
                    ),
                ),
                (
                    "objective",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="lane_leases",
                        to="graph.node",
                    ),
                ),
                (
                    "subject",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="leases",
                        to="graph.node",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                ("id", graph.fields.Ulid(max_length=26, primary_key=True, serialize=False)),
                ("opened_at", graph.fields.InstantField()),
                ("closed_at", graph.fields.InstantField(blank=True, null=True)),
                ("outcome", models.CharField(blank=True, default="", max_length=9)),
                ("summary", models.TextField(blank=True, default="")),
                ("result", models.JSONField(blank=True, null=True)),
                (
                    "lease",
                    models.ForeignKey(
                        help_text="the lease that opened it",
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="leases.lease",
                    ),
                ),
                (
                    "node",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="graph.node",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                ("id", graph.fields.Ulid(max_length=26, primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                ("opened_at", graph.fields.InstantField()),
                ("closed_at", graph.fields.InstantField(blank=True, null=True)),
                ("outcome", models.CharField(blank=True, default="", max_length=9)),
                ("reason", models.TextField(blank=True, default="")),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="attempts",
                        to="leases.run",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Token",
            fields=[
                ("id", graph.fields.Ulid(max_length=26, primary_key=True, serialize=False)),
                ("name", graph.fields.BytewiseField(max_length=100)),
                ("role", models.CharField(max_length=6)),
                ("digest", graph.fields.BytewiseField(help_text="SHA-256, hexadecimal", max_length=64, unique=True)),
                ("created_at", graph.fields.InstantField()),
                ("expires_at", graph.fields.InstantField(blank=True, null=True)),
                ("revoked_at", graph.fields.InstantField(blank=True, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("revoked_at__isnull", True)),
                        fields=("name",),
                        name="token_name_unique_while_valid",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["worker", "lead"])), name="token_role_known"
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="lease",
            name="token",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="leases", to="leases.token"
            ),
        ),
        migrations.CreateModel(
            name="Answer",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("key", graph.fields.BytewiseField(max_length=255)),
                (
                    "fingerprint",
                    graph.fields.BytewiseField(help_text="SHA-256 of method, path, query and body", max_length=64),
                ),
                (
                    "status",
                    models.PositiveSmallIntegerField(
                        help_text="null only inside the transaction that makes it", null=True
                    ),
                ),
                ("body", models.TextField(blank=True, default="")),
                ("created_at", graph.fields.InstantField(db_index=True)),
                (
                    "token",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answers",
                        to="leases.token",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["node", "id"], name="run_of_node"),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("closed_at__isnull", True)), fields=("node",), name="run_one_active_per_node"
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("closed_at__isnull", True), ("outcome", "")),
                    models.Q(
                        ("closed_at__isnull", False),
                        ("outcome__in", ["done", "partial", "rejected", "released", "abandoned", "cancelled"]),
                    ),
                    _connector="OR",
                ),
                name="run_outcome_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(fields=("run", "number"), name="attempt_number_once"),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(
                condition=models.Q(("closed_at__isnull", True)), fields=("run",), name="attempt_one_open_per_run"
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("closed_at__isnull", True), ("outcome", "")),
                    models.Q(
                        ("closed_at__isnull", False),
                        ("outcome__in", ["done", "partial", "rejected", "released", "cancelled"]),
                    ),
                    _connector="OR",
                ),
                name="attempt_outcome_known",
            ),
        ),
        migrations.AddIndex(
            model_name="lease",
            index=models.Index(fields=["objective", "id"], name="lease_of_lane"),
        ),
        migrations.AddIndex(
            model_name="lease",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", True)), fields=["objective"], name="lease_open_of_lane"
            ),
        ),
        migrations.AddIndex(
            model_name="lease",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", True)), fields=["expires_at"], name="lease_open_by_expiry"
            ),
        ),
        migrations.AddIndex(
            model_name="lease",
            index=models.Index(
                condition=models.Q(("moves_with__isnull", False)), fields=["moves_with"], name="lease_companions"
            ),
        ),
        migrations.AddIndex(
            model_name="lease",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", True)), fields=["token"], name="lease_open_by_token"
            ),
        ),
        migrations.AddConstraint(
            model_name="lease",
            constraint=models.UniqueConstraint(fields=("subject", "fence"), name="lease_fence_once"),
        ),
        migrations.AddConstraint(
            model_name="lease",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at__isnull", True)), fields=("subject",), name="lease_one_open_per_subject"
            ),
        ),
        migrations.AddConstraint(
            model_name="lease",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at__isnull", True), ("moves_with__isnull", True)),
                fields=("objective",),
                name="lease_one_open_per_lane",
            ),
        ),
        migrations.AddConstraint(
            model_name="lease",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_at__isnull", True), ("ending", "")),
                    models.Q(("ended_at__isnull", False), ("ending__in", ["released", "revoked", "recovered"])),
                    _connector="OR",
                ),
                name="lease_ending_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="answer",
            constraint=models.UniqueConstraint(fields=("token", "key"), name="answer_key_once"),
        ),
    ]
