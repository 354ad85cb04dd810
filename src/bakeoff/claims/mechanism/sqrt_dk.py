"""Claim: dot products of unit-variance vectors grow as √d_k, and a softmax of them saturates unless they are scaled.

Varied: the width d_k of one head, and whether scores are divided by √d_k. Measured: the spread of dot products; the softmax of the
same scores small and large, and the gradient through it; and how much more loss the same model has while it learns without scaling.
"""

import math
from collections.abc import Sequence

import torch
from torch import nn
from torch.nn.utils import parametrize

from bakeoff.claims import rules
from bakeoff.claims.claim import Answer, Bench, Claim
from bakeoff.claims.mechanism import toys
from bakeoff.claims.pictures import Lines, Series
from bakeoff.models.attention import MultiHeadAttention, attend_and_show

PRODUCTS = {64: 8.0, 512: 23.0}
"""d_k → about how far typical scores lie from zero."""
SMALL, LARGE = (1.0, 2.0, 3.0), (8.0, 16.0, 24.0)
SOFTMAX = {SMALL: ("0.090", "0.245", "0.665"), LARGE: ("1.1e-7", "3.4e-4", "0.9997")}
"""Scores → weights as they are printed."""
WIDTHS = (16, 64, 256)
STEPS = 50
FACTS, VALUES = 6, 4
NEARLY_ZERO = 0.01
"""Of the gradient through the softmax of small scores."""


class Times(nn.Module):
    """Multiplies the first `rows` of a weight or bias: queries times √d_k undo the division of their scores."""

    def __init__(self, rows: int, by: float) -> None:
        super().__init__()
        self.rows, self.by = rows, by

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.by * values[: self.rows], values[self.rows :]])


