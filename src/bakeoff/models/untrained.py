"""Architectures at their true size with random weights, for questions that do not depend on what was learned.

The weights are the same each time, so that two processes, and a cache of exported models, mean the same model.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from bakeoff.models import encoders, sizes
from bakeoff.models.build import build
from bakeoff.models.linear import Document, TfidfClassifier
from bakeoff.models.pretrained import FrozenClassifier, PretrainedClassifier
from bakeoff.models.windows import Frame
from bakeoff.spec import BiLstm, Frozen, LongDoc, Pretrained, Scratch, Tfidf

SEED = 0


def over_vocabulary(
    model: BiLstm | Scratch,
    *,
    vocabulary_size: int,
    n_classes: int,
    pad_id: int,
    longdoc: LongDoc | None = None,
    frame: Frame | None = None,
) -> nn.Module:
    """A BiLSTM or a transformer of our own over a vocabulary of this size; `longdoc` and `frame` are as `build` takes them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        return build(model, vocabulary_size=vocabulary_size, n_classes=n_classes, pad_id=pad_id, folder=None, longdoc=longdoc, frame=frame)


def pretrained(
    model: Pretrained, *, n_classes: int, folder: Path | None, longdoc: LongDoc | None = None, frame: Frame | None = None
) -> nn.Module:
    """The encoder that the configuration in `folder` describes, or `model.size` where there is no folder."""
    assert folder is not None or model.size is not None, "an encoder needs a checkpoint's configuration or a size"
    config = encoders.read_config(folder) if folder is not None else sizes.config_of(model.size)  # type: ignore[arg-type]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        return PretrainedClassifier(model, config=config, n_classes=n_classes, longdoc=longdoc, frame=frame)


def frozen(model: Frozen, *, n_classes: int, folder: Path, longdoc: LongDoc | None = None, frame: Frame | None = None) -> nn.Module:
    """The encoder that the configuration in `folder` describes, under a head."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        return FrozenClassifier(model, config=encoders.read_config(folder), n_classes=n_classes, longdoc=longdoc, frame=frame)


def tfidf(model: Tfidf, *, n_classes: int, texts: Sequence[Document]) -> TfidfClassifier:
    """Vocabulary and IDF of `texts`, random coefficients."""
    classifier = TfidfClassifier(model, n_classes, SEED)
    classifier.fit_vocabulary(texts)
    classifier.coefficients = np.random.default_rng(SEED).normal(size=(classifier.n_features, n_classes)).T
    return classifier
