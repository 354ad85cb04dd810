"""Which weights are kept, and those that something needs and that are gone, which are baked again; records stay as they are."""

import dataclasses
import math
import os
import secrets
import shutil
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any

from bakeoff.errors import BakeoffError
from bakeoff.record import Record
from bakeoff.runner.needs import MODEL
from bakeoff.spec import Run
from bakeoff.store import Store

PREDICTIONS = "predictions.parquet"
GONE = f".{MODEL}-gone-"
"""How the name of weights begins that are being deleted."""
TOLERANCE = 1e-4
"""How far a probability may be from the recorded one: other processors round otherwise."""


Notify = Callable[[str], None]


def restore(run: Run, store: Store, bake: Callable[[Run, Path, Notify, Callable[[Record], None]], Record], notify: Notify) -> None:
    """Bake a recorded Run again beside its folder, and move the weights alone into it.

    Raises BakeoffError when its predictions are not the recorded ones, and what `bake` raises.
    """
    folder, remedy = store.root / f".weights-{run.run_id}", f"move the folder {store.root.name}/{run.run_id} away and bake it again"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        bake(run, folder, notify, lambda record: None)
        if not (folder / MODEL).is_dir():
            raise BakeoffError(f"{run.run_id} was baked again for its weights and gave none: {remedy}")
        far = difference(store.folder(run.run_id) / PREDICTIONS, folder / PREDICTIONS)
        if far is None or far > TOLERANCE:
            how = "of other rows" if far is None else f"up to {far:.2g} away from the recorded ones"
            raise BakeoffError(f"the weights of {run.run_id} are gone, and baked again here it gives predictions {how}: {remedy}")
        os.rename(folder / MODEL, store.folder(run.run_id) / MODEL)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def drop(folder: Path) -> Path:
    """Delete a folder such as `model/` so that nobody ever meets half of it; the folder where what cannot be deleted is left."""
    gone = folder.with_name(f"{GONE}{os.getpid()}-{secrets.token_hex(4)}")
    try:
        os.rename(folder, gone)
    except OSError:  # it is not there, or nothing can be deleted here
        return folder
    shutil.rmtree(gone, ignore_errors=True)
    return gone


def difference(recorded: Path, again: Path) -> float | None:
    """Largest difference of a probability between two files of predictions; null where their rows are not the same.

    A Run without predictions (a start, that of pretraining) has none to differ in.
    """
    if not recorded.exists() and not again.exists():
        return 0.0
    if not recorded.exists() or not again.exists():
        return None
    if recorded.read_bytes() == again.read_bytes():
        return 0.0
    import numpy as np
    import pyarrow.parquet as pq

    first, second = (pq.read_table(file, columns=["row_id", "probabilities"]) for file in (recorded, again))
    if not first["row_id"].equals(second["row_id"]):
        return None
    probabilities = [np.asarray(table["probabilities"].to_pylist(), dtype=np.float64) for table in (first, second)]
    return float(np.abs(probabilities[0] - probabilities[1]).max())


def keep_best(answer: Record, store: Store, needed: Container[str]) -> None:
    """Of the seeds whose `model/` is kept, keep the lowest validation loss, or the lowest id where nothing was validated.

    Weights of Runs that others are built from, `needed`, stay too. The test split has no say, so that what ships was not
    chosen by what scores it.
    """

    def but_for_the_seed(run: Run) -> Run:
        needs: dict[str, Any] = {part: but_for_the_seed(needed) for part, needed in run.needs.items()}
        return dataclasses.replace(run, seed=0, budget=dataclasses.replace(run.budget, draw=0), **needs)

    def rank(each: Record) -> tuple[float, str]:
        loss = each.training.best_validation_loss
        return (math.inf if loss is None else loss, each.run_id)

    asked = but_for_the_seed(answer.run).run_id
    kept = (each for each in store.load_all() if each.status == "ok" and (store.folder(each.run_id) / MODEL).is_dir())
    rivals = [answer, *(each for each in kept if but_for_the_seed(each.run).run_id == asked)]
    best = min(rivals, key=rank)
    for each in rivals:
        if each is not best and each.run_id not in needed:
            drop(store.folder(each.run_id) / MODEL)
