"""What the best at the largest budget gets right and wrong: confusions, calibration, coverage, each class beside the runner-up."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bakeoff.record import MACRO_MIN_ROWS
from bakeoff.report import stats
from bakeoff.report.stats import Answers, Estimate, Floats
from bakeoff.report.summary import PREDICTIONS, Section, Standing, Table, read_answers
from bakeoff.store import Store

BINS = 15
"""Of equal width, those of the expected calibration error in the records."""
PRECISIONS = (0.80, 0.90, 0.95, 0.98)
MOST_ERRORS = 20


@dataclass(frozen=True, kw_only=True)
class ConfidenceBin:
    """Answers of like confidence, all seeds together."""

    confidence: float
    """Their mean confidence."""
    accuracy: float
    share: float
    """Of all answers."""


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """The share of test rows that can be answered at a precision: mean over seeds, lowest and highest seed."""

    precision: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Of one seed that answers its surest rows first: shares of rows answered, shape [k], and the accuracy on them, shape [k]."""

    covered: Floats
    accuracy: Floats


@dataclass(frozen=True, kw_only=True)
class ClassGap:
    """Recall of the winner minus recall of the runner-up on one class, paired over its test rows and the seeds both have."""

    name: str
    support: int
    gap: Estimate


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """A wrong answer, of one seed."""

    row_id: str
    run_id: str
    label: str
    answered: str
    confidence: float | None


@dataclass(frozen=True, kw_only=True)
class Winner:
    """The best at the largest budget of a section, and the next best."""

    section: Section
    table: Table
    standing: Standing
    runner_up: Standing | None
    answers: Answers
    confusions: NDArray[np.int64]
    """Shape [classes, classes], summed over seeds: label by answer."""
    confidence: Floats | None
    """Shape [seeds, rows]; null where answers came without probabilities."""
    gaps: tuple[ClassGap, ...]
    """Classes with enough test rows, in the order of the classes; empty without a runner-up that pairs."""

    @property
    def runs(self) -> tuple[str, ...]:
        """The winner's Runs."""
        return tuple(record.run_id for record in self.standing.records)


def winner(section: Section, store: Store) -> Winner | None:
    """None where always answering one class scored best: there is nothing to learn from its answers."""
    table = section.tables[-1]
    best, *others = (standing for standing in table.scored if standing is table.best or standing.candidate.kind != "majority")
    if best.candidate.kind == "majority":
        return None
    answers = read_answers(store, best.records)
    runner_up = others[0] if others else None
    return Winner(
        section=section,
        table=table,
        standing=best,
        runner_up=runner_up,
        answers=answers,
        confusions=confusions(answers, len(section.classes)),
        confidence=read_confidence(store, best),
        gaps=() if runner_up is None else class_gaps(answers, read_answers(store, runner_up.records), section.classes),
    )


def read_confidence(store: Store, standing: Standing) -> Floats | None:
    """The probability of each answer, shape [seeds, rows] in the order of row ids; null where answers came without probabilities."""
    import pyarrow.parquet as parquet

    if any(record.quality["test"].ece is None for record in standing.records):
        return None
    found = []
    for record in standing.records:
        table = parquet.ParquetFile(store.folder(record.run_id) / PREDICTIONS).read(columns=["row_id", "probabilities"], use_threads=False)
        rows = np.array(table["row_id"].to_pylist(), dtype=str)
        values = table["probabilities"].combine_chunks().flatten().to_numpy().reshape(len(rows), -1).astype(np.float64)
        values = values / values.sum(axis=1, keepdims=True)
        found.append(values.max(axis=1)[np.argsort(rows, kind="stable")])
    return np.stack(found)


def confusions(answers: Answers, classes: int) -> NDArray[np.int64]:
    """How often each class (row) was answered as each (column), shape [classes, classes], summed over seeds."""
    pairs = answers.labels * classes + answers.predicted
    return np.bincount(pairs.ravel(), minlength=classes * classes).reshape(classes, classes).astype(np.int64)


