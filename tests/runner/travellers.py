"""Bake functions for Runs that are baked elsewhere: they write down what they see there."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import toys

from bakeoff.record import Record
from bakeoff.spec import Machine, Run

MACHINE = Machine(device="auto", slots=None, wandb="disabled", wandb_project="bakeoff", keep_weights="needed", share_texts=False)
SEEN = ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "WANDB_MODE", "BAKEOFF_CACHE", "RAY_RAYLET_PID")


def run_of(data: Path, seed: int = 0, *, model: str = "majority") -> Run:
    """A Run on a file that is there."""
    run = toys.make_run(seed, model=model)
    return replace(run, dataset=replace(run.dataset, path=str(data)))


def look(
    run: Run,
    folder: Path,
    notify: Callable[[str], None],
    write: Callable[[Record], None],
    *,
    ledger: Path,
    acts: dict[int, str],
    seconds: float,
) -> Record:
    """Write seen.json (variables, data, weights of others, times), a W&B file and weights, then do what `toys.bake` does."""
    begin = time.time()
    seen: dict[str, object] = {name: os.environ.get(name) for name in SEEN}
    seen |= {"path": run.dataset.path, "data": Path(run.dataset.path or "").read_text()}
    seen["weights"] = {part: (folder.parent / each.run_id / "model" / "weights").read_text() for part, each in run.needs.items()}
    (folder.parent / ".wandb").mkdir(exist_ok=True)
    (folder.parent / ".wandb" / f"offline-{run.run_id}").write_text("curves")
    (folder / "model").mkdir()
    (folder / "model" / "weights").write_text(run.run_id)
    try:
        return toys.bake(run, folder, notify, write, ledger=ledger, acts=acts, seconds=seconds)
    finally:
        (folder / "seen.json").write_text(json.dumps(seen | {"begin": begin, "end": time.time()}))


def looker(ledger: Path, acts: dict[int, str] | None = None, seconds: float = 0.0) -> Callable[..., Record]:
    return partial(look, ledger=ledger, acts=acts or {}, seconds=seconds)


def rename(run: Run, folder: Path, lies_in: Path) -> None:
    """Write down what the files of a folder are to name."""
    (folder / "run.yaml").write_text(f"{run.dataset.path} in {lies_in}")


def whoever() -> dict[str, str]:
    """Facts that are alike in no two processes."""
    return {"process": str(os.getpid())}


def alike() -> dict[str, str]:
    """Facts that are alike everywhere."""
    return {"code": "ours"}
