"""`bakeoff predict --confirm`: an exported model scored on labels that nothing of it has seen."""

from pathlib import Path

import numpy as np

from bakeoff.commands.predict import Asked, How, opened
from bakeoff.commands.saved_runs import saved_run
from bakeoff.data import unlabelled
from bakeoff.data.dataset import Prepared, prepare, remembered
from bakeoff.data.tokens import Document
from bakeoff.errors import DataError
from bakeoff.provenance import usable_cpus
from bakeoff.report import stats
from bakeoff.shipping import confirm as confirming
from bakeoff.shipping import served, stream
from bakeoff.shipping.settings import settings_of
from bakeoff.spec import Run
from bakeoff.store import Store, default_root, utc_now, write_atomically


def confirm(folder: Path, file: Path, asked: Asked, how: How) -> str:
    """Score an exported model on fresh labels, note it in the folder, and say how it did. Raises DataError as `confirming.fresh`.

    The same rows again are not noted again: their score says nothing new.
    Which rows are fresh is what the Run's data says as it was then, so it needs the store in which the Run was baked.
    """
    settings = settings_of(folder)
    if asked.label is None:
        raise DataError("--confirm needs the column of the labels: pass --label COLUMN")
    run = saved_run(Store(default_root()), settings["run_id"]).run
    with opened(file) as handle:
        chunks = stream.chunks(handle, file, asked.columns(settings), rows=10_000, encoding=how.encoding)
        fresh = confirming.fresh(chunks, _used(run), settings["classes"], run.dataset.label_map)
    classifier = served.load(folder, threads=how.threads or usable_cpus()).classifier
    predicted = classifier.probabilities(fresh.documents, batch_size=how.batch_size).argmax(axis=1)
    answers = stats.Answers(row_ids=np.asarray(fresh.row_ids), labels=fresh.labels, predicted=predicted[None], seeds=((0, 0),))
    found, before = stats.estimate(answers, "accuracy"), confirming.earlier(folder)
    again = confirming.repeated(before, fresh.row_ids)
    confirmation = confirming.Confirmation(
        at=utc_now(),
        n=len(fresh.labels),
        left_out=fresh.left_out,
        accuracy=found.mean,
        low=found.low,
        high=found.high,
        row_ids=tuple(fresh.row_ids),
    )
    if (same := confirming.same_rows(before, fresh.row_ids)) is None:
        write_atomically(folder / confirming.FILE, confirming.note(before, confirmation))
    lines = [
        f"accuracy {found.mean:.1%} (95% interval {found.low:.1%} to {found.high:.1%}) on {len(fresh.labels):,} rows that nothing of the "
        "model has seen"
    ]
    if fresh.left_out:
        lines.append(f"{fresh.left_out:,} rows were left out: their texts are in the Run's data, or nearly, or stand twice in the file")
    if same is not None:
        lines.append(f"these very rows confirmed this model before ({same['at']}), so they are not counted again")
    elif again:
        lines.append(
            f"{again:,} of these rows confirmed this model before, so this is no fresh evidence if it changed anything since "
            f"(confirmation {len(before) + 1}; {folder / confirming.FILE} lists them)"
        )
    return "\n".join(lines)


def _used(run: Run) -> list[Document]:
    """Every text that the Run may have read, those without labels too."""
    prepared, extra = _prepared(run), unlabelled.lines(run.budget, run.dataset) if run.budget.unlabelled == "file" else []
    return [*prepared.pool.documents, *prepared.test.documents, *prepared.dropped.documents, *extra]


def _prepared(run: Run) -> Prepared:
    """The Run's data as the Run read it: its file may have grown since, by the very rows that are to confirm it."""
    if (found := remembered(run.dataset)) is not None:
        return found
    try:
        return prepare(run.dataset)
    except DataError:
        raise DataError(
            f"the data of {run.run_id} ({run.dataset.name}) has changed and is no longer in the cache as it was, so nothing says which "
            "labels are new: put its file back as it was when the model was chosen"
        ) from None
