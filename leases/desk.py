"""What lies beside a command while it works: its task in files and environment, and what it leaves there.

| variable | what |
| --- | --- |
| `TASK_ID`, `TASK_KEY`, `TASK_TITLE` | the node; its key in full: `objective/task` |
| `TASK_BODY_FILE` | the body, as text |
| `TASK_INPUTS_FILE` | JSON: `[{"full_key", "outcome", "summary", "result"}]`, one for each dependency |
| `TASK_ATTEMPT`, `TASK_FENCE` | the number of this try; the lease's fence |
| `RESULT_FILE` | to be written: JSON for the report, see `leases.verdict` |
| `PROGRESS_FILE` | may be written: text, whose last 1 KiB goes along with the next heartbeat and is shown on the node |
| `ASKS_FILE` | JSON: what the server asks for, such as `["upstream_reopened"]`; can change while the command runs |

The files lie outside the clone and are gone afterwards. The server's token is in none of them.
"""

import contextlib
import json
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from leases.grants import Grant
from leases.verdict import clean

PROGRESS_BYTES: Final = 1024


class Desk:
    """The files of one attempt, in a directory of their own, for as long as the `with` block runs."""

    def __init__(self, grant: Grant, attempt: int) -> None:
        self._grant = grant
        self._attempt = attempt

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="task-", ignore_cleanup_errors=True)
        self._file("body").write_text(str(self._grant.node.get("body") or ""), encoding="utf-8")
        self._file("inputs.json").write_text(
            json.dumps(self._grant.inputs, ensure_ascii=False, indent=2), encoding="utf-8"
        )
        self.asked([])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    @property
    def result_file(self) -> Path:
        return self._file("result.json")

    def environment(self) -> dict[str, str]:
        """The task, as variables."""
        return {
            "TASK_ID": self._grant.node_id,
            "TASK_KEY": self._grant.full_key,
            "TASK_TITLE": str(self._grant.node["title"]),
            "TASK_BODY_FILE": str(self._file("body")),
            "TASK_INPUTS_FILE": str(self._file("inputs.json")),
            "TASK_ATTEMPT": str(self._attempt),
            "TASK_FENCE": str(self._grant.fence),
            "RESULT_FILE": str(self.result_file),
            "PROGRESS_FILE": str(self._file("progress")),
            "ASKS_FILE": str(self._file("asks.json")),
        }

    def progress(self) -> str | None:
        """The end of what the command wrote about its progress; None where it wrote nothing."""
        path = self._file("progress")
        try:
            if not path.is_file():
                return None
            with path.open("rb") as file:
                file.seek(max(path.stat().st_size - PROGRESS_BYTES, 0))
                text = clean(file.read(PROGRESS_BYTES).decode(errors="ignore"))
        except OSError:  # the attempt has just ended, and its files with it
            return None
        return text.encode()[-PROGRESS_BYTES:].decode(errors="ignore") or None  # NFC may have made it longer

    def asked(self, asks: list[str]) -> None:
        """What the server asks for now; put there in one step, so that a reader never finds half of it."""
        fresh = self._file("asks.new")
        with contextlib.suppress(FileNotFoundError):  # as above
            fresh.write_text(json.dumps(asks), encoding="utf-8")
            fresh.replace(self._file("asks.json"))

    def _file(self, name: str) -> Path:
        return Path(self._folder.name, name)
