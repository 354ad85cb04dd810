"""Rare words and typing errors favour the pretrained model.

Varied: how many words of each test text carry one keyboard edit, the same for every model; and, on texts left alone, how many
of their words were in no text that the models learned from. Measured: what the BiLSTM over words loses more than the fine-tuned
encoder when every tenth word is mistyped; and how much further apart the two are on the quarter of the texts with most unseen
words than on the quarter with fewest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bakeoff.claims import contrasts, phrases, rules
from bakeoff.claims.claim import Answer, Bench, Cell, Claim, NotMeasured
from bakeoff.claims.keyboard import mistype
from bakeoff.claims.labelled_texts import fit_texts, unseen_share, words_of
from bakeoff.claims.pictures import Lines, Series
from bakeoff.claims.scores import Scored, all_run_ids, scored
from bakeoff.report.stats import Estimate, Floats

PRETRAINED, RECURRENT = "pretrained", "bilstm"
RATES, JUDGED, SEED = (0.0, 0.05, 0.1, 0.2), 0.1, 0
"""Shares of words with an edit, the one that the rule reads, and the seed of the edits."""
QUARTILES = 4


@dataclass(frozen=True, kw_only=True)
class Mistyped:
    """One model's answers at every rate."""

    scored: Scored
    correct: Mapping[float, Floats]
    """Rate → 1 where the answer is right, shape (draws, rows)."""

    def accuracy(self, rate: float, rows: NDArray[np.bool_] | None = None) -> Estimate:
        """Its accuracy at a rate, on the chosen rows alone where there are some."""
        values, answers = self.correct[rate], self.scored.answers
        if rows is not None:
            values, answers = values[:, rows], answers.where(rows)
        return contrasts.mean(values, answers, least=0.0, most=1.0)

    def drop(self, rate: float) -> Estimate:
        """What it loses against texts left alone."""
        return contrasts.mean(self.correct[0.0] - self.correct[rate], self.scored.answers)


def measure(bench: Bench) -> Answer:
    """Bake with kept weights, ask them about mistyped texts, and pair over rows and draws."""
    cells = scored(bench.bake("typos", keep_weights=True), by=lambda run: run.model.name)
    if PRETRAINED not in cells or RECURRENT not in cells:
        raise NotMeasured(f"{PRETRAINED} and {RECURRENT} are not both recorded, and the claim compares the two")
    pretrained, answers = cells[PRETRAINED], cells[PRETRAINED].answers
    texts = [bench.texts(pretrained.run)[row] for row in answers.row_ids.tolist()]
    found = {name: _ask(bench, cell, texts) for name, cell in cells.items()}
    ours, theirs = found[PRETRAINED], found[RECURRENT]
    if ours.scored.answers.seeds != theirs.scored.answers.seeds:
        raise NotMeasured(f"{PRETRAINED} and {RECURRENT} were not given the same draws: bake the same seeds")

    worse = {rate: _dropped_more(ours, theirs, rate) for rate in RATES[1:]}
    drop = rules.in_points(worse[JUDGED])
    quarters = quartiles(np.mean([[unseen_share(text, seen) for text in texts] for seen in _vocabularies(pretrained)], axis=0))
    gap = ours.correct[0.0] - theirs.correct[0.0]
    rare = rules.in_points(contrasts.between(gap, quarters[-1], quarters[0], answers))
    verdict = rules.all_of((rules.above(0.0, drop.interval), rules.above(0.0, rare.interval)))
    by_drop = rules.above(0.0, drop.interval) == verdict  # else the other half of the rule is what decides
    judged = drop if by_drop else rare
    return Answer(
        verdict=verdict,
        figure=judged.figure,
        unit="points that the BiLSTM loses more" if by_drop else "points of lead, from fewest to most unseen words",
        interval=judged.interval,
        seen=(
            f"With {100 * JUDGED:.0f}% of words mistyped the BiLSTM {phrases.loses(100 * theirs.drop(JUDGED).mean)} and the fine-tuned "
            f"encoder {phrases.loses(100 * ours.drop(JUDGED).mean)}; from the texts with fewest to those with most unseen words the "
            f"encoder's lead changes by {phrases.signed(rare.figure)} points ({phrases.span(rare.interval)})."
        ),
        dataset=pretrained.run.dataset.name,
        rows=(*_rate_rows(found), *_quarter_rows(found, quarters)),
        run_ids=all_run_ids(cells),
        detectable=judged.detectable,
        pictures=(_by_rate(found), _by_quarter(found, quarters)),
        notes=_notes(found, worse),
    )


