"""Latency Runs: in exclusive sessions, one after another, each in a process of its own that holds the locks of its Runs."""

import contextlib
import functools
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path

from bakeoff.errors import BakeoffError
from bakeoff.record import Record
from bakeoff.runner import child, failure
from bakeoff.runner.attempt import LOG, End, Notify, Task, clear, failed, is_locked, redirect_output, stands, tasks, write_down
from bakeoff.runner.events import Event, Notice, Outcome, Present, Started, Tally, Waiting, finished
from bakeoff.runner.inprocess import calm_interrupts, limited
from bakeoff.runner.processes import GRACE_SECONDS, STOPPED_FROM_OUTSIDE, Interrupt, finishing, start_fork_server
from bakeoff.runner.slots import Slot, gpus
from bakeoff.spec import Latency, Run, hash_identity, identity
from bakeoff.store import Locked, Store, utc_now

BakeSession = Callable[[Sequence[Run], Callable[[str], Path], Notify, Callable[[Record], None]], Mapping[str, Record | Exception]]
"""Times Runs against each other: writes each one's files into the folder of its id, tells notices, hands over each Record to
be written as soon as it is whole, and returns by id the Record, or the error that ended the Run. Must be picklable."""

Tell = Callable[[Event], None]

ALONE = "session"
"""The lock that one session holds at a time, whoever runs it."""
_RETRY_SECONDS = 0.5


