"""An off-the-shelf model may already solve it.

Varied: a model that reads no label, and every model with 1,000 labels. Measured: by how much the best of these is ahead of it
in test accuracy.
"""

from bakeoff.claims import phrases, rules
from bakeoff.claims.claim import Answer, Bench, Cell, Claim, NotMeasured
from bakeoff.claims.rules import Measured
from bakeoff.claims.scores import Scored, all_run_ids, difference, scored

WITH_LABELS = "budget.labels=1000"
SMALL = ("model=tfidf,frozen,bilstm,pretrained",)


def measure(bench: Bench) -> Answer:
    """Bake both sides, and judge the loss of the best model without labels against the best one with 1,000."""
    overrides = SMALL if bench.size == "small" else ()
    baked = (*bench.bake("zero_shot_first"), *bench.bake("labels_1000", WITH_LABELS, *overrides))
    cells = scored(baked, by=lambda run: (run.model.name, run.budget.labels))
    without = [cell for (_, labels), cell in cells.items() if labels == 0]
    taught = [cell for (_, labels), cell in cells.items() if labels != 0]
    if not without or not taught:
        raise NotMeasured("a model without labels and one with 1,000 are not both recorded")
    first, best = _best(without), _best(taught)
    loss = _loss(best, first)
    verdict = rules.within_a_point(loss.interval)
    return Answer(
        verdict=verdict,
        figure=loss.figure,
        unit="points lost",
        interval=loss.interval,
        seen=(
            f"{first.run.model.name} scores {100 * first.accuracy.mean:.1f}% without a label, {best.run.model.name} "
            f"{100 * best.accuracy.mean:.1f}% with {best.n_labels:,}, and so {phrases.leads(loss.figure, 'it')} "
            f"({phrases.span(loss.interval)})."
        ),
        dataset=best.run.dataset.name,
        rows=tuple(_row(cell, best) for cell in cells.values()),
        run_ids=all_run_ids(cells),
        detectable=loss.detectable,
        notes=(
            "An off-the-shelf classifier is not judged here: which one fits is the dataset's own question, and it takes a checkpoint that "
            "you name: bakeoff run model=off_the_shelf model.checkpoint=FOLDER budget.labels=0.",
        ),
    )


def _best(cells: list[Scored]) -> Scored:
    return max(cells, key=lambda cell: cell.accuracy.mean)


def _loss(best: Scored, cell: Scored) -> Measured:
    found = difference(best, cell)
    if found is None:
        raise NotMeasured(f"{best.run.model.name} and {cell.run.model.name} share no draw: bake the same seeds")
    return rules.in_points(found)


def _row(cell: Scored, best: Scored) -> dict[str, Cell]:
    loss = None if cell is best else _loss(best, cell)
    return {
        "model": cell.run.model.name,
        "labels": 0 if cell.run.budget.labels == 0 else cell.n_labels,
        "accuracy, %": round(100 * cell.accuracy.mean, 1),
        "below the best, points": None if loss is None else round(loss.figure, 1),
        "from": None if loss is None else round(loss.interval.low, 1),
        "to": None if loss is None else round(loss.interval.high, 1),
        "draws": len(cell.baked),
    }


CLAIM = Claim(
    name="zero-shot-first",
    statement="An off-the-shelf model may already solve it.",
    kind="learning",
    rule=(
        "Holds when the best model that reads no label is within a point of the best model with 1,000 labels: the upper bound of its loss "
        "is at most 1.0 point."
    ),
    seconds={"small": 450, "full": 3000},
    shared_seconds={"labels-1000": {"small": 430, "full": 2950}},
    measure=measure,
    sweeps=("zero_shot_first", "labels_1000"),
)
