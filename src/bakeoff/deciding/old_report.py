"""What a page of `decide` leaves for next month, and how next month reads it.

`decision.json` beside the page names the Runs that were recommended. Their records and predictions are read from
`records/` beside it where the page carries its evidence, else from the store.
"""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bakeoff.errors import DataError
from bakeoff.record import Record
from bakeoff.report.stats import Answers
from bakeoff.report.summary import PREDICTIONS, read_answers
from bakeoff.spec import Dataset, Run
from bakeoff.store import Store, write_atomically

DECISION = "decision.json"
DECISION_VERSION = 1
MOST_RIVALS = 2


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What was recommended: run ids of the quality Runs behind it, one a seed, and of its nearest rivals', nearest first."""

    winner: tuple[str, ...]
    rivals: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class OldCandidate:
    """One candidate as last month saw it."""

    records: tuple[Record, ...]
    """Its quality Runs, one a seed."""
    answers: Answers
    """On last month's test rows; class indices are those of `records`."""
    lengths_tokens: np.ndarray | None
    """Of the documents in `answers.row_ids`, shape (n,); null where nobody counted."""

    @property
    def runs(self) -> tuple[Run, ...]:
        """The Runs behind its answers."""
        return tuple(record.run for record in self.records)


@dataclass(frozen=True, kw_only=True)
class OldReport:
    """Last month's winner and rivals with their answers."""

    winner: OldCandidate
    rivals: tuple[OldCandidate, ...]

    @property
    def dataset(self) -> Dataset:
        """The data of last month."""
        return self.winner.runs[0].dataset

    @property
    def test_row_ids(self) -> frozenset[str]:
        """The old test rows."""
        return frozenset(self.winner.answers.row_ids.tolist())


def write_decision(folder: Path, decision: Decision) -> None:
    """Write `decision.json` into the folder of a page; at most two rivals are kept."""
    plain = {"decision_version": DECISION_VERSION, "winner": decision.winner, "rivals": decision.rivals[:MOST_RIVALS]}
    write_atomically(folder / DECISION, json.dumps(plain, indent=1) + "\n")


def read_old(folder: Path, store: Store) -> OldReport:
    """The report of a `decide` in `folder`; `store` is asked where the page carries no records.

    Raises DataError, in one sentence, for a folder without a decision and for records or predictions that are gone.
    """
    decision = _decision(folder)
    kept = Store(folder / "records")
    source = kept if all(kept.load(run_id) is not None for run_id in decision.winner) else store
    return OldReport(
        winner=_candidate(decision.winner, source, folder),
        rivals=tuple(_candidate(run_ids, source, folder) for run_ids in decision.rivals),
    )


def _decision(folder: Path) -> Decision:
    path = folder / DECISION
    if not path.is_file():
        raise DataError(f"--against {folder} has no {DECISION}: name the folder of a report that `bakeoff decide` wrote")
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        if plain["decision_version"] != DECISION_VERSION:
            raise DataError(f"{path} has decision_version {plain['decision_version']} where this bakeoff reads {DECISION_VERSION}")
        return Decision(winner=tuple(plain["winner"]), rivals=tuple(tuple(rival) for rival in plain["rivals"]))
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(f"{path} is damaged: name another report, or run `bakeoff decide` without --against") from None


def _candidate(run_ids: tuple[str, ...], store: Store, folder: Path) -> OldCandidate:
    found = [store.load(run_id) for run_id in run_ids]
    records = tuple(record for record in found if record is not None and "test" in record.quality)
    if not records or len(records) < len(found):
        raise DataError(
            f"the records behind {folder} are gone or of another version of bakeoff: keep its runs folder, or run `bakeoff decide` "
            "without --against"
        )
    answers = read_answers(store, records)
    return OldCandidate(records=records, answers=answers, lengths_tokens=read_lengths(store, records[0], answers))


def read_lengths(store: Store, record: Record, answers: Answers) -> np.ndarray | None:
    """Tokens of each document in the order of `answers`, shape (n,); None where the predictions do not say."""
    import pyarrow.parquet as parquet

    file = parquet.ParquetFile(store.folder(record.run_id) / PREDICTIONS)
    if "length_tokens" not in file.schema_arrow.names:
        return None
    table = file.read(columns=["row_id", "length_tokens"], use_threads=False)
    if table["length_tokens"].null_count:
        return None
    by_row = dict(zip(table["row_id"].to_pylist(), table["length_tokens"].to_pylist(), strict=True))
    return np.array([by_row[row_id] for row_id in answers.row_ids.tolist()], dtype=np.int64)


def on_dataset(run: Run, dataset: Dataset) -> Run:
    """The same question of other data, also where a teacher or a start is needed."""
    teacher, start = (None if each is None else on_dataset(each, dataset) for each in (run.teacher, run.start))
    return dataclasses.replace(run, dataset=dataset, teacher=teacher, start=start)
