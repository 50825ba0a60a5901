"""How far a long import has come, for whoever waits at a terminal."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Row = TypeVar("Row")


class Progress:
    """Nobody looks. A door that shows a bar gives one of its own."""

    def over(
        self, rows: Iterable[Row], what: str, total: int, place: Callable[[Row], int] | None = None
    ) -> Iterable[Row]:
        """The rows as they are, while it is shown how many of `total` have passed.

        `place` tells of a row how far it lies, where rows are not what is counted.
        """
        return rows


UNSEEN = Progress()
