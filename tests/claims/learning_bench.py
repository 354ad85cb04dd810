"""A bench that hands out made Runs, for tests of learning claims: nothing is trained."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

import factories
from bakeoff import record as records
from bakeoff import spec
from bakeoff.claims.claim import Baked, NotMeasured, Size
from bakeoff.store import Store

ROWS = 1000
T_ROWS = 1.962341461133449
"""t(0.975, 999): what an interval over ROWS rows alone takes."""

Cell = tuple[spec.Run, int | None]
"""A Run, and how many rows, counted from the first, it answers right; None for one that diverged."""


@dataclass
class FakeBench:
    """Hands out `cells` by sweep, or by sweep and overrides in one text; what it does not have was not measured."""

    store: Store
    cells: Mapping[str, Sequence[Cell]]
    size: Size = "full"
    lengths: Sequence[int] | None = None
    """Tokens of the test rows, for every Run."""
    asked: list[str] = field(default_factory=list)
    validation_loss: Mapping[str, float] = field(default_factory=dict)
    """By run id; 0.5 for the others."""

    def bake(self, sweep: str, *overrides: str, keep_weights: bool = False) -> tuple[Baked, ...]:
        assert not keep_weights
        self.asked.append(" ".join((sweep, *overrides)))
        if self.asked[-1] not in self.cells:
            raise NotMeasured(f"{self.asked[-1]} failed")
        return tuple(self._baked(run, right) for run, right in self.cells[self.asked[-1]])

    def texts(self, run: spec.Run) -> Mapping[str, str]:
        raise AssertionError("a learning claim reads no text")

    def predict(self, baked: Baked, texts: Sequence[str]) -> np.ndarray:
        raise AssertionError("a learning claim asks no weights")

    def say(self, line: str) -> None:
        pass

    def _baked(self, run: spec.Run, right: int | None) -> Baked:
        labels = np.arange(ROWS) % 2
        predicted = np.where(np.arange(ROWS) < (right or 0), labels, 1 - labels)
        folder = self.store.folder(run.run_id)
        training = dataclasses.replace(
            factories.make_record(run, labels, predicted).training, best_validation_loss=self.validation_loss.get(run.run_id, 0.5)
        )
        changes: dict[str, Any] = {"training": training}
        if right is None:
            lowest = self.validation_loss.get(run.run_id)  # of a step before it diverged, where it had one
            changes |= {"status": "diverged", "quality": {}, "training": dataclasses.replace(training, best_validation_loss=lowest)}
        else:
            factories.write_predictions(folder, labels, predicted)
            if self.lengths is not None:
                file = folder / "predictions.parquet"
                table = parquet.read_table(file)
                parquet.write_table(table.append_column("length_tokens", pa.array(self.lengths, pa.int32())), file)
        record: records.Record = factories.make_record(run, labels, predicted, **changes)
        return Baked(record=record, folder=folder)


def bench(folder: Path, cells: Mapping[str, Sequence[Cell]], **changes: Any) -> FakeBench:
    """A bench in its full form unless `changes` say otherwise."""
    return FakeBench(store=Store(folder), cells=cells, **changes)


def over_draws(model: str | spec.Model, labels: Any, *right: int | None, **changes: Any) -> list[Cell]:
    """One Run a draw, each with its number of right rows; `changes` replace fields of the Run."""
    return [(dataclasses.replace(factories.make_run(model=model, labels=labels, seed=seed), **changes), n) for seed, n in enumerate(right)]


def half_width_points(between: int) -> float:
    """Half the interval of a difference of `between` rows that is the same in every draw, in points."""
    share = between / ROWS
    return 100 * T_ROWS * float(np.sqrt(share * (1 - share) / (ROWS - 1)))
