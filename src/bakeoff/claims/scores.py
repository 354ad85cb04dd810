"""What baked Runs answered, as the matrices that claims judge: draws × test rows, aligned by row id.

A Run that diverged has no answers. It is counted as one that always answers the most frequent class, which is what a model
that was destroyed comes to, and each set of answers says how many of its Runs did.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bakeoff.claims.claim import Baked
from bakeoff.claims.pictures import Series
from bakeoff.errors import DataError
from bakeoff.report import stats
from bakeoff.report.longdoc_readers import LENGTHS
from bakeoff.report.stats import Answers, Estimate
from bakeoff.report.summary import PREDICTIONS, read_answers
from bakeoff.spec import BiLstm, BudgetZero, Majority, Run, Tfidf
from bakeoff.store import Store

Tokens = NDArray[np.int64]
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One cell of a claim: the Runs that differ in their draw alone, and what they answered."""

    baked: tuple[Baked, ...]
    answers: Answers
    """In the order of `baked`."""
    lengths_tokens: Tokens | None
    """Shape [n]: whole lengths of the test rows in the model's own tokens; None where they were not saved."""
    diverged: int
    """How many of its Runs answered nothing."""

    @property
    def run(self) -> Run:
        """The first of its Runs."""
        return self.baked[0].record.run

    @property
    def run_ids(self) -> tuple[str, ...]:
        """Of all its Runs."""
        return tuple(one.record.run_id for one in self.baked)

    @property
    def n_labels(self) -> int:
        """How many labels it was given, validation included; `all` as the number that it means here."""
        return self.baked[0].record.data.n_fit + self.baked[0].record.data.n_val

    @property
    def majority(self) -> float:
        """Accuracy of always answering the most frequent class of the test rows."""
        return float(np.bincount(self.answers.labels).max() / len(self.answers.labels))

    @property
    def by_draw(self) -> dict[tuple[int, int], float]:
        """Draw and seed → accuracy on all test rows."""
        return dict(zip(self.answers.seeds, self.answers.scores("accuracy").tolist(), strict=True))

    @property
    def accuracy(self) -> Estimate:
        """With its interval over draws and rows."""
        return stats.estimate(self.answers, "accuracy")

    def on(self, rows: NDArray[np.bool_]) -> "Scored":
        """The same on the chosen rows alone, shape [n]; at least one."""
        lengths = None if self.lengths_tokens is None else self.lengths_tokens[rows]
        return replace(self, answers=self.answers.where(rows), lengths_tokens=lengths)


def scored(baked: Iterable[Baked], by: Callable[[Run], K]) -> dict[K, Scored]:
    """The quality Runs among these on one test set, grouped by what `by` says of each; groups in order of appearance.

    Raises DataError where predictions are missing, contradict their record, or answer other rows than the rest.
    """
    members: dict[K, list[Baked]] = {}
    for one in baked:
        if one.record.run.probe.kind == "quality":
            members.setdefault(by(one.record.run), []).append(one)
    found = {key: _read(group) for key, group in members.items()}
    finished = [answers for answers in found.values() if answers is not None]
    if members and not finished:
        raise DataError("every Run of this claim diverged, so there is nothing to compare: see their records")
    return {key: _together(members[key], found[key], finished[0]) for key in members}


def difference(a: Scored, b: Scored) -> Estimate | None:
    """Accuracy of `a` minus that of `b`, paired over rows and the draws they share; None where they share no draw.

    A model that reads no label answers alike in every draw, so its one set of answers stands for each of the other's.
    """
    one, two = a.answers, b.answers
    if isinstance(a.run.model, BudgetZero) and not isinstance(b.run.model, BudgetZero):
        one = _for_each(one, two.seeds)
    elif isinstance(b.run.model, BudgetZero) and not isinstance(a.run.model, BudgetZero):
        two = _for_each(two, one.seeds)
    return stats.difference(one, two, "accuracy")


def never_pretrained(run: Run) -> bool:
    """Whether a model learned from nothing but this dataset's labels: no checkpoint, no vectors, no teacher, no start."""
    if run.needs:
        return False
    return isinstance(run.model, Majority | Tfidf) or (
        run.model.kind == "scratch" or (isinstance(run.model, BiLstm) and run.model.embeddings == "random")
    )


