"""What only the data or the checkpoint can tell, asked before anything starts."""

import json
from pathlib import Path

from bakeoff import spec
from bakeoff.data import checkpoint
from bakeoff.data.budget import spend
from bakeoff.data.dataset import Prepared, prepare
from bakeoff.errors import BakeoffError, NotApplicable

# The last dataset only: a sweep asks about one for many Runs in a row, and texts are large.
_last: dict[str, Prepared | BakeoffError] = {}
_folders: dict[tuple[str, str | None], Path | BakeoffError] = {}


def check(run: spec.Run) -> None:
    """Return when a Run can start.

    Raises DataError when its data or checkpoint is not what the configuration says, and NotApplicable when its
    budget is above the pool or its reading is longer than the model can read.
    """
    prepared = _prepared(run.dataset)
    spend(prepared.pool, run.budget, validation=isinstance(run.model, spec.Neural))
    if isinstance(run.model, spec.Pretrained):
        _check_length(run.longdoc, run.model)


def _check_length(longdoc: spec.LongDoc, model: spec.Pretrained) -> None:
    alone = model.size if model.without_checkpoint else None
    limit = checkpoint.position_limit(_folder(model)) if alone is None else alone.positions
    if limit is None:
        return
    advice = f"use longdoc=head with longdoc.max_tokens={limit} or less"
    if longdoc.max_tokens is None:
        raise NotApplicable(
            f"longdoc={longdoc.strategy} reads documents of any length, but {model.name} reads {limit} tokens at most: {advice}"
        )
    if longdoc.max_tokens > limit:
        raise NotApplicable(f"longdoc.max_tokens={longdoc.max_tokens} is above the {limit} tokens that {model.name} can read: {advice}")


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


def _folder(model: spec.Pretrained) -> Path:
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
