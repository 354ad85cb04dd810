"""Attention has no idea of order: it has to be told, by sinusoids, a learned table or rotations.

Varied: how positions are told to one small transformer, or not at all. Measured: accuracy where nothing but order decides (which of two
words comes first, in generated texts), on texts as long as those learned from and on texts four times as long, past which a learned
table has rows that were never trained; and where order hardly matters (short movie reviews).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from bakeoff.claims import order_task, phrases, rules, scores
from bakeoff.claims.claim import Answer, Baked, Bench, Claim, NotMeasured
from bakeoff.claims.rules import Measured
from bakeoff.claims.scores import Scored

SWEEP, LEARNED = "positions", "positions_learned"
TOLD = ("sinusoidal", "learned", "rotary")
LENGTH, TRAIN_ROWS, TEST_ROWS = 16, 4000, 1000
ORDER = ("budget.labels=3000",)
SMALL = ("model.width=32", "model.feed_forward=128")

Cells = Mapping[str, Scored]


def measure(bench: Bench) -> Answer:
    """Judged: what each way of telling gains over none where order decides, at the trained length. The figure is the least gain."""
    size = SMALL if bench.size == "small" else ()
    written = order_task.write(length_tokens=LENGTH, train_rows=TRAIN_ROWS, test_rows=TEST_ROWS)
    both = _cells((*bench.bake(SWEEP, *size, *ORDER, *written.overrides), *bench.bake(LEARNED, *size, *ORDER, *written.overrides)))
    movie = _cells((*bench.bake(SWEEP, *size), *bench.bake(LEARNED, *size)))
    trained, longer = _of_length(both, longer=False), _of_length(both, longer=True)
    gains = {name: _gain(trained[name], trained["none"]) for name in TOLD}
    least = min(gains.values(), key=lambda gain: gain.figure)
    right = {
        name: f"{100 * trained[name].accuracy.mean:.1f}% ({100 * longer[name].accuracy.mean:.1f}% on texts four times as long)"
        for name in TOLD
    }
    on_movie = _gain(movie["rotary"], movie["none"])
    return Answer(
        verdict=rules.all_of(rules.above(0.0, gain.interval) for gain in gains.values()),
        figure=least.figure,
        unit="points over none",
        interval=least.interval,
        seen=f"Which of two words comes first: without positions {100 * trained['none'].accuracy.mean:.1f}% right at the trained length, "
        f"with {', '.join(f'{name} ones {said}' for name, said in right.items())}. On {movie['none'].run.dataset.name} rotary positions "
        f"change accuracy by {phrases.signed(on_movie.figure)} points ({phrases.span(on_movie.interval)}).",
        dataset=both["none"].run.dataset.name,
        rows=tuple(
            _row(name, task, cells[name])
            for task, cells in (("order, trained length", trained), ("order, four times as long", longer), ("movie", movie))
            for name in ("none", *TOLD)
        ),
        run_ids=(*scores.all_run_ids(both), *scores.all_run_ids(movie)),
        detectable=least.detectable,
    )


def _cells(baked: Sequence[Baked]) -> dict[str, Scored]:
    found = scores.scored(baked, by=lambda run: str(getattr(run.model, "positions", None)))
    if missing := [name for name in ("none", *TOLD) if name not in found]:
        raise NotMeasured(f"there is no score with positions {', '.join(missing)}: bake sweeps/claims/{SWEEP}.yaml and {LEARNED}.yaml")
    return found


def _of_length(cells: Cells, *, longer: bool) -> dict[str, Scored]:
    """On the test texts of the trained length, or on those past it."""
    lengths = cells["none"].lengths_tokens
    if lengths is None:
        raise NotMeasured(
            "the predictions say no lengths of the test rows: bake them again with bakeoff sweep sweeps/claims/positions.yaml --rebake all"
        )
    past = np.asarray(lengths > lengths.min())
    return {name: cell.on(past if longer else ~past) for name, cell in cells.items()}


def _gain(told: Scored, none: Scored) -> Measured:
    difference = scores.difference(told, none)
    if difference is None:
        raise NotMeasured("the ways of telling positions share no draw of labels: bake their sweeps whole")
    return rules.in_points(difference)


def _row(name: str, task: str, cell: Scored) -> dict[str, str | float | int]:
    accuracy = cell.accuracy
    return {
        "positions": name,
        "task": task,
        "accuracy": accuracy.mean,
        "low": accuracy.low,
        "high": accuracy.high,
        "draws": len(cell.baked),
        "diverged": cell.diverged,
    }


CLAIM = Claim(
    name="positions",
    statement="Attention has no idea what order things are in: it has to be told.",
    kind="learning",
    rule="Holds if, where order alone decides and at the trained length, the lower bound of what sinusoidal, learned and rotary positions "
    "each gain over none is above 0.",
    seconds={"small": 420, "full": 1800},
    measure=measure,
    sweeps=(SWEEP, LEARNED),
)
