"""A pretrained encoder with a fresh linear head, or with features that are left as they are and a head that was fitted."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from bakeoff.errors import ConfigError
from bakeoff.models import encoders, sizes
from bakeoff.spec import Frozen, Pretrained

NO_LABEL = -1e4
"""Intercept of a class without a label: its probability is exactly 0, its logit a number."""


class PretrainedClassifier(nn.Module):
    """Any Hugging Face encoder; weights load in float32 whatever the checkpoint stores."""

    encoder: Any

    def __init__(self, spec: Pretrained, *, n_classes: int, folder: Path | None = None, config: Any = None) -> None:
        """The checkpoint in `folder`, or random weights for a `transformers` configuration.

        Raises ConfigError when `model.size` is not the checkpoint's, for `model.keep_layers` or `model.reinitialised_layers`
        that it has not, and as `encoders.load` does.
        """
        super().__init__()
        if folder is None:
            self.encoder = encoders.fresh(config if spec.keep_layers is None else encoders.config_with_layers(config, spec.keep_layers))
        else:
            _check_size(spec, encoders.read_config(folder))
            loaded = encoders.load(folder)
            self.encoder = loaded if spec.keep_layers is None else encoders.with_layers(loaded, spec.keep_layers)
            encoders.reinitialise_top(self.encoder, spec.reinitialised_layers)
        config = self.encoder.config
        self.pooling = spec.pooling
        dropout = getattr(config, "classifier_dropout", None)
        self.dropout = nn.Dropout(getattr(config, "hidden_dropout_prob", 0.1) if dropout is None else dropout)
        self.head = nn.Linear(config.hidden_size, n_classes)
        nn.init.normal_(self.head.weight, std=getattr(config, "initializer_range", 0.02))
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes) of `ids` (batch, longest); tokens at or past `lengths` (batch,) are masked."""
        features = encoders.pooled(self.encoder, ids, lengths, how=self.pooling)
        logits: torch.Tensor = self.head(self.dropout(features))
        return logits


class FrozenClassifier(nn.Module):
    """An encoder as it was published, and a linear head on its features: what `frozen` serves."""

    encoder: Any

    def __init__(self, spec: Frozen, *, n_classes: int, folder: Path | None = None, config: Any = None) -> None:
        """The checkpoint in `folder`, or random weights for a `transformers` configuration. Raises ConfigError as `encoders.load`."""
        super().__init__()
        self.encoder = encoders.fresh(config) if folder is None else encoders.load(folder)
        self.encoder.requires_grad_(False)
        self.pooling, self.normalise = spec.pooling, spec.normalise
        self.head = nn.Linear(self.encoder.config.hidden_size, n_classes)

    def features(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Features (batch, width) in float32 of `ids` (batch, longest); tokens at or past `lengths` (batch,) are masked."""
        found = encoders.pooled(self.encoder, ids, lengths, how=self.pooling).float()
        return functional.normalize(found, dim=-1) if self.normalise else found

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes). The head, fitted in double precision, answers in float32 where the encoder is autocast."""
        features, device = self.features(ids, lengths), ids.device.type
        whole = torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else contextlib.nullcontext()
        with whole:
            logits: torch.Tensor = self.head(features)
        return logits

    def set_head(self, coefficients: npt.NDArray[np.float64], intercepts: npt.NDArray[np.float64]) -> None:
        """Take over a fitted head: `coefficients` (classes, width), `intercepts` (classes,), -inf for classes without a label."""
        with torch.no_grad():
            self.head.weight.copy_(torch.from_numpy(coefficients))
            self.head.bias.copy_(torch.from_numpy(np.maximum(intercepts, NO_LABEL)))


def _check_size(spec: Pretrained, config: Any) -> None:
    """A size that is not the checkpoint's would be another model in every table of latencies."""
    found = sizes.size_of(config)
    if spec.size is not None and found != spec.size:
        raise ConfigError(f"model.size={spec.size} is not that of model.checkpoint={spec.checkpoint}: set it to {found or 'null'}")