def sessions_of(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs that one session times: of one dataset and split, device, thread count and scenario; in order of appearance."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        assert isinstance(run.probe, Latency), "only latency Runs have sessions"
        shared = [identity(run.dataset), run.probe.device, run.probe.threads, run.probe.scenario]
        groups.setdefault(hash_identity(shared), []).append(run)
    return list(groups.values())


def run_sessions(
    runs: Sequence[Run],
    *,
    store: Store,
    bake: BakeSession,
    preload: Sequence[str],
    share_texts: bool,
    rebake_all: bool = False,
    in_process: bool = False,
    limit_seconds: float | None = None,
    on_event: Callable[[Event], None],
) -> Outcome:
    """Time latency Runs session by session, alone; nothing else should be baked meanwhile.

    A Run that fails, fails alone; all Runs of a session whose process dies fail. A Run that is recorded is not timed again
    (with `rebake_all` it is, and its folder goes to `.old/`), and one that another process times is left until last. A session
    that takes longer than `limit_seconds` for each of its Runs is stopped, and they have failed. After a first SIGINT the
    session is held to its end, and no other one; a second one, or SIGTERM, stops it. Both give an interrupted Outcome.
    """
    tally = Tally(on_event=on_event)
    todo = [tasks(group, store=store, share_texts=share_texts, rebake_all=rebake_all) for group in sessions_of(runs)]
    if in_process:
        return _in_process(todo, bake, tally, limit_seconds)
    start_fork_server(preload)
    with Interrupt() as interrupt:
        while todo and not interrupt.finishing:
            left = [
                _Session(tasks=group, bake=bake, interrupt=interrupt, tally=tally, limit_seconds=limit_seconds).hold()
                for group in todo
                if not interrupt.finishing
            ]
            todo = [group for group in left if group]
            while todo and _all_locked(todo) and not wait([interrupt.reader], _RETRY_SECONDS):
                pass
        return tally.outcome(interrupted=interrupt.finishing)


def attempt(tasks: Sequence[Task], bake: BakeSession, tell: Tell, *, log: bool) -> int:
    """Hold one session in this process and tell the end of every Run; the exit code is 1 when one failed."""
    begin, code = time.perf_counter(), 0

    def fail(task: Task, error: BaseException) -> None:
        nonlocal code
        code = 1
        tell(failed(task, error, log=log))

    with contextlib.ExitStack() as locks:
        mine: list[Task] = []
        for task in tasks:
            try:
                locks.enter_context(task.store.lock(task.run.run_id, title=task.run.title))
            except Locked:
                tell(Waiting(run=task.run))
            except (OSError, BakeoffError) as error:  # the lock itself: a full or read-only disk, or one without locks
                fail(task, error)
            else:
                if stands(task):
                    tell(Present(run=task.run))
                else:
                    mine.append(task)
        if not mine:
            return code
        try:
            _alone(mine[0].store, locks, tell)
            for task in mine:
                tell(Started(run=task.run))
                _note(clear(task, lambda text: tell(Notice(text=text))), mine[0], task)
            if log:
                redirect_output(mine[0].store.folder(mine[0].run.run_id) / LOG, mine[0].run)
            runs, store = {task.run.run_id: task.run for task in mine}, mine[0].store

            def write(record: Record) -> None:
                if record.run_id not in runs:
                    raise RuntimeError(f"bake answered {record.run_id}, which nobody asked")
                store.write_record(record)

            answers = bake(list(runs.values()), store.folder, lambda text: tell(Notice(text=text)), write)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            for task in mine:
                fail(task, error)
            return code
        for task in mine:
            answer = answers[task.run.run_id]
            if isinstance(answer, Exception):
                fail(task, answer)
            else:
                tell(finished(answer, seconds=time.perf_counter() - begin))
    return code


@dataclass(kw_only=True)
class _Session:
    tasks: list[Task]
    bake: BakeSession
    interrupt: Interrupt
    tally: Tally
    limit_seconds: float | None
    begun: float | None = None
    """When the session began, after those of others were over."""

    def hold(self) -> list[Task]:
        """Run the session in a process of its own; the Runs that another process times, to come back to."""
        open_ = {task.run.run_id: task for task in self.tasks}
        waiting: list[Task] = []
        context = multiprocessing.get_context("forkserver")
        receiver, sender = context.Pipe(duplex=False)
        work = functools.partial(_work, self.tasks, self.bake, _slot(self.tasks).environment(self.tasks[0].run))
        private = any(failure.is_private(task.run, share_texts=task.share_texts) for task in self.tasks)
        process = context.Process(target=child.main, args=(work, private, sender))
        try:
            process.start()
        except (OSError, EOFError) as error:
            receiver.close()
            described = failure.describe(error, private=True)
            for task in self.tasks:
                self.tally.add(write_down(task, failure.Described(type_="ProcessNotStarted", message=str(described), trace=[])))
            return []
        finally:
            sender.close()
        overdue = False
        while self._receive(receiver, open_, waiting) and not self.interrupt.requested and not overdue:
            if self.interrupt.finishing and open_:
                self.tally.add(Notice(text=finishing(1, f"session of {len(open_)} Runs"), about="interrupt"))
            wait([self.interrupt.reader, receiver, process.sentinel], self._seconds_left())
            self.interrupt.heard()
            overdue = self._seconds_left() == 0.0 and process.exitcode is None
            if process.exitcode is not None and not receiver.poll():
                break
        if self.interrupt.requested or overdue:
            process.terminate()
            process.join(GRACE_SECONDS)
            if process.exitcode is None:
                process.kill()
        process.join()
        self._receive(receiver, open_, waiting)
        receiver.close()
        if overdue and not self.interrupt.requested:
            assert self.limit_seconds is not None
            self._died(open_.values(), failure.time_limit(self.limit_seconds), waiting)
        elif not (process.exitcode in STOPPED_FROM_OUTSIDE and self.interrupt.reached_us()):
            self._died(open_.values(), failure.death(process.exitcode), waiting)
        return waiting

    def _seconds_left(self) -> float | None:
        """Until the session is stopped; null without a limit, and before it began."""
        if self.limit_seconds is None or self.begun is None:
            return None
        return max(0.0, self.begun + len(self.tasks) * self.limit_seconds - time.monotonic())

    def _receive(self, receiver: Connection, open_: dict[str, Task], waiting: list[Task]) -> bool:
        """Pass on what was told; False once nothing more will come."""
        try:
            while receiver.poll():
                event = receiver.recv()
                self.tally.add(event)
                if isinstance(event, Started) and self.begun is None:
                    self.begun = time.monotonic()
                if isinstance(event, Waiting):
                    waiting.append(open_.pop(event.run.run_id))
                elif not isinstance(event, Started | Notice):
                    open_.pop(event.run.run_id)
        except (EOFError, OSError):
            return False
        return True

    def _died(self, tasks: Iterable[Task], described: failure.Described, waiting: list[Task]) -> None:
        """A session left without a word about these Runs."""
        for task in tasks:
            try:
                with task.store.lock(task.run.run_id):
                    end = self._end_of(task, described)
            except Locked:  # another sweep has taken over already
                waiting.append(task)
                end = Waiting(run=task.run)
            except (OSError, BakeoffError):
                end = write_down(task, described)
            self.tally.add(end)

    def _end_of(self, task: Task, described: failure.Described) -> End:
        record = task.store.load(task.run.run_id)
        if record is not None and stands(task):
            return finished(record, seconds=0.0)
        return write_down(task, described)


def _slot(tasks: Sequence[Task]) -> Slot:
    """The first GPU, which is the one that the machine's fingerprint names; none for a session on a CPU."""
    probe = tasks[0].run.probe
    assert isinstance(probe, Latency), "only latency Runs have sessions"
    return Slot(gpus=gpus()[:1] if probe.device == "cuda" else ())


def _work(tasks: Sequence[Task], bake: BakeSession, environment: Mapping[str, str], tell: Tell) -> int:
    os.environ.update(environment)
    return attempt(tasks, bake, tell, log=True)


def _in_process(todo: list[list[Task]], bake: BakeSession, tally: Tally, limit_seconds: float | None) -> Outcome:
    try:
        with calm_interrupts(tally, "session") as calm:
            while todo and not calm.is_asked():
                waiting: list[str] = []

                def tell(event: Event, waiting: list[str] = waiting) -> None:
                    tally.add(event)
                    if isinstance(event, Waiting):
                        waiting.append(event.run.run_id)

                for group in todo:
                    if not calm.is_asked():
                        with limited(None if limit_seconds is None else len(group) * limit_seconds):
                            attempt(group, bake, tell, log=False)
                left = [[task for task in group if task.run.run_id in waiting] for group in todo]
                todo = [group for group in left if group]
                while todo and _all_locked(todo) and not calm.is_asked():
                    time.sleep(_RETRY_SECONDS)
    except KeyboardInterrupt:
        return tally.outcome(interrupted=True)
    return tally.outcome(interrupted=calm.is_asked())


def _all_locked(groups: Sequence[Sequence[Task]]) -> bool:
    return all(is_locked(task.store, task.run.run_id) for group in groups for task in group)


def _alone(store: Store, locks: contextlib.ExitStack, tell: Tell) -> None:
    """Wait until no other session is held, and keep others out."""
    while True:
        try:
            locks.enter_context(store.lock(ALONE))
            return
        except Locked:
            tell(Notice(text="another session is being held: this one waits for it"))
            time.sleep(_RETRY_SECONDS)


def _note(folder: Path, first: Task, task: Task) -> None:
    """Say in a Run's log where the log of its session is."""
    if task is not first:
        with open(folder / LOG, "a", encoding="utf-8") as file:
            file.write(f"--- {utc_now()} {task.run.run_id} {task.run.title}: the log of its session is in {first.run.run_id}/{LOG}\n")
