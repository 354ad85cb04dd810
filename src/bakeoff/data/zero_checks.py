"""Whether a checkpoint can answer these classes as it is, and a file these rows, asked before anything starts."""

from pathlib import Path

from bakeoff.data import checkpoint_checks, heads, hypotheses, predictions_file
from bakeoff.data.dataset import Prepared
from bakeoff.data.tokens import CheckpointTokeniser
from bakeoff.spec import BudgetZero, OffTheShelf, Predictions, Run


def check_checkpoint(run: Run, model: BudgetZero, folder: Path, classes: tuple[str, ...]) -> None:
    """Raise DataError for a checkpoint in `folder` that cannot do what is asked of it."""
    checkpoint_checks.check_files(folder, weights=True)
    if isinstance(model, OffTheShelf):
        heads.outputs_of_classes(model, heads.label_names(model, folder), classes)
        return
    words = hypotheses.sentences(model, classes)
    if model.method == "similarity":
        heads.require_embedding(model, folder)
    else:
        heads.entailment_output(model, heads.label_names(model, folder))
        hypotheses.tails(folder, words, prefix=CheckpointTokeniser(folder).prefix, max_tokens=run.longdoc.max_tokens)


def check_file(model: Predictions, prepared: Prepared) -> None:
    """Raise DataError for a file that does not answer every test row, once and with a class."""
    predictions_file.read(model, prepared.test.row_ids, prepared.classes)
