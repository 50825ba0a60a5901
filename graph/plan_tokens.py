"""What the YAML and the JSON reader hand on: one stream of tokens, each with its line.

A stream instead of a tree: it takes little memory, nothing in it can be deep enough to hurt, and every fault
has a line.
"""

from typing import Final, NamedTuple

MAPPING: Final = "a mapping"
LIST: Final = "a list"
END: Final = "an end"
TEXT: Final = "text"
NUMBER: Final = "a number"
BOOLEAN: Final = "true or false"
DATE: Final = "a date"
NOTHING: Final = "nothing"
MERGE: Final = "a merge key"
ALIAS: Final = "an alias"

NESTING: Final = 64
"""Mappings and lists inside each other that a reader follows before it gives up; a plan needs far fewer."""


class Token(NamedTuple):
    """The start of a mapping or list, the end of either, or a scalar."""

    kind: str
    """One of the constants above; they read well in a message."""
    value: str
    """A scalar as it is written, whatever kind it was read as."""
    line: int
    """From 1."""
