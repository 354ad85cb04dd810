"""Runs in this very process, one after another and with their output on the terminal: for debugging."""

import contextlib
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from bakeoff.runner import needs
from bakeoff.runner.attempt import Bake, attempt, is_locked, stands, tasks, write_down
from bakeoff.runner.events import Event, Outcome, Tally, Waiting
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
    on_event: Callable[[Event], None],
) -> Outcome:
    """The contract of `local.run_local` without processes: what one Run leaves in memory, the next one meets."""
    tally = Tally(on_event=on_event)
    pending = deque(tasks(runs, store=store, share_texts=share_texts, rebake_all=rebake_all))
    here, waiting = {task.run.run_id for task in pending}, set[str]()
    with term_interrupts():
        try:
            while pending:
                task = pending.popleft()
                if needs.waits(task.run, tally, here):
                    pending.append(task)
                    continue
                if not stands(task) and (reason := needs.hindrance(task.run, tally, store)) is not None:
                    tally.add(write_down(task, reason))
                    continue
                while task.run.run_id in waiting and is_locked(store, task.run.run_id):
                    time.sleep(_RETRY_SECONDS)
                end = attempt(task, bake, tally.add, log=False)
                tally.add(end)
                if isinstance(end, Waiting):
                    waiting.add(task.run.run_id)
                    pending.append(task)
        except KeyboardInterrupt:
            return tally.outcome(interrupted=True)
    return tally.outcome(interrupted=False)


@contextlib.contextmanager
def term_interrupts() -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt, as SIGINT does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
