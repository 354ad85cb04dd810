"""The records of a store that one choice needs, found without building the others: most are of other budgets and datasets.

A record takes milliseconds to build and a tenth of one to parse, so all are parsed, and those that cannot matter go first.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from bakeoff.errors import DataError
from bakeoff.record import SCHEMA_VERSION, Record
from bakeoff.report import frame
from bakeoff.report.choice import Limits
from bakeoff.report.summary import Labels
from bakeoff.spec import BudgetZero, Latency, Predictions, Run, is_run_id
from bakeoff.store import FAILURE, RECORD, Store

SERVING = {"engine", "scenario", "batch_size", "threads", "machine", "device", "session_id"}
"""Columns that speak of how a model is served, so that filters on them leave records of quality alone."""

Plain = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Selected:
    """What a choice starts from."""

    records: tuple[Record, ...]
    failures: tuple[Plain, ...]
    """Parsed `failure.json` of Runs without a record, at the chosen budget."""
    other_labels: tuple[Labels, ...]
    """Budgets that are recorded besides the chosen one."""
    left_out: int = 0
    """Records that this version does not read, such as those of another recipe; those of another schema are counted when seen."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A look at every record and failure of a store, for several selections."""

    records: "tuple[_Glance, ...]"
    failures: tuple[Plain, ...]
    of_other_versions: int
    """Records of another schema version."""

    def datasets(self, wanted: Mapping[str, str]) -> list[str]:
        """Names of the datasets that have a record of quality under these filters."""
        return sorted({glance.dataset for glance in self.records if glance.is_quality and _fits(glance, wanted)})


def look(store: Store) -> Seen:
    """Parses everything once."""
    glances, others = list[_Glance](), 0
    for plain in _parse(store, RECORD):
        if plain.get("schema_version") == SCHEMA_VERSION:
            glances.append(_glance(plain))
        else:
            others += 1
    return Seen(records=tuple(glances), failures=tuple(_parse(store, FAILURE)), of_other_versions=others)


def select(store: Store, limits: Limits, *, wanted: Mapping[str, str], seen: Seen | None = None) -> Selected:
    """The records that a choice at `limits.labels` (null: the largest recorded) needs, of one dataset.

    `wanted` are equality filters on the columns of `bakeoff records`; one on a column that says nothing of a record, such
    as the seed of an untrained latency Run, leaves it in. Raises ConfigError for a column that does not exist, and
    DataError where nothing, another budget or more than one dataset is left. With `seen` the store is not parsed again.
    """
    frame.filter_rows([], wanted)
    seen = seen or look(store)
    fitting = [glance for glance in seen.records if _fits(glance, wanted)]
    asked = [glance for glance in fitting if glance.is_quality]
    scored = [glance for glance in asked if glance.is_scored]
    recorded = {glance.labels for glance in scored if glance.reads_labels} or {glance.labels for glance in scored}
    labels = labels_of(recorded, limits.labels)
    fingerprint = one_dataset((glance.dataset, glance.fingerprint) for glance in scored if glance.is_at(labels))
    kept = [glance for glance in asked if glance.is_at(labels) and glance.fingerprint == fingerprint]
    timed = [glance for glance in fitting if glance.is_timed and glance.fingerprint == fingerprint]
    loaded = [store.load(glance.run_id) for glance in (*kept, *timed)]
    records = [record for record in loaded if record is not None]
    failures = []
    for plain in seen.failures:
        failed = _glance(plain)
        if _fits(failed, wanted) and failed.is_quality and failed.is_at(labels) and failed.fingerprint == fingerprint:
            failures.append(plain)
    return Selected(
        records=tuple(record for record in records if _matches(record, wanted)),
        failures=tuple(failures),
        other_labels=budgets(recorded - {labels}),
        left_out=len(loaded) - len(records),
    )


def labels_of(recorded: Iterable[Labels], asked: Labels | None) -> Labels:
    """The budget to choose at. Raises DataError where it is not recorded, naming those that are."""
    known = budgets(set(recorded))
    if not known:
        raise DataError("no record has a score to choose by: bake some Runs first, for example bakeoff sweep sweeps/starter.yaml")
    if asked is None:
        return known[-1]
    if asked not in known:
        raise DataError(f"labels={asked} is not recorded here; recorded are {', '.join(str(labels) for labels in known)}")
    return asked


