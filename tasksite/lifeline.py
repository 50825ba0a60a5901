"""No process outlives the server that started it, whatever kills that server.

The server holds the writing end of a pipe and never writes; every process below it holds the reading end. The
kernel closes the writing end when the server dies, kill -9 included, and each process sees it by itself, so
none depends on a middle process that may be dead too.
"""

import os
import threading
from typing import Final

ORPHANED: Final = 70


def watch(descriptor: int) -> None:
    """End this process, and each that is forked from it, when the other end of the pipe is closed.

    At once: whatever it was doing is a transaction that either commits or does not.
    """

    def wait() -> None:
        while os.read(descriptor, 1):
            pass
        os._exit(ORPHANED)

    def start() -> None:
        threading.Thread(target=wait, name="lifeline", daemon=True).start()

    start()
    os.register_at_fork(after_in_child=start)  # a fork takes no thread along
