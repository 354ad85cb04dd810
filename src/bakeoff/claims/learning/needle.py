"""Information at distance n: attention reaches it in one step, a recurrent network carries it through n, a cut never sees it.

Varied: how far apart the two words stand whose agreement decides the label, in documents of generated filler, and the reader: attention
over the whole document, an LSTM that reads forwards and answers at its last state, a BiLSTM that pools its states, and attention over the
head alone or over windows. Measured: test accuracy on 2,000 rows a distance, beside what an ideal reader of what is in sight would have:
a row that shows both words in one look is right, any other is a guess.
"""

from collections.abc import Mapping

from bakeoff.claims import parameters, rules, scores
from bakeoff.claims.claim import Answer, Baked, Bench, Claim, Interval, NotMeasured, Verdict
from bakeoff.claims.pictures import Lines, Series
from bakeoff.claims.scores import Scored

READERS = {
    "needle": "attention",
    "needle_lstm": "LSTM, last state",
    "needle_bilstm": "BiLSTM, pooled",
    "needle_head": "attention, head",
    "needle_windows": "attention, windows",
}
"""Sweep → what a person calls its reader."""
ATTENTION, CHAIN, CUT = "needle", "needle_lstm", "needle_head"
SMALL = (
    "dataset.needle.length_tokens=32",
    "dataset.needle.distance_tokens=1,8,28",
    "dataset.needle.train_rows=5000",
    "budget.labels=4000",
    "model.training.learning_rate=3e-3",
    "model.training.epochs=4",
)
_NARROW = ("model.width=32", "model.feed_forward=128")
SMALL_OF = {
    "needle": _NARROW,
    "needle_lstm": ("model.embedding_dim=32", "model.hidden_dim=64"),
    "needle_bilstm": ("model.embedding_dim=32", "model.hidden_dim=42"),
    "needle_head": (*_NARROW, "longdoc.max_tokens=16"),
    "needle_windows": (*_NARROW, "longdoc.window_tokens=16", "longdoc.overlap_tokens=4"),
}
"""Of the small form: 25,538 parameters beside the words of attention, 25,218 of the LSTM, 25,706 of the BiLSTM."""
CHANCE = 0.5

Cells = Mapping[int, Scored]


def measure(bench: Bench) -> Answer:
    """Judged: attention minus the LSTM at the longest distance, and that the head does not know what it cannot see."""
    found = {sweep: _cells(bench, sweep) for sweep in READERS}
    distances = sorted(set.intersection(*(set(cells) for cells in found.values())))
    if not distances:
        raise NotMeasured("the readers share no distance: bake the sweeps needle*.yaml under sweeps/claims/ alike")
    farthest = distances[-1]
    counts = parameters.matched({READERS[sweep]: found[sweep][farthest].baked[0] for sweep in ("needle", "needle_lstm", "needle_bilstm")})
    difference = scores.difference(found[ATTENTION][farthest], found[CHAIN][farthest])
    if difference is None:
        raise NotMeasured("attention and the LSTM share no draw of labels: bake their sweeps whole")
    gain = rules.in_points(difference)
    right = {sweep: 100 * cells[farthest].accuracy.mean for sweep, cells in found.items()}
    length = _length_tokens(found[ATTENTION][farthest])
    return Answer(
        verdict=rules.all_of((rules.above(0.0, gain.interval), *_blind(found))),
        figure=gain.figure,
        unit="points, attention minus the LSTM",
        interval=gain.interval,
        seen=f"With the two words {farthest:,} of {length:,} tokens apart, attention has {right[ATTENTION]:.1f}% right, the LSTM's last "
        f"state {right[CHAIN]:.1f}%, and what never shows both at once {right['needle_head']:.1f}% (head) and "
        f"{right['needle_windows']:.1f}% (windows). A BiLSTM that pools its states, which the rule does not ask, has "
        f"{right['needle_bilstm']:.1f}%: pooling spares it the chain.",
        dataset=found[ATTENTION][farthest].run.dataset.name,
        rows=tuple(
            _row(sweep, distance, found[sweep][distance], counts.get(READERS[sweep])) for sweep in READERS for distance in distances
        ),
        run_ids=tuple(run_id for cells in found.values() for run_id in scores.all_run_ids(cells)),
        detectable=gain.detectable,
        pictures=(_picture(found, distances),),
        notes=(
            f"Documents of {length:,} tokens, distances of {', '.join(f'{distance:,}' for distance in distances)}; the full form has "
            f"4,096.",
        ),
    )