def quartiles(shares: Floats) -> tuple[NDArray[np.bool_], ...]:
    """Masks of four parts as equal as can be, shape (rows,) each: the rows with the lowest shares first; of equals, earlier rows."""
    order = np.argsort(shares, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    part = rank * QUARTILES // len(order)
    return tuple(part == each for each in range(QUARTILES))


def _ask(bench: Bench, cell: Scored, texts: Sequence[str]) -> Mistyped:
    correct: dict[float, Floats] = {0.0: cell.answers.correct.astype(np.float64)}
    for rate in RATES[1:]:
        bench.say(f"typos: {cell.run.model.name} reads test texts with {100 * rate:.0f}% of words mistyped")
        spoiled = [mistype(text, share=rate, seed=SEED) for text in texts]
        predicted = np.stack([bench.predict(baked, spoiled).argmax(axis=1) for baked in cell.baked])
        correct[rate] = (predicted == cell.answers.labels).astype(np.float64)
    return Mistyped(scored=cell, correct=correct)


def _dropped_more(ours: Mistyped, theirs: Mistyped, rate: float) -> Estimate:
    lost = [one.correct[0.0] - one.correct[rate] for one in (theirs, ours)]
    return contrasts.mean(lost[0] - lost[1], ours.scored.answers)


def _vocabularies(cell: Scored) -> list[frozenset[str]]:
    """The words that each draw's labelled texts hold."""
    return [words_of(fit_texts(baked.record.run)) for baked in cell.baked]


def _rate_rows(found: Mapping[str, Mistyped]) -> list[dict[str, Cell]]:
    return [
        _row(name, f"{100 * rate:.0f}% of words mistyped", one.accuracy(rate), one.drop(rate) if rate else None)
        for name, one in found.items()
        for rate in RATES
    ]


def _quarter_rows(found: Mapping[str, Mistyped], quarters: Sequence[NDArray[np.bool_]]) -> list[dict[str, Cell]]:
    return [
        _row(name, f"quarter {number} by unseen words", one.accuracy(0.0, rows), None)
        for name, one in found.items()
        for number, rows in enumerate(quarters, start=1)
    ]


def _row(name: str, texts: str, accuracy: Estimate, drop: Estimate | None) -> dict[str, Cell]:
    return {
        "model": name,
        "test texts": texts,
        "accuracy, %": round(100 * accuracy.mean, 1),
        "lost, points": None if drop is None else round(100 * drop.mean, 1),
        "from": None if drop is None else round(100 * drop.low, 1),
        "to": None if drop is None else round(100 * drop.high, 1),
        "rows": accuracy.rows,
        "draws": accuracy.seeds,
    }


def _by_rate(found: Mapping[str, Mistyped]) -> Lines:
    series = tuple(_series(name, [100 * rate for rate in RATES], [one.accuracy(rate) for rate in RATES]) for name, one in found.items())
    return Lines(title="Accuracy under typing errors", x_label="words with a keyboard edit, %", y_label="test accuracy, %", series=series)


def _by_quarter(found: Mapping[str, Mistyped], quarters: Sequence[NDArray[np.bool_]]) -> Lines:
    numbers = [float(number) for number in range(1, len(quarters) + 1)]
    series = tuple(_series(name, numbers, [one.accuracy(0.0, rows) for rows in quarters]) for name, one in found.items())
    return Lines(
        title="Accuracy by how many words were never seen",
        x_label="quarter of the test texts, fewest unseen words first",
        y_label="test accuracy, %",
        series=series,
    )


def _series(label: str, x: Sequence[float], y: Sequence[Estimate]) -> Series:
    low, high = (tuple(100 * end for end in ends) for ends in zip(*((one.low, one.high) for one in y), strict=True))
    return Series(label=label, x=tuple(x), y=tuple(100 * one.mean for one in y), low=low, high=high)


def _notes(found: Mapping[str, Mistyped], worse: Mapping[float, Estimate]) -> tuple[str, ...]:
    majority = next(iter(found.values())).scored.majority
    at_stake = ", ".join(f"{name} {100 * (one.accuracy(0.0).mean - majority):.1f}" for name, one in found.items())
    more = ", ".join(
        f"{100 * rate:.0f}%: {phrases.signed(100 * one.mean)} ({phrases.span(rules.in_points(one).interval)})"
        for rate, one in worse.items()
    )
    return (
        f"What the BiLSTM loses more, in points, by share of words mistyped: {more}.",
        f"A model cannot lose more than what it is above the majority class, and this many points it is: {at_stake}. One that is little "
        "above it has little to lose.",
        "An edit is a neighbouring key, a letter left out, two swapped or one doubled; a text's edits at a rate stay at every higher one.",
    )


CLAIM = Claim(
    name="typos",
    statement="Rare words and typing errors favour the pretrained model.",
    kind="learning",
    rule=(
        "Holds when, with 10% of the test texts' words mistyped, the BiLSTM loses more points than the fine-tuned encoder, and the "
        "encoder's lead is larger on the quarter of the texts with most unseen words than on that with fewest (lower bounds above 0)."
    ),
    seconds={"small": 900, "full": 900},
    measure=measure,
    sweeps=("typos",),
)
