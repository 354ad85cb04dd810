"""Who else used the processor while models were timed."""

import time
from collections.abc import Callable
from dataclasses import dataclass

CONTENDED_SHARE = 0.05
"""Of one core. An idle machine's own housekeeping takes 1 to 2%; a process at 5% can have met one call in twenty, so
below it the median and most of what lies under p95 stand."""


@dataclass(frozen=True, kw_only=True)
class CpuReading:
    """CPU seconds since start-up, of everybody and of this process with all that it started."""

    wall_seconds: float
    busy_seconds: float
    own_seconds: float


def read_cpu(clock: Callable[[], float] = time.monotonic) -> CpuReading:
    """The present reading. Time that a hypervisor took away counts as busy."""
    import psutil

    own = 0.0
    this = psutil.Process()
    for process in (this, *this.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.Error:  # it ended: then its parent's children_user has it
            continue
        own += times.user + times.system + getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    everybody = psutil.cpu_times()
    busy = sum(getattr(everybody, name, 0.0) for name in ("user", "nice", "system", "irq", "softirq", "steal"))
    return CpuReading(wall_seconds=clock(), busy_seconds=busy, own_seconds=own)


def foreign_share(before: CpuReading, after: CpuReading) -> float:
    """CPU time that others used between two readings, over the wall time: 1 is one whole core."""
    wall = after.wall_seconds - before.wall_seconds
    if wall <= 0:
        return 0.0
    foreign = (after.busy_seconds - before.busy_seconds) - (after.own_seconds - before.own_seconds)
    return max(0.0, foreign / wall)
