"""Runs on this machine, each in a fresh process of a fork server that has the heavy imports done."""

import functools
import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from bakeoff.errors import BakeoffError
from bakeoff.runner import child, failure
from bakeoff.runner.attempt import Bake, End, Task, stands, tasks, write_down
from bakeoff.runner.events import Event, Failed, Notice, Outcome, Started, Tally, Waiting, finished
from bakeoff.runner.processes import (
    FORK_SERVER_DIED,
    GRACE_SECONDS,
    STOPPED_FROM_OUTSIDE,
    Interrupt,
    finishing,
    start_fork_server,
)
from bakeoff.runner.queue import Queue
from bakeoff.runner.slots import Slot, numbered
from bakeoff.spec import Run
from bakeoff.store import Locked, Store

_RETRY_SECONDS = 0.5
"""How often a Run that another process bakes is looked at, once nothing else is left."""


def run_local(
    runs: Sequence[Run],
    *,
    store: Store,
    bake: Bake,
    slots: int | Sequence[Slot],
    preload: Sequence[str],
    share_texts: bool,
    rebake_all: bool = False,
    limit_seconds: float | None = None,
    on_event: Callable[[Event], None],
) -> Outcome:
    """Bake Runs in the given order, one at a time in each of the slots, each in a fresh process that sees its slot's GPUs alone.

    A number of `slots` stands for so many without a GPU.
    `preload` names the modules that the fork server imports once. A Run that raises, or whose process dies, is told
    at once and fails alone, or with those that are built from its weights. What a Run needs and is not there is baked too,
    and before it. A Run that another process bakes is left until last. With `rebake_all` a recorded Run's
    folder goes to `.old/` when its turn comes. A Run that takes longer than `limit_seconds` is stopped and has failed.
    After a first SIGINT nothing new starts and what runs is finished; a second one, or SIGTERM, stops the children. Both give
    an interrupted Outcome.
    """
    start_fork_server(preload)
    todo = tasks(runs, store=store, share_texts=share_texts, rebake_all=rebake_all)
    tally = Tally(on_event=on_event)
    with Interrupt() as interrupt:
        pool = _Pool(
            bake=bake,
            free=numbered(slots),
            interrupt=interrupt,
            tally=tally,
            queue=Queue(todo, tally),
            limit_seconds=limit_seconds,
        )
        try:
            pool.work()
        finally:
            pool.stop()
        return pool.tally.outcome(interrupted=interrupt.finishing)


@dataclass(kw_only=True)
class _Child:
    task: Task
    slot: Slot
    process: BaseProcess
    channel: Connection
    begin: float
    open: bool = True
    begun: bool = False
    """Whether it has told anything yet."""
    end: End | None = None
    overdue: bool = False
    """Whether it was asked to end since it took too long."""
    kill_at: float | None = None
    """When it is killed, if it has not ended by then."""


