"""A model with weights and a tokeniser: the trained ones of a Run's `model/` folder, or untrained ones at true size."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from bakeoff import spec
from bakeoff.data import checkpoint
from bakeoff.data.dataset import Prepared
from bakeoff.data.longdoc import read_words
from bakeoff.data.saved import read_tokeniser
from bakeoff.data.tokens import CheckpointTokeniser, Tokeniser, WordVocabulary
from bakeoff.errors import DataError, NotApplicable
from bakeoff.models import encoders, loading, untrained
from bakeoff.models.files import VOCABULARY
from bakeoff.models.linear import MajorityClassifier
from bakeoff.models.loading import Linear

STAND_IN = "minilm-l6"
"""Its tokeniser reads for an architecture that has no checkpoint, and so no tokeniser, of its own."""


@dataclass(frozen=True, kw_only=True)
class Neural:
    """A module `(ids, lengths) → logits` in evaluation mode, and what turns text into its ids."""

    classifier: nn.Module
    tokeniser: Tokeniser
    notes: tuple[str, ...] = ()


def load(run: spec.Run, prepared: Prepared, *, classes: tuple[str, ...], folder: Path | None) -> Neural | Linear:
    """The Run's model with the weights that its `model/` folder keeps, or untrained ones where `folder` is None.

    Untrained models learn their vocabulary from the whole train pool. Raises DataError when the folder is not that
    of such a model.
    """
    if folder is None:
        return _untrained(run, prepared, len(classes))
    saved = loading.settings(folder)
    if saved.classes != classes or saved.model["kind"] != run.model.kind:
        raise DataError(f"the weights of {folder.parent.name} are of another model or of other classes: bake it again")
    return _trained(run.model, folder, len(classes))


def _untrained(run: spec.Run, prepared: Prepared, n_classes: int) -> Neural | Linear:
    model, pool, pairs = run.model, prepared.pool, prepared.pool.pairs is not None
    if isinstance(model, spec.Majority):
        return MajorityClassifier(n_classes)
    if isinstance(model, spec.Tfidf):
        return untrained.tfidf(model, n_classes=n_classes, texts=[read_words(each, run.longdoc) for each in pool.documents])
    if isinstance(model, spec.BiLstm | spec.Scratch):
        own = _vocabulary(model, pool.all_texts, pairs=pairs)
        module = untrained.over_vocabulary(
            model, vocabulary_size=len(own), n_classes=n_classes, pad_id=own.pad_id, longdoc=run.longdoc, frame=own
        )
        return Neural(classifier=module.eval(), tokeniser=own)
    if not isinstance(model, spec.Pretrained | spec.Frozen):
        raise _refusal(model)
    notes: tuple[str, ...] = ()
    folder: Path | None = None
    if isinstance(model, spec.Pretrained) and model.without_checkpoint:
        notes = (f"{model.name} has no checkpoint here, so the tokeniser of {STAND_IN} stands in for its own",)
    else:
        folder = checkpoint.resolve(model.checkpoint, model.revision)
        checkpoint.verify(model)
    tokeniser = CheckpointTokeniser(folder or checkpoint.resolve(STAND_IN, None))
    if isinstance(model, spec.Pretrained):
        built = untrained.pretrained(model, n_classes=n_classes, folder=folder, longdoc=run.longdoc, frame=tokeniser)
    else:
        assert folder is not None, "frozen features are those of a checkpoint"
        built = untrained.frozen(model, n_classes=n_classes, folder=folder, longdoc=run.longdoc, frame=tokeniser)
    if pairs and tokeniser.pair is not None:
        encoders.tell_segments(built.get_submodule("encoder"), tokeniser.pair.separator_id)
    return Neural(classifier=built.eval(), tokeniser=tokeniser, notes=notes)


def _vocabulary(model: spec.BiLstm | spec.Scratch, texts: Sequence[str], *, pairs: bool) -> WordVocabulary | CheckpointTokeniser:
    """The words of `texts`, or the word-pieces of the model's checkpoint."""
    if model.checkpoint is None:
        return WordVocabulary.learn(texts, min_count=model.min_count, max_size=model.max_vocabulary, pairs=pairs)
    folder = checkpoint.resolve(model.checkpoint, model.revision)
    checkpoint.verify(model)
    return CheckpointTokeniser(folder)


def _refusal(model: spec.Model) -> NotApplicable:
    return NotApplicable(f"probe=latency cannot serve {model.name}: choose a model that answers texts with weights of its own")


def _trained(model: spec.Model, folder: Path, n_classes: int) -> Neural | Linear:
    if isinstance(model, spec.Majority | spec.Tfidf):
        return loading.linear(model, folder, n_classes=n_classes)
    if not isinstance(model, spec.Neural | spec.Frozen):
        raise _refusal(model)
    tokeniser = read_tokeniser(folder, words_in=VOCABULARY)
    return Neural(classifier=loading.neural(model, folder, n_classes=n_classes, frame=tokeniser), tokeniser=tokeniser)
