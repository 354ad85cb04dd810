"""Runs on the workers of a cluster: this process alone claims and writes them, a worker bakes one and hands its files back."""

import contextlib
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from bakeoff.runner import landing, needs, shipping
from bakeoff.runner.attempt import Bake, Task, failed, is_recorded, stands, tasks, write_down
from bakeoff.runner.elsewhere import Order, Rename, Returned
from bakeoff.runner.events import Event, Notice, Outcome, Present, Started, Tally, Waiting
from bakeoff.runner.failure import Described
from bakeoff.runner.processes import Interrupt, finishing
from bakeoff.runner.queue import Queue
from bakeoff.runner.shipping import Packed
from bakeoff.spec import Machine, Run
from bakeoff.store import Locked, Store

ATTEMPTS = 3
"""How often a Run is begun whose worker is lost, before it has failed."""
EMPTY_SECONDS = 20.0
"""How long there may be no node that holds a Run, before all that are left have failed."""
_LOOK_SECONDS = 0.5


class Lost(Exception):
    """The worker of a Run is gone, alone or with its node; says how."""


class Cluster(Protocol):
    """Workers on this machine and on others."""

    @property
    def machine(self) -> Machine:
        """How Runs execute."""

    @property
    def sweep(self) -> str:
        """A name that no other sweep has."""

    @property
    def takes(self) -> str:
        """What a Run takes of a node, in words."""

    def slots(self) -> int:
        """How many Runs it holds at a time, now."""

    def put(self, files: Packed) -> Any:
        """A reference to files, which travel to a node when a Run there needs them."""

    def submit(self, order: Order) -> Hashable:
        """Bake an order on some node; a reference to what it returns."""

    def wait(self, references: Sequence[Hashable], *, seconds: float) -> Sequence[Hashable]:
        """Those that are done, as soon as one is, or after so many seconds."""

    def get(self, reference: Hashable) -> Returned:
        """What a worker returned. Raises Lost, or what it raised itself."""

    def stop(self, references: Sequence[Hashable]) -> None:
        """End workers, and what they started."""


def run_remote(
    runs: Sequence[Run],
    cluster: Cluster,
    *,
    store: Store,
    bake: Bake,
    rename: Rename,
    preload: Sequence[str],
    environment: Mapping[str, str],
    rebake_all: bool = False,
    limit_seconds: float | None = None,
    on_event: Callable[[Event], None],
) -> Outcome:
    """The contract of `local.run_local` on a cluster, of as many Runs at a time as it holds.

    A Run whose worker or node is lost is baked again elsewhere. `environment` is set for every Run; `Order` tells of `rename`.
    """
    todo = tasks(runs, store=store, share_texts=cluster.machine.share_texts, rebake_all=rebake_all)
    how = _How(bake=bake, rename=rename, preload=tuple(preload), environment=environment, limit_seconds=limit_seconds)
    tally = Tally(on_event=on_event)
    with Interrupt() as interrupt:
        driver = _Driver(cluster=cluster, how=how, interrupt=interrupt, tally=tally, queue=Queue(todo, tally))
        try:
            driver.work()
        finally:
            driver.stop()
        return driver.tally.outcome(interrupted=interrupt.finishing)


@dataclass(frozen=True, kw_only=True)
class _How:
    """What all orders share."""

    bake: Bake
    rename: Rename
    preload: tuple[str, ...]
    environment: Mapping[str, str]
    limit_seconds: float | None


@dataclass(frozen=True, kw_only=True)
class _Flight:
    """A Run that is out, and the lock on it."""

    task: Task
    lock: contextlib.ExitStack


