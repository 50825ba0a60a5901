"""The time axis: a window that ends now, and where moments stand on it. Pure: nothing is read here.

Places are percentages of the axis, so that the picture fits any width without the server knowing it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Window:
    """How far back an axis looks; `parts` of equal length carry a label each."""

    name: str
    words: str
    minutes: int
    parts: int

    @property
    def micros(self) -> int:
        return self.minutes * 60_000_000

    @property
    def labels(self) -> list[str]:
        """How long ago each part begins."""
        step = self.minutes // self.parts
        return [_ago(self.minutes - step * part) for part in range(self.parts)]


def _ago(minutes: int) -> str:
    return f"{minutes // 60} h" if minutes >= 60 and minutes % 60 == 0 else f"{minutes} min"


WINDOWS: Final = {
    window.name: window
    for window in (
        Window("15m", "15 min", 15, 5),
        Window("1h", "hour", 60, 6),
        Window("6h", "6 hours", 360, 6),
        Window("24h", "24 hours", 1440, 6),
    )
}
USUAL: Final = WINDOWS["1h"]

MOST_OF_THEM: Final = 0.75
"""The share of current claims whose beginning a window that chooses itself must show."""


@dataclass(frozen=True, slots=True)
class Axis:
    """`now`, its right end, in microseconds; `chosen` says that a reader asked for this window."""

    now: int
    window: Window
    chosen: bool = False

    @property
    def windows(self) -> list[Window]:
        """What a reader may choose from."""
        return [*WINDOWS.values()]

    @property
    def start(self) -> int:
        return self.now - self.window.micros

    def place(self, micros: int) -> float:
        """Of a moment, in percent of the axis, cut off at its ends."""
        return round(100 * min(max(micros - self.start, 0), self.window.micros) / self.window.micros, 2)


def choose(now: int, name: str, *, begun: Sequence[int], last: int | None) -> Axis:
    """The window that was asked for, or the shortest that shows the current work.

    `begun` is when the claims that live now began, `last` when the last one ended, where none lives.
    """
    if name:
        return Axis(now, WINDOWS[name], chosen=True)
    shown_from = sorted(begun, reverse=True)[: max(1, int(MOST_OF_THEM * len(begun)))] or ([last] if last else [])
    if not shown_from:
        return Axis(now, USUAL)
    fitting = (window for window in WINDOWS.values() if now - window.micros <= min(shown_from))
    return Axis(now, next(fitting, WINDOWS["24h"]))
