"""One try at one Run: lock, check, clear, bake, record; or else a failure that is written down."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import BakeoffError
from bakeoff.record import Record
from bakeoff.runner import failure, needs, weights
from bakeoff.runner.events import Failed, Finished, Notice, Present, Started, Waiting, finished
from bakeoff.runner.failure import Described
from bakeoff.spec import Run
from bakeoff.store import FAILURE, RECORD, Locked, Store, utc_now

LOG = "log.txt"

Notify = Callable[[str], None]
Bake = Callable[[Run, Path, Notify, Callable[[Record], None]], Record]
"""Answers a Run: writes its files into the folder given, tells notices, hands over the Record to be written as soon as it
is whole, and returns it. Given a Run that is recorded, it is asked for the weights alone. Must be picklable."""

End = Finished | Present | Failed | Waiting


@dataclass(frozen=True, kw_only=True)
class Task:
    """A Run to bake, and what there is to know about it."""

    run: Run
    store: Store
    share_texts: bool
    replaces_ns: int | None
    """Modification time of the record that a new one is to replace; null where a record means there is nothing to do."""
    is_needed: bool = False
    """Whether another Run is built from this one's weights, so that a record without them is not enough."""


def tasks(runs: Sequence[Run], *, store: Store, share_texts: bool, rebake_all: bool) -> list[Task]:
    """A Task a Run, each Run once, and before it one for what it needs and is not there.

    With `rebake_all`, records that stand now (not those made later) are replaced, but for those that are only needed.
    """
    asked, needed = {run.run_id for run in runs}, needs.needed_by(runs)

    def task(run: Run) -> Task:
        replaces_ns = _recorded_ns(store, run.run_id) if rebake_all and run.run_id in asked else None
        return Task(run=run, store=store, share_texts=share_texts, replaces_ns=replaces_ns, is_needed=run.run_id in needed)

    return [task(run) for run in needs.with_needs(runs, store)]


def attempt(task: Task, bake: Bake, tell: Callable[[Started | Notice], None], *, log: bool) -> End:
    """Try a Run once, tell its start and notices, and return its end.

    `log` sends this process's output to the Run's `log.txt`. Raises nothing but KeyboardInterrupt.
    A `failure.json` and the log of earlier attempts stay beside the record: they tell how often it was
    tried, and the store counts no failure once a record exists.
    """
    begin = time.perf_counter()
    try:
        with task.store.lock(task.run.run_id, title=task.run.title):
            if stands(task):
                return Present(run=task.run)
            tell(Started(run=task.run))
            try:
                if is_recorded(task):
                    tell(Notice(text=f"{task.run.run_id} {task.run.title}: its weights are gone and are baked again; its record stays"))
                    if log:
                        redirect_output(task.store.folder(task.run.run_id) / LOG, task.run)
                    weights.restore(task.run, task.store, bake, lambda text: tell(Notice(text=text)))
                    return Present(run=task.run)
                record = _bake(task, bake, lambda text: tell(Notice(text=text)), log)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                return failed(task, error, log=log)
    except Locked:
        return Waiting(run=task.run)
    except (OSError, BakeoffError) as error:  # the lock itself: a full or read-only disk, or one without locks
        return write_down(task, failure.describe(error, private=True))
    return finished(record, seconds=time.perf_counter() - begin)


def stands(task: Task) -> bool:
    """Whether there is nothing to bake: the Run is recorded, and has its weights if they are needed."""
    return is_recorded(task) and (not task.is_needed or needs.is_settled(task.store, task.run.run_id))


def is_recorded(task: Task) -> bool:
    """Whether the Run has a record other than the one to replace."""
    recorded_ns = _recorded_ns(task.store, task.run.run_id)
    return recorded_ns is not None and recorded_ns != task.replaces_ns


def is_locked(store: Store, run_id: str) -> bool:
    """Whether another process bakes this Run right now; leaves no lock file behind where there was none."""
    return store.is_locked(run_id)


def failed(task: Task, error: BaseException, *, log: bool) -> Failed:
    """Write down the error that ended a Run; `log` prints it too, to wherever this process's errors go."""
    described = failure.describe(error, private=failure.is_private(task.run, share_texts=task.share_texts))
    if log:
        print(described, file=sys.stderr, flush=True)
    return write_down(task, described)


def write_down(task: Task, described: Described) -> Failed:
    """Write `failure.json`; where even that fails (a full disk), the message says so."""
    message, written = described.message, True
    try:
        task.store.write_failure(task.run, type_=described.type_, message=message, trace=described.trace)
    except Exception as error:
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else type(error).__name__
        message, written = f"{message}; {FAILURE} could not be written either ({why})", False
    return Failed(run=task.run, type_=described.type_, message=message, written=written)


def _bake(task: Task, bake: Bake, notify: Notify, log: bool) -> Record:
    folder = clear(task, notify)
    if log:
        redirect_output(folder / LOG, task.run)

    def write(record: Record) -> None:
        if record.run_id != task.run.run_id:
            raise RuntimeError(f"bake answered {record.run_id} when asked {task.run.run_id}")
        task.store.write_record(record)

    return bake(task.run, folder, notify, write)


def clear(task: Task, notify: Notify) -> Path:
    """A Run's folder, without what an unfinished attempt left; a record, even one that cannot be read, is never deleted.

    Raises BakeoffError for one that a newer bakeoff wrote.
    """
    folder = task.store.folder(task.run.run_id)
    if (unreadable := task.store.unreadable(task.run.run_id)) is not None:
        if unreadable.newer:
            raise BakeoffError(unreadable.why)
        notify(f"{unreadable.why}; its folder is kept in .old/, and the Run is baked again")
    if (folder / RECORD).exists():
        task.store.set_aside(task.run.run_id)
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.name in (FAILURE, LOG):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    return folder


def redirect_output(log: Path, run: Run) -> None:
    """Let this process and those that it starts write to a Run's log from now on."""
    sys.stdout.flush()
    sys.stderr.flush()
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(handle, f"--- {utc_now()} {run.run_id} {run.title}\n".encode())
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.close(handle)


def _recorded_ns(store: Store, run_id: str) -> int | None:
    if store.load(run_id) is None:
        return None
    return (store.folder(run_id) / RECORD).stat().st_mtime_ns