def budgets(labels: Iterable[Labels]) -> tuple[Labels, ...]:
    """Smallest first, `all` last."""
    return tuple(sorted(labels, key=lambda one: float("inf") if one == "all" else float(one)))


def one_dataset(found: Iterable[tuple[str, str]]) -> str:
    """The fingerprint of the one dataset among these names and fingerprints. Raises DataError for several."""
    every = sorted(set(found))
    names = list(dict.fromkeys(name for name, _ in every))
    if len(names) > 1:
        raise DataError(f"the records are of {len(names)} datasets ({', '.join(names)}): choose one, for example dataset={names[0]}")
    if len({fingerprint for _, fingerprint in every}) > 1:
        raise DataError(
            f"the records are of {len(every)} versions of {names[0]}: choose one, for example dataset_fingerprint={every[0][1]}"
        )
    return every[0][1]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Glance:
    """What tells whether a record can matter; the rest of it is let go, since ten thousand parsed records are slow to keep."""

    run_id: str
    dataset: str
    fingerprint: str
    model: str
    labels: Labels
    is_quality: bool
    """Whether it was to be scored on test rows."""
    is_scored: bool
    """Whether it was; not where it diverged or failed before."""
    is_timed: bool
    reads_labels: bool

    def is_at(self, labels: Labels) -> bool:
        """Whether it spent this budget, or none since its model reads no label."""
        return self.labels == labels or not self.reads_labels


def _parse(store: Store, name: str) -> Iterator[Plain]:
    """Every parsable file of this name, of whatever version, by run id; failures only where no record stands beside them."""
    for run_id in sorted(filter(is_run_id, os.listdir(store.root))) if store.root.is_dir() else ():
        folder = f"{store.root}/{run_id}"
        try:
            with open(f"{folder}/{name}", "rb") as file:
                plain = orjson.loads(file.read())
        except (OSError, ValueError):
            continue
        readable = isinstance(plain, dict) and plain.get("run_id") == run_id and isinstance(plain.get("run"), dict)
        if readable and (name == RECORD or not os.path.exists(f"{folder}/{RECORD}")):
            yield plain


def _glance(plain: Plain) -> _Glance:
    run = plain["run"]
    return _Glance(
        run_id=plain["run_id"],
        dataset=run["dataset"]["name"],
        fingerprint=run["dataset"]["fingerprint"],
        model=run["model"]["name"],
        labels=run["budget"]["labels"],
        is_quality=run["probe"]["kind"] == "quality" and run["probe"].get("scores", "test") == "test",
        is_scored=run["probe"]["kind"] == "quality" and "test" in (plain.get("quality") or {}),
        is_timed=plain.get("latency") is not None,
        reads_labels=run["budget"]["labels"] != 0 and run["model"]["kind"] != "predictions",
    )


_TOLD_BY = {"dataset": "dataset", "dataset_fingerprint": "fingerprint", "model": "model"}
"""Columns of `bakeoff records` that a glance holds, and as what."""


def _fits(glance: _Glance, wanted: Mapping[str, str]) -> bool:
    """The filters that can be told before a record is built."""
    return all(getattr(glance, _TOLD_BY[column]) == value for column, value in wanted.items() if column in _TOLD_BY)


def _matches(record: Record, wanted: Mapping[str, str]) -> bool:
    row, timed = frame.record_row(record), isinstance(record.run.probe, Latency)
    asked = {column: value for column, value in wanted.items() if row[column] is not None and (timed or column not in SERVING)}
    return bool(frame.filter_rows([row], asked))


def with_labels(records: Sequence[Record], labels: Labels) -> list[Record]:
    """The records of quality at a budget, models that read no label included."""
    return [record for record in records if record.run.budget.labels == labels or not reads_labels(record.run)]


def recorded_labels(records: Sequence[Record]) -> set[Labels]:
    """The budgets of those that read labels; of all where none does."""
    every = [record.run for record in records]
    return {run.budget.labels for run in every if reads_labels(run)} or {run.budget.labels for run in every}


def reads_labels(run: Run) -> bool:
    """False for models that learn from no label, which so compete at every budget."""
    return not isinstance(run.model, BudgetZero | Predictions)
