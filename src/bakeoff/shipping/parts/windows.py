"""Documents read window by window, and how the windows of one become one answer."""

import math
from typing import Any

import torch
from torch import nn

from bakeoff.models.pooling import AttentionPooling, over_time
from bakeoff.models.transformer import TransformerEncoder
from bakeoff.models.windows import HEADS, LAYERS, _chunks, _side_by_side, cut


class OverWindows(nn.Module):
    """A module that reads windows, and `pool`, (documents, most windows, width) and their mask to (documents, width)."""

    def __init__(self, settings: dict[str, Any], module: nn.Module, pool: nn.Module) -> None:
        super().__init__()
        self.module, self.pool = module, pool
        self.longdoc, self.frame = settings["longdoc"], settings["frame"]

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (documents, classes) of whole documents: ids (documents, longest) with lengths (documents,)."""
        module: Any = self.module
        windows = cut(
            ids,
            lengths,
            prefix=tuple(self.frame["prefix"]),
            suffix=tuple(self.frame["suffix"]),
            window_tokens=self.longdoc["window_tokens"],
            overlap_tokens=self.longdoc["overlap_tokens"],
            pad_id=self.frame["pad_id"],
        )
        parts = list(_chunks(windows, torch.arange(len(windows.lengths)), module.features))
        order, found = torch.cat([order for order, _ in parts]), torch.cat([states for _, states in parts])
        if self.longdoc["pool"].endswith("_logits"):
            pooled: torch.Tensor = self.pool(*_side_by_side(module.answer(found).float(), windows, order))
            return pooled
        answered: torch.Tensor = module.answer(self.pool(*_side_by_side(found, windows, order)))
        return answered


class PlainPool(nn.Module):
    """A mean or a maximum."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.how: Any = settings["longdoc"]["pool"].partition("_")[0]

    def forward(self, values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Shape: values (documents, most windows, width), mask (documents, most windows) → (documents, width)."""
        return over_time(values, mask, how=self.how)


class AttentionPool(nn.Module):
    """A learned mean."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.attention = AttentionPooling(settings["width"])

    def forward(self, values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Shape: values (documents, most windows, width), mask (documents, most windows) → (documents, width)."""
        pooled: torch.Tensor = self.attention(values, mask)
        return pooled


class LstmPool(nn.Module):
    """The last state of an LSTM over windows."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.lstm = nn.LSTM(settings["width"], settings["width"], batch_first=True)

    def forward(self, values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Shape: values (documents, most windows, width), mask (documents, most windows) → (documents, width)."""
        return over_time(self.lstm(values)[0], mask, how="last")


class TransformerPool(nn.Module):
    """The mean of what a transformer over windows makes of them."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        width = settings["width"]
        self.transformer = TransformerEncoder(
            width=width, layers=LAYERS, heads=math.gcd(width, HEADS), feed_forward=4 * width, positions="sinusoidal", norm="before"
        )

    def forward(self, values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Shape: values (documents, most windows, width), mask (documents, most windows) → (documents, width)."""
        return over_time(self.transformer(values, ~mask), mask, how="mean")
