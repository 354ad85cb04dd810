"""A table of what goes on, on a terminal; plain lines elsewhere."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from bakeoff.runner.estimate import rough_seconds, time_left_seconds
from bakeoff.runner.events import Event, Failed, Finished, Present, Started, Waiting
from bakeoff.runner.progress import Progress, printable
from bakeoff.spec import Latency, Run
from bakeoff.store import Store

if TYPE_CHECKING:
    from rich.console import Group

MOST_ROWS = 12
"""Runs at work that are shown one by one."""
_REDRAWS_A_SECOND = 2


@contextlib.contextmanager
def telling(
    runs: Sequence[Run],
    *,
    store: Store,
    stream: TextIO,
    slots: int,
    seconds: Mapping[str, float],
    plain: bool = False,
) -> Iterator[Callable[[Event], None]]:
    """While entered, what a runner may be given as `on_event`.

    `runs` are all that will be told of, in their order, in so many `slots`; `seconds` is what each is expected to take, by id.
    On a terminal there is a table that changes, and above it a line for each failure and notice; with `plain`, and elsewhere, a line
    for each Run.
    """
    if plain or not is_lively(stream):
        yield Progress(total=len(runs), store=store, stream=stream)
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(file=stream)
    table = Table(runs=runs, slots=slots, seconds=seconds, encoding=stream.encoding)
    with Live(table, console=console, refresh_per_second=_REDRAWS_A_SECOND) as live:
        lines = Progress(total=len(runs), store=store, stream=_Above(live.console.print, stream.encoding), failures_only=True)

        def tell(event: Event) -> None:
            lines(event)
            table(event)

        yield tell


def is_lively(stream: TextIO) -> bool:
    """Whether a stream is a terminal on which lines may be drawn again."""
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown")


@dataclass(kw_only=True)
class Table:
    """What is done, running, failed, how long it may still take, and the best answer so far a dataset."""

    runs: Sequence[Run]
    slots: int
    seconds: Mapping[str, float]
    encoding: str | None = "utf-8"
    clock: Callable[[], float] = time.monotonic
    _ended: dict[str, Event] = field(default_factory=dict)
    _begun: dict[str, float] = field(default_factory=dict)
    _elsewhere: set[str] = field(default_factory=set)
    _best: dict[str, Finished] = field(default_factory=dict)

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case Started():
                self._begun[event.run.run_id] = self.clock()
                self._elsewhere.discard(event.run.run_id)
            case Finished() | Present() | Failed():
                self._ended[event.run.run_id] = event
                self._begun.pop(event.run.run_id, None)
                self._elsewhere.discard(event.run.run_id)
                if isinstance(event, Finished) and event.accuracy is not None:
                    best = self._best.get(event.run.dataset.name)
                    if best is None or best.accuracy is None or event.accuracy > best.accuracy:
                        self._best[event.run.dataset.name] = event
            case Waiting():
                self._elsewhere.add(event.run.run_id)

    def __rich__(self) -> "Group":
        """The table as it is now."""
        from rich.console import Group
        from rich.table import Table as Grid
        from rich.text import Text

        grid, ended, running = Grid.grid(padding=(0, 2)), list(self._ended.values()), self._running()
        for run, seconds in running[:MOST_ROWS]:
            grid.add_row("running", duration(seconds), self._text(run.title))
        if len(running) > MOST_ROWS:
            grid.add_row("", "", f"and {len(running) - MOST_ROWS} more")
        for best in list(self._best.values()):
            assert best.accuracy is not None
            grid.add_row("best so far", f"{100 * best.accuracy:.1f}%", self._text(best.run.title))
        failed = sum(isinstance(event, Failed) for event in ended)
        parts = [f"{len(ended) - failed} of {len(self.runs)} done", f"{len(running)} running", f"{failed} failed"]
        if self._elsewhere:
            parts.append(f"{len(self._elsewhere)} baked by another process")
        if (left := self.left_seconds()) > 0:
            parts.append(f"about {duration(left)} left")
        line = Text(", ".join(parts), style="bold red" if failed else "bold")
        return Group(line, grid) if grid.row_count else Group(line)

    def left_seconds(self) -> float:
        """How long it may still take: what was expected, times what those that ended took of theirs."""
        took = [(event.seconds, self._expected(event.run)) for event in list(self._ended.values()) if isinstance(event, Finished)]
        pace = sum(actual for actual, _ in took) / sum(expected for _, expected in took) if took else 1.0
        now, parallel, alone = self.clock(), list[float](), 0.0
        for run in sorted(self.runs, key=lambda run: run.run_id not in self._begun):
            if run.run_id in self._ended:
                continue
            left = pace * self._expected(run)
            if (begun := self._begun.get(run.run_id)) is not None:
                left = max(0.0, left - (now - begun))
            if isinstance(run.probe, Latency):
                alone += left
            else:
                parallel.append(left)
        return time_left_seconds(parallel, self.slots) + alone

    def _expected(self, run: Run) -> float:
        return self.seconds.get(run.run_id) or rough_seconds(run)

    def _running(self) -> list[tuple[Run, float]]:
        now, titled = self.clock(), {run.run_id: run for run in self.runs}
        return [(titled[run_id], now - begun) for run_id, begun in list(self._begun.items()) if run_id in titled]

    def _text(self, text: str) -> Any:
        from rich.text import Text

        return Text(printable(text, self.encoding), overflow="ellipsis", no_wrap=True)


def duration(seconds: float) -> str:
    """A time as a person says it: 12 s, 3 min, 2 h 05 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


@dataclass(frozen=True)
class _Above:
    """A stream whose lines stand above the table."""

    print_: Callable[..., None]
    encoding: str | None

    def write(self, text: str) -> None:
        self.print_(text, end="", markup=False, highlight=False, soft_wrap=True)

    def flush(self) -> None:
        pass
