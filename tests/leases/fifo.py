"""A named pipe that joins a test and a command: what is said in it is known to have happened, without a sleep.

A command that opens it waits for the test; the test waits for the command, and fails where that never comes.
"""

import errno
import os
from pathlib import Path

from tests.processes import until


class Fifo:
    """`folder/fifo`. In a command: `echo … > fifo` is heard, `cat fifo` waits for `say`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "fifo"
        os.mkfifo(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def hear(self) -> str:
        """All that one command writes, when it has closed the pipe."""
        heard = bytearray()
        reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

        def complete() -> bool:
            try:
                chunk = os.read(reader, 65536)
            except BlockingIOError:  # it is there and has not said all
                return False
            heard.extend(chunk)
            return bool(heard) and not chunk

        try:
            until(complete, f"something is said in {self.path}")
        finally:
            os.close(reader)
        return heard.decode()

    def say(self) -> None:
        """Let a command go on that waits at the other end."""

        def opened() -> bool:
            try:
                os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
            except OSError as fault:
                if fault.errno != errno.ENXIO:
                    raise
                return False
            return True

        until(opened, f"somebody listens at {self.path}")
