"""Warm-up, weight decay, clipping and 2 to 4 epochs matter to fine-tuning.

Varied: each part of the recipe is removed alone, and nothing else changes; of the epochs, training takes a quarter as long, or four times
as long. With 100 labels the least number of steps of the recipe makes more than 4 epochs of it, so epochs and least steps change together.
Measured: the test accuracy that its removal costs with 100 and with 1,000 labels. With 1,000 labels the best step by validation loss is
kept, which hides what too many epochs cost; with 100 no label is kept for validation.
"""

from dataclasses import dataclass

from bakeoff.claims import phrases, rules
from bakeoff.claims.claim import Answer, Bench, Cell, Claim, NotMeasured, Verdict
from bakeoff.claims.rules import POINT, Measured
from bakeoff.claims.scores import Scored, all_run_ids, difference, scored
from bakeoff.spec import Run

REMOVED: dict[str, dict[str, tuple[str, ...]]] = {
    "warm-up": {"none": ("model.training.warmup_fraction=0.0",)},
    "weight decay": {"none": ("model.training.weight_decay=0.0",)},
    "clipping": {"none": ("model.training.clip_norm=1000000.0",)},
    "2 to 4 epochs": {
        "a quarter as long": ("model.training.epochs=1", "model.training.min_steps=38"),
        "four times as long": ("model.training.epochs=16", "model.training.min_steps=600"),
    },
}
"""Part → what stands in its place → the overrides that put it there. No gradient has a norm of a million."""
SMALL = ("budget.labels=100",)
BUDGETS = (100, 1000)
_WHOLE = ("", "")


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
    losses, run_ids = _losses(bench, SMALL if bench.size == "small" else ())
    parts = {part: [loss for loss in losses if loss.part == part] for part in REMOVED}
    missing = [part for part, found in parts.items() if not found]
    if missing:
        raise NotMeasured(f"no Run without {', '.join(missing)} is recorded beside the whole recipe")
    verdicts = {part: _matters(found) for part, found in parts.items()}
    verdict = rules.all_of(verdicts.values())
    dearest = {part: _dearest(found, verdicts[part]) for part, found in parts.items()}
    decides = min((loss for part, loss in dearest.items() if verdicts[part] == verdict), key=lambda loss: loss.points.figure)
    untested = sorted(set(BUDGETS) - {loss.whole.n_labels for loss in losses})
    return Answer(
        verdict=verdict,
        figure=decides.points.figure,
        unit=f"points lost without {decides.part}",
        interval=decides.points.interval,
        seen="The most that removing a part costs: " + "; ".join(map(_said, dearest.values())) + ".",
        dataset=decides.whole.run.dataset.name,
        rows=tuple(_row(loss) for loss in losses),
        run_ids=run_ids,
        detectable=decides.points.detectable,
        notes=(
            *(f"{part}: {_WORDS[each]}." for part, each in verdicts.items()),
            *(f"With {labels:,} labels it was not measured in this form, so no part can be said not to matter." for labels in untested),
        ),
    )


def _losses(bench: Bench, overrides: tuple[str, ...]) -> tuple[list[Loss], tuple[str, ...]]:
    """What each removal costs at each budget, and the ids of every Run; all are read together, so that one that diverged is counted."""
    baked = list(bench.bake("recipe", *overrides))
    given = {one.record.run.run_id: _WHOLE for one in baked}
    for part, ways in REMOVED.items():
        for instead, changes in ways.items():
            without = bench.bake("recipe", *overrides, *changes)
            given |= {one.record.run.run_id: (part, instead) for one in without}
            baked += without

    def cell_of(run: Run) -> tuple[tuple[str, str], object]:
        return given[run.run_id], run.budget.labels

    cells = scored(baked, by=cell_of)
    whole = {labels: cell for (variant, labels), cell in cells.items() if variant == _WHOLE}
    losses = [
        _loss(*variant, whole[labels], without) for (variant, labels), without in cells.items() if variant != _WHOLE and labels in whole
    ]
    return losses, all_run_ids(cells)


def _loss(part: str, instead: str, whole: Scored, without: Scored) -> Loss:
    found = difference(whole, without)
    if found is None:
        raise NotMeasured(f"the Runs without {part} share no draw with the whole recipe: bake the same seeds")
    return Loss(part=part, instead=instead, whole=whole, without=without, points=rules.in_points(found))


def _matters(losses: list[Loss]) -> Verdict:
    """A part matters where one way to remove it, at one budget, costs more than a point, and not where none of them does at any."""
    verdicts = {loss.verdict for loss in losses}
    if "holds" in verdicts:
        return "holds"
    return "inconclusive" if "inconclusive" in verdicts or {loss.whole.n_labels for loss in losses} != set(BUDGETS) else "does not hold"


_WORDS: dict[Verdict, str] = {
    "holds": "removing it costs more than a point",
    "does not hold": "removing it costs at most a point",
    "inconclusive": "whether removing it costs a point is not settled",
}


def _dearest(losses: list[Loss], verdict: Verdict) -> Loss:
    """Of the ways to remove a part, at the budgets measured, the one that costs most among those that its verdict rests on."""
    return max([loss for loss in losses if loss.verdict == verdict] or losses, key=lambda loss: loss.points.figure)


def _said(loss: Loss) -> str:
    """What one removal costs, in words."""
    how = f"without {loss.part}" if loss.instead == "none" else f"training {loss.instead}"
    return (
        f"{how} the encoder {phrases.loses(loss.points.figure)} ({phrases.span(loss.points.interval)}) with {loss.whole.n_labels:,} labels"
    )


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
        "steps": loss.without.baked[0].record.training.steps,
        "epochs": round(loss.without.baked[0].record.training.epochs, 1),
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
