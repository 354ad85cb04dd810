"""A model with weights and a tokeniser: the trained ones of a Run's `model/` folder, or untrained ones at true size."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from safetensors.numpy import load_file as load_arrays
from safetensors.torch import load_file as load_tensors
from torch import nn

from bakeoff import spec
from bakeoff.data import checkpoint
from bakeoff.data.dataset import Prepared
from bakeoff.data.tokens import CheckpointTokeniser, Tokeniser, WordVocabulary, first_words
from bakeoff.errors import DataError
from bakeoff.models import untrained
from bakeoff.models.build import build
from bakeoff.models.files import SETTINGS, VOCABULARY, WEIGHTS
from bakeoff.models.linear import MajorityClassifier, TfidfClassifier

STAND_IN = "minilm-l6"
"""Its tokeniser reads for an architecture that has no checkpoint, and so no tokeniser, of its own."""


@dataclass(frozen=True, kw_only=True)
class Neural:
    """A module `(ids, lengths) → logits` in evaluation mode, and what turns text into its ids."""

    classifier: nn.Module
    tokeniser: Tokeniser
    notes: tuple[str, ...] = ()


Linear = MajorityClassifier | TfidfClassifier


def load(run: spec.Run, prepared: Prepared, *, classes: tuple[str, ...], folder: Path | None) -> Neural | Linear:
    """The Run's model with the weights that its `model/` folder keeps, or untrained ones where `folder` is None.

    Untrained models learn their vocabulary from the whole train pool. Raises DataError when the folder is not that
    of such a model.
    """
    if folder is None:
        return _untrained(run, prepared, len(classes))
    try:
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise DataError(f"{folder.parent.name} keeps no weights that can be read: bake it again with machine.keep_weights=all") from None
    if settings["classes"] != list(classes) or settings["model"]["kind"] != run.model.kind:
        raise DataError(f"the weights of {folder.parent.name} are of another model or of other classes: bake it again")
    return _trained(run.model, folder, len(classes))


def reader(longdoc: spec.LongDoc) -> Callable[[str], str]:
    """What a model over words reads of a text."""
    most = longdoc.max_tokens
    return (lambda text: text) if most is None else (lambda text: first_words(text, most))


def _untrained(run: spec.Run, prepared: Prepared, n_classes: int) -> Neural | Linear:
    model, texts = run.model, prepared.pool.texts
    if isinstance(model, spec.Majority):
        return MajorityClassifier(n_classes)
    if isinstance(model, spec.Tfidf):
        return untrained.tfidf(model, n_classes=n_classes, texts=[*map(reader(run.longdoc), texts)])
    if isinstance(model, spec.BiLstm):
        words = WordVocabulary.learn(texts, min_count=model.min_count, max_size=model.max_vocabulary)
        module = untrained.bilstm(model, vocabulary_size=len(words), n_classes=n_classes, pad_id=words.pad_id)
        return Neural(classifier=module.eval(), tokeniser=words)
    if model.without_checkpoint:
        tokeniser = CheckpointTokeniser(checkpoint.resolve(STAND_IN, None))
        note = f"{model.name} has no checkpoint here, so the tokeniser of {STAND_IN} stands in for its own"
        return Neural(classifier=untrained.pretrained(model, n_classes=n_classes, folder=None).eval(), tokeniser=tokeniser, notes=(note,))
    folder = checkpoint.resolve(model.checkpoint, model.revision)
    checkpoint.verify(model)
    return Neural(classifier=untrained.pretrained(model, n_classes=n_classes, folder=folder).eval(), tokeniser=CheckpointTokeniser(folder))


def _trained(model: spec.Model, folder: Path, n_classes: int) -> Neural | Linear:
    if isinstance(model, spec.Majority):
        majority = MajorityClassifier(n_classes)
        majority.shares = load_arrays(folder / WEIGHTS)["shares"]
        return majority
    if isinstance(model, spec.Tfidf):
        arrays, vocabulary = load_arrays(folder / WEIGHTS), folder / VOCABULARY
        tfidf = TfidfClassifier(model, n_classes, seed=0)
        columns = json.loads(vocabulary.read_text(encoding="utf-8")) if vocabulary.exists() else {}
        tfidf.restore(coefficients=arrays["coefficients"], intercepts=arrays["intercepts"], vocabulary=columns, idf=arrays.get("idf"))
        return tfidf
    tokeniser: WordVocabulary | CheckpointTokeniser
    if isinstance(model, spec.BiLstm):
        tokeniser = WordVocabulary(words=tuple(json.loads((folder / VOCABULARY).read_text(encoding="utf-8"))))
        module = build(model, n_classes=n_classes, vocabulary_size=len(tokeniser), pad_id=tokeniser.pad_id, folder=None)
    else:
        tokeniser = CheckpointTokeniser(folder)
        module = untrained.pretrained(model, n_classes=n_classes, folder=folder)
    module.load_state_dict(load_tensors(folder / WEIGHTS))
    return Neural(classifier=module.eval(), tokeniser=tokeniser)