@dataclass(kw_only=True)
class _Driver:
    cluster: Cluster
    how: _How
    interrupt: Interrupt
    tally: Tally
    queue: Queue
    out: dict[Hashable, _Flight] = field(default_factory=dict)
    shipped: dict[Hashable, Any] = field(default_factory=dict)
    """Place of own files, or id of a Run whose weights others need → reference to them, put once."""
    losses: dict[str, int] = field(default_factory=dict)
    empty_since: float | None = None
    needed: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.needed = needs.needed_by(task.run for task in self.queue.left)

    def work(self) -> None:
        """Until every Run has ended, or an interrupt."""
        while not self.interrupt.requested:
            slots = self.cluster.slots()
            while len(self.out) < slots and not self.interrupt.finishing and (task := self.queue.next()) is not None:
                self._start(task)
            if self.interrupt.finishing:
                self._finish()
            if self.interrupt.requested or not (self.out or self.queue):
                return
            self._give_up_without_nodes(slots)
            if not self.out:
                time.sleep(_LOOK_SECONDS)
            for reference in self.cluster.wait(list(self.out), seconds=_LOOK_SECONDS) if self.out else ():
                self._land(reference)

    def stop(self) -> None:
        """Stop what is out; what had come back counts."""
        if not self.out:
            return
        for reference in self.cluster.wait(list(self.out), seconds=0):
            self._land(reference)
        self.cluster.stop(list(self.out))
        for flight in self.out.values():
            flight.lock.close()
        self.out.clear()

    def _finish(self) -> None:
        """After the first Ctrl-C: leave what has not begun, and say what is still waited for."""
        self.queue.clear()
        if self.out:
            self.tally.add(Notice(text=finishing(len(self.out), "Run"), about="interrupt"))

    def _start(self, task: Task) -> None:
        if self.queue.has_ended(task):
            return
        with contextlib.ExitStack() as lock:
            try:
                lock.enter_context(task.store.lock(task.run.run_id, title=task.run.title))
                if stands(task):
                    self.tally.add(Present(run=task.run))
                    return
                reference = self.cluster.submit(self._order(task))
            except Locked:
                self.tally.add(Waiting(run=task.run))
                self.queue.leave_until_last(task)
            except Exception as error:  # the lock, or files of the user's own that are gone
                self.tally.add(failed(task, error, log=False))
            else:
                self.out[reference] = _Flight(task=task, lock=lock.pop_all())
                self.tally.add(Started(run=task.run))

    def _order(self, task: Task) -> Order:
        run, environment = task.run, dict(self.how.environment)
        if is_recorded(task):
            self.tally.add(Notice(text=f"{run.run_id} {run.title}: its weights are gone and are baked again; its record stays"))
            environment["WANDB_MODE"] = "disabled"  # which has heard of it
        needed = [each.run_id for each in needs.needs_of(run).values()]
        return Order(
            run=run,
            lies_in=task.store.folder(run.run_id),
            sweep=self.cluster.sweep,
            bake=self.how.bake,
            rename=self.how.rename,
            preload=self.how.preload,
            share_texts=task.share_texts,
            limit_seconds=self.how.limit_seconds,
            environment=environment,
            own_files={own.place: self._ship(own.place, partial(shipping.pack_own, own)) for own in shipping.own_files(run)},
            weights={each: self._ship(each, partial(shipping.pack_weights, task.store, each)) for each in needed},
        )

    def _ship(self, key: Hashable, pack: Callable[[], Packed]) -> Any:
        if key not in self.shipped:
            self.shipped[key] = self.cluster.put(pack())
        return self.shipped[key]

    def _land(self, reference: Hashable) -> None:
        flight = self.out.pop(reference)
        task = flight.task
        with flight.lock:
            try:
                returned = self.cluster.get(reference)
            except Lost as how:
                self._lost(task, str(how))
                return
            except Exception as error:  # the worker's own, such as a full disk
                self.tally.add(failed(task, error, log=False))
                return
            best_of = self.needed if self.cluster.machine.keep_weights == "best" else None
            end = landing.land(task, returned, best_of=best_of, tell=self.tally.add)
            if end is None:
                self._lost(task, "it was stopped")
            else:
                self.tally.add(end)

    def _lost(self, task: Task, how: str) -> None:
        run = task.run
        self.losses[run.run_id] = self.losses.get(run.run_id, 0) + 1
        if self.losses[run.run_id] >= ATTEMPTS:
            message = f"its worker was lost {ATTEMPTS} times ({how}): often a node without enough memory"
            self.tally.add(write_down(task, Described(type_="WorkerLost", message=message, trace=[])))
        elif not self.interrupt.finishing:
            self.tally.add(Notice(text=f"{run.run_id} {run.title}: its worker was lost ({how}), and it is baked again elsewhere"))
            self.queue.again(task)

    def _give_up_without_nodes(self, slots: int) -> None:
        """A Run that no node can hold would wait for ever, silently."""
        now = time.monotonic()
        self.empty_since = None if slots else self.empty_since or now
        if self.empty_since is None or now - self.empty_since < EMPTY_SECONDS:
            return
        out = [flight.task for flight in self.out.values()]
        self.stop()
        message = f"no node with {self.cluster.takes} for it is left in the cluster: add one, and run the same command again"
        for task in (each for each in (*out, *self.queue.left) if not self.tally.has_ended(each.run.run_id)):
            self.tally.add(write_down(task, Described(type_="NoNodeLeft", message=message, trace=[])))
        self.queue.clear()
