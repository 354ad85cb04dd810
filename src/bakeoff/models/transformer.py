"""A transformer from its bricks: feed-forward, block, positions, and the stack of them."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import nn
from torch.nn import functional

from bakeoff.models.attention import ROTARY_BASE, MultiHeadAttention

Activation = Callable[[torch.Tensor], torch.Tensor]
Positions = Literal["none", "sinusoidal", "learned", "rotary"]


class FeedForward(nn.Module):
    """Each token by itself: out, activation, back (Vaswani et al., 2017, section 3.3), with GELU (Hendrycks & Gimpel, 2016)."""

    def __init__(self, width: int, inner: int, *, activation: Activation = functional.gelu) -> None:
        super().__init__()
        self.out, self.back = nn.Linear(width, inner), nn.Linear(inner, width)
        self.activation = activation

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Shape: (batch, longest, width), which stays."""
        changed: torch.Tensor = self.back(self.activation(self.out(states)))
        return changed


class Block(nn.Module):
    """Attention, then feed-forward, each added to what it read.

    Norm after: norm(x + f(x)), as in the first transformer and BERT. Norm before: x + f(norm(x)), as in GPT-2, which
    learns at higher rates (Xiong et al., 2020).
    """

    def __init__(
        self,
        width: int,
        heads: int,
        feed_forward: int,
        *,
        norm: Literal["before", "after"],
        causal: bool = False,
        rotary: bool = False,
        dropout: float = 0.0,
        activation: Activation = functional.gelu,
    ) -> None:
        """`feed_forward` is the inner width; dropout falls on what is added."""
        super().__init__()
        self.norm = norm
        self.attention = MultiHeadAttention(width, heads, causal=causal, rotary=rotary)
        self.feed_forward = FeedForward(width, feed_forward, activation=activation)
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: torch.Tensor, key_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        """New states. Shape: states (batch, longest, width), key_padding_mask (batch, longest), True at padding → as states."""
        if self.norm == "before":
            states = states + self.dropout(self.attention(self.attention_norm(states), key_padding_mask))
            states = states + self.dropout(self.feed_forward(self.feed_forward_norm(states)))
        else:
            states = self.attention_norm(states + self.dropout(self.attention(states, key_padding_mask)))
            states = self.feed_forward_norm(states + self.dropout(self.feed_forward(states)))
        return states


class SinusoidalPositions(nn.Module):
    """Adds sin(p · 10,000^(−2i/d)) at number 2i and the cosine at number 2i + 1 (Vaswani et al., 2017, section 3.5)."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Shape: (batch, longest, width), which stays."""
        number = torch.arange(states.shape[2], device=states.device)
        frequencies = ROTARY_BASE ** -(2 * (number // 2) / states.shape[2])
        angles = torch.arange(states.shape[1], device=states.device)[:, None] * frequencies  # (longest, width)
        return states + torch.where(number % 2 == 0, angles.sin(), angles.cos())


class LearnedPositions(nn.Module):
    """Adds a learned vector for each place, as BERT and GPT-2 do; there is none past the last row of the table."""

    def __init__(self, most: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(most, width)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Shape: (batch, longest, width) with longest ≤ most; it stays."""
        placed: torch.Tensor = states + self.table(torch.arange(states.shape[1], device=states.device))
        return placed


class TransformerEncoder(nn.Module):
    """Positions, then a stack of blocks, and a last norm where the blocks norm before."""

    def __init__(
        self,
        *,
        width: int,
        layers: int,
        heads: int,
        feed_forward: int,
        positions: Positions = "none",
        max_positions: int | None = None,
        norm: Literal["before", "after"] = "before",
        causal: bool = False,
        dropout: float = 0.0,
    ) -> None:
        """`max_positions` are the rows of a table of learned positions."""
        super().__init__()
        self.positions: nn.Module = nn.Identity()
        if positions == "sinusoidal":
            self.positions = SinusoidalPositions()
        elif positions == "learned":
            assert max_positions is not None, "a table has a size"
            self.positions = LearnedPositions(max_positions, width)
        rotary = positions == "rotary"
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            Block(width, heads, feed_forward, norm=norm, causal=causal, rotary=rotary, dropout=dropout) for _ in range(layers)
        )
        self.last_norm: nn.Module = nn.LayerNorm(width) if norm == "before" else nn.Identity()

    def forward(self, states: torch.Tensor, key_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        """New states. Shape: states (batch, longest, width), key_padding_mask (batch, longest), True at padding → as states."""
        states = self.dropout(self.positions(states))
        for block in self.blocks:
            states = block(states, key_padding_mask)
        normed: torch.Tensor = self.last_norm(states)
        return normed
