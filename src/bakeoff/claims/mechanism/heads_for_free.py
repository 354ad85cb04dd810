"""Claim: h heads of width d/h cost as much arithmetic, and as many parameters, as one head of width d.

Varied: the number of heads, every divisor of 512. Measured: operations of the matrix products as PyTorch counts them while the brick
runs, its parameters, the elements of its softmax, and the time of a pass, which is printed and not judged.
"""

import time
from dataclasses import dataclass

import torch
from torch.utils.flop_counter import FlopCounterMode

from bakeoff.claims import rules
from bakeoff.claims.claim import Answer, Bench, Claim
from bakeoff.claims.mechanism import toys
from bakeoff.claims.pictures import Lines, Series
from bakeoff.models.attention import MultiHeadAttention
from bakeoff.models.build import count_parameters

WIDTH, TOKENS = 512, 64
HEADS = tuple(heads for heads in range(1, WIDTH + 1) if WIDTH % heads == 0)
PASSES = 12


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one pass over a document takes with so many heads."""

    heads: int
    flops: int
    """Of matrix products; a product of (a, b) and (b, c) is 2·a·b·c."""
    parameters: int
    softmax_elements: int


def cost(heads: int, *, width: int = WIDTH, tokens: int = TOKENS) -> Cost:
    """Of attention of so many heads over a document of so many tokens."""
    attention = MultiHeadAttention(width, heads)
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        weights = attention.show(torch.ones(1, tokens, width))[1]
    return Cost(heads=heads, flops=counter.get_total_flops(), parameters=count_parameters(attention), softmax_elements=weights.numel())


@toys.one_thread()
def milliseconds(*, passes: int = PASSES) -> dict[int, float]:
    """The fastest of some passes on one thread for each number of heads, unfused, so that the weights are held; they take turns."""
    layers = {heads: MultiHeadAttention(WIDTH, heads) for heads in HEADS}
    states = torch.ones(1, TOKENS, WIDTH)
    found: dict[int, list[float]] = {heads: [] for heads in HEADS}
    with torch.inference_mode():
        for _ in range(passes):
            for heads, attention in layers.items():
                start = time.perf_counter()
                attention.show(states)
                found[heads].append(1000 * (time.perf_counter() - start))
    return {heads: min(times) for heads, times in found.items()}


def expected_flops(*, width: int = WIDTH, tokens: int = TOKENS) -> int:
    """Four projections, 8·n·d², and two products of the core, 4·n²·d, as `probes.flops` counts them, whatever the number of heads."""
    return 8 * tokens * width**2 + 4 * tokens**2 * width


def measure(bench: Bench) -> Answer:
    costs = [cost(heads) for heads in HEADS]
    one = costs[0]
    alike = all(each.flops == expected_flops() and each.parameters == one.parameters for each in costs)
    as_said = all(each.softmax_elements == each.heads * TOKENS**2 for each in costs)
    most = max(each.flops / one.flops for each in costs)
    times = milliseconds()
    return Answer(
        verdict=rules.exact(alike and as_said),
        figure=most,
        unit="×",
        interval=None,
        seen=(
            f"Every number of heads from 1 to {WIDTH} takes {one.flops:,} operations in matrix products and {one.parameters:,} "
            f"parameters. The softmax has h·n² elements: a pass took {times[8] / times[1]:.1f} times as long as that of "
            f"one head with 8, and {times[WIDTH] / times[1]:.0f} times with {WIDTH}."
        ),
        dataset=None,
        rows=tuple(
            {
                "heads": each.heads,
                "matrix operations": each.flops,
                "parameters": each.parameters,
                "softmax elements": each.softmax_elements,
                "ms": times[each.heads],
            }
            for each in costs
        ),
        pictures=(
            Lines(
                title=f"A pass over {TOKENS} tokens of width {WIDTH}",
                x_label="heads",
                y_label="time, unfused (ms)",
                series=(Series(label="attention", x=tuple(float(heads) for heads in times), y=tuple(times.values())),),
                log_x=True,
                log_y=True,
            ),
        ),
        notes=(f"Times are the fastest of {PASSES} passes on this machine, whatever else it does; the verdict does not read them.",),
    )


CLAIM = Claim(
    name="heads-for-free",
    statement="h heads of width d/h cost what one head of width d costs: eight relations for the price of one.",
    kind="mechanism",
    rule=(
        "Holds if matrix operations and parameters are equal at d = 512 for every divisor, and the softmax has h·n² elements. "
        "Time is printed."
    ),
    seconds={"small": 2, "full": 2},
    measure=measure,
)