@dataclass(kw_only=True)
class _Pool:
    bake: Bake
    free: list[Slot]
    interrupt: Interrupt
    tally: Tally
    queue: Queue
    limit_seconds: float | None
    children: list[_Child] = field(default_factory=list)
    adrift: list[BaseProcess] = field(default_factory=list)
    """Children whose fork server died; dropping one would tell it that its parent is dead."""
    begun_again: set[str] = field(default_factory=set)
    """Ids of the Runs whose fork server died before they began, each at most once."""

    def work(self) -> None:
        """Until every Run has ended, or an interrupt."""
        while not self.interrupt.requested:
            if self.interrupt.finishing:
                self._finish()
            while self.free and (task := self.queue.next()) is not None:
                self._start(task)
            if not (self.children or self.queue):
                return
            watched: list[Connection | int] = [self.interrupt.reader]
            for each in self.children:
                watched += [each.process.sentinel, each.channel] if each.open else [each.process.sentinel]
            ready = wait(watched, self._next_look_seconds())
            self.interrupt.heard()
            for each in list(self.children):
                self._receive(each)
                if each.process.sentinel in ready:
                    self._receive(each)
                    self._close(each)
                else:
                    self._limit(each)

    def _finish(self) -> None:
        """After the first Ctrl-C: leave what has not begun, and say what is still waited for."""
        self.queue.clear()
        if self.children:
            self.tally.add(Notice(text=finishing(len(self.children), "Run"), about="interrupt"))

    def _next_look_seconds(self) -> float | None:
        """How long to wait at most for a child or a signal; null for ever."""
        now, times = time.perf_counter(), [_RETRY_SECONDS] if self.queue.waits_for_others and self.free else []
        for each in self.children:
            if each.kill_at is not None:
                times.append(each.kill_at - now)
            elif self.limit_seconds is not None and not each.overdue:
                times.append(each.begin + self.limit_seconds - now)
        return max(0.0, min(times)) if times else None

    def _limit(self, each: _Child) -> None:
        """Ask a child that takes too long to end, and kill it where it does not."""
        now = time.perf_counter()
        if each.kill_at is not None and now >= each.kill_at:
            each.process.kill()
            each.kill_at = None
        elif self.limit_seconds is not None and not each.overdue and now >= each.begin + self.limit_seconds:
            each.process.terminate()
            each.overdue, each.kill_at = True, now + GRACE_SECONDS

    def stop(self) -> None:
        """End every child still at work: asked first, killed after a grace. What it had finished counts, and no failure by the stop."""
        for each in self.children:
            self._receive(each)
            each.process.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for each in self.children:
            each.process.join(max(0.0, deadline - time.monotonic()))
            if each.process.exitcode is None:
                each.process.kill()
                each.process.join()
            ended = each.end is not None
            self._receive(each)
            if each.end is not None and not isinstance(each.end, Waiting) and (ended or not isinstance(each.end, Failed)):
                self.tally.add(each.end)
        self.children.clear()

    def _start(self, task: Task) -> None:
        if self.queue.has_ended(task):
            return
        context = multiprocessing.get_context("forkserver")
        receiver, sender = context.Pipe(duplex=False)
        slot = self.free[0]
        work = functools.partial(child.one, task, self.bake, slot.environment(task.run))
        private = failure.is_private(task.run, share_texts=task.share_texts)
        process = context.Process(target=child.main, args=(work, private, sender), name=task.run.run_id)
        begin = time.perf_counter()
        try:
            process.start()
        except (OSError, EOFError) as error:
            receiver.close()
            described = failure.describe(error, private=True)
            self.tally.add(write_down(task, failure.Described(type_="ProcessNotStarted", message=str(described), trace=[])))
            return
        finally:
            sender.close()
        self.free.remove(slot)
        self.children.append(_Child(task=task, slot=slot, process=process, channel=receiver, begin=begin))

    def _receive(self, each: _Child) -> None:
        try:
            while each.open and each.channel.poll():
                event = each.channel.recv()
                each.begun = True
                if isinstance(event, Started | Notice):
                    self.tally.add(event)
                else:
                    each.end = event
        except (EOFError, OSError):  # the child is gone, perhaps in the middle of a word
            each.open = False
            each.channel.close()

    def _close(self, each: _Child) -> None:
        each.process.join()
        self.children.remove(each)
        self.free.append(each.slot)
        if each.process.exitcode == FORK_SERVER_DIED:
            self.adrift.append(each.process)
        if each.open:
            each.channel.close()
        stopped = each.overdue and isinstance(each.end, Failed)  # it failed since it was asked to end
        end = self._died(each) if each.end is None or stopped else each.end
        if end is None:
            return
        self.tally.add(end)
        if isinstance(end, Waiting):
            self.queue.leave_until_last(each.task)

    def _died(self, each: _Child) -> End | None:
        """The end of a child that left without a word; null when it was stopped from outside together with us."""
        code, task = each.process.exitcode, each.task
        if each.overdue and self.limit_seconds is not None:
            described = failure.time_limit(self.limit_seconds)
        else:
            met_by_ctrl_c = self.interrupt.finishing and not each.begun  # before it could look away
            if met_by_ctrl_c or (code in STOPPED_FROM_OUTSIDE and self.interrupt.reached_us()):
                return None
            if code == FORK_SERVER_DIED and not each.begun and task.run.run_id not in self.begun_again:
                self.begun_again.add(task.run.run_id)  # it may be alive and about to take its lock, or gone: its next turn will tell
                return Waiting(run=task.run)
            described = failure.death(code)
        try:
            with task.store.lock(task.run.run_id):
                record = task.store.load(task.run.run_id)
                if record is not None and stands(task):
                    return finished(record, seconds=time.perf_counter() - each.begin)
                return write_down(task, described)
        except Locked:  # another sweep has taken over already
            return Waiting(run=task.run)
        except (OSError, BakeoffError):
            return write_down(task, described)
