"""What every runner of processes needs: a fork server with the heavy imports done, and a calm way to be interrupted."""

import multiprocessing.forkserver
import os
import signal
import threading
from collections.abc import Sequence
from types import FrameType

GRACE_SECONDS = 3.0
"""How long a child that was asked to end may take."""
FORK_SERVER_DIED = 255
"""The exit code that multiprocessing gives a child of which it will hear no more."""
STOPPED_FROM_OUTSIDE = (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP, FORK_SERVER_DIED)
"""Exit codes of children when somebody stops the whole process group."""


class Interrupt:
    """While entered, SIGINT and SIGTERM set `requested` and make `reader` readable instead of raising anywhere."""

    def __init__(self) -> None:
        self.requested = False
        self.reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    def __enter__(self) -> "Interrupt":
        self._handlers = {}
        if threading.current_thread() is threading.main_thread():
            self._handlers = {number: signal.signal(number, self._request) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.close(self.reader)
        os.close(self._writer)

    def _request(self, _number: int, _frame: FrameType | None) -> None:
        if not self.requested:
            self.requested = True
            os.write(self._writer, b"!")


def start_fork_server(preload: Sequence[str]) -> None:
    """Start the fork server, if there is none yet; it imports the modules of `preload` once."""
    # Without safe path, Python puts the working directory first: a datasets.py that lies there would be preloaded.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before
