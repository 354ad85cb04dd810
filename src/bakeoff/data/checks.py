"""What only the data or the checkpoint can tell, asked before anything starts."""

import json
from pathlib import Path

from bakeoff import spec
from bakeoff.data import checkpoint, checkpoint_checks, unlabelled, vectors, zero_checks
from bakeoff.data import longdoc as reading
from bakeoff.data.budget import VALIDATION_FROM_LABELS, spend
from bakeoff.data.dataset import Prepared, prepare
from bakeoff.data.tokens import CheckpointTokeniser
from bakeoff.errors import BakeoffError, NotApplicable

_MOST_SPECIAL = 8
"""Special tokens that a tokeniser may set around a text; none that we know sets more than three."""
# The last dataset only: a sweep asks about one for many Runs in a row, and texts are large.
_last: dict[str, Prepared | BakeoffError] = {}
_folders: dict[tuple[str, str | None], Path | BakeoffError] = {}


def check(run: spec.Run) -> None:
    """Return when a Run can start.

    Raises DataError when its data or checkpoint is not what the configuration says, and NotApplicable when its
    budget is above the pool or its reading is longer than the model can read.
    """
    prepared = _prepared(run.dataset)
    spent = spend(prepared.pool, run.budget, validation=run.keeps_validation)
    if run.is_trial and not len(spent.validation):
        raise NotApplicable(
            f"probe.scores=validation needs validation rows, and there are none below {VALIDATION_FROM_LABELS} labels: "
            f"set budget.labels={VALIDATION_FROM_LABELS} or more"
        )
    if run.budget.unlabelled == "file":
        unlabelled.lines(run.budget, run.dataset)
    if isinstance(run.model, spec.Pretrained | spec.Frozen):
        _check_checkpoint(run, run.model)
        _check_length(run.longdoc, run.model)
    if isinstance(run.model, spec.BiLstm | spec.Scratch) and run.model.checkpoint is not None:
        checkpoint_checks.check_files(_folder(run.model), weights=False)
    if isinstance(run.model, spec.Scratch):
        _check_positions(run.longdoc, run.model)
    if isinstance(run.model, spec.BiLstm):
        _check_embeddings(run.model)
    if isinstance(run.model, spec.Neural | spec.Frozen):
        _check_overlap(run.longdoc, run.model)
    if isinstance(run.model, spec.BudgetZero):
        zero_checks.check_checkpoint(run, run.model, _folder(run.model), prepared.classes)
        _check_length(run.longdoc, run.model)
    if isinstance(run.model, spec.Predictions):
        zero_checks.check_file(run.model, prepared)
    if run.dataset.text_pair is not None and isinstance(run.model, spec.Neural | spec.Frozen | spec.BudgetZero):
        _check_pair(run.longdoc, run.model)


def _check_checkpoint(run: spec.Run, model: spec.Pretrained | spec.Frozen) -> None:
    """An architecture alone has no files; what is timed untrained needs no weights."""
    if isinstance(model, spec.Pretrained) and model.without_checkpoint:
        checkpoint_checks.check_layers(model, None)
        return
    folder = _folder(model)
    checkpoint_checks.check_files(folder, weights=not (isinstance(run.probe, spec.Latency) and run.probe.weights == "untrained"))
    if isinstance(model, spec.Pretrained):
        checkpoint_checks.check_layers(model, folder)


def _check_length(longdoc: spec.LongDoc, model: spec.Pretrained | spec.Frozen | spec.BudgetZero) -> None:
    alone = model.size if isinstance(model, spec.Pretrained) and model.without_checkpoint else None
    if longdoc.strategy == "extended":
        if alone is None:
            checkpoint_checks.check_extendable(_folder(model), longdoc)
        else:
            checkpoint_checks.refuse_family(alone.family, model.name)
        return
    limit = checkpoint.position_limit(_folder(model)) if alone is None else alone.positions
    if limit is None:
        return
    if longdoc.window_tokens is not None:
        if longdoc.window_tokens > limit:
            raise NotApplicable(
                f"longdoc.window_tokens={longdoc.window_tokens} is above the {limit} tokens that {model.name} can read: "
                f"set longdoc.window_tokens={limit} or less"
            )
        return
    windows = "longdoc=windows_mean_embeddings" if isinstance(model, spec.Frozen) else "longdoc=windows"
    more = "" if isinstance(model, spec.BudgetZero) else f", or {windows} for whole documents"
    advice = f"use longdoc=head with longdoc.max_tokens={limit} or less{more}"
    if longdoc.max_tokens is None:
        raise NotApplicable(
            f"longdoc={longdoc.strategy} reads documents of any length, but {model.name} reads {limit} tokens at most: {advice}"
        )
    if longdoc.max_tokens > limit:
        raise NotApplicable(f"longdoc.max_tokens={longdoc.max_tokens} is above the {limit} tokens that {model.name} can read: {advice}")


