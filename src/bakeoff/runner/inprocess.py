"""Runs in this very process, one after another and with their output on the terminal: for debugging."""

import contextlib
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bakeoff.runner import failure, needs
from bakeoff.runner.attempt import Bake, attempt, is_locked, stands, tasks, write_down
from bakeoff.runner.events import Event, Notice, Outcome, Tally, Waiting
from bakeoff.runner.processes import finishing
from bakeoff.spec import Run
from bakeoff.store import Store

_RETRY_SECONDS = 0.5


def run_inprocess(
    runs: Sequence[Run],
    *,
    store: Store,
    bake: Bake,
    share_texts: bool,
    rebake_all: bool = False,
    limit_seconds: float | None = None,
    on_event: Callable[[Event], None],
) -> Outcome:
    """The contract of `local.run_local` without processes: what one Run leaves in memory, the next one meets.

    A Run over its limit is stopped as soon as Python has its turn again.
    """
    tally = Tally(on_event=on_event)
    pending = deque(tasks(runs, store=store, share_texts=share_texts, rebake_all=rebake_all))
    here, waiting = {task.run.run_id for task in pending}, set[str]()
    with calm_interrupts(tally, "Run") as calm:
        try:
            while pending and not calm.is_asked():
                task = pending.popleft()
                if needs.waits(task.run, tally, here):
                    pending.append(task)
                    continue
                if not stands(task) and (reason := needs.hindrance(task.run, tally, store)) is not None:
                    tally.add(write_down(task, reason))
                    continue
                while task.run.run_id in waiting and is_locked(store, task.run.run_id) and not calm.is_asked():
                    time.sleep(_RETRY_SECONDS)
                if calm.is_asked():
                    break
                with limited(limit_seconds):
                    end = attempt(task, bake, tally.add, log=False)
                tally.add(end)
                if isinstance(end, Waiting):
                    waiting.add(task.run.run_id)
                    pending.append(task)
        except KeyboardInterrupt:
            return tally.outcome(interrupted=True)
    return tally.outcome(interrupted=calm.is_asked())


@dataclass
class Calm:
    """Whether somebody has asked, once, that nothing new should start."""

    _finishing: bool = False

    def ask(self) -> bool:
        """Ask; false where that was done before."""
        first, self._finishing = not self._finishing, True
        return first

    def is_asked(self) -> bool:
        """Whether nothing new should start."""
        return self._finishing


@contextlib.contextmanager
def calm_interrupts(tally: Tally, what: str) -> Iterator[Calm]:
    """A first SIGINT is said and noted, to finish the one `what` that runs; a second one, or SIGTERM, raises KeyboardInterrupt."""
    calm = Calm()
    if threading.current_thread() is not threading.main_thread():
        yield calm
        return

    def first_is_calm(number: int, _frame: object) -> None:
        if number != signal.SIGINT or not calm.ask():
            raise KeyboardInterrupt
        with contextlib.suppress(RuntimeError):  # a stream that is being written to at this very moment
            tally.add(Notice(text=finishing(1, what)))

    before = {number: signal.signal(number, first_is_calm) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield calm
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raise TimeLimit in the main thread after so many seconds."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    limit = seconds

    def too_long(_number: int, _frame: object) -> None:
        raise failure.TimeLimit(limit)

    before = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