def visible(cell: Scored) -> float | None:
    """The share of test rows that show their reader both words in one look; None where that is not recorded."""
    return cell.baked[0].record.data.visible_fraction


def ideal(cell: Scored) -> float | None:
    """The accuracy of a reader that is right about what it sees and guesses the rest."""
    share = visible(cell)
    return None if share is None else share + (1 - share) * CHANCE


def _blind(found: Mapping[str, Cells]) -> tuple[Verdict, ...]:
    """*Does not hold* for each cell of the cut that sees one word at most and is above chance all the same, beyond doubt.

    Windows see both words, in different looks: a sum of what each tells is right on three of the four combinations, or on one.
    """
    blind = [cell for cell in found[CUT].values() if visible(cell) == 0]
    above = [rules.near_chance(Interval(low=cell.accuracy.low, high=cell.accuracy.high), majority=cell.majority) for cell in blind]
    return tuple(verdict for verdict in above if verdict == "does not hold")


def _cells(bench: Bench, sweep: str) -> dict[int, Scored]:
    """By distance; each distance is a test set of its own."""
    baked = bench.bake(sweep, *((*SMALL, *SMALL_OF[sweep]) if bench.size == "small" else ()))
    by_distance: dict[int, list[Baked]] = {}
    for one in baked:
        needle = one.record.run.dataset.needle
        assert needle is not None, "the sweep is of generated documents"
        by_distance.setdefault(needle.distance_tokens, []).append(one)
    return {distance: next(iter(scores.scored(group, by=lambda run: run.model.name).values())) for distance, group in by_distance.items()}


def _length_tokens(cell: Scored) -> int:
    needle = cell.run.dataset.needle
    assert needle is not None, "the sweep is of generated documents"
    return needle.length_tokens


def _row(sweep: str, distance: int, cell: Scored, count: int | None) -> dict[str, str | float | int | None]:
    accuracy = cell.accuracy
    return {
        "reader": READERS[sweep],
        "parameters_beside_words": parameters.beside_words(cell.baked[0]) if count is None else count,
        "distance_tokens": distance,
        "both_in_sight": visible(cell),
        "ideal": ideal(cell),
        "accuracy": accuracy.mean,
        "low": accuracy.low,
        "high": accuracy.high,
        "draws": len(cell.baked),
        "diverged": cell.diverged,
    }


def _picture(found: Mapping[str, Cells], distances: list[int]) -> Lines:
    series = tuple(
        Series(
            label=READERS[sweep],
            x=tuple(float(distance) for distance in distances),
            y=tuple(cells[distance].accuracy.mean for distance in distances),
            low=tuple(cells[distance].accuracy.low for distance in distances),
            high=tuple(cells[distance].accuracy.high for distance in distances),
        )
        for sweep, cells in found.items()
    )
    return Lines(
        title="Accuracy against the distance of the two words that decide",
        x_label="tokens from the first word to the second",
        y_label="accuracy",
        series=series,
        log_x=True,
    )


CLAIM = Claim(
    name="needle",
    statement="Information at distance n: attention reaches it in one step; through a recurrent chain it comes degraded, if it survives.",
    kind="learning",
    rule="Holds if, at the longest distance and with parameters matched within 5%, the lower bound of attention's accuracy minus that of "
    "an LSTM's last state is above 0, and the head alone, where it never shows both words, is not above chance (lower bound over the "
    "majority's share + 2 points).",
    seconds={"small": 600, "full": 28800},
    measure=measure,
    sweeps=tuple(READERS),
)
