"""Attention, brick by brick: scaled dot products, several heads, rotary positions.

Fused by default: PyTorch computes the weights block by block and never holds them all. The unfused path gives the same
answers and the weights too, for looking at. There is no dropout on the weights, which the fused kernel of a CPU has not.
"""

import math

import torch
from torch import nn
from torch.nn import functional

ROTARY_BASE = 10_000.0


def attend(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, *, visible: torch.Tensor | None, causal: bool = False
) -> torch.Tensor:
    """softmax(Q·Kᵀ / √d)·V (Vaswani et al., 2017, equation 1), fused; `visible` is as `visible_keys` gives it.

    Where `causal`, and then without `visible`, a query looks at the keys up to its own place, and no table says so.

    Shape: queries (batch, heads, queries, d), keys and values (batch, heads, keys, d) → (batch, heads, queries, d).
    """
    return functional.scaled_dot_product_attention(queries, keys, values, attn_mask=visible, is_causal=causal)


def attend_and_show(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, *, visible: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """What `attend` computes, step by step, and the weights that each query gives to the keys.

    Shape: as `attend`, and weights (batch, heads, queries, keys), which sum to 1 over the keys.
    """
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])  # (batch, heads, queries, keys)
    if visible is not None:
        scores = scores.masked_fill(~visible, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ values, weights


def visible_keys(
    longest: int, *, key_padding_mask: torch.Tensor | None, causal: bool, device: torch.device | None = None
) -> torch.Tensor | None:
    """Which key each query may look at: True where it may; None where all may look at all.

    A query that could look at nothing looks at everything: what it finds means nothing, but is a finite number.

    Shape: key_padding_mask (batch, longest), True at padding → (batch or 1, 1, longest or 1, longest).
    """
    if key_padding_mask is None and not causal:
        return None
    seen = torch.ones(1, 1, 1, longest, dtype=torch.bool, device=device)
    if key_padding_mask is not None:
        seen = ~key_padding_mask[:, None, None, :]
    if causal:
        seen = seen & torch.ones(longest, longest, dtype=torch.bool, device=seen.device).tril()
    return seen | ~seen.any(dim=-1, keepdim=True)


class MultiHeadAttention(nn.Module):
    """Self-attention of several heads side by side (Vaswani et al., 2017, section 3.2.2)."""

    def __init__(self, width: int, heads: int, *, causal: bool = False, rotary: bool = False) -> None:
        """`causal`: a token looks at itself and what stands before it. `rotary`: heads of an even width only."""
        super().__init__()
        assert width % heads == 0, "each head has the same share of the width"
        self.heads, self.causal = heads, causal
        self.fused = True
        self.inward = nn.Linear(width, 3 * width)  # queries, keys and values in one product
        self.outward = nn.Linear(width, width)
        self.rotary = Rotary(width // heads) if rotary else None

    def forward(self, states: torch.Tensor, key_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        """New states; those of padding, which stands behind all real tokens, mean nothing.

        Shape: states (batch, longest, width), key_padding_mask (batch, longest), True at padding → as states.
        """
        if not self.fused:
            return self.show(states, key_padding_mask)[0]
        queries, keys, values = self._projected(states)
        if self.causal:  # no real token looks at the padding behind it, so memory need not hold who sees whom
            return self._joined(attend(queries, keys, values, visible=None, causal=True))
        return self._joined(attend(queries, keys, values, visible=self._visible(states, key_padding_mask)))

    def show(self, states: torch.Tensor, key_padding_mask: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """What `forward` gives, without the fused kernel, and the weights (batch, heads, queries, keys)."""
        queries, keys, values = self._projected(states)
        found, weights = attend_and_show(queries, keys, values, visible=self._visible(states, key_padding_mask))
        return self._joined(found), weights

    def _projected(self, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries, keys and values, (batch, heads, longest, width / heads) each."""
        three = self.inward(states).unflatten(-1, (3, self.heads, -1))  # (batch, longest, 3, heads, width / heads)
        queries, keys, values = three.permute(2, 0, 3, 1, 4).unbind(0)
        if self.rotary is not None:
            queries, keys = self.rotary(queries), self.rotary(keys)
        return queries, keys, values

    def _joined(self, found: torch.Tensor) -> torch.Tensor:
        joined: torch.Tensor = self.outward(found.transpose(1, 2).flatten(2))
        return joined

    def _visible(self, states: torch.Tensor, key_padding_mask: torch.Tensor | None) -> torch.Tensor | None:
        return visible_keys(states.shape[1], key_padding_mask=key_padding_mask, causal=self.causal, device=states.device)


class Rotary(nn.Module):
    """Rotary positions (Su et al., 2021): each pair of numbers turns by position · 10,000^(−2i/d), so that the product of a
    query and a key depends on their distance alone. The pair of number i is number i + d/2."""

    frequencies: torch.Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        assert width % 2 == 0, "numbers turn in pairs"
        self.register_buffer("frequencies", ROTARY_BASE ** -(torch.arange(0, width, 2) / width), persistent=False)

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Turn `vectors` (batch, heads, longest, d), the first of which stands at position 0; the shape stays."""
        angles = torch.arange(vectors.shape[-2], device=vectors.device)[:, None] * self.frequencies  # (longest, d / 2)
        cosine, sine = angles.cos(), angles.sin()
        first, second = vectors.float().chunk(2, dim=-1)
        return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1).to(vectors.dtype)
