"""Claim: a single weighting cannot express several relations at once, and several heads can, at the same number of parameters.

Varied: heads, 1 or 8, of one attention layer of width 512. Measured: how many answers are right when one token asks for three facts
and a linear layer answers from what it attended to.
"""

import torch

from bakeoff.claims import rules
from bakeoff.claims.claim import Answer, Bench, Claim
from bakeoff.claims.mechanism import toys
from bakeoff.models.attention import MultiHeadAttention
from bakeoff.models.build import count_parameters

WIDTH, HEADS = 512, (1, 8)
FACTS, VALUES, RELATIONS = 6, 4, 3
STEPS, TEST_ROWS = 40, 512
TEST_SEEDS = 1_000
"""Where those of the test rows begin."""


def accuracy(heads: int, *, seed: int, steps: int = STEPS, width: int = WIDTH, relations: int = RELATIONS) -> float:
    """Share of new questions that a reader with so many heads answers right once it has trained."""
    reader = _reader(heads, seed=seed, width=width, relations=relations)
    toys.train_reader(reader, facts=FACTS, values=VALUES, relations=relations, steps=steps, seed=seed)
    random = torch.Generator().manual_seed(TEST_SEEDS + seed)
    rows = toys.questions(TEST_ROWS, facts=FACTS, values=VALUES, relations=relations, random=random)
    with torch.inference_mode():
        return float((reader(rows).argmax(dim=-1) == rows.answers).double().mean())


def parameters(heads: int, *, width: int = WIDTH) -> int:
    """Of the reader with so many heads."""
    return count_parameters(_reader(heads, seed=0, width=width, relations=RELATIONS))


def _reader(heads: int, *, seed: int, width: int, relations: int) -> toys.Reader:
    with toys.seeded(seed):
        return toys.Reader(MultiHeadAttention(width, heads), width=width, facts=FACTS, values=VALUES, relations=relations)


def measure(bench: Bench) -> Answer:
    scores: dict[int, list[float]] = {}
    for heads in HEADS:
        bench.say(f"one-head: {heads} of width {WIDTH // heads}, {toys.DRAWS} draws")
        scores[heads] = [accuracy(heads, seed=seed) for seed in range(toys.DRAWS)]
    one, eight = (scores[heads] for heads in HEADS)
    found = rules.over_draws([100 * (b - a) for a, b in zip(one, eight, strict=True)])
    means = {heads: sum(scores[heads]) / toys.DRAWS for heads in HEADS}
    return Answer(
        verdict=rules.all_of([rules.exact(parameters(HEADS[0]) == parameters(HEADS[1])), rules.above(0, found.interval)]),
        figure=found.figure,
        unit="points",
        interval=found.interval,
        seen=(
            f"Of {RELATIONS} questions asked at once one head has {means[HEADS[0]]:.1%} right after {STEPS} steps, and {HEADS[1]} heads "
            f"with as many parameters {means[HEADS[1]]:.1%}; chance is {1 / VALUES:.0%}."
        ),
        dataset=None,
        rows=tuple(
            {"draw": seed, "heads": heads, "parameters": parameters(heads), "accuracy": scores[heads][seed]}
            for seed in range(toys.DRAWS)
            for heads in HEADS
        ),
        detectable=found.detectable,
        notes=(
            "The answer is linear in what was attended to. A feed-forward layer behind it could take a blend apart, where there is one.",
        ),
    )


CLAIM = Claim(
    name="one-head",
    statement="A single weighting cannot express several relations at once: several heads of the same total width can.",
    kind="mechanism",
    rule=(
        "Holds if 8 heads answer more than 1 head of equal parameters at width 512: the 95% interval of the paired difference lies above 0."
    ),
    seconds={"small": 8, "full": 8},
    measure=measure,
)
