"""What several kinds of Model share: how a network is fitted and distilled, an encoder's numbers."""

from dataclasses import dataclass
from typing import Literal

from bakeoff.identity import hashed

Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a neural model is fitted: AdamW, warm-up, decay, clipping, and how long."""

    learning_rate: float = hashed("training")
    weight_decay: float = hashed("training")
    batch_size: int = hashed("training")
    epochs: int = hashed("training")
    min_steps: int = hashed("training")
    """On small budgets steps are counted, not epochs: never fewer optimiser steps than this."""
    warmup_fraction: float = hashed("training")
    schedule: Literal["linear", "constant"] = hashed("training")
    clip_norm: float = hashed("training")

    def __post_init__(self) -> None:
        for name in ("learning_rate", "batch_size", "epochs", "clip_norm"):
            if not getattr(self, name) > 0:
                raise ValueError(f"model.training.{name}={getattr(self, name)} should be above 0")
        if self.weight_decay < 0 or self.min_steps < 0:
            raise ValueError("model.training.weight_decay and model.training.min_steps should not be negative")
        if not 0 <= self.warmup_fraction < 1:
            raise ValueError(f"model.training.warmup_fraction={self.warmup_fraction} should be from 0 to below 1")


@dataclass(frozen=True, kw_only=True)
class EncoderSize:
    """The numbers of an encoder, from which it is timed at its true size without any checkpoint."""

    family: Literal["bert", "big_bird", "distilbert", "longformer", "modernbert", "roberta"] = hashed()
    layers: int = hashed()
    width: int = hashed()
    heads: int = hashed()
    feed_forward: int = hashed()
    """Inner width of the feed-forward layers."""
    vocabulary: int = hashed()
    positions: int = hashed()
    """The most tokens it reads, special ones included."""

    def __post_init__(self) -> None:
        for name in ("layers", "width", "heads", "feed_forward", "vocabulary", "positions"):
            if getattr(self, name) < 1:
                raise ValueError(f"model.size.{name}={getattr(self, name)} should be at least 1")
        if self.width % self.heads:
            raise ValueError(f"model.size.width={self.width} should be a multiple of model.size.heads={self.heads}")


@dataclass(frozen=True, kw_only=True)
class Distillation:
    """How a student learns from its teacher: the weights of the three losses, and what text it is shown.

    Soft targets as in Hinton et al. (2015): the loss at temperature T is multiplied by T².
    """

    temperature: float = hashed("training")
    soft_weight: float = hashed("training")
    """Weight of the cross-entropy with the teacher's softened probabilities, on every text."""
    hard_weight: float = hashed("training")
    """Weight of the cross-entropy with the labels, on labelled texts."""
    hidden_weight: float = hashed("training")
    """Weight of the squared distance between layers of student and teacher (width for width; pretrained students only)."""
    transfer_epochs: int = hashed("training")
    """Passes over labelled and unlabelled texts together; they replace `training.epochs` where there is unlabelled text."""

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ValueError(f"model.distillation.temperature={self.temperature} should be above 0")
        for name in ("soft_weight", "hard_weight", "hidden_weight"):
            if getattr(self, name) < 0:
                raise ValueError(f"model.distillation.{name}={getattr(self, name)} should not be negative")
        if self.soft_weight + self.hidden_weight == 0:
            raise ValueError("model.distillation learns nothing from its teacher: set soft_weight or hidden_weight above 0")
        if self.transfer_epochs < 1:
            raise ValueError(f"model.distillation.transfer_epochs={self.transfer_epochs} should be at least 1")
