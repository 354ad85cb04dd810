"""Bake functions that note which devices and threads their process sees."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import toys

from bakeoff.record import Record
from bakeoff.spec import Run


def see(ledger: Path, word: str = "sees") -> None:
    toys.note(ledger, f"{word} {os.environ['CUDA_VISIBLE_DEVICES'] or 'none'} {os.environ['OMP_NUM_THREADS']}")


def bake(run: Run, folder: Path, *told: Callable[..., None], ledger: Path, **options: object) -> Record:
    """`toys.bake`, which notes what it sees before and after."""
    see(ledger)
    record = toys.bake(run, folder, *told, ledger=ledger, **options)  # type: ignore[arg-type]
    see(ledger, "leaves")
    return record


def baker(ledger: Path, acts: dict[int, str] | None = None, seconds: float = 0.0) -> Callable[..., Record]:
    return partial(bake, ledger=ledger, acts=acts or {}, seconds=seconds)


def time_together(runs: Sequence[Run], *told: Callable[..., object], ledger: Path) -> dict[str, Record | Exception]:
    """`toys.time_together`, which notes what it sees."""
    see(ledger)
    return toys.time_together(runs, *told, ledger=ledger)  # type: ignore[arg-type]


def timer(ledger: Path) -> Callable[..., dict[str, Record | Exception]]:
    return partial(time_together, ledger=ledger)
