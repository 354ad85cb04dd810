"""What a fresh process does: bake, tell how it goes, and leave."""

import contextlib
import faulthandler
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any

from bakeoff.runner import failure
from bakeoff.runner.attempt import Bake, Task, attempt
from bakeoff.runner.events import Event, Failed

Work = Callable[[Callable[[Event], None]], int]
"""Tells events, and returns the exit code. Must be picklable."""


def one(task: Task, bake: Bake, environment: Mapping[str, str], tell: Callable[[Event], None]) -> int:
    """Try one Run in an environment of its own: its GPUs, set before anything uses CUDA, and its threads."""
    os.environ.update(environment)
    end = attempt(task, bake, tell, log=True)
    tell(end)
    return 1 if isinstance(end, Failed) else 0


def main(work: Work, private: bool, channel: Connection) -> None:
    """Do the work, send what it tells through `channel`, and leave; `private` keeps texts out of what threads print."""
    # Ctrl-C reaches the whole process group; the parent stops its children itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    faulthandler.enable(file=2)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    if private:
        _withhold_uncaught_messages()
    sending, code = threading.Lock(), 1

    def send(event: Event) -> None:
        with sending:
            channel.send(event)

    try:
        code = work(send)
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        # A library's thread that never ends must not keep a finished Run's slot.
        os._exit(code)


def _end(number: int, _frame: FrameType | None) -> None:
    """End by the signal. Lightning replaces the default action by an exception, but calls a handler that it finds."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _withhold_uncaught_messages() -> None:
    """Errors in threads and destructors print their messages by default, which may quote a text."""

    def thread_hook(arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            print("in a thread:", failure.describe(arguments.exc_value, private=True), file=sys.stderr)

    def unraisable_hook(unraisable: Any) -> None:
        if unraisable.exc_value is not None:
            print("ignored:", failure.describe(unraisable.exc_value, private=True), file=sys.stderr)

    threading.excepthook = thread_hook
    sys.unraisablehook = unraisable_hook
