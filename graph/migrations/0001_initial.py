import django.db.models.deletion
from django.db import migrations, models

import graph.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Plan",
            fields=[
                ("id", graph.fields.Ulid(max_length=26, primary_key=True, serialize=False)),
                ("name", graph.fields.BytewiseField(max_length=100, unique=True)),
                ("created_at", graph.fields.InstantField()),
                ("imported_at", graph.fields.InstantField(help_text="of the last import that changed something")),
            ],
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                ("seq", models.BigAutoField(primary_key=True, serialize=False)),
                ("type", models.CharField(max_length=20)),
                ("at", graph.fields.InstantField()),
                ("actor", models.CharField(max_length=200)),
                ("plan", graph.fields.Ulid(blank=True, default="", max_length=26)),
                ("objective", graph.fields.Ulid(blank=True, default="", max_length=26)),
                ("node", graph.fields.Ulid(blank=True, default="", max_length=26)),
                ("lease", graph.fields.Ulid(blank=True, default="", max_length=26)),
                ("run", graph.fields.Ulid(blank=True, default="", max_length=26)),
                ("attempt", graph.fields.Ulid(blank=True, default="", max_length=26)),
                ("reason", models.TextField(blank=True, default="")),
                ("data", models.JSONField(default=dict)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["node", "seq"], name="event_of_node"),
                    models.Index(fields=["plan", "seq"], name="event_of_plan"),
                    models.Index(fields=["type", "seq"], name="event_of_type"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Node",
            fields=[
                ("id", graph.fields.Ulid(max_length=26, primary_key=True, serialize=False)),
                ("key", graph.fields.BytewiseField(max_length=100)),
                ("full_key", graph.fields.BytewiseField(help_text="objective, or objective/task", max_length=201)),
                ("title", models.CharField(max_length=500)),
                ("body", models.TextField(blank=True)),
                ("state", models.CharField(default="pending", max_length=9)),
                ("leaf", models.BooleanField(help_text="has no children: it is work")),
                (
                    "position",
                    models.BigIntegerField(help_text="index of the node's (open) vertex in the walk of its plan"),
                ),
                (
                    "ever_claimed",
                    models.BooleanField(default=False, help_text="it or anything below it was ever claimed"),
                ),
                ("held", models.BooleanField(default=False, help_text="a container that is claimed by hand")),
                ("rejections", models.PositiveIntegerField(default=0, help_text="since it last became claimable")),
                (
                    "stale_ends",
                    models.PositiveIntegerField(default=0, help_text="stale claims ended, since the same moment"),
                ),
                (
                    "cancel_act",
                    graph.fields.Ulid(
                        blank=True, default="", help_text="the cancel or prune that cancelled this node", max_length=26
                    ),
                ),
                (
                    "last_cancel",
                    graph.fields.Ulid(
                        blank=True,
                        default="",
                        help_text="the last cancel that was called on this container",
                        max_length=26,
                    ),
                ),
                ("pruned", models.BooleanField(default=False, help_text="cancelled by a re-import, not by a lead")),
                ("clone_repo", models.TextField(blank=True, default="", help_text="objectives only")),
                ("clone_ref", models.CharField(blank=True, default="", max_length=255)),
                (
                    "objective",
                    models.ForeignKey(
                        db_index=False,
                        help_text="the lane; an objective's own id",
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="lane_nodes",
                        to="graph.node",
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="children",
                        to="graph.node",
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="nodes",
                        to="graph.plan",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Edge",
            fields=[
                ("id", graph.fields.Ulid(max_length=26, primary_key=True, serialize=False)),
                ("waived", models.BooleanField(default=False)),
                ("waive_reason", models.TextField(blank=True, default="")),
                (
                    "reopened",
                    models.BooleanField(
                        default=False,
                        help_text="the dependent ran or had settled when the dependency last left done or partial",
                    ),
                ),
                (
                    "dependency",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="needed_by", to="graph.node"
                    ),
                ),
                (
                    "dependent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="needs",
                        to="graph.node",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("dependent", "dependency"), name="edge_once"),
                    models.CheckConstraint(
                        condition=models.Q(("dependent", models.F("dependency")), _negated=True),
                        name="edge_not_to_itself",
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="node",
            index=models.Index(fields=["plan", "position"], name="node_walk"),
        ),
        migrations.AddIndex(
            model_name="node",
            index=models.Index(fields=["objective", "position"], name="node_lane_walk"),
        ),
        migrations.AddIndex(
            model_name="node",
            index=models.Index(fields=["state", "plan", "position"], name="node_state_walk"),
        ),
        migrations.AddIndex(
            model_name="node",
            index=models.Index(
                condition=models.Q(("leaf", True), ("state", "ready")), fields=["plan", "position"], name="node_pool"
            ),
        ),
        migrations.AddIndex(
            model_name="node",
            index=models.Index(fields=["parent", "state"], name="node_children"),
        ),
        migrations.AddIndex(
            model_name="node",
            index=models.Index(fields=["plan", "leaf", "state"], name="node_counts"),
        ),
        migrations.AddConstraint(
            model_name="node",
            constraint=models.UniqueConstraint(fields=("plan", "full_key"), name="node_full_key_unique"),
        ),
        migrations.AddConstraint(
            model_name="node",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ["pending", "ready", "running", "done", "partial", "blocked", "cancelled"])
                ),
                name="node_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="node",
            constraint=models.CheckConstraint(
                condition=models.Q(("parent__isnull", False), ("objective", models.F("id")), _connector="OR"),
                name="node_objective_is_own_lane",
            ),
        ),
        migrations.AddConstraint(
            model_name="node",
            constraint=models.CheckConstraint(
                condition=models.Q(("held", False), ("leaf", False), _connector="OR"), name="node_held_is_container"
            ),
        ),
        migrations.AddConstraint(
            model_name="node",
            constraint=models.CheckConstraint(
                condition=models.Q(("leaf", True), models.Q(("state", "blocked"), _negated=True), _connector="OR"),
                name="node_container_never_blocked",
            ),
        ),
    ]
