"""Claim: residual connections give the gradient a direct path to every layer, which is what lets deep stacks train.

Varied: depth 2, 12 and 24, with and without the residuals of the product's blocks. Measured: gradient norm at the first layer before any
step, and the share of runs that come to fit 32 documents.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from bakeoff.claims import rules
from bakeoff.claims.claim import Answer, Bench, Claim
from bakeoff.claims.mechanism import toys
from bakeoff.claims.pictures import Lines, Series
from bakeoff.models.scratch import ScratchClassifier
from bakeoff.models.transformer import Block

DEPTHS = (2, 12, 24)
DOCUMENTS, TOKENS = 32, 8
STEPS = 40
MAJORITY = 0.5
"""Of the two classes, which are as frequent."""


class Straight(nn.Module):
    """A block whose attention and feed-forward replace what they read instead of adding to it."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.block = block

    def forward(self, states: torch.Tensor, key_padding_mask: torch.Tensor | None = None) -> torch.Tensor:
        """Shape: as Block. Norm before: f(norm(x)); norm after: norm(f(x))."""
        block = self.block
        if block.norm == "before":
            states = block.attention(block.attention_norm(states), key_padding_mask)
            changed: torch.Tensor = block.feed_forward(block.feed_forward_norm(states))
        else:
            states = block.attention_norm(block.attention(states, key_padding_mask))
            changed = block.feed_forward_norm(block.feed_forward(states))
        return changed


@dataclass(frozen=True, kw_only=True)
class Trained:
    """One run."""

    gradient: float
    """Norm over the first layer's parameters, before any step."""
    accuracy: float
    """On the documents it trains on, after its last step."""
    steps: int
    """It stops once it trains by the rule of the claims."""

    @property
    def trains(self) -> bool:
        return rules.trains(self.accuracy, majority=MAJORITY)


def classifier(depth: int, *, residuals: bool, seed: int) -> ScratchClassifier:
    """The product's transformer of so many layers."""
    with toys.seeded(seed):
        model = ScratchClassifier(toys.scratch(layers=depth), vocabulary_size=toys.VOCABULARY, n_classes=2, pad_id=0)
    if not residuals:
        blocks = []
        for block in model.encoder.blocks:
            assert isinstance(block, Block)
            blocks.append(Straight(block))
        model.encoder.blocks = nn.ModuleList(blocks)
    return model


@toys.one_thread()
def train(depth: int, *, residuals: bool, seed: int, steps: int = STEPS) -> Trained:
    """Fit the documents of a draw, all of them each step, by Adam at its usual rate."""
    documents = toys.reviews(DOCUMENTS, shortest=TOKENS, longest=TOKENS, seed=seed)
    model = classifier(depth, residuals=residuals, seed=seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    gradient, step = 0.0, 0
    while True:
        logits = model(documents.ids, documents.lengths)
        accuracy = float((logits.argmax(dim=1) == documents.labels).double().mean())
        ends = step == steps or rules.trains(accuracy, majority=MAJORITY)
        if ends and step > 0:
            break
        optimiser.zero_grad()
        functional.cross_entropy(logits, documents.labels).backward()  # type: ignore[no-untyped-call]
        if step == 0:
            gradient = _norm(model.encoder.blocks[0])
        if ends:
            break
        optimiser.step()
        step += 1
    return Trained(gradient=gradient, accuracy=accuracy, steps=step)


def _norm(module: nn.Module) -> float:
    return float(sum(parameter.grad.double().square().sum() for parameter in module.parameters() if parameter.grad is not None) ** 0.5)


def measure(bench: Bench) -> Answer:
    runs: dict[tuple[int, bool], list[Trained]] = {}
    for depth in DEPTHS:
        bench.say(f"residuals: depth {depth}, {toys.DRAWS} draws with and without")
        for residuals in (True, False):
            runs[depth, residuals] = [train(depth, residuals=residuals, seed=seed) for seed in range(toys.DRAWS)]
    deepest = DEPTHS[-1]
    hits = {key: sum(run.trains for run in each) for key, each in runs.items()}
    found = rules.shares(hits[deepest, True], toys.DRAWS, hits[deepest, False], toys.DRAWS)
    ratios = {
        depth: rules.times_over_draws([a.gradient / b.gradient for a, b in zip(runs[depth, True], runs[depth, False], strict=True)])
        for depth in DEPTHS
    }
    return Answer(
        verdict=rules.all_of([rules.more_often(found), rules.above(1, ratios[deepest].interval)]),
        figure=ratios[deepest].figure,
        unit="×",
        interval=ratios[deepest].interval,
        seen=(
            f"At depth {deepest}, {hits[deepest, True]} of {toys.DRAWS} runs train with residuals and {hits[deepest, False]} without "
            f"(p = {found.p_value:.3f}); the gradient norm at the first layer is {ratios[deepest].figure:.2g} times as large with them "
            f"({ratios[DEPTHS[0]].figure:.2g} times at depth {DEPTHS[0]})."
        ),
        dataset=None,
        rows=tuple(
            {
                "depth": depth,
                "residuals": residuals,
                "draw": seed,
                "gradient norm at layer 1": run.gradient,
                "steps": run.steps,
                "training accuracy": run.accuracy,
                "trains": run.trains,
            }
            for (depth, residuals), each in runs.items()
            for seed, run in enumerate(each)
        ),
        detectable=ratios[deepest].detectable,
        pictures=(_gradients(runs), _shares(hits)),
        notes=(f"A run has {STEPS} steps to come to a training accuracy above the majority's and half of what that lacks.",),
    )


def _gradients(runs: dict[tuple[int, bool], list[Trained]]) -> Lines:
    series = []
    for residuals in (True, False):
        found = [rules.times_over_draws([run.gradient for run in runs[depth, residuals]]) for depth in DEPTHS]
        series.append(
            Series(
                label=_label(residuals),
                x=tuple(float(depth) for depth in DEPTHS),
                y=tuple(each.figure for each in found),
                low=tuple(each.interval.low for each in found),
                high=tuple(each.interval.high for each in found),
            )
        )
    return Lines(
        title="Gradient norm at the first layer, before any step",
        x_label="layers",
        y_label="gradient norm",
        series=tuple(series),
        log_y=True,
    )


def _shares(hits: dict[tuple[int, bool], int]) -> Lines:
    return Lines(
        title=f"Share of {toys.DRAWS} runs that train",
        x_label="layers",
        y_label="share",
        series=tuple(
            Series(
                label=_label(residuals),
                x=tuple(float(depth) for depth in DEPTHS),
                y=tuple(hits[depth, residuals] / toys.DRAWS for depth in DEPTHS),
            )
            for residuals in (True, False)
        ),
    )


def _label(residuals: bool) -> str:
    return "with residuals" if residuals else "without"


CLAIM = Claim(
    name="residuals",
    statement="Residual connections give the gradient a direct path to every layer, which is what makes deep stacks trainable.",
    kind="mechanism",
    rule=(
        "Holds if at depth 24 more runs train with residuals than without (exact test at 5%), and the gradient norm at the first layer "
        "is larger with them (95% interval of the ratio over draws above 1)."
    ),
    seconds={"small": 15, "full": 15},
    measure=measure,
)
