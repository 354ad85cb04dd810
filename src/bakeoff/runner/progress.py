"""One plain line a Run."""

import os
from dataclasses import dataclass
from typing import Protocol

from bakeoff.runner.events import Event, Failed, Finished, Notice, Present, Started, Waiting
from bakeoff.spec import Run
from bakeoff.store import FAILURE, Store


class Stream(Protocol):
    """What lines are written to: a file of text, or what looks like one."""

    @property
    def encoding(self) -> str | None: ...
    def write(self, text: str, /) -> object: ...
    def flush(self) -> None: ...


@dataclass(kw_only=True)
class Progress:
    """Writes events to a stream, usually standard error; hand it over as `on_event`."""

    total: int
    store: Store
    stream: Stream
    failures_only: bool = False
    """Whether Runs that went well are counted and have no line."""
    _ended: int = 0

    def __call__(self, event: Event) -> None:
        """Write the line of an event, if it has one."""
        match event:
            case Started():
                pass
            case Finished():
                answer: str = event.status
                if event.p50_ms is not None:
                    answer = f"{event.p50_ms:.3g} ms"
                elif event.accuracy is not None:
                    answer = f"{100 * event.accuracy:.1f}%"
                self._end("done", event.run, f"{answer:>8}   {_duration(event.seconds)}")
            case Present():
                self._end("present", event.run, "recorded already")
            case Failed():
                where = shorten(str(self.store.folder(event.run.run_id)))
                look = f"(see {os.path.join(where, FAILURE)})" if event.written else "(and failure.json could not be written)"
                self._end("failed", event.run, f"{event.type_}: {event.message} {look}")
            case Waiting() if self.failures_only:
                pass
            case Waiting():
                self._write(f"{self._count(self._ended)} waiting {event.run.run_id}  another process bakes it: left until last")
            case Notice():
                self._write(event.text)

    def _end(self, word: str, run: Run, rest: str) -> None:
        self._ended += 1
        if self.failures_only and word != "failed":
            return
        self._write(f"{self._count(self._ended)} {word:<7} {run.run_id}  {run.title}   {rest}")

    def _count(self, ended: int) -> str:
        return f"[{ended:>{len(str(self.total))}}/{self.total}]"

    def _write(self, line: str) -> None:
        self.stream.write(printable(line, self.stream.encoding) + "\n")
        self.stream.flush()


def printable(text: str, encoding: str | None) -> str:
    """The text in what a terminal of this encoding can show; the middle dot becomes a hyphen."""
    encoding = encoding or "ascii"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.replace("·", "-").encode(encoding, errors="replace").decode(encoding)
    return text


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def shorten(path: str) -> str:
    """A path as it is named from the working directory, if it is below it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
