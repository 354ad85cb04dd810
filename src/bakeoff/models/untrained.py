"""Architectures at their true size with random weights, for questions that do not depend on what was learned.

The weights are the same each time, so that two processes, and a cache of exported models, mean the same model.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from bakeoff.models import sizes
from bakeoff.models.bilstm import BiLstmClassifier
from bakeoff.models.linear import TfidfClassifier
from bakeoff.models.pretrained import PretrainedClassifier
from bakeoff.spec import BiLstm, Pretrained, Tfidf

SEED = 0


def bilstm(model: BiLstm, *, vocabulary_size: int, n_classes: int, pad_id: int) -> nn.Module:
    """A BiLSTM over a vocabulary of this size."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        return BiLstmClassifier(model, vocabulary_size=vocabulary_size, n_classes=n_classes, pad_id=pad_id)


def pretrained(model: Pretrained, *, n_classes: int, folder: Path | None) -> nn.Module:
    """The encoder that the configuration in `folder` describes, or `model.size` where there is no folder."""
    from transformers import AutoConfig

    assert folder is not None or model.size is not None, "an encoder needs a checkpoint's configuration or a size"
    config = AutoConfig.from_pretrained(str(folder)) if folder is not None else sizes.config_of(model.size)  # type: ignore[arg-type]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        return PretrainedClassifier(model, config=config, n_classes=n_classes)


def tfidf(model: Tfidf, *, n_classes: int, texts: Sequence[str]) -> TfidfClassifier:
    """Vocabulary and IDF of `texts`, random coefficients."""
    classifier = TfidfClassifier(model, n_classes, SEED)
    classifier.fit_vocabulary(texts)
    classifier.coefficients = np.random.default_rng(SEED).normal(size=(classifier.n_features, n_classes)).T
    return classifier
