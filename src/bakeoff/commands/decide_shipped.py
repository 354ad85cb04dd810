"""What last month's winner, as it was trained then, answers to the test rows that came since."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bakeoff.commands.export import refuse_run
from bakeoff.commands.saved_runs import saved_run
from bakeoff.data.dataset import Prepared, Rows, prepare
from bakeoff.deciding.against import in_classes
from bakeoff.deciding.old_report import OldReport
from bakeoff.errors import BakeoffError
from bakeoff.provenance import usable_cpus
from bakeoff.report.stats import Answers
from bakeoff.runner.needs import MODEL, has_weights
from bakeoff.shipping import folder, served
from bakeoff.spec import Dataset
from bakeoff.store import Store

FIRST_ROWS = 64
"""Answered first, to see how long the others take."""


def shipped(old: OldReport, dataset: Dataset, store: Store, *, fits: Callable[[float], bool]) -> Answers | None:
    """Last month's answers, and those of the same weights to new test rows, in today's class indices.

    None where no weights are there, where they cannot be shipped, where there is nothing new to ask, and where the time is
    over: `fits` says whether so many seconds are left.
    """
    prepared = prepare(dataset)
    rows = unseen(prepared, old.test_row_ids)
    found: dict[tuple[int, int], NDArray[np.int64]] = {}
    for run in old.winner.runs if len(rows) else ():
        try:
            answered = _predicted(run.run_id, rows, prepared.classes, store, fits=fits)
        except BakeoffError:  # its run.yaml or its checkpoint is gone, or it has no weights of its own
            answered = None
        if answered is not None:
            found[run.budget.draw, run.seed] = answered
    if not found:
        return None
    before = in_classes(old.winner.answers, old.winner.records[0].data.classes, prepared.classes).only(tuple(found))
    row_ids = np.concatenate([before.row_ids, np.array(rows.row_ids)])
    order = np.argsort(row_ids)
    return Answers(
        row_ids=row_ids[order],
        labels=np.concatenate([before.labels, rows.labels])[order],
        predicted=np.concatenate([before.predicted, np.stack([*found.values()])], axis=1)[:, order],
        seeds=before.seeds,
    )


def unseen(prepared: Prepared, old_test: frozenset[str]) -> Rows:
    """Today's test rows that are not `old_test` and that last month's model cannot have learned from.

    What it learned from and is too near to a new test row, or of its group, was left out of today's pool.
    """
    test, dropped = prepared.test, prepared.dropped
    may_know = np.isin(test.clusters, dropped.clusters)
    if test.groups is not None:
        groups = {*(dropped.groups or ())}
        may_know |= np.array([group in groups for group in test.groups])
    return test.take(np.flatnonzero(~may_know & ~np.isin(np.array(test.row_ids), sorted(old_test))))


def _predicted(
    run_id: str, rows: Rows, classes: tuple[str, ...], store: Store, *, fits: Callable[[float], bool]
) -> NDArray[np.int64] | None:
    """Class indices, shape (rows,)."""
    if not has_weights(store, run_id):
        return None
    saved = saved_run(store, run_id)
    refuse_run(saved, "eager")
    with tempfile.TemporaryDirectory(prefix="bakeoff-shipped-") as scratch:
        shipment = folder.Shipment(run=saved.run, source=store.folder(run_id) / MODEL, engine="eager", refitted=False)
        own = folder.write(Path(scratch), shipment)["classes"]
        classifier = served.load(Path(scratch), threads=usable_cpus()).classifier
        begun = time.monotonic()
        parts = [classifier.probabilities(rows.documents[:FIRST_ROWS])]
        left = len(rows) - len(parts[0])
        if not fits((time.monotonic() - begun) / len(parts[0]) * left):
            return None
        if left:
            parts.append(classifier.probabilities(rows.documents[FIRST_ROWS:]))
    index = {name: i for i, name in enumerate(classes)}
    to = np.array([index.get(name, len(classes)) for name in own], dtype=np.int64)
    predicted: NDArray[np.int64] = to[np.concatenate(parts).argmax(axis=1)]
    return predicted
