"""The Runs of one call that have not begun: in their order, behind what they are built from, and behind who else bakes them."""

from collections import deque
from collections.abc import Sequence

from bakeoff.runner import needs
from bakeoff.runner.attempt import Task, is_locked, stands, write_down
from bakeoff.runner.events import Present, Tally


class Queue:
    """What a runner takes its next Run from, whether it bakes here or on a cluster."""

    def __init__(self, tasks: Sequence[Task], tally: Tally) -> None:
        self.tally, self._pending, self._waiting = tally, deque(tasks), deque[Task]()
        self._here = frozenset(task.run.run_id for task in tasks)

    def __bool__(self) -> bool:
        """Whether some are left."""
        return bool(self._pending or self._waiting)

    @property
    def left(self) -> list[Task]:
        """Those that have not begun, and those that another process bakes."""
        return [*self._pending, *self._waiting]

    @property
    def waits_for_others(self) -> bool:
        """Whether another process bakes one of them."""
        return bool(self._waiting)

    def next(self) -> Task | None:
        """The next Run in order that waits for no other; once none is left, one whose lock was released."""
        for task in self._pending:
            if not needs.waits(task.run, self.tally, self._here):
                self._pending.remove(task)
                return task
        for task in self._waiting:
            if not is_locked(task.store, task.run.run_id):
                self._waiting.remove(task)
                return task
        return None

    def has_ended(self, task: Task) -> bool:
        """Whether nothing is left to bake of it: it is recorded, or it cannot be, since what it is built from failed. Tells which."""
        if stands(task):
            self.tally.add(Present(run=task.run))
            return True
        if (reason := needs.hindrance(task.run, self.tally, task.store)) is not None:
            self.tally.add(write_down(task, reason))
            return True
        return False

    def again(self, task: Task) -> None:
        """Back to the front."""
        self._pending.appendleft(task)

    def leave_until_last(self, task: Task) -> None:
        """Another process bakes it."""
        self._waiting.append(task)

    def clear(self) -> None:
        """Begin nothing more."""
        self._pending.clear()
        self._waiting.clear()