def change_of_gap(a: Scored, b: Scored, *, from_a: Scored, from_b: Scored) -> Estimate | None:
    """The gap of `a` over `b` minus that of `from_a` over `from_b`, such as with more and with fewer labels.

    Paired over rows and the draws that all four share; None where they share none.
    """
    every = [each.answers for each in (a, b, from_a, from_b)]
    shared = tuple(seed for seed in every[0].seeds if all(seed in answers.seeds for answers in every))
    if not shared:
        return None
    one, two, from_one, from_two = (answers.only(shared) for answers in every)
    by_row = (one.correct.astype(np.int64) - two.correct - from_one.correct + from_two.correct).mean(axis=0)
    scores = one.scores("accuracy") - two.scores("accuracy") - from_one.scores("accuracy") + from_two.scores("accuracy")
    rows, variance = len(one.labels), one.row_variance(by_row)
    return stats.interval(scores, row_variance=variance, rows=rows, groups=one.n_groups, least=-2.0, most=2.0)


def accuracy_series(label: str, by_x: Mapping[float, Scored]) -> Series:
    """Accuracy in per cent with its interval, at each x in the order given."""
    found = [cell.accuracy for cell in by_x.values()]
    return Series(
        label=label,
        x=tuple(by_x),
        y=tuple(100 * one.mean for one in found),
        low=tuple(100 * one.low for one in found),
        high=tuple(100 * one.high for one in found),
    )


def all_run_ids(cells: Mapping[Any, Scored] | Sequence[Scored]) -> tuple[str, ...]:
    """The ids of every Run of some cells, each once."""
    each = cells.values() if isinstance(cells, Mapping) else cells
    return tuple(dict.fromkeys(run_id for cell in each for run_id in cell.run_ids))


def _read(group: Sequence[Baked]) -> Answers | None:
    """What the Runs of a cell that did not diverge answered; None where all did."""
    finished = [one for one in group if "test" in one.record.quality]
    return read_answers(Store(finished[0].folder.parent), [one.record for one in finished]) if finished else None


def _together(group: Sequence[Baked], own: Answers | None, some: Answers) -> Scored:
    """One cell; `some` are any answers of the claim, which know the rows and labels where the cell has none."""
    if own is not None and not (np.array_equal(own.row_ids, some.row_ids) and np.array_equal(own.labels, some.labels)):
        raise DataError(
            f"{group[0].record.run_id} answers other test rows than the rest of its claim: bake its sweep again with bakeoff sweep FILE "
            f"--rebake all"
        )
    seeds = tuple((one.record.run.budget.draw, one.record.run.seed) for one in group)
    if len(set(seeds)) < len(seeds):
        raise DataError(
            f"{group[0].record.run.title} has several Runs a draw that differ in what its claim does not vary: narrow its sweep file"
        )
    frequent = np.full_like(some.labels, np.bincount(some.labels).argmax())
    by_seed = {} if own is None else dict(zip(own.seeds, own.predicted, strict=True))
    return Scored(
        baked=tuple(group),
        answers=replace(own or some, seeds=seeds, predicted=np.stack([by_seed.get(seed, frequent) for seed in seeds])),
        lengths_tokens=None if own is None else _lengths(next(one for one in group if "test" in one.record.quality)),
        diverged=len(seeds) - len(by_seed),
    )


def _lengths(baked: Baked) -> Tokens | None:
    """In the order of row ids; None where they were not saved."""
    import pyarrow.parquet as parquet

    file = parquet.ParquetFile(baked.folder / PREDICTIONS)
    if LENGTHS not in file.schema_arrow.names:
        return None
    table = file.read(columns=["row_id", LENGTHS], use_threads=False)
    if table[LENGTHS].null_count:
        return None
    order = np.argsort(np.array(table["row_id"].to_pylist(), dtype=str), kind="stable")
    return np.array(table[LENGTHS].to_pylist(), dtype=np.int64)[order]


def _for_each(answers: Answers, seeds: tuple[tuple[int, int], ...]) -> Answers:
    return replace(answers, predicted=np.repeat(answers.predicted[:1], len(seeds), axis=0), seeds=seeds)
