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
from bakeoff.models import encoders, extended, sizes, windows
from bakeoff.spec import Frozen, LongDoc, Pretrained

NO_LABEL = -1e4
"""Intercept of a class without a label: its probability is exactly 0, its logit a number."""


class PretrainedClassifier(nn.Module):
    """Any Hugging Face encoder; weights load in float32 whatever the checkpoint stores."""

    encoder: Any

    def __init__(
        self,
        spec: Pretrained,
        *,
        n_classes: int,
        folder: Path | None = None,
        config: Any = None,
        longdoc: LongDoc | None = None,
        frame: windows.Frame | None = None,
    ) -> None:
        """The checkpoint in `folder`, or random weights for a `transformers` configuration.

        Where `longdoc` reads by windows, documents stand between the special tokens of `frame`; where it says extended, the
        encoder is carried past its positions. Raises ConfigError when `model.size` is not the checkpoint's, for
        `model.keep_layers` or `model.reinitialised_layers` that it has not, and as `encoders.load` does.
        """
        super().__init__()
        if folder is None:
            config = _configured(config, longdoc)
            self.encoder = encoders.fresh(config if spec.keep_layers is None else encoders.config_with_layers(config, spec.keep_layers))
        else:
            _check_size(spec, encoders.read_config(folder))
            loaded = encoders.load(folder, extend=_extension(longdoc))
            self.encoder = loaded if spec.keep_layers is None else encoders.with_layers(loaded, spec.keep_layers)
            encoders.reinitialise_top(self.encoder, spec.reinitialised_layers)
        config = self.encoder.config
        self.pooling = spec.pooling
        dropout = getattr(config, "classifier_dropout", None)
        self.dropout = nn.Dropout(getattr(config, "hidden_dropout_prob", 0.1) if dropout is None else dropout)
        self.head = nn.Linear(config.hidden_size, n_classes)
        nn.init.normal_(self.head.weight, std=getattr(config, "initializer_range", 0.02))
        nn.init.zeros_(self.head.bias)
        self.windows = windows.reader_of(longdoc, width=config.hidden_size, frame=frame)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes) of `ids` (batch, longest); tokens at or past `lengths` (batch,) are masked."""
        if self.windows is not None:
            answered: torch.Tensor = self.windows(ids, lengths, features=self.features, head=self._answer)
            return answered
        return self._answer(self.features(ids, lengths))

    def features(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """One state a document, or a window of one: (batch, width) of `ids` (batch, longest) with `lengths` (batch,)."""
        return encoders.pooled(self.encoder, ids, lengths, how=self.pooling)

    def _answer(self, features: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.dropout(features))
        return logits


class FrozenClassifier(nn.Module):
    """An encoder as it was published, and a linear head on its features: what `frozen` serves."""

    encoder: Any

    def __init__(
        self,
        spec: Frozen,
        *,
        n_classes: int,
        folder: Path | None = None,
        config: Any = None,
        longdoc: LongDoc | None = None,
        frame: windows.Frame | None = None,
    ) -> None:
        """The checkpoint in `folder`, or random weights for a `transformers` configuration; the rest as in PretrainedClassifier.

        Raises ConfigError as `encoders.load`.
        """
        super().__init__()
        if longdoc is not None and longdoc.strategy == "windows":
            assert longdoc.pool in ("mean_embeddings", "max_embeddings"), "spec refuses pools that are trained, or that pool logits"
        self.encoder = encoders.fresh(_configured(config, longdoc)) if folder is None else encoders.load(folder, extend=_extension(longdoc))
        self.encoder.requires_grad_(False)
        self.pooling, self.normalise = spec.pooling, spec.normalise
        self.head = nn.Linear(self.encoder.config.hidden_size, n_classes)
        self.windows = windows.reader_of(longdoc, width=self.encoder.config.hidden_size, frame=frame)

    def features(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Features (batch, width) in float32 of `ids` (batch, longest); tokens at or past `lengths` (batch,) are masked."""
        found = self._pooled(ids, lengths) if self.windows is None else self.windows.embeddings(ids, lengths, features=self._pooled)
        return functional.normalize(found, dim=-1) if self.normalise else found

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes). The head, fitted in double precision, answers in float32 where the encoder is autocast."""
        features, device = self.features(ids, lengths), ids.device.type
        whole = torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else contextlib.nullcontext()
        with whole:
            logits: torch.Tensor = self.head(features)
        return logits

    def _pooled(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return encoders.pooled(self.encoder, ids, lengths, how=self.pooling).float()

    def set_head(self, coefficients: npt.NDArray[np.float64], intercepts: npt.NDArray[np.float64]) -> None:
        """Take over a fitted head: `coefficients` (classes, width), `intercepts` (classes,), -inf for classes without a label."""
        with torch.no_grad():
            self.head.weight.copy_(torch.from_numpy(coefficients))
            self.head.bias.copy_(torch.from_numpy(np.maximum(intercepts, NO_LABEL)))


def _extension(longdoc: LongDoc | None) -> LongDoc | None:
    """How far an encoder is to be carried past its positions; None where it stays as it is."""
    return longdoc if longdoc is not None and longdoc.strategy == "extended" else None


def _configured(config: Any, longdoc: LongDoc | None) -> Any:
    """The configuration of random weights, past its own positions where `longdoc` says so."""
    extension = _extension(longdoc)
    return config if extension is None else extended.config_of(config, extension)


def _check_size(spec: Pretrained, config: Any) -> None:
    """A size that is not the checkpoint's would be another model in every table of latencies."""
    found = sizes.size_of(config)
    if spec.size is not None and found != spec.size:
        raise ConfigError(f"model.size={spec.size} is not that of model.checkpoint={spec.checkpoint}: set it to {found or 'null'}")
