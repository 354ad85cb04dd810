"""Who read long documents in which way: a study a dataset and budget, a reader a model and reading, with answers and lengths.

Folds of one dataset stand together: each document is answered by the Run whose fold holds it out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bakeoff.record import LENGTH_SLICES, Record
from bakeoff.report import stats
from bakeoff.report.candidates import Candidate
from bakeoff.report.frame import precision_of
from bakeoff.report.pairs import corrected, together
from bakeoff.report.stats import Answers, Estimate, Metric
from bakeoff.report.summary import PREDICTIONS, Labels, Section, Table, read_answers
from bakeoff.spec import Dataset, LongDoc, hash_identity, identity
from bakeoff.store import Store

LENGTHS = "length_tokens"
"""The column of the saved predictions with each document's length in the model's own tokens, before any cut."""

Fold = int | None
Tokens = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Slice:
    """Documents of `low` to `high` tokens, both included; null is no limit."""

    title: str
    low: int
    high: int | None

    def holds(self, lengths: Tokens) -> NDArray[np.bool_]:
        """Which documents are this long, shape [n]."""
        most: NDArray[np.bool_] = lengths >= self.low
        return most if self.high is None else most & (lengths <= self.high)


def _title(low: int, high: int | None) -> str:
    return f"over {low - 1:,}" if high is None else f"{low:,}–{high:,}" if low else f"to {high:,}"


SLICES = tuple(Slice(title=_title(low, high), low=low, high=high) for low, high in LENGTH_SLICES.values())
PAST_WINDOW = Slice(title=_title(513, None), low=513, high=None)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A candidate with its way to read, at one budget: what it answered in each fold that was run."""

    candidate: Candidate
    metric: Metric
    records: tuple[Record, ...]
    answers: Mapping[Fold, Answers]
    """By fold, each with the seeds that all of them have."""
    lengths: Mapping[Fold, Tokens]
    """Of each fold's rows, in the order of its answers; empty unless saved for every fold."""

    @property
    def reading(self) -> LongDoc:
        """The way it reads."""
        return self.candidate.run.longdoc

    @property
    def model(self) -> tuple[str, str]:
        """What it shares with the readers that differ in nothing but how they read."""
        return self.candidate.name, precision_of(self.candidate.run)

    @property
    def seeds(self) -> tuple[tuple[int, int], ...]:
        """Draw and seed of the answers, alike in every fold."""
        return next(iter(self.answers.values())).seeds

    @property
    def folds(self) -> frozenset[Fold]:
        """The folds that it answered."""
        return frozenset(self.answers)

    @property
    def pool_share(self) -> float:
        """Test rows of a fold as a share of the rows that labels are drawn from."""
        return max(record.data.n_test / record.data.n_pool for record in self.records)

    @cached_property
    def overall(self) -> Estimate:
        """The metric on all test rows."""
        return self._estimate([*self.answers.values()])

    def on(self, part: Slice) -> Estimate | None:
        """The metric on the documents of a slice, by this model's own tokens; None where there are none."""
        return self._on[part] if self.lengths else None

    def mean(self, values: Iterable[float | None]) -> float | None:
        """The mean over its Runs; None where one does not know."""
        known = list(values)
        return None if not known or None in known else fmean(value for value in known if value is not None)

    def folds_on(self, part: Slice, measured_by: "Reader") -> dict[Fold, Answers]:
        """The answers of each fold on the documents of a slice by the tokens of `measured_by`, of the folds that have some."""
        held = {fold: part.holds(lengths) for fold, lengths in measured_by.lengths.items() if fold in self.answers}
        return {fold: self.answers[fold].where(rows) for fold, rows in held.items() if rows.any()}

    @cached_property
    def _on(self) -> dict[Slice, Estimate | None]:
        folds = {part: [*self.folds_on(part, self).values()] for part in (*SLICES, PAST_WINDOW)}
        return {part: self._estimate(found) if found else None for part, found in folds.items()}

    def _estimate(self, folds: Sequence[Answers]) -> Estimate:
        """Of one fold by `stats`, of several by the corrected interval of `pairs`."""
        if len(folds) == 1:
            return stats.estimate(folds[0], self.metric)
        scores, every = np.array([fold.scores(self.metric).mean() for fold in folds]), together(folds)
        mean, rows = float(every.scores(self.metric).mean()), len(every.labels)
        return corrected(scores, mean=mean, share=self.pool_share, rows=rows, seeds=len(every.seeds), least=0.0)


