"""Claim: the feed-forward holds a large share of a block, and LayerNorm does not depend on the batch.

Varied: width, at a feed-forward four times as wide; documents alone and beside others. Measured: parameters of matrices, counted; how
far a document's states change with its neighbours under the block's LayerNorm, and under BatchNorm in its place.
"""

from fractions import Fraction

import torch
from torch import nn

from bakeoff.claims import phrases, rules
from bakeoff.claims.claim import Answer, Bench, Claim
from bakeoff.claims.mechanism import toys
from bakeoff.models.transformer import Block

WIDTHS = (64, 384, 512, 768)
BATCH, TOKENS, WIDTH = 16, 6, 64
SAME = 1e-12
EXPECTED = Fraction(2, 3)


def share(width: int) -> Fraction:
    """Of a block's matrix parameters, those of its feed-forward."""
    block = Block(width, 1, 4 * width, norm="before")
    return Fraction(_matrices(block.feed_forward), _matrices(block))


def _matrices(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters() if parameter.ndim == 2)


class OverBatch(nn.Module):
    """Batch normalisation (Ioffe & Szegedy, 2015) over every token of the batch, where a block has its LayerNorm."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        normed: torch.Tensor = self.norm(states.flatten(0, 1)).unflatten(0, states.shape[:2])
        return normed


def change(*, batch_norm: bool) -> float:
    """How far a document's states, alone in its batch, lie from those it has beside others while a block trains, in float64."""
    with toys.seeded(0), toys.double_precision():
        block = Block(WIDTH, 4, 4 * WIDTH, norm="before").train()
        if batch_norm:
            block.attention_norm = OverBatch(WIDTH)  # type: ignore[assignment]
            block.feed_forward_norm = OverBatch(WIDTH)  # type: ignore[assignment]
        states = torch.randn(BATCH, TOKENS, WIDTH)
        with torch.no_grad():
            beside = block(states)
            alone = torch.cat([block(states[i : i + 1]) for i in range(BATCH)])
    return float((beside - alone).abs().max())


def measure(bench: Bench) -> Answer:
    shares = {width: share(width) for width in WIDTHS}
    layer, batch = change(batch_norm=False), change(batch_norm=True)
    return Answer(
        verdict=rules.exact(all(each == EXPECTED for each in shares.values()) and layer < SAME < batch),
        figure=float(shares[WIDTHS[-1]]),
        unit="",
        interval=None,
        seen=(
            f"{shares[WIDTHS[-1]]} of a block's matrix parameters are the feed-forward's at every width. Beside {BATCH - 1} others a "
            f"document's states change by {phrases.tiny(layer)} under LayerNorm and by {batch:.2f} under BatchNorm."
        ),
        dataset=None,
        rows=tuple({"width": width, "share of the feed-forward": str(each)} for width, each in shares.items()),
    )


CLAIM = Claim(
    name="ffn-share",
    statement="The feed-forward, four times as wide, holds a large share of a block; LayerNorm does not depend on the batch.",
    kind="mechanism",
    rule=(
        "Holds if exactly 2/3 of a block's matrix parameters are the feed-forward's at every width, and states at batch 1 equal those of a "
        "batch to 1e-12 in float64 under LayerNorm but not under BatchNorm."
    ),
    seconds={"small": 1, "full": 1},
    measure=measure,
)
