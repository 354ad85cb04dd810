"""Many states to one: over time, counting real tokens only."""

from typing import Literal

import torch
from torch import nn


def mask_of(lengths: torch.Tensor, padded: torch.Tensor) -> torch.Tensor:
    """True at real tokens: shape (batch, longest) for `lengths` (batch,) and `padded` (batch, longest, …)."""
    steps = torch.arange(padded.shape[1], device=padded.device)
    return steps[None, :] < lengths.to(padded.device)[:, None]


def over_time(states: torch.Tensor, mask: torch.Tensor, *, how: Literal["cls", "mean", "max", "last"]) -> torch.Tensor:
    """Pool `states` (batch, longest, width) to (batch, width); positions where `mask` is False have no part.

    `cls` takes the first state, `last` that of the last real token.
    """
    if how == "cls":
        return states[:, 0]
    if how == "last":
        ends = (mask.sum(dim=1) - 1)[:, None, None].expand(-1, 1, states.shape[2])
        return states.gather(1, ends)[:, 0]
    if how == "mean":
        weights = mask.unsqueeze(-1).to(states.dtype)
        return (states * weights).sum(dim=1) / weights.sum(dim=1)
    return states.masked_fill(~mask.unsqueeze(-1), float("-inf")).amax(dim=1)


class AttentionPooling(nn.Module):
    """A learned mean: Σ aₜ·hₜ with a = softmax(q·tanh(W·hₜ + b)) over real tokens (Yang et al., 2016, equations 5 to 7)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, width)
        self.query = nn.Linear(width, 1, bias=False)

    def forward(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Shape: states (batch, longest, width), mask (batch, longest), True at real tokens → (batch, width)."""
        scores = self.query(self.project(states).tanh())  # (batch, longest, 1)
        weights = scores.masked_fill(~mask.unsqueeze(-1), float("-inf")).softmax(dim=1)
        pooled: torch.Tensor = (states * weights).sum(dim=1)
        return pooled
