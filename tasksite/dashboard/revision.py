"""What a page would look different after: cheap to read, and read before anything that is shown."""

from dataclasses import dataclass
from typing import Final

import tasksite
from graph import feed, sql

BEAT_STEP: Final = 10_000_000
"""Microseconds. Heartbeats write no event; what they say (progress) is picked up this often."""

# Ending a claim writes an event, so of the stale ones the number alone says whether they are the same.
_READ: Final = """
    SELECT (SELECT max(seq) FROM graph_event),
        (SELECT count(*) FROM leases_lease WHERE ended_at IS NULL AND expires_at <= %s),
        (SELECT max(beat_at) FROM leases_lease WHERE ended_at IS NULL)"""


@dataclass(frozen=True, slots=True)
class Revision:
    """Two equal ones promise the same page, ages aside; `now` is when it was read, in microseconds."""

    text: str
    now: int

    def etag(self, variant: str) -> str:
        return f'"{self.text}-{variant}"'


def read(now: int) -> Revision:
    """What is read later may be newer than it says: the next poll then shows it again.

    The highest number alone would not do: on PostgreSQL a lower one may be committed later, and the horizon moves then.
    """
    horizon = feed.horizon()
    last, stale, beat = sql.fetch(_READ, [now])[0]
    return Revision(f"{tasksite.__version__}-{horizon}-{last or 0}-{stale}-{(beat or 0) // BEAT_STEP}", now)
