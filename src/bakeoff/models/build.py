"""A Model to a module, and how large it is."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import nn

from bakeoff.models.bilstm import BiLstmClassifier
from bakeoff.models.scratch import ScratchClassifier
from bakeoff.models.windows import Frame
from bakeoff.spec import BiLstm, LongDoc, Neural, Scratch


def build(
    model: Neural,
    *,
    n_classes: int,
    vocabulary_size: int,
    pad_id: int,
    folder: Path | None,
    embeddings: npt.NDArray[np.float32] | None = None,
    longdoc: LongDoc | None = None,
    frame: Frame | None = None,
) -> nn.Module:
    """The module of a neural Model; `folder` holds the checkpoint of a pretrained one.

    `embeddings`, shape (vocabulary, embedding), are what those of a BiLSTM start from. `longdoc` and `frame`, the tokeniser, are
    needed where the module itself has a part in reading long documents: by windows, or past an encoder's positions.
    """
    if isinstance(model, BiLstm):
        return BiLstmClassifier(
            model,
            vocabulary_size=vocabulary_size,
            n_classes=n_classes,
            pad_id=pad_id,
            embeddings=embeddings,
            longdoc=longdoc,
            frame=frame,
        )
    if isinstance(model, Scratch):
        return ScratchClassifier(model, vocabulary_size=vocabulary_size, n_classes=n_classes, pad_id=pad_id, longdoc=longdoc, frame=frame)
    from bakeoff.models.pretrained import PretrainedClassifier

    assert folder is not None, "a pretrained model is built from its checkpoint's folder"
    return PretrainedClassifier(model, folder=folder, n_classes=n_classes, longdoc=longdoc, frame=frame)


def count_parameters(module: nn.Module, *, trainable: bool = False, embedding: bool = False) -> int:
    """Parameters of a module: all, those that train, or those of its embedding tables."""
    if embedding:
        return sum(p.numel() for part in module.modules() if isinstance(part, nn.Embedding) for p in part.parameters())
    return sum(p.numel() for p in module.parameters() if p.requires_grad or not trainable)
