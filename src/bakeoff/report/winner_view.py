"""The part of a page about the best candidate: figures and tables of what it gets wrong and how far it can be trusted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bakeoff.record import MACRO_MIN_ROWS
from bakeoff.report import winner_figures, words
from bakeoff.report.blocks import ABSENT, Block, Figure, Grid, grid
from bakeoff.report.figures import look_of
from bakeoff.report.summary import Section
from bakeoff.report.winner_answers import BINS, Coverage, Curve, Winner, coverages, mistakes, reliability, selective, winner
from bakeoff.report.winner_figures import Gap
from bakeoff.store import Store

MOST_CLASSES = 12
"""In a confusion matrix; the rest is one class, "the others"."""
MOST_GAPS = 20
LONGEST_TEXT = 400
OTHERS = "the others"

Texts = Mapping[str, Mapping[str, str]]
"""Dataset fingerprint → row id → the text of that test row."""


@dataclass(frozen=True, kw_only=True)
class Confusions:
    """A matrix small enough to read: its classes, and counts of shape [classes, classes]."""

    names: tuple[str, ...]
    counts: NDArray[np.int64]


def winner_blocks(sections: Sequence[Section], store: Store, *, texts: Texts | None = None) -> list[Block]:
    """A block a dataset whose best candidate learned something; with its surest mistakes where `texts` are given.

    `texts` are by dataset fingerprint and row id; a page that has them must not be shared.
    """
    found = [one for section in sections if (one := winner(section, store)) is not None]
    return [_block(one, None if texts is None else texts.get(one.section.dataset.fingerprint, {})) for one in found]


def _block(one: Winner, texts: Mapping[str, str] | None) -> Block:
    section, label = one.section, one.standing.candidate.label
    grids = [] if one.confidence is None else [_coverage_grid(one, coverages(_curves(one)))]
    return Block(
        heading=f"The best at {words.budget(one.table)}: {label} on {section.title}",
        level=2,
        figures=(_confusion(one), *_trust(one), *_gaps(one)),
        grids=(*grids, *([_errors(one, texts)] if texts is not None else [])),
        notes=_notes(one, texts is not None),
    )


def _place(one: Winner) -> int:
    keys = list(dict.fromkeys(each.key for each in one.section.candidates.values() if each.kind != "majority"))
    return keys.index(one.standing.candidate.key)


def fewer(counts: NDArray[np.int64], names: Sequence[str], most: int = MOST_CLASSES) -> Confusions:
    """The matrix itself, or that of the classes with the most mistakes (theirs or for them), all others as one."""
    if len(names) <= most:
        return Confusions(names=tuple(names), counts=counts)
    wrong = counts.sum(axis=0) + counts.sum(axis=1) - 2 * counts.diagonal()
    kept = np.sort(np.argsort(-wrong, kind="stable")[: most - 1])
    place = np.full(len(names), most - 1)
    place[kept] = np.arange(most - 1)
    joined = np.zeros((most, most), dtype=np.int64)
    np.add.at(joined, (place[:, None], place[None, :]), counts)
    return Confusions(names=(*(names[i] for i in kept), OTHERS), counts=joined)


def _confusion(one: Winner) -> Figure:
    shown = fewer(one.confusions, one.section.classes)
    name = f"confusion-{one.section.slug}"
    left = "" if len(shown.names) == len(one.section.classes) else " The classes with the most mistakes; the others stand together."
    return Figure(
        file=f"{name}.svg",
        caption=f"What {one.standing.candidate.label} answers for each class, % of its test rows, all seeds together.{left}",
        svg=winner_figures.confusion(shown.counts, shown.names, salt=name),
        runs=one.runs,
    )


def _trust(one: Winner) -> list[Figure]:
    if one.confidence is None:
        return []
    correct, look, slug = one.answers.correct, look_of(_place(one)), one.section.slug
    label = one.standing.candidate.label
    return [
        Figure(
            file=f"calibration-{slug}.svg",
            caption=f"Is {label} as often right as it is sure? ECE {one.standing.mean('ece'):.3f}, the mean over seeds.",
            svg=winner_figures.calibration(reliability(one.confidence, correct), look, salt=f"calibration-{slug}"),
            runs=one.runs,
        ),
        Figure(
            file=f"coverage-{slug}.svg",
            caption=f"How right {label} is where it answers only what it is surest of, and leaves the rest to people.",
            svg=winner_figures.coverage(_curves(one), look, salt=f"coverage-{slug}"),
            runs=one.runs,
        ),
    ]


def _curves(one: Winner) -> list[Curve]:
    assert one.confidence is not None
    return [selective(sure, right) for sure, right in zip(one.confidence, one.answers.correct, strict=True)]


def _gaps(one: Winner) -> list[Figure]:
    if one.runner_up is None or not one.gaps:
        return []
    order = sorted(range(len(one.gaps)), key=lambda i: -abs(one.gaps[i].gap.mean))[:MOST_GAPS]
    shown = [one.gaps[i] for i in sorted(order, key=lambda i: -one.gaps[i].gap.mean)]
    name, other = f"classes-{one.section.slug}", one.runner_up.candidate.label
    left = "" if len(shown) == len(one.gaps) else f" The {len(shown)} classes of {len(one.gaps)} that differ most."
    rows = [
        Gap(label=f"{each.name} ({each.support:,})", mean=100 * each.gap.mean, low=100 * each.gap.low, high=100 * each.gap.high)
        for each in shown
    ]
    return [
        Figure(
            file=f"{name}.svg",
            caption=f"Recall of {one.standing.candidate.label} minus that of {other}, class by class, with test rows in brackets.{left}",
            svg=winner_figures.recall_gaps(rows, look_of(_place(one)), axis=f"left of zero {other} finds more", salt=name),
            runs=(*one.runs, *(record.run_id for record in one.runner_up.records)),
        )
    ]


def _coverage_grid(one: Winner, known: Sequence[Coverage]) -> Grid:
    seeds = len(one.standing.records)
    cells = [
        ABSENT
        if each.high == 0
        else words.percent(each.mean) + (f" ({words.percent(each.low)} to {words.percent(each.high)})" if seeds > 1 else "")
        for each in known
    ]
    columns = [("of the answered rows right", [f"{100 * each.precision:.0f}%" for each in known]), ("rows that can be answered, %", cells)]
    return grid(
        f"Coverage at a given precision, {one.section.title}", columns, texts=("of the answered rows right",), runs=[one.runs] * len(known)
    )


def _errors(one: Winner, texts: Mapping[str, str]) -> Grid:
    found = mistakes(one)
    cut = [texts.get(each.row_id, ABSENT) for each in found]
    columns = [
        ("row", [each.row_id for each in found]),
        ("label", [each.label for each in found]),
        ("answered", [each.answered for each in found]),
        ("confidence", [ABSENT if each.confidence is None else f"{each.confidence:.3f}" for each in found]),
        ("text", [text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…" for text in cut]),
    ]
    return grid(
        f"The surest mistakes, {one.section.title}",
        columns,
        texts=("row", "label", "answered", "text"),
        runs=[(each.run_id,) for each in found],
    )


def _notes(one: Winner, has_texts: bool) -> tuple[str, ...]:
    notes = []
    if one.confidence is None:
        notes.append("It answered without probabilities, so nothing can be said of its confidence.")
    else:
        notes.append(
            f"Confidence is the probability of the answer given; ECE and the marks take {BINS} bins of equal width. The thresholds behind "
            "the coverage were read off these test rows, so it is a little flattered: set yours on validation rows."
            + (" In brackets the lowest and highest seed." if len(one.standing.records) > 1 else "")
        )
    if one.gaps:
        notes.append(
            f"Differences by class are paired over the class's test rows and the seeds that both have, and shown for classes with at least "
            f"{MACRO_MIN_ROWS} test rows. They are not corrected for there being {len(one.gaps)} classes: "
            "of many intervals, some leave out zero by luck."
        )
    if has_texts:
        notes.append(f"The surest mistakes are those of the first seed (Run {one.runs[0]}).")
    return tuple(notes)
