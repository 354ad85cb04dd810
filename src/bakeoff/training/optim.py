"""AdamW with decay on matrices only, the learning-rate schedule, and layers that learn at a pace of their own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from bakeoff.models import encoders
from bakeoff.spec import Neural, Pretrained, Training


@dataclass(frozen=True, kw_only=True)
class Pace:
    """When, and how fast, the layers of a pretrained encoder learn; as it stands here, all of them at once and alike."""

    layer_decay: float = 1.0
    head_first_epochs: int = 0

    @classmethod
    def of(cls, model: Neural) -> "Pace":
        """What a model asks for."""
        if isinstance(model, Pretrained):
            return cls(layer_decay=model.layer_decay, head_first_epochs=model.head_first_epochs)
        return cls()


EVEN = Pace()


def optimiser(module: nn.Module, training: Training, *, layer_decay: float = 1.0) -> torch.optim.AdamW:
    """Fused AdamW (Loshchilov & Hutter, 2019); biases and norms, which have one dimension, do not decay.

    With `layer_decay` below 1 the head learns at the full rate, the top layer of `module.encoder` at that share of it, each
    layer below at that share of the one above, and the embeddings slowest (Howard & Ruder, 2018). Raises ConfigError for an
    encoder whose layers cannot be found.
    """
    depths = {} if layer_decay == 1 else _depths(module)
    groups: list[dict[str, Any]] = []
    named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
    for depth in sorted({depths.get(name, 0) for name, _ in named}):
        own = [p for name, p in named if depths.get(name, 0) == depth]
        rate = training.learning_rate * layer_decay**depth
        groups += [
            {"params": [p for p in own if p.ndim > 1], "weight_decay": training.weight_decay, "lr": rate},
            {"params": [p for p in own if p.ndim <= 1], "weight_decay": 0.0, "lr": rate},
        ]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=training.learning_rate, fused=True)


def _depths(module: nn.Module) -> dict[str, int]:
    encoder = module.get_submodule("encoder")
    return {f"encoder.{name}": depth for name, depth in encoders.depth_of(encoder).items()}


def schedule(training: Training, total_steps: int) -> Callable[[int], float]:
    """Share of the learning rate at each step: linear warm-up, then linear decay to 0 or a constant."""
    warmup_steps = int(training.warmup_fraction * total_steps)

    def share(step: int) -> float:
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        if training.schedule == "constant":
            return 1.0
        return max(0.0, (total_steps - step) / max(1, total_steps - warmup_steps))

    return share


def epochs_for(training: Training, steps_per_epoch: int) -> int:
    """Whole epochs that give at least `min_steps` optimiser steps."""
    return max(training.epochs, -(-training.min_steps // steps_per_epoch))
