"""A saved model's weights back into its classifier."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.numpy import load_file as load_arrays
from safetensors.torch import load_file as load_tensors
from torch import nn

from bakeoff.errors import DataError
from bakeoff.models import encoders
from bakeoff.models.build import build
from bakeoff.models.files import SETTINGS, VOCABULARY, WEIGHTS
from bakeoff.models.linear import MajorityClassifier, TfidfClassifier
from bakeoff.models.pretrained import FrozenClassifier, PretrainedClassifier
from bakeoff.models.windows import Frame
from bakeoff.spec import Frozen, LongDoc, Majority, Neural, Pretrained, Tfidf

Linear = MajorityClassifier | TfidfClassifier


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a saved model says of itself."""

    run_id: str
    classes: tuple[str, ...]
    """In the order of its answers."""
    model: dict[str, Any]
    longdoc: dict[str, Any]


def settings(folder: Path) -> Settings:
    """What the saved model in `folder` says of itself. Raises DataError for a folder that is no saved model."""
    try:
        plain = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        return Settings(run_id=plain["run_id"], classes=tuple(plain["classes"]), model=plain["model"], longdoc=plain["longdoc"])
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(f"{folder.parent.name} keeps no weights that can be read: bake it again with machine.keep_weights=all") from None


def linear(model: Majority | Tfidf, folder: Path, *, n_classes: int) -> Linear:
    """The closed-form classifier saved in `folder`."""
    arrays = load_arrays(folder / WEIGHTS)
    if isinstance(model, Majority):
        majority = MajorityClassifier(n_classes)
        majority.shares = arrays["shares"]
        return majority
    vocabulary, tfidf = folder / VOCABULARY, TfidfClassifier(model, n_classes, seed=0)
    columns = json.loads(vocabulary.read_text(encoding="utf-8")) if vocabulary.exists() else {}
    tfidf.restore(coefficients=arrays["coefficients"], intercepts=arrays["intercepts"], vocabulary=columns, idf=arrays.get("idf"))
    return tfidf


def neural(model: Neural | Frozen, folder: Path, *, n_classes: int, frame: Frame) -> nn.Module:
    """The module `(ids, lengths) → logits` saved in `folder`, in evaluation mode; `frame` is the tokeniser saved there too.

    It reads long documents as it was trained to.
    """
    tensors, longdoc = load_tensors(folder / WEIGHTS), LongDoc(**settings(folder).longdoc)
    with torch.random.fork_rng(devices=[]):  # what is drawn here is written over, and whoever trains next should not notice
        if isinstance(model, Frozen):
            module: nn.Module = FrozenClassifier(
                model, n_classes=n_classes, config=encoders.read_config(folder), longdoc=longdoc, frame=frame
            )
        elif isinstance(model, Pretrained):
            module = PretrainedClassifier(model, n_classes=n_classes, config=encoders.read_config(folder), longdoc=longdoc, frame=frame)
        else:
            rows = len(tensors["embedding.weight"])  # the table of a checkpoint may have more than its tokeniser has ids
            module = build(model, n_classes=n_classes, vocabulary_size=rows, pad_id=frame.pad_id, folder=None, longdoc=longdoc, frame=frame)
    module.load_state_dict(tensors)
    return module.eval()
