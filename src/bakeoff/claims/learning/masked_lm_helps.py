"""Pretraining is what saves the labels.

Varied: whether the scratch transformer first guesses hidden words of the pool's texts, whose labels it is not shown. Measured:
the test accuracy that this adds. The same architecture is compared with itself only, so size and checkpoint play no part.
"""

from collections.abc import Mapping
from typing import Literal

from bakeoff.claims import phrases, rules
from bakeoff.claims.claim import Answer, Bench, Cell, Claim, NotMeasured
from bakeoff.claims.rules import Measured
from bakeoff.claims.scores import Scored, all_run_ids, difference, scored

Labels = int | Literal["all"]

SMALL = ("budget.labels=1000",)


def measure(bench: Bench) -> Answer:
    """Bake the transformer with and without the start, and judge the budget at which it gains least."""
    overrides = SMALL if bench.size == "small" else ()
    helped = scored(bench.bake("masked_lm_helps", *overrides), by=lambda run: run.budget.labels)
    alone = scored(bench.bake("masked_lm_helps", *overrides, "model.start=null"), by=lambda run: run.budget.labels)
    gains = {labels: _gain(helped[labels], alone[labels]) for labels in helped if labels in alone}
    if not gains:
        raise NotMeasured("the scratch transformer is not recorded both with and without masked-LM pretraining")
    verdicts = {labels: rules.above(0.0, gain.interval) for labels, gain in gains.items()}
    verdict = rules.all_of(verdicts.values())
    least = min((labels for labels in gains if verdicts[labels] == verdict), key=lambda labels: gains[labels].figure)
    gain, with_start, without = gains[least], helped[least], alone[least]
    return Answer(
        verdict=verdict,
        figure=gain.figure,
        unit="points gained",
        interval=gain.interval,
        seen=(
            f"With {with_start.n_labels:,} labels masked-LM pretraining takes the scratch transformer from "
            f"{100 * without.accuracy.mean:.1f}% to {100 * with_start.accuracy.mean:.1f}%: {phrases.signed(gain.figure)} points "
            f"({phrases.span(gain.interval)})."
        ),
        dataset=with_start.run.dataset.name,
        rows=tuple(_row(helped[labels], alone[labels], gains[labels]) for labels in gains),
        run_ids=all_run_ids([*helped.values(), *alone.values()]),
        detectable=gain.detectable,
        notes=_notes(helped),
    )


def _gain(helped: Scored, alone: Scored) -> Measured:
    found = difference(helped, alone)
    if found is None:
        raise NotMeasured("the scratch transformer with and without masked-LM pretraining shares no draw: bake the same seeds")
    return rules.in_points(found)


def _row(helped: Scored, alone: Scored, gain: Measured) -> dict[str, Cell]:
    return {
        "labels": helped.n_labels,
        "unlabelled texts": helped.baked[0].record.data.n_pool - helped.n_labels,
        "without, %": round(100 * alone.accuracy.mean, 1),
        "with, %": round(100 * helped.accuracy.mean, 1),
        "gain, points": round(gain.figure, 1),
        "from": round(gain.interval.low, 1),
        "to": round(gain.interval.high, 1),
        "draws": len(helped.baked),
    }


def _notes(helped: Mapping[Labels, Scored]) -> tuple[str, ...]:
    untested = [f"{labels:,}" for labels in (100, 1000) if labels not in helped]
    return (
        "Compares the scratch transformer with itself only; the start reads the texts of the pool without their labels, and no test text.",
        *(f"With {labels} labels it was not measured in this form." for labels in untested),
    )


CLAIM = Claim(
    name="masked-lm-helps",
    statement="Pretraining is what saves the labels.",
    kind="learning",
    rule=(
        "Holds when masked-LM pretraining on the unlabelled pool raises the accuracy of the same transformer (lower bound of the gain "
        "above 0) at every number of labels measured, 100 and 1,000 in the full form."
    ),
    seconds={"small": 2800, "full": 6000},
    shared_seconds={"labels-1000": {"small": 200, "full": 300}},
    measure=measure,
    sweeps=("masked_lm_helps",),
)
