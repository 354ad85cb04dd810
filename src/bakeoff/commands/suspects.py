"""`bakeoff data … --suspects N`: the rows whose labels are likely wrong, as a table for whoever labels."""

import csv
import logging
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bakeoff import fingerprint
from bakeoff.config import Composer
from bakeoff.data import assets, row_ids
from bakeoff.data.dataset import Prepared
from bakeoff.errors import DataError
from bakeoff.spec import Frozen, Run
from bakeoff.training import suspects
from bakeoff.training.suspects import Suspect

MODELS = ("tfidf", "frozen")
"""Who is asked; the second only where its checkpoint is here already."""
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for a formula at the start of a cell."""


def write(file: Path, settings: Sequence[str], prepared: Prepared, most: int) -> None:
    """Write the `most` likeliest suspects of a dataset to a new CSV file, and say on standard error what is in it.

    Texts stay in that file, which is the user's own. Raises DataError for a file that exists or cannot be written.
    """
    if file.exists():
        raise DataError(f"--out {file} exists already and may hold work on labels: name a new file")
    runs = [run for name in MODELS if is_here(run := Composer().job([*settings, f"model={name}"]).run)]
    named = " and ".join(run.model.name for run in runs)
    print(f"asking {named} about the labels of {len(prepared.pool):,} pool rows …", file=sys.stderr)
    logging.getLogger("transformers").setLevel(logging.ERROR)  # it reports on weights of a checkpoint that no one asked for
    found = suspects.find(prepared, runs)
    _write(file, prepared, found[:most], row_ids.numbers(runs[0].dataset))
    shown = f"{len(found):,}" if len(found) <= most else f"{most:,} of {len(found):,}"
    print(
        f"{shown} suspects among {len(prepared.pool):,} pool rows, by {named} that never saw the row, are in {file}: read them before you "
        "relabel, since a rare but right label looks like a wrong one",
        file=sys.stderr,
    )


def is_here(run: Run) -> bool:
    """Whether a model needs no download."""
    if not isinstance(run.model, Frozen):
        return True
    asset = fingerprint.CHECKPOINTS.get(run.model.checkpoint)
    return Path(run.model.checkpoint).is_dir() if asset is None else assets.is_fetched(asset)


def _write(file: Path, prepared: Prepared, found: Sequence[Suspect], numbers: Mapping[str, int]) -> None:
    pool, classes = prepared.pool, prepared.classes
    second = [] if pool.pairs is None else ["text_pair"]
    try:
        with open(file, "x", newline="", encoding="utf-8") as handle:
            writer = csv.writer(handle, lineterminator="\n")
            writer.writerow(["row_id", "row", "label", "predicted", "label_probability", "predicted_probability", "text", *second])
            for each in found:
                row_id = pool.row_ids[each.row]
                texts = [pool.texts[each.row], *([] if pool.pairs is None else [pool.pairs[each.row]])]
                shares = [f"{each.label_probability:.4f}", f"{each.predicted_probability:.4f}"]
                names = [_escaped(classes[each.label]), _escaped(classes[each.predicted])]
                writer.writerow([row_id, numbers[row_id], *names, *shares, *map(_escaped, texts)])
    except OSError as error:
        raise DataError(f"--out {file} cannot be written ({type(error).__name__}): name a file in a folder that exists") from None


def _escaped(cell: str) -> str:
    """A cell that no spreadsheet runs: an apostrophe in front of what would be a formula, which a number such as the label -1 is not."""
    return f"'{cell}" if cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell) else cell