def reliability(confidence: Floats, correct: NDArray[np.bool_]) -> list[ConfidenceBin]:
    """Bins of equal width with their confidence and accuracy, empty ones left out; both arguments have shape [seeds, rows].

    A confidence on a bin's edge belongs to the bin below it (Guo et al., 2017, "On Calibration of Modern Neural Networks").
    """
    bins = np.clip(np.ceil(confidence * BINS).astype(int) - 1, 0, BINS - 1).ravel()
    rows = np.bincount(bins, minlength=BINS)
    sure, right = (np.bincount(bins, np.asarray(values, dtype=np.float64).ravel(), BINS) for values in (confidence, correct))
    return [
        ConfidenceBin(confidence=float(sure[i] / rows[i]), accuracy=float(right[i] / rows[i]), share=float(rows[i] / rows.sum()))
        for i in range(BINS)
        if rows[i]
    ]


def selective(confidence: Floats, correct: NDArray[np.bool_]) -> Curve:
    """One seed's curve; both arguments have shape [rows]. Rows of equal confidence are answered together.

    Source: El-Yaniv and Wiener (2010), "On the Foundations of Noise-free Selective Classification", JMLR 11.
    """
    order = np.argsort(-confidence, kind="stable")
    answered = np.arange(1, len(order) + 1)
    last_of_its_confidence = np.append(np.diff(confidence[order]) != 0, True)
    accuracy = np.cumsum(correct[order]) / answered
    return Curve(covered=(answered / len(order))[last_of_its_confidence], accuracy=accuracy[last_of_its_confidence])


def coverages(curves: Sequence[Curve], precisions: Sequence[float] = PRECISIONS) -> list[Coverage]:
    """For each precision the largest share of rows on which the surest answers reach it, over the curves of the seeds."""
    found = []
    for precision in precisions:
        shares = [float(curve.covered[curve.accuracy >= precision].max(initial=0.0)) for curve in curves]
        found.append(Coverage(precision=precision, mean=float(np.mean(shares)), low=min(shares), high=max(shares)))
    return found


def class_gaps(a: Answers, b: Answers, classes: Sequence[str]) -> tuple[ClassGap, ...]:
    """Recall of `a` minus that of `b` for every class with enough rows, paired; empty where nothing pairs."""
    if not np.array_equal(a.row_ids, b.row_ids):
        return ()
    found = []
    for index, name in enumerate(classes):
        rows = a.labels == index
        if rows.sum() < MACRO_MIN_ROWS:
            continue
        gap = stats.difference(_only_rows(a, rows), _only_rows(b, rows), "accuracy")
        if gap is not None:
            found.append(ClassGap(name=name, support=int(rows.sum()), gap=gap))
    return tuple(found)


def mistakes(found: Winner, most: int = MOST_ERRORS) -> list[Mistake]:
    """The wrong answers of the winner's first seed, the surest first (by row id where it gave no probabilities)."""
    answers, classes = found.answers, found.section.classes
    wrong = np.flatnonzero(~answers.correct[0])
    sure = None if found.confidence is None else found.confidence[0]
    order = wrong if sure is None else wrong[np.argsort(-sure[wrong], kind="stable")]
    return [
        Mistake(
            row_id=str(answers.row_ids[i]),
            run_id=found.runs[0],
            label=classes[answers.labels[i]],
            answered=classes[answers.predicted[0, i]],
            confidence=None if sure is None else float(sure[i]),
        )
        for i in order[:most]
    ]


def _only_rows(answers: Answers, kept: NDArray[Any]) -> Answers:
    groups = None if answers.groups is None else np.unique(answers.groups[kept], return_inverse=True)[1].astype(np.int64)
    return replace(answers, row_ids=answers.row_ids[kept], labels=answers.labels[kept], predicted=answers.predicted[:, kept], groups=groups)
