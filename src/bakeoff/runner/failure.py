"""An exception in words that may be written down: no text of a private dataset reaches a file, a log or the terminal."""

import os
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from bakeoff.errors import BakeoffError
from bakeoff.spec import Run
from bakeoff.store import frames_of

WITHHELD = "message withheld because the dataset is not marked redistributable; set machine.share_texts=true to keep it"
_MOST_CHARACTERS = 2000


@dataclass(frozen=True, kw_only=True)
class Described:
    """An error as `failure.json` keeps it; `trace` names files, lines and functions, never values."""

    type_: str
    message: str
    trace: list[str]

    def __str__(self) -> str:
        return "\n".join([f"{self.type_}: {self.message}", *(f"  {frame}" for frame in self.trace)])


def is_private(run: Run, *, share_texts: bool) -> bool:
    """Whether this Run's texts must stay out of messages."""
    return not run.dataset.redistributable and not share_texts


def describe(error: BaseException, *, private: bool) -> Described:
    """Type, message and frames of an error and of what caused it.

    Libraries quote their input in messages ("could not convert string to float: ..."), so for private
    data only our own messages, memory errors and the system's error texts are kept.
    """
    trace: list[str] = []
    for cause in _chain(error):
        trace += ([f"caused by {type(cause).__name__}:"] if cause is not error else []) + frames_of(cause)
    return Described(type_=type(error).__name__, message=_message(error, private)[:_MOST_CHARACTERS], trace=trace)


class TimeLimit(BakeoffError):
    """A Run took longer than `machine.time_limit_minutes` lets it."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"stopped after machine.time_limit_minutes={seconds / 60:g}: raise the limit, or ask for less")


def time_limit(seconds: float) -> Described:
    """A Run that was stopped after so many seconds."""
    return describe(TimeLimit(seconds), private=False)


def death(exit_code: int | None) -> Described:
    """A process that ended without a word, from its exit code (negative: the signal that killed it)."""
    if exit_code is not None and exit_code < 0:
        try:
            name = signal.Signals(-exit_code).name
        except ValueError:
            name = "unknown"
        hint = {"SIGKILL": ": often out of memory", "SIGSEGV": ": a crash in native code"}.get(name, "")
        message = f"the process was killed by signal {-exit_code} ({name}){hint}"
    else:
        message = f"the process ended with exit code {exit_code} before it gave an answer"
    return Described(type_="ProcessDied", message=message, trace=[])


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _message(error: BaseException, private: bool) -> str:
    if private and not isinstance(error, BakeoffError | MemoryError):
        return _system_message(error) if isinstance(error, OSError) else WITHHELD
    try:
        return str(error)
    except Exception:
        return "the message could not be read"


def _system_message(error: OSError) -> str:
    # Network libraries subclass OSError with messages of their own, and a text handed over as a path
    # becomes the file name of the error: only the number's own text and a name that is surely a path's are kept.
    if not isinstance(error.errno, int):
        return WITHHELD
    text = os.strerror(error.errno)
    path = PurePath(error.filename) if isinstance(error.filename, str) else PurePath()
    return f"{text}: {path.name}" if path.is_absolute() and re.fullmatch(r"[\w.-]{1,80}", path.name) else text
