"""Accuracy with 1,000 labels decides: pretraining needs far fewer labels.

Varied: the model, and how many labels it gets. Measured: the label equivalent of every model that was not pretrained, which
is how many labels it needs to score what the fine-tuned encoder scores with 1,000 (`report.label_equivalent`: draw by draw a
non-decreasing fit of accuracy on the logarithm of labels, inverted, and nothing beyond the largest budget).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bakeoff.claims import rules
from bakeoff.claims.claim import Answer, Bench, Cell, Claim, Interval, NotMeasured, Verdict
from bakeoff.claims.pictures import Lines, Series
from bakeoff.claims.scores import Scored, accuracy_series, all_run_ids, never_pretrained, scored
from bakeoff.report.equivalents import text
from bakeoff.report.label_equivalent import LabelEquivalent, label_equivalent

LEADER, LABELS, TIMES = "pretrained", 1000, 2.0
SMALL: tuple[tuple[str, ...], ...] = (
    ("model=tfidf", "budget.labels=100,300,1000,3000,all"),
    ("model=frozen", "budget.labels=100,1000"),
    ("model=bilstm", "budget.labels=100,1000,3000"),
    ("model=scratch", "budget.labels=1000,3000"),
    (f"model={LEADER}", "budget.labels=100,1000"),
)
"""Budgets a model: what is cheap at all of them, what is dear where the rule looks."""


@dataclass(frozen=True, kw_only=True)
class Needed:
    """What one model needs to score what the leader scores with LABELS, judged."""

    model: str
    labels: tuple[int, ...]
    """With how many it was measured, fewest first."""
    equivalent: LabelEquivalent
    judged: bool
    """Whether the rule asks it: models that were themselves pretrained are shown beside."""

    @property
    def bounds(self) -> Interval:
        """Of the ratio to LABELS, as far as it is known: "at most" may be nothing, "more than" anything."""
        low, high = self.equivalent.low, self.equivalent.high
        return Interval(
            low=0.0 if low.side == "at_most" else low.n / LABELS, high=math.inf if high.side == "more_than" else high.n / LABELS
        )

    @property
    def verdict(self) -> Verdict:
        """Whether the leader needs less than half of its labels."""
        return rules.above(TIMES, self.bounds)

    @property
    def detectable(self) -> float:
        """The ratio whose interval, as wide as this one on the logarithm, would have begun above TIMES."""
        return TIMES * self.equivalent.middle.n / self.equivalent.low.n


def measure(bench: Bench) -> Answer:
    """Bake, invert each curve at the leader's score, and judge by the model that needs fewest labels."""
    asked = SMALL if bench.size == "small" else ((),)
    baked = [one for overrides in asked for one in bench.bake("labels_1000", *overrides)]
    cells = scored(baked, by=lambda run: (run.model.name, run.budget.labels))
    if (LEADER, LABELS) not in cells:
        raise NotMeasured(f"{LEADER} with {LABELS:,} labels is not recorded, and the claim compares with it")
    target, curves = cells[LEADER, LABELS], _curves(cells.values())
    found = [each for model, curve in curves.items() if model != LEADER and (each := _needed(model, curve, target)) is not None]
    judged = [each for each in found if each.judged]
    if not judged:
        raise NotMeasured("no model that was not pretrained is recorded with two budgets of labels, and the claim compares with these")
    verdict = rules.all_of(each.verdict for each in judged)
    decides = min((each for each in judged if each.verdict == verdict), key=lambda each: (each.bounds.low, each.bounds.high))
    needs, score = decides.equivalent, 100 * target.accuracy.mean
    return Answer(
        verdict=verdict,
        figure=needs.middle.n / LABELS,
        unit={"at_most": "× as many labels, or fewer", "exactly": "× as many labels", "more_than": "× as many labels, and more"}[
            needs.middle.side
        ],
        interval=decides.bounds,
        seen=(
            f"For the {score:.1f}% that {LEADER} reaches with {LABELS:,} labels "
            + ", ".join(f"{each.model} needs {_needs(each.equivalent)}" for each in judged)
            + f"; the rule is judged by {decides.model}."
        ),
        dataset=target.run.dataset.name,
        rows=tuple(_row(each, target) for each in found),
        run_ids=all_run_ids(cells),
        detectable=decides.detectable if needs.middle.side == "exactly" or verdict == "inconclusive" else None,
        pictures=(_picture(curves, decides, target),),
        notes=_notes(decides, curves),
    )


