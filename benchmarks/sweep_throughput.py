"""What two slots gain over one, and what the runner itself costs a Run: toy Runs that compute for half a second each.

Each Run multiplies matrices on its one thread in a process of its own, as real Runs do; how often, is fitted so that one
takes half a second alone. Prints the throughput of one slot and of two, their ratio, and the time of a slot that is not
spent computing, a Run: process, locks, record, scheduling. Slots above the number of idle cores gain nothing.

    python benchmarks/sweep_throughput.py [runs]
"""

import functools
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from report_speed import ROWS, made_up, record

from bakeoff.record import Record
from bakeoff.runner.events import Event, Failed
from bakeoff.runner.local import run_local
from bakeoff.spec import Run
from bakeoff.store import Store

SECONDS, WIDTH = 0.5, 512


@dataclass(frozen=True, kw_only=True)
class Timed:
    """How a number of Runs went."""

    wall_seconds: float
    computing_seconds: float
    """Summed over the Runs, by the clock."""


def main(count: int) -> None:
    """Bake the same Runs in one slot and in two."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    rounds = fitted()
    one, two = (timed(count, slots=slots, rounds=rounds) for slots in (1, 2))
    ratio = one.wall_seconds / two.wall_seconds
    print(f"{count} Runs of {one.computing_seconds / count:.2f} s: {one.wall_seconds:.1f} s in one slot, {two.wall_seconds:.1f} s in two")
    print(f"two slots have {ratio:.2f} times the throughput of one; a Run in two computes for {two.computing_seconds / count:.2f} s")
    for slots, each in ((1, one), (2, two)):
        print(f"{slots} slot{'s' if slots > 1 else ''}: {(each.wall_seconds * slots - each.computing_seconds) / count:.3f} s a Run besides")


def fitted() -> int:
    """Products of two matrices that take SECONDS here, in one thread of a fresh process as in the Runs."""
    with tempfile.TemporaryDirectory() as folder:
        bake_all(2, Path(folder), slots=1, rounds=50)
        seconds = min(float(file.read_text()) for file in Path(folder).glob("*/seconds.txt"))
    return max(1, round(50 * SECONDS / seconds))


def timed(count: int, *, slots: int, rounds: int) -> Timed:
    """Bake `count` Runs into an empty store."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        bake_all(count, Path(folder), slots=slots, rounds=rounds)
        wall = time.perf_counter() - began
        return Timed(wall_seconds=wall, computing_seconds=sum(float(file.read_text()) for file in Path(folder).glob("*/seconds.txt")))


def bake_all(count: int, folder: Path, *, slots: int, rounds: int) -> None:
    """Bake made-up Runs; the fork server is started by the first call, whose time is not measured."""

    def tell(event: Event) -> None:
        if isinstance(event, Failed):
            raise RuntimeError(event.message)

    outcome = run_local(
        list(made_up(count)),
        store=Store(folder),
        bake=functools.partial(bake, rounds=rounds),
        slots=slots,
        preload=["numpy", "bakeoff.runner.child", "bakeoff.config", "bakeoff.report.pages"],  # which report_speed imports
        share_texts=True,
        on_event=tell,
    )
    assert len(outcome.baked) == count, outcome


def bake(run: Run, folder: Path, notify: Callable[[str], None], write: Callable[[Record], object], *, rounds: int) -> Record:
    """Compute, and write down for how long."""
    began = time.perf_counter()
    matrix = np.random.default_rng(run.seed).random((WIDTH, WIDTH), dtype=np.float32)
    for _ in range(rounds):
        matrix = matrix @ matrix
        matrix /= np.abs(matrix).max()
    (folder / "seconds.txt").write_text(f"{time.perf_counter() - began}")
    answer = record(run, np.arange(ROWS) % 2 > 0)
    write(answer)
    return answer


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
