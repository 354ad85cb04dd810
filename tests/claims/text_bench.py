"""A bench of made Runs with texts and an answer to any other text, for tests of claims about texts: nothing is trained."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import factories
from bakeoff import spec
from bakeoff.claims.claim import Baked, NotMeasured, Size
from bakeoff.store import Store

Answer = Callable[[spec.Run, str], bool]
"""Whether a Run answers a text right."""


@dataclass(kw_only=True)
class TextBench:
    """Runs by sweep and overrides in one text; labels are 0 and 1 in turn, over the test texts in order."""

    store: Store
    cells: Mapping[str, Sequence[spec.Run]]
    test_texts: Sequence[str]
    right: Answer
    """Asked for the test texts and for every other text that a claim makes of them."""
    size: Size = "full"
    findings: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """By run id, what the audit said; nothing for the others."""
    asked: list[str] = field(default_factory=list)

    def bake(self, sweep: str, *overrides: str, keep_weights: bool = False) -> tuple[Baked, ...]:
        self.asked.append(" ".join((sweep, *overrides)))
        if sweep not in self.cells:
            raise NotMeasured(f"{self.asked[-1]} failed")
        return tuple(self._baked(run) for run in self.cells[sweep])

    def texts(self, run: spec.Run) -> Mapping[str, str]:
        return {f"{row:016x}": text for row, text in enumerate(self.test_texts)}

    def predict(self, baked: Baked, texts: Sequence[str]) -> np.ndarray:
        return np.eye(2, dtype=np.float32)[self._predicted(baked.record.run, texts)]

    def say(self, line: str) -> None:
        pass

    def _predicted(self, run: spec.Run, texts: Sequence[str]) -> np.ndarray:
        right = np.array([self.right(run, text) for text in texts])
        labels = np.arange(len(texts)) % 2
        return np.where(right, labels, 1 - labels)

    def _baked(self, run: spec.Run) -> Baked:
        labels = np.arange(len(self.test_texts)) % 2
        predicted = self._predicted(run, self.test_texts)
        folder = self.store.folder(run.run_id)
        factories.write_predictions(folder, labels, predicted)
        record = factories.make_record(run, labels, predicted)
        if run.run_id in self.findings:
            record = factories.dataclasses.replace(record, data=factories.dataclasses.replace(record.data, audit=self.findings[run.run_id]))
        return Baked(record=record, folder=folder)


def runs(*models: str, draws: int = 3, labels: int = 1000, **dataset: Any) -> list[spec.Run]:
    """One Run a model and draw."""
    data = factories.make_dataset(**dataset)
    return [factories.make_run(model=model, labels=labels, seed=seed, dataset=data) for model in models for seed in range(draws)]
