"""What every runner of processes needs: a fork server with the heavy imports done, and a calm way to be interrupted."""

import contextlib
import multiprocessing.forkserver
import os
import signal
import threading
from collections.abc import Sequence
from multiprocessing.connection import wait
from types import FrameType

GRACE_SECONDS = 3.0
"""How long a child that was asked to end may take."""
FORK_SERVER_DIED = 255
"""The exit code that multiprocessing gives a child of which it will hear no more."""
STOPPED_FROM_OUTSIDE = (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP, FORK_SERVER_DIED)
"""Exit codes of children when somebody stops the whole process group."""


class Interrupt:
    """While entered, SIGINT sets `finishing`; a second one, or SIGTERM, sets `requested` too. Nothing is raised anywhere.

    Each of them makes `reader` readable, until it is `heard`.
    """

    def __init__(self) -> None:
        self.finishing = False
        """Start nothing new, and let what runs come to its end."""
        self.requested = False
        """Stop now."""
        self.reader, self._writer = os.pipe()
        os.set_blocking(self.reader, False)
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

    def heard(self) -> None:
        """Make `reader` wait for the next signal."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.reader, 1024)

    def reached_us(self) -> bool:
        """Whether we are to stop now, or are told so within half a second: a stop of a whole process group reaches children first."""
        if not self.requested:
            self.heard()
            wait([self.reader], 0.5)
        return self.requested

    def _request(self, number: int, _frame: FrameType | None) -> None:
        self.requested = self.requested or self.finishing or number != signal.SIGINT
        self.finishing = True
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b"!")


def finishing(count: int, what: str) -> str:
    """What is said after the first Ctrl-C; `what` is the singular of what still runs."""
    return f"finishing {count} {what}{'' if count == 1 else 's'}; Ctrl-C again stops {'it' if count == 1 else 'them'} now"


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