def _check_pair(longdoc: spec.LongDoc, model: spec.Neural | spec.Frozen | spec.BudgetZero) -> None:
    """Have the checkpoint's tokeniser frame a pair of empty texts, which is refused where it cannot, or where there is no room."""
    if model.checkpoint is not None and not (isinstance(model, spec.Pretrained) and model.without_checkpoint):
        reading.read([("", "")], CheckpointTokeniser(_folder(model)), longdoc)


def _check_overlap(longdoc: spec.LongDoc, model: spec.Neural | spec.Frozen) -> None:
    """Each window reads on beside its special tokens, which `readings` takes for two; the tokeniser is only asked where it matters."""
    if longdoc.window_tokens is None or longdoc.overlap_tokens is None or longdoc.window_tokens - longdoc.overlap_tokens > _MOST_SPECIAL:
        return
    if model.checkpoint is None or (isinstance(model, spec.Pretrained) and model.without_checkpoint):
        return
    tokeniser = CheckpointTokeniser(_folder(model))
    n_special = len(tokeniser.prefix) + len(tokeniser.suffix)
    if longdoc.window_tokens - n_special <= longdoc.overlap_tokens:
        raise NotApplicable(
            f"longdoc.overlap_tokens={longdoc.overlap_tokens} leaves a window of longdoc.window_tokens={longdoc.window_tokens} nothing new "
            f"to read beside {n_special} special tokens of {model.name}: set it below {longdoc.window_tokens - n_special}"
        )


def _check_positions(longdoc: spec.LongDoc, model: spec.Scratch) -> None:
    """A token past the last row of a table of learned positions would have no place."""
    most = model.max_positions
    if most is None:
        return
    if longdoc.window_tokens is not None:
        if longdoc.window_tokens > most:
            raise NotApplicable(
                f"longdoc.window_tokens={longdoc.window_tokens} is above the model.max_positions={most} of {model.name}: "
                f"raise that, or set longdoc.window_tokens={most} or less"
            )
        return
    if longdoc.max_tokens is None or longdoc.max_tokens > most:
        raise NotApplicable(
            f"longdoc={longdoc.label} may read more than the model.max_positions={most} of {model.name}: raise that, use longdoc=head "
            f"with longdoc.max_tokens={most} or less, longdoc=windows for whole documents, or positions without a table, such as "
            "model.positions=rotary"
        )


def _check_embeddings(model: spec.BiLstm) -> None:
    """Embeddings are as wide as what they start from."""
    if model.embeddings == "vectors":
        vectors.refuse_other_width(vectors.verify_file(model), model.embedding_dim)
    elif model.embeddings == "checkpoint":
        vectors.refuse_other_table(_folder(model), model.embedding_dim)


def _prepared(dataset: spec.Dataset) -> Prepared:
    key = json.dumps(spec.to_plain(dataset), sort_keys=True)
    if key not in _last:
        _last.clear()
        try:
            _last[key] = prepare(dataset)
        except BakeoffError as error:
            _last[key] = error
    found = _last[key]
    if isinstance(found, BakeoffError):
        raise found.with_traceback(None)
    return found


def _folder(model: spec.Pretrained | spec.Frozen | spec.BiLstm | spec.BudgetZero | spec.Scratch) -> Path:
    assert model.checkpoint is not None, "only a model with a checkpoint has a folder"
    key = (model.checkpoint, model.revision)
    if key not in _folders:
        try:
            _folders[key] = checkpoint.resolve(*key)
        except BakeoffError as error:
            _folders[key] = error
    found = _folders[key]
    if isinstance(found, BakeoffError):
        raise found.with_traceback(None)
    return found