def _needs(equivalent: LabelEquivalent) -> str:
    """`5,553 (4,125 to 7,515)`, `> 3,000`."""
    ends = f" ({text(equivalent.low)} to {text(equivalent.high)})"
    return text(equivalent.middle) + (ends if equivalent.middle.side == "exactly" else "")


def _curves(cells: Iterable[Scored]) -> dict[str, dict[int, Scored]]:
    """Model → number of labels → its cell, fewest labels first."""
    curves: dict[str, dict[int, Scored]] = {}
    for cell in sorted(cells, key=lambda cell: cell.n_labels):
        curves.setdefault(cell.run.model.name, {})[cell.n_labels] = cell
    return curves


def _needed(model: str, curve: Mapping[int, Scored], target: Scored) -> Needed | None:
    """None for a model with fewer than two budgets with labels, or without a draw that they and the target share."""
    scores = {n: cell.by_draw for n, cell in curve.items() if n > 0}
    shared = [draw for draw in target.by_draw if all(draw in of_draw for of_draw in scores.values())]
    if len(scores) < 2 or not shared:
        return None
    equivalent = label_equivalent(
        [{n: of_draw[draw] for n, of_draw in scores.items()} for draw in shared], [target.by_draw[draw] for draw in shared]
    )
    judged = all(never_pretrained(cell.run) for cell in curve.values())
    return Needed(model=model, labels=tuple(scores), equivalent=equivalent, judged=judged)


def _row(needed: Needed, target: Scored) -> dict[str, Cell]:
    equivalent = needed.equivalent
    return {
        "model": needed.model,
        "measured with labels": ", ".join(f"{n:,}" for n in needed.labels),
        f"needs for {LEADER} with {target.n_labels:,}": text(equivalent.middle),
        "from": text(equivalent.low),
        "to": text(equivalent.high),
        "draws": len(equivalent.by_draw),
        "coverage, %": round(100 * equivalent.coverage, 1),
        "more than twice as many": needed.verdict if needed.judged else "not asked: pretrained itself",
    }


def _picture(curves: Mapping[str, Mapping[int, Scored]], decides: Needed, target: Scored) -> Lines:
    needs, score = decides.equivalent.middle, 100 * target.accuracy.mean
    with_labels = {model: {float(n): cell for n, cell in curve.items() if n > 0} for model, curve in curves.items()}
    equal = Series(label=f"{decides.model} needs {text(needs)}", x=tuple(sorted((float(target.n_labels), needs.n))), y=(score, score))
    return Lines(
        title=f"Accuracy by number of labels: {target.run.dataset.name}",
        x_label="labels",
        y_label="test accuracy, %",
        series=(*(accuracy_series(model, curve) for model, curve in with_labels.items() if curve), equal),
        log_x=True,
    )


def _notes(decides: Needed, curves: Mapping[str, Mapping[int, Scored]]) -> tuple[str, ...]:
    equivalent = decides.equivalent
    notes = [
        f"The median of {len(equivalent.by_draw)} draws with an interval by order statistics ({100 * equivalent.coverage:.1f}% coverage): "
        "it speaks of other draws of labels, scored on these test rows.",
        "Where a curve ends below the score, all that is known is 'more than' its largest budget (>): nothing is extrapolated.",
    ]
    notes += [f"{model} reads no label and scores {100 * curve[0].accuracy.mean:.1f}%." for model, curve in curves.items() if 0 in curve]
    return tuple(notes)


CLAIM = Claim(
    name="labels-1000",
    statement="Accuracy with 1,000 labels decides: pretraining needs far fewer labels.",
    kind="learning",
    rule=(
        "Holds when every model that was not pretrained needs more than twice 1,000 labels, by the lower bound of its label equivalent, "
        "for the accuracy of the fine-tuned encoder with 1,000."
    ),
    seconds={"small": 1600, "full": 200_000},
    measure=measure,
    sweeps=("labels_1000",),
)
