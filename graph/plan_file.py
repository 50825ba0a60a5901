"""A plan file to a frozen plan, or to every fault it has (contract, section 7). Pure: no ORM, no settings.

bytes → plan_yaml or plan_json → tokens → plan_reader → nodes as written → plan_resolve → PlanFile
"""

from enum import StrEnum
from typing import Final

from graph import plan_json, plan_yaml
from graph.plan_faults import Faults
from graph.plan_reader import PlanReader
from graph.plan_resolve import Against, resolve
from graph.plan_types import Limits, PlanFile
from graph.progress import UNSEEN, Progress

_BOM: Final = b"\xef\xbb\xbf"


class Format(StrEnum):
    YAML = "yaml"
    JSON = "json"


CONTENT_TYPES: Final = {
    "application/json": Format.JSON,
    "application/yaml": Format.YAML,
    "application/x-yaml": Format.YAML,
    "text/yaml": Format.YAML,
    "text/x-yaml": Format.YAML,
}
"""Media types, without parameters, and what they hold."""


def guess_format(data: bytes) -> Format:
    """What a file without a name is: JSON where it starts as an object with a quoted name, else YAML."""
    start = data[:1_000].removeprefix(_BOM).lstrip(b" \t\r\n")
    return Format.JSON if start[:1] == b"{" and start[1:].lstrip(b" \t\r\n")[:1] in (b'"', b"}") else Format.YAML


def read_plan(
    data: bytes, form: Format, limits: Limits, progress: Progress = UNSEEN, against: Against | None = None
) -> PlanFile:
    """Raises PlanInvalid, whose `faults` are all that is wrong: {code, path, line, message, nearest} each.

    A file with faults is handed on to `against` as far as it could be made out, so that one answer names those, too,
    that only what stands already shows.
    """
    faults = Faults()
    if len(data) > limits.bytes:
        faults.stop("over_limit", "", None, f"The file has {len(data):,} bytes, {limits.bytes:,} at most.")
    data = data.removeprefix(_BOM)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        faults.stop("not_utf8", "", line, f"The file is not UTF-8: {error.reason}.")
    tokens = plan_json.tokens(text, faults) if form is Format.JSON else plan_yaml.tokens(data, faults)
    shown = progress.over(tokens, "lines read", data.count(b"\n"), lambda token: token.line)
    return resolve(PlanReader(iter(shown), faults, limits).plan(), faults, against)
