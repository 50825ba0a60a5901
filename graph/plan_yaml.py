"""YAML to tokens, safely: nothing is constructed, and nothing that the file repeats is multiplied.

Tags, aliases and further documents are refused here; merge keys and duplicate keys where mappings are read.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from graph.plan_faults import Faults, quoted
from graph.plan_tokens import ALIAS, BOOLEAN, DATE, END, LIST, MAPPING, MERGE, NESTING, NOTHING, NUMBER, TEXT, Token

_RESOLVERS: Final = yaml.SafeLoader.yaml_implicit_resolvers
"""By first character: (tag, pattern) pairs of what a plain scalar may be read as."""

_KINDS: Final = {
    "tag:yaml.org,2002:int": NUMBER,
    "tag:yaml.org,2002:float": NUMBER,
    "tag:yaml.org,2002:bool": BOOLEAN,
    "tag:yaml.org,2002:timestamp": DATE,
    "tag:yaml.org,2002:null": NOTHING,
    "tag:yaml.org,2002:merge": MERGE,
}

_TAG_DIRECTIVE: Final = re.compile(rb"(?:\A|[\n\r]|\xc2\x85|\xe2\x80[\xa8\xa9])%TAG")
"""At the start of a line, however lines end. libyaml takes quadratic time over many of them."""


def tokens(data: bytes, faults: Faults) -> Iterator[Token]:
    """The tokens of the one document in `data`, which is UTF-8. Raises PlanInvalid where reading on is pointless."""
    if directive := _TAG_DIRECTIVE.search(data):
        faults.stop("tag", "", data.count(b"\n", 0, directive.end()) + 1, "Tags are not taken.")
    parser = yaml.CSafeLoader(data)
    try:
        yield from _document(parser, faults)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        faults.stop("syntax", "", mark.line + 1 if mark else None, f"This is not YAML: {_problem(error)}.")
    except yaml.reader.ReaderError as error:
        line = data.count(b"\n", 0, error.position) + 1
        faults.stop("syntax", "", line, f"This is not YAML: {error.reason}.")
    finally:
        parser.dispose()


def _document(parser: yaml.CSafeLoader, faults: Faults) -> Iterator[Token]:
    depth = documents = 0
    while True:
        event: Any = parser.get_event()  # the stubs know no marks and tags
        line = event.start_mark.line + 1
        match event:
            case yaml.ScalarEvent():
                _refuse_tag(event, line, faults)
                yield Token(_kind(event), event.value, line)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                _refuse_tag(event, line, faults)
                depth += 1
                if depth > NESTING:
                    faults.stop("over_limit", "", line, f"More than {NESTING} levels are nested here.")
                yield Token(MAPPING if isinstance(event, yaml.MappingStartEvent) else LIST, "", line)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                depth -= 1
                yield Token(END, "", line)
            case yaml.AliasEvent():
                anchor = f"*{event.anchor}"
                faults.add("alias", "", line, f"Aliases are not taken: write out what {quoted(anchor)} stands for.")
                yield Token(ALIAS, anchor, line)
            case yaml.DocumentStartEvent():
                documents += 1
                if documents > 1:
                    faults.stop("second_document", "", line, "A file holds one plan: a second document starts here.")
            case yaml.StreamEndEvent():
                return


def _refuse_tag(event: Any, line: int, faults: Faults) -> None:
    if event.tag is not None:
        faults.add("tag", "", line, f"Tags are not taken: leave out {quoted(event.tag)}.")


def _kind(event: yaml.ScalarEvent) -> str:
    """What YAML 1.1 reads a scalar as; only plain ones are ever anything but text."""
    if not event.implicit[0]:
        return TEXT
    value = event.value
    for tag, pattern in _RESOLVERS.get(value[:1], ()):
        if pattern.match(value):
            return _KINDS.get(tag, TEXT)
    return TEXT


def _problem(error: yaml.MarkedYAMLError) -> str:
    return ", ".join(part for part in (error.context, error.problem) if part)
