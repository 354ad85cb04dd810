"""The outside of a process that serves models: start it, ask it, and learn how it died."""

import multiprocessing
import os
import signal
from multiprocessing.connection import wait
from typing import Any, Literal

from bakeoff.errors import BakeoffError
from bakeoff.probes import serving

_LEAVE_SECONDS = 5.0


class WorkerDied(BakeoffError):
    """The process that served a model ended without an answer."""


class Worker:
    """One process that serves models, started fresh, so that its thread settings hold before torch loads."""

    def __init__(self, kit: serving.Kit, *, threads: int, device: Literal["cpu", "cuda"]) -> None:
        context = multiprocessing.get_context("spawn")
        self._channel, theirs = context.Pipe()
        self._process = context.Process(target=serving.main, args=(theirs, kit, threads, device))
        before = dict(os.environ)
        os.environ.update(serving.environment(threads, device))
        try:
            self._process.start()
        finally:
            os.environ.clear()
            os.environ.update(before)
            theirs.close()

    def ask(self, command: str, *arguments: Any) -> Any:
        """Give a command of `serving.Bench` and wait for its answer. Raises what the command raised, or WorkerDied."""
        try:
            self._channel.send((command, arguments))
            # A process that it started may hold the channel open after its death, so its end is watched as well.
            if self._channel not in wait([self._channel, self._process.sentinel]) and not self._channel.poll():
                raise EOFError
            worked, value = self._channel.recv()
        except (EOFError, OSError):
            self._process.join(_LEAVE_SECONDS)
            raise WorkerDied(_death(self._process.exitcode)) from None
        if worked:
            return value
        raise value

    def close(self) -> None:
        """Let the process go, and end it if it stays."""
        self._channel.close()
        self._process.join(_LEAVE_SECONDS)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()


def _death(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        names = {number.value: number.name for number in signal.Signals}
        hint = ": often out of memory" if exit_code == -signal.SIGKILL else ""
        return f"the process that served this model was killed by signal {-exit_code} ({names.get(-exit_code, 'unknown')}){hint}"
    return f"the process that served this model ended with exit code {exit_code} before it gave an answer"