@dataclass(frozen=True, kw_only=True)
class Study:
    """One dataset at one budget, whose documents were read in more than one way by some model; the best reader first."""

    title: str
    slug: str
    dataset: Dataset
    metric: Metric
    table: Table
    """Of the first fold."""
    readers: tuple[Reader, ...]

    def of_model(self, model: tuple[str, str]) -> list[Reader]:
        """The readers of one model, best first."""
        return [reader for reader in self.readers if reader.model == model]

    @property
    def n_groups(self) -> int | None:
        """How many groups the test rows stand in; null where they have none."""
        known = (reader for reader in self.readers if all(answers.groups is not None for answers in reader.answers.values()))
        return next((sum(answers.n_groups or 0 for answers in reader.answers.values()) for reader in known), None)

    @property
    def models(self) -> list[tuple[str, str]]:
        """Models in the order of their best reader."""
        return list(dict.fromkeys(reader.model for reader in self.readers))


def studies(sections: Sequence[Section], store: Store) -> list[Study]:
    """The datasets and budgets at which a model was scored with more than one reading.

    Raises DataError where saved predictions are missing or contradict their record.
    """
    budgets: dict[tuple[str, Labels], list[tuple[Section, Table]]] = {}
    for section in sections:
        for table in section.tables:
            budgets.setdefault((_without_fold(section.dataset), table.labels), []).append((section, table))
    return [_study(members, store) for members in budgets.values() if _reads_variously(members)]


def _study(members: Sequence[tuple[Section, Table]], store: Store) -> Study:
    section, table = members[0]
    records: dict[str, dict[Fold, tuple[Record, ...]]] = {}
    known: dict[str, Candidate] = {}
    for part, scored in members:
        for standing in scored.scored:
            known[standing.candidate.key] = standing.candidate
            records.setdefault(standing.candidate.key, {})[part.dataset.fold] = standing.records
    readers = [_reader(known[key], folds, section.metric, store) for key, folds in records.items()]
    folds = [f"{part.dataset.fold}" for part, _ in members]
    title = section.title if len(members) == 1 else f"{section.dataset.name}, folds {', '.join(folds[:-1])} and {folds[-1]} together"
    return Study(
        title=title,
        slug=f"{section.slug}-{table.labels}",
        dataset=section.dataset,
        metric=section.metric,
        table=table,
        readers=tuple(sorted(readers, key=lambda reader: -reader.overall.mean)),
    )


def _reader(candidate: Candidate, folds: Mapping[Fold, tuple[Record, ...]], metric: Metric, store: Store) -> Reader:
    answers: dict[Fold, Answers] = {}
    for fold, records in folds.items():
        found = read_answers(store, records)
        if _shared_seeds([*answers.values(), found]):  # a fold with other seeds than the rest joins nothing
            answers[fold] = found
    seeds = _shared_seeds([*answers.values()])
    lengths = {fold: own for fold in answers if (own := _lengths(folds[fold][0], store)) is not None}
    return Reader(
        candidate=candidate,
        metric=metric,
        records=tuple(record for fold in answers for record in folds[fold] if (record.run.budget.draw, record.run.seed) in seeds),
        answers={fold: found.only(seeds) for fold, found in answers.items()},
        lengths=lengths if len(lengths) == len(answers) else {},
    )


def _shared_seeds(folds: Sequence[Answers]) -> tuple[tuple[int, int], ...]:
    return tuple(seed for seed in folds[0].seeds if all(seed in fold.seeds for fold in folds))


def _lengths(record: Record, store: Store) -> Tokens | None:
    """Each test document's tokens, in the order of row ids; None where they were not saved."""
    import pyarrow.parquet as parquet

    path = store.folder(record.run_id) / PREDICTIONS
    if LENGTHS not in parquet.read_schema(path).names:
        return None
    table: Any = parquet.read_table(path, columns=["row_id", LENGTHS])
    if table[LENGTHS].null_count:
        return None
    order = np.argsort(np.array(table["row_id"].to_pylist(), dtype=str), kind="stable")
    return np.asarray(table[LENGTHS].to_numpy().astype(np.int64)[order])


def _reads_variously(members: Sequence[tuple[Section, Table]]) -> bool:
    readings: dict[tuple[str, str], set[str]] = {}
    for _, table in members:
        for standing in table.scored:
            run = standing.candidate.run
            readings.setdefault((standing.candidate.name, precision_of(run)), set()).add(hash_identity(identity(run.longdoc)))
    return any(len(found) > 1 for found in readings.values())


def _without_fold(dataset: Dataset) -> str:
    return hash_identity(identity(dataset if dataset.fold is None else replace(dataset, fold=0)))
