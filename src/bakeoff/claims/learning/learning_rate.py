"""Fine-tuning wants a learning rate of about 2e-5; 1e-3 destroys what was pretrained; 2e-5 from scratch takes forever.

Varied: the learning rate, for an encoder that is fine-tuned, the transformer from random weights, and the BiLSTM. Measured:
test accuracy with 1,000 labels. Where a rule says *best rate*, it is that of the lowest mean validation loss, so that no test
row chooses it.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from bakeoff.claims import rules
from bakeoff.claims.claim import Answer, Bench, Cell, Claim, Interval, NotMeasured
from bakeoff.claims.pictures import Lines
from bakeoff.claims.rules import Measured, Part
from bakeoff.claims.scores import Scored, accuracy_series, all_run_ids, difference, scored
from bakeoff.spec import Neural, Run

FINE, HIGH = 2e-5, 1e-3
TUNED, FRESH = "pretrained", "scratch"
SMALL = ("model.training.learning_rate=2e-5,1e-4,5e-4,1e-3",)

Cells = Mapping[tuple[str, float], Scored]


def measure(bench: Bench) -> Answer:
    """Bake every model at every rate, and judge the three parts of the statement."""
    cells = scored(bench.bake("learning_rate", *(SMALL if bench.size == "small" else ())), by=_model_and_rate)
    for wanted in ((TUNED, FINE), (TUNED, HIGH), (FRESH, FINE)):
        if wanted not in cells:
            raise NotMeasured(f"{wanted[0]} at a learning rate of {wanted[1]:g} is not recorded, and the claim is about it")
    tuned, fresh = best_rate(cells, TUNED), best_rate(cells, FRESH)
    wants = _difference(cells[TUNED, tuned], cells[TUNED, FINE])
    destroyed = _difference(cells[TUNED, HIGH], cells[FRESH, fresh])
    slow, majority = cells[FRESH, FINE].accuracy, cells[FRESH, FINE].majority
    parts = (
        Part(
            asks=f"{HIGH:g} destroys {TUNED}",
            measured=destroyed,
            unit=f"points, {TUNED} at {HIGH:g} minus {FRESH} at its best rate",
            verdict=rules.at_most(0.0, destroyed.interval),
        ),
        Part(
            asks=f"{FINE:g} is within a point of the best rate of {TUNED}",
            measured=wants,
            unit=f"points lost by {TUNED} at {FINE:g} against its best rate",
            verdict=rules.within_a_point(wants.interval),
        ),
        Part(
            asks=f"{FRESH} at {FINE:g} is near chance",
            measured=rules.in_points(slow),
            unit="% right",
            verdict=rules.near_chance(Interval(low=slow.low, high=slow.high), majority=majority),
        ),
    )
    decides = rules.deciding(parts)
    return Answer(
        verdict=decides.verdict,
        figure=decides.measured.figure,
        unit=decides.unit,
        interval=decides.measured.interval,
        seen=(
            f"{TUNED} scores {_at(cells, TUNED, FINE, tuned)} and {_percent(cells[TUNED, HIGH])} at {HIGH:g}; "
            f"{FRESH} scores {_at(cells, FRESH, FINE, fresh)}, where the largest class has {100 * majority:.1f}%."
        ),
        dataset=cells[TUNED, FINE].run.dataset.name,
        rows=tuple(_row(*key, cells[key]) for key in sorted(cells)),
        run_ids=all_run_ids(cells),
        detectable=decides.measured.detectable,
        pictures=(_picture(cells),),
        notes=_notes(parts, cells),
    )


def best_rate(cells: Cells, model: str) -> float:
    """The rate of the lowest mean validation loss; a Run that diverged has an infinite one."""
    return min((rate for name, rate in cells if name == model), key=lambda rate: _validation_loss(cells[model, rate]))


def _validation_loss(cell: Scored) -> float:
    """Of a Run that diverged the best step before is no answer of it: what it would be asked for is lost."""
    ended = [None if one.record.status == "diverged" else one.record.training.best_validation_loss for one in cell.baked]
    return fmean(math.inf if loss is None else loss for loss in ended)


def _model_and_rate(run: Run) -> tuple[str, float]:
    assert isinstance(run.model, Neural)
    return run.model.name, run.model.training.learning_rate


def _difference(a: Scored, b: Scored) -> Measured:
    found = difference(a, b)
    if found is None:
        raise NotMeasured(f"{a.run.model.name} and {b.run.model.name} share no draw: bake the same seeds at every rate")
    return rules.in_points(found)


def _percent(cell: Scored) -> str:
    return f"{100 * cell.accuracy.mean:.1f}%"


def _at(cells: Cells, model: str, rate: float, best: float) -> str:
    """What a model scores at a rate, and at its best one where that is another."""
    if rate == best:
        return f"{_percent(cells[model, rate])} at {rate:g}, its best rate by validation loss"
    return f"{_percent(cells[model, rate])} at {rate:g}, {_percent(cells[model, best])} at {best:g}, its best rate by validation loss"


def _row(model: str, rate: float, cell: Scored) -> dict[str, Cell]:
    accuracy = cell.accuracy
    return {
        "model": model,
        "learning rate": rate,
        "accuracy, %": round(100 * accuracy.mean, 1),
        "from": round(100 * accuracy.low, 1),
        "to": round(100 * accuracy.high, 1),
        "draws": accuracy.seeds,
        "diverged": cell.diverged,
    }


def _picture(cells: Cells) -> Lines:
    curves: dict[str, dict[float, Scored]] = {}
    for model, rate in sorted(cells):
        curves.setdefault(model, {})[rate] = cells[model, rate]
    return Lines(
        title=f"Accuracy by learning rate: {cells[TUNED, FINE].run.dataset.name}",
        x_label="learning rate",
        y_label="test accuracy, %",
        series=tuple(accuracy_series(model, curve) for model, curve in curves.items()),
        log_x=True,
    )


def _notes(parts: Sequence[Part], cells: Cells) -> tuple[str, ...]:
    found = [part.told for part in parts]
    diverged = sum(cell.diverged for cell in cells.values())
    if diverged:
        found.append(f"{diverged} Runs diverged; they are counted as always answering the largest class.")
    rates = ", ".join(f"{rate:g}" for rate in sorted({rate for _, rate in cells}))
    return (*found, f"The best rate is the one of the lowest mean validation loss among {rates}.")


CLAIM = Claim(
    name="learning-rate",
    statement="Fine-tuning wants a learning rate of about 2e-5; 1e-3 destroys what was pretrained; 2e-5 from scratch takes forever.",
    kind="learning",
    rule=(
        "Holds when fine-tuning at 2e-5 is within a point of its best rate, at 1e-3 it is not above the scratch transformer at that one's "
        "best rate (upper bound of the difference at most 0), and the scratch transformer at 2e-5 is near chance (upper bound of its "
        "accuracy at most the largest class's share + 2 points)."
    ),
    seconds={"small": 2200, "full": 6000},
    shared_seconds={"labels-1000": {"small": 450, "full": 450}},
    measure=measure,
    sweeps=("learning_rate",),
)