def spread(d_k: int, *, pairs: int = 200_000, seed: int = 0) -> float:
    """Standard deviation of the dot products of `pairs` random queries and keys of unit variance."""
    random = torch.Generator().manual_seed(seed)
    queries, keys = (torch.randn(pairs // 10, d_k, generator=random) for _ in range(2))
    return float(torch.stack([(queries * keys.roll(turn, dims=0)).sum(dim=1) for turn in range(10)]).std())


def softmax(scores: Sequence[float]) -> torch.Tensor:
    """The weights, float64 (scores,), that attention gives to keys of one number, whose scores are these."""
    return _weights(torch.tensor(scores, dtype=torch.float64))


def gradient(scores: Sequence[float]) -> float:
    """Frobenius norm of the derivative of the weights with respect to the scores."""
    given = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    rows = [torch.autograd.grad(weight, given, retain_graph=True)[0] for weight in _weights(given)]
    return float(torch.stack(rows).square().sum().sqrt())


def _weights(scores: torch.Tensor) -> torch.Tensor:
    keys = scores[None, None, :, None]
    return attend_and_show(torch.ones_like(keys[:, :, :1]), keys, keys, visible=None)[1][0, 0, 0]


def losses(d_k: int, *, scaled: bool, seed: int, steps: int = STEPS) -> list[float]:
    """Of every step of the same reader, whose queries and keys start with unit variance."""
    with toys.seeded(seed):
        attention = MultiHeadAttention(d_k, heads=1)
        nn.init.normal_(attention.inward.weight, std=1 / math.sqrt(d_k))
        if not scaled:
            for name in ("weight", "bias"):
                parametrize.register_parametrization(attention.inward, name, Times(d_k, math.sqrt(d_k)))
        reader = toys.Reader(attention, width=d_k, facts=FACTS, values=VALUES, relations=1)
    return toys.train_reader(reader, facts=FACTS, values=VALUES, relations=1, steps=steps, seed=seed)


def measure(bench: Bench) -> Answer:
    spreads = {d_k: spread(d_k) for d_k in PRODUCTS}
    gradients = {scores: gradient(scores) for scores in SOFTMAX}
    exact = [abs(spreads[d_k] / math.sqrt(d_k) - 1) < 0.01 and abs(spreads[d_k] - about) < 0.5 for d_k, about in PRODUCTS.items()]
    exact += [all(map(toys.as_printed, softmax(scores).tolist(), printed)) for scores, printed in SOFTMAX.items()]
    exact.append(gradients[LARGE] < NEARLY_ZERO * gradients[SMALL])
    curves = {}
    for d_k in WIDTHS:
        bench.say(f"sqrt-dk: learning with and without scaling at d_k={d_k}")
        for scaled in (True, False):
            curves[d_k, scaled] = [losses(d_k, scaled=scaled, seed=seed) for seed in range(toys.DRAWS)]
    extra = {d_k: [_mean(b) - _mean(a) for a, b in zip(curves[d_k, True], curves[d_k, False], strict=True)] for d_k in WIDTHS}
    found = {d_k: rules.over_draws(extra[d_k]) for d_k in WIDTHS}
    grown = rules.over_draws([b - a for a, b in zip(extra[WIDTHS[0]], extra[WIDTHS[-1]], strict=True)])
    widest = found[WIDTHS[-1]]
    return Answer(
        verdict=rules.all_of([rules.exact(all(exact)), rules.above(0, widest.interval), rules.above(0, grown.interval)]),
        figure=widest.figure,
        unit="nats",
        interval=widest.interval,
        seen=(
            f"Dot products spread by ±{spreads[64]:.2f} at d_k = 64 and ±{spreads[512]:.2f} at 512, and the gradient through softmax "
            f"{[int(score) for score in LARGE]} is {gradients[LARGE] / gradients[SMALL]:.1%} of that through "
            f"{[int(score) for score in SMALL]}. Without scaling the mean loss of the same model over its first {STEPS} steps is "
            f"{widest.figure:.2f} nats higher at d_k = {WIDTHS[-1]}, and {found[WIDTHS[0]].figure:.2f} at {WIDTHS[0]}."
        ),
        dataset=None,
        rows=tuple(
            {
                "d_k": d_k,
                "mean loss scaled": _mean([_mean(curve) for curve in curves[d_k, True]]),
                "mean loss unscaled": _mean([_mean(curve) for curve in curves[d_k, False]]),
                "difference": found[d_k].figure,
                "low": found[d_k].interval.low,
                "high": found[d_k].interval.high,
            }
            for d_k in WIDTHS
        ),
        detectable=widest.detectable,
        pictures=(_saturation(), _learning(curves)),
        notes=(
            f"Losses are means of {toys.DRAWS} draws.",
            *(f"The softmax of {_words(scores)} is {_words(softmax(scores).tolist())}." for scores in SOFTMAX),
        ),
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _words(numbers: Sequence[float]) -> str:
    return "[" + ", ".join(f"{number:.4g}" for number in numbers) + "]"


def _saturation() -> Lines:
    """How the softmax of 1, 2 and 3 changes as the three scores are multiplied, and what gradient is left."""
    times = tuple(2 ** (step / 4) for step in range(-8, 17))
    weights = [softmax([by * score for score in SMALL]) for by in times]
    series = [
        Series(label=f"weight of score {score:g}×", x=times, y=tuple(float(row[i]) for row in weights)) for i, score in enumerate(SMALL)
    ]
    left = tuple(gradient([by * score for score in SMALL]) for by in times)
    return Lines(
        title="A softmax saturates as its scores grow",
        x_label="scores 1, 2, 3, times",
        y_label="weight; norm of the gradient",
        series=(*series, Series(label="gradient through the softmax", x=times, y=left)),
        log_x=True,
    )


def _learning(curves: dict[tuple[int, bool], list[list[float]]]) -> Lines:
    steps = tuple(float(step) for step in range(1, STEPS + 1))
    return Lines(
        title="The same model learns slower without the scaling",
        x_label="step",
        y_label="loss, mean over draws (nats)",
        series=tuple(
            Series(
                label=f"d_k = {d_k}, {'scaled' if scaled else 'unscaled'}",
                x=steps,
                y=tuple(_mean(step) for step in zip(*runs, strict=True)),
            )
            for (d_k, scaled), runs in curves.items()
        ),
    )


CLAIM = Claim(
    name="sqrt-dk",
    statement=(
        "Unit-variance dot products have standard deviation √d_k, so that without dividing by it the softmax saturates, its gradient is "
        "nearly zero, and the layer learns slower as d_k grows."
    ),
    kind="mechanism",
    rule=(
        "Holds if the spreads are within 1% of √d_k and round to 8 and 23, the softmax values are the printed ones, the gradient through "
        "the second is under "
        "1% of the first, and without scaling the loss over the first steps is higher at the largest d_k, and by more than at the smallest "
        "(95% intervals over draws, paired)."
    ),
    seconds={"small": 8, "full": 8},
    measure=measure,
)
