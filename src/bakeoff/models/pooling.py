"""Many states to one: over time, counting real tokens only."""

from typing import Literal

import torch


def mask_of(lengths: torch.Tensor, padded: torch.Tensor) -> torch.Tensor:
    """True at real tokens: shape (batch, longest) for `lengths` (batch,) and `padded` (batch, longest, …)."""
    steps = torch.arange(padded.shape[1], device=padded.device)
    return steps[None, :] < lengths.to(padded.device)[:, None]


def over_time(states: torch.Tensor, mask: torch.Tensor, *, how: Literal["cls", "mean", "max"]) -> torch.Tensor:
    """Pool `states` (batch, longest, width) to (batch, width); positions where `mask` is False have no part."""
    if how == "cls":
        return states[:, 0]
    if how == "mean":
        weights = mask.unsqueeze(-1).to(states.dtype)
        return (states * weights).sum(dim=1) / weights.sum(dim=1)
    return states.masked_fill(~mask.unsqueeze(-1), float("-inf")).amax(dim=1)
