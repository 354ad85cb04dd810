"""Warm-up, weight decay, clipping and 2 to 4 epochs matter to fine-tuning.

Varied: each part of the recipe is removed alone, and nothing else changes. Measured: the test accuracy that its removal costs
with 100 and with 1,000 labels. With so few labels it is steps that are counted, so the epochs go with their least number of steps.
"""

from dataclasses import dataclass

from bakeoff.claims import rules
from bakeoff.claims.claim import Answer, Bench, Cell, Claim, NotMeasured, Verdict
from bakeoff.claims.rules import POINT, Measured
from bakeoff.claims.scores import Scored, all_run_ids, difference, scored

REMOVED: dict[str, dict[str, tuple[str, ...]]] = {
    "warm-up": {"none": ("model.training.warmup_fraction=0.0",)},
    "weight decay": {"none": ("model.training.weight_decay=0.0",)},
    "clipping": {"none": ("model.training.clip_norm=1000000.0",)},
    "2 to 4 epochs": {
        "1 epoch": ("model.training.epochs=1", "model.training.min_steps=38"),
        "16 epochs": ("model.training.epochs=16", "model.training.min_steps=600"),
    },
}
"""Part → what stands in its place → the overrides that put it there. No gradient has a norm of a million."""
SMALL = ("budget.labels=100",)


@dataclass(frozen=True, kw_only=True)
class Loss:
    """What one removal costs at one budget, in points."""

    part: str
    instead: str
    whole: Scored
    without: Scored
    points: Measured

    @property
    def verdict(self) -> Verdict:
        """Whether it costs more than a point."""
        return rules.above(POINT, self.points.interval)


def measure(bench: Bench) -> Answer:
    """Bake the recipe whole and with each part removed, and judge the part whose removal costs least."""
    overrides = SMALL if bench.size == "small" else ()
    whole = scored(bench.bake("recipe", *overrides), by=lambda run: run.budget.labels)
    losses = [
        _loss(part, instead, whole[labels], without)
        for part, ways in REMOVED.items()
        for instead, changes in ways.items()
        for labels, without in scored(bench.bake("recipe", *overrides, *changes), by=lambda run: run.budget.labels).items()
        if labels in whole
    ]
    parts = {part: [loss for loss in losses if loss.part == part] for part in REMOVED}
    missing = [part for part, found in parts.items() if not found]
    if missing:
        raise NotMeasured(f"no Run without {', '.join(missing)} is recorded beside the whole recipe")
    verdicts = {part: _matters(found) for part, found in parts.items()}
    verdict = rules.all_of(verdicts.values())
    alike = [[loss for loss in found if loss.verdict == verdict] for part, found in parts.items() if verdicts[part] == verdict]
    dearest = [max(found, key=lambda loss: loss.points.figure) for found in alike]
    decides = min(dearest, key=lambda loss: loss.points.figure)
    return Answer(
        verdict=verdict,
        figure=decides.points.figure,
        unit="points lost",
        interval=decides.points.interval,
        seen=(
            f"Without {decides.part} ({decides.instead}) the encoder loses {decides.points.figure:.1f} points "
            f"({decides.points.interval.low:.1f} to {decides.points.interval.high:.1f}) with {decides.whole.n_labels:,} labels; "
            "no part of the recipe matters less."
        ),
        dataset=decides.whole.run.dataset.name,
        rows=tuple(_row(loss) for loss in losses),
        run_ids=all_run_ids([*whole.values(), *(loss.without for loss in losses)]),
        detectable=decides.points.detectable,
        notes=tuple(f"{part}: {_WORDS[matters]}." for part, matters in verdicts.items()),
    )


def _loss(part: str, instead: str, whole: Scored, without: Scored) -> Loss:
    found = difference(whole, without)
    if found is None:
        raise NotMeasured(f"the recipe with and without {part} shares no draw: bake the same seeds")
    return Loss(part=part, instead=instead, whole=whole, without=without, points=rules.in_points(found))


def _matters(losses: list[Loss]) -> Verdict:
    """A part matters where one way to remove it, at one budget, costs more than a point, and not where none of them does."""
    verdicts = {loss.verdict for loss in losses}
    return "holds" if "holds" in verdicts else "inconclusive" if "inconclusive" in verdicts else "does not hold"


_WORDS: dict[Verdict, str] = {
    "holds": "removing it costs more than a point",
    "does not hold": "removing it costs at most a point",
    "inconclusive": "whether removing it costs a point is not settled",
}


def _row(loss: Loss) -> dict[str, Cell]:
    measured = loss.points
    return {
        "removed": loss.part,
        "instead": loss.instead,
        "labels": loss.whole.n_labels,
        "whole recipe, %": round(100 * loss.whole.accuracy.mean, 1),
        "without, %": round(100 * loss.without.accuracy.mean, 1),
        "loss, points": round(measured.figure, 1),
        "from": round(measured.interval.low, 1),
        "to": round(measured.interval.high, 1),
        "diverged": loss.without.diverged,
    }


CLAIM = Claim(
    name="recipe",
    statement="Warm-up, weight decay, clipping and 2 to 4 epochs matter to fine-tuning.",
    kind="learning",
    rule=(
        "Holds when removing each of them alone costs more than 1.0 point (lower bound of the loss) with 100 or with 1,000 labels; "
        "a part does not matter when every way to remove it costs at most 1.0 point (upper bound)."
    ),
    seconds={"small": 1400, "full": 4000},
    shared_seconds={"labels-1000": {"small": 170, "full": 370}},
    measure=measure,
    sweeps=("recipe",),
)
