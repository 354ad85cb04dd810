"""Claim: scaled dot-product attention on three tokens of two numbers gives what one calculates by hand.

Varied: nothing. Measured: the weights and outputs of `models.attention.attend_and_show`, in float64, and of the fused `attend`.
"""

import math
from dataclasses import dataclass

import torch

from bakeoff.claims import phrases, rules
from bakeoff.claims.claim import Answer, Bench, Claim
from bakeoff.claims.mechanism import toys
from bakeoff.models.attention import attend, attend_and_show

QUERIES = KEYS = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0))
VALUES = ((1.0, 0.0), (0.0, 2.0), (1.0, 1.0))
BY_HAND = {
    "scaled scores, row 1": ("0.707", "0.000", "0.707"),
    "scaled scores, row 3": ("0.707", "0.707", "1.414"),
    "weights, row 1": ("0.401", "0.198", "0.401"),
    "output, row 1": ("0.802", "0.797"),
}
SAME = 1e-12


@dataclass(frozen=True, kw_only=True)
class Example:
    """What the brick makes of the three tokens; `scores` (3, 3), `weights` (3, 3), `outputs` (3, 2)."""

    scores: torch.Tensor
    weights: torch.Tensor
    outputs: torch.Tensor
    fused: torch.Tensor
    """Outputs (3, 2) of the path that never holds the weights."""


def attended() -> Example:
    """The example through the product's attention, in float64.

    The brick keeps no scores: they are the logarithms of its weights, up to one number a row, which the diagonal of Q·Kᵀ gives.
    """
    queries, keys, values = (torch.tensor(rows, dtype=torch.float64)[None, None] for rows in (QUERIES, KEYS, VALUES))
    outputs, weights = attend_and_show(queries, keys, values, visible=None)
    logarithms = weights[0, 0].log()
    own = (queries[0, 0] * keys[0, 0]).sum(dim=1, keepdim=True) / math.sqrt(queries.shape[-1])
    scores = logarithms - logarithms.diagonal()[:, None] + own
    fused = attend(queries, keys, values, visible=None)
    return Example(scores=scores, weights=weights[0, 0], outputs=outputs[0, 0], fused=fused[0, 0])


def quantities(found: Example) -> dict[str, list[float]]:
    """What is compared with the numbers by hand, under their names."""
    return {
        "scaled scores, row 1": found.scores[0].tolist(),
        "scaled scores, row 3": found.scores[2].tolist(),
        "weights, row 1": found.weights[0].tolist(),
        "output, row 1": found.outputs[0].tolist(),
    }


def measure(bench: Bench) -> Answer:
    found = attended()
    seen = quantities(found)
    as_printed = all(toys.as_printed(*pair) for name, hand in BY_HAND.items() for pair in zip(seen[name], hand, strict=True))
    apart = max(abs(number - float(printed)) for name, hand in BY_HAND.items() for number, printed in zip(seen[name], hand, strict=True))
    fused = float((found.fused - found.outputs).abs().max())
    return Answer(
        verdict=rules.exact(as_printed and fused < SAME),
        figure=apart,
        unit="",
        interval=None,
        seen=f"No number is more than {apart:.5f} from the one calculated by hand to three digits; the fused path is "
        f"{phrases.tiny(fused)} away.",
        dataset=None,
        rows=tuple(
            {"quantity": name, "by hand": ", ".join(hand), "by the product": ", ".join(f"{number:.6f}" for number in seen[name])}
            for name, hand in BY_HAND.items()
        ),
    )


CLAIM = Claim(
    name="worked-example",
    statement="Scaled dot-product attention is arithmetic small enough to check by hand.",
    kind="mechanism",
    rule="Holds if every number is the printed one to three digits, and the fused path gives the same outputs to 1e-12.",
    seconds={"small": 1, "full": 1},
    measure=measure,
)
