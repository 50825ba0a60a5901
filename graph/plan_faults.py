"""What is wrong with a plan file: collected, so that one answer names it all."""

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from itertools import chain
from typing import Any, Final, NoReturn

from graph.errors import PlanInvalid

MOST: Final = 10_000
"""Faults that one answer lists; the rest are counted."""

MOST_COUNTED: Final = 100_000
"""Faults after which reading stops. A hostile megabyte could hold 500,000."""

COMPARISONS: Final = 20_000
"""Pairs of words that one file may have compared, about half a second's worth."""

SEARCH: Final = 10
"""What it costs to begin a search, in comparisons."""


def quoted(word: str) -> str:
    """A word of the file, as a message can show it: short, and harmless to any reader of UTF-8 and any terminal."""
    return repr(word if len(word) <= 100 else f"{word[:99]}…")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong, or, as a warning, odd."""

    code: str
    path: str
    """Where: `objectives[0].tasks[2].needs[1]`; empty for the file as a whole."""
    line: int | None
    """In the file, from 1; None for what is not in it."""
    message: str
    nearest: str | None = None
    """What was perhaps meant."""

    def brief(self) -> dict[str, Any]:
        """As answers show it (contract, section 7)."""
        return asdict(self)

    def __str__(self) -> str:
        where = ", ".join(part for part in (f"line {self.line}" if self.line else "", self.path) if part)
        meant = f" Did you mean {self.nearest}?" if self.nearest else ""
        return f"{where}{': ' if where else ''}{self.message}{meant} [{self.code}]"


class Faults:
    """The faults found so far."""

    def __init__(self) -> None:
        self._found: list[Fault] = []
        self._unlisted = 0
        self._comparisons = COMPARISONS

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, code: str, path: str, line: int | None, message: str, nearest: str | None = None) -> None:
        """Raises PlanInvalid when so many were found that more say nothing new."""
        if len(self._found) < MOST:
            self._found.append(Fault(code, path, line, message, nearest))
            return
        self._unlisted += 1
        if MOST + self._unlisted >= MOST_COUNTED:
            raise self.refusal()

    def stop(self, code: str, path: str, line: int | None, message: str) -> NoReturn:
        """Add a fault that makes reading on pointless, and raise them all."""
        self.add(code, path, line, message)
        raise self.refusal()

    def raise_any(self) -> None:
        """Raises PlanInvalid if there is a fault."""
        if self._found:
            raise self.refusal()

    def refusal(self) -> PlanInvalid:
        faults = sorted(self._found, key=lambda fault: fault.line or 0)
        if self._unlisted:
            counted = f"{self._unlisted} more faults are not listed"
            stopped = "; there reading stopped" if MOST + self._unlisted >= MOST_COUNTED else ""
            faults.append(Fault("more_faults", "", None, f"{counted}{stopped}."))
        return plan_invalid(faults)

    def nearest(self, word: str, *pools: Collection[str]) -> str | None:
        """The word that `word` was perhaps meant to be; None too when enough words were compared for this file."""
        count = sum(map(len, pools)) + SEARCH
        if count > self._comparisons or len(word) > 250:
            return None
        self._comparisons -= count
        return next(iter(get_close_matches(word, chain(*pools), n=1)), None)


def plan_invalid(faults: Iterable[Fault]) -> PlanInvalid:
    """The refusal that carries these faults."""
    listed = [fault.brief() for fault in faults]
    detail = f"The plan file has {'a fault' if len(listed) == 1 else f'{len(listed)} faults'}; nothing was imported."
    return PlanInvalid(detail, faults=listed)
