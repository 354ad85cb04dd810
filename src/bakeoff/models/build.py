"""A Model to a module, and how large it is."""

from pathlib import Path

from torch import nn

from bakeoff.models.bilstm import BiLstmClassifier
from bakeoff.spec import BiLstm, Pretrained


def build(model: BiLstm | Pretrained, *, n_classes: int, vocabulary_size: int, pad_id: int, folder: Path | None) -> nn.Module:
    """The module of a neural Model; `folder` holds the checkpoint of a pretrained one."""
    if isinstance(model, BiLstm):
        return BiLstmClassifier(model, vocabulary_size=vocabulary_size, n_classes=n_classes, pad_id=pad_id)
    from bakeoff.models.pretrained import PretrainedClassifier

    assert folder is not None, "a pretrained model is built from its checkpoint's folder"
    return PretrainedClassifier(model, folder=folder, n_classes=n_classes)


def count_parameters(module: nn.Module, *, trainable: bool = False, embedding: bool = False) -> int:
    """Parameters of a module: all, those that train, or those of its embedding tables."""
    if embedding:
        return sum(p.numel() for part in module.modules() if isinstance(part, nn.Embedding) for p in part.parameters())
    return sum(p.numel() for p in module.parameters() if p.requires_grad or not trainable)
