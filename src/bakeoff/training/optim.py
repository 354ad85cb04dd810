"""AdamW with decay on matrices only, and the learning-rate schedule."""

from collections.abc import Callable

import torch
from torch import nn

from bakeoff.spec import Training


def optimiser(module: nn.Module, training: Training) -> torch.optim.AdamW:
    """Fused AdamW (Loshchilov & Hutter, 2019); biases and norms, which have one dimension, do not decay."""
    trained = [p for p in module.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim > 1], "weight_decay": training.weight_decay},
        {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=training.learning_rate, fused=True)


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
