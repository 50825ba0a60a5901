"""What the doors keep for themselves."""

from django.db import models

from graph.fields import BytewiseField, InstantField


class FailedSignIn(models.Model):
    """Tries to sign in with one name from one address, counted until one succeeds or the window has passed.

    A table, because every web process must count the same ones.
    """

    who = BytewiseField(max_length=64, primary_key=True, help_text="SHA-256 of both: people type passwords for names")
    failures = models.PositiveIntegerField()
    last_at = InstantField(db_index=True)

    def __str__(self) -> str:
        return f"{self.failures} since {self.last_at}"
