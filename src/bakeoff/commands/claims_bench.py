"""What a claim measures with: its sweeps through the ordinary planner and store, and its models' kept weights."""

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bakeoff import config
from bakeoff.claims.claim import Baked, NotMeasured, Size
from bakeoff.commands.baking import bake_runs, check_device, tell_end, visible_gpus
from bakeoff.commands.saved_runs import restore_weights
from bakeoff.commands.sweep import checked_against_data
from bakeoff.errors import BakeoffError
from bakeoff.record import Record
from bakeoff.runner import needs
from bakeoff.runner import plan as planning
from bakeoff.spec import Frozen, Latency, Machine, Neural, Run, hash_identity, identity
from bakeoff.store import Locked, Store
from bakeoff.sweep import Sweep

if TYPE_CHECKING:
    from bakeoff.data.dataset import Prepared


@dataclass(kw_only=True)
class StoreBench:
    """The Bench of `bakeoff claims`; one a claim, so that `records` are the Runs behind its answer."""

    size: Size
    store: Store
    records: dict[str, Record] = field(default_factory=dict)
    """By run id, every Run that was handed out."""
    sweeps: list[str] = field(default_factory=list)
    """Every sweep file that was asked for, with its overrides, as `bakeoff sweep` takes them."""
    _baked: set[str] = field(default_factory=set)
    """Ids of the Runs that were baked now."""
    _runs: dict[str, Run] = field(default_factory=dict)
    """The same as they were composed, with the paths that records leave out."""
    _prepared: "dict[str, Prepared]" = field(default_factory=dict)

    def bake(self, sweep: str, *overrides: str, keep_weights: bool = False) -> tuple[Baked, ...]:
        """Every Run of `sweeps/claims/<sweep>.yaml` under these overrides, in grid order, baked where it is not recorded yet.

        The file of the working directory comes before the packaged one. Raises NotMeasured when a Run failed, or when
        nothing of the sweep can be baked here.
        """
        file = config.CLAIMS / f"{sweep}.yaml"
        self.sweeps.append(" ".join((str(file), *map(_without_folders, overrides))))
        try:
            checked = checked_against_data(config.load_sweep(file, overrides), self.store)
            machine = config.machine_of(file, overrides)
            if keep_weights:
                machine = dataclasses.replace(machine, keep_weights="all")
            self._bake(checked, machine)
            if keep_weights:
                self._restore_weights(checked.runs, machine)
        except (BakeoffError, Locked) as reason:
            raise NotMeasured(str(reason)) from None
        baked = []
        for run in checked.runs:
            record = self.store.load(run.run_id)
            assert record is not None, "a Run that did not fail has a record"
            self.records[run.run_id], self._runs[run.run_id] = record, run
            baked.append(Baked(record=record, folder=self.store.folder(run.run_id)))
        return tuple(baked)

    @property
    def recorded(self) -> int:
        """How many of `records` were there before."""
        return len(self.records.keys() - self._baked)

    def texts(self, run: Run) -> Mapping[str, str]:
        """Row id → text of the test rows. Raises DataError where the data is not there."""
        rows = self._data(run).test
        return dict(zip(rows.row_ids, rows.whole_texts, strict=True))

    def predict(self, baked: Baked, texts: Sequence[str]) -> np.ndarray:
        """Probabilities of the Run's kept weights for other texts, float32, shape (texts, classes).

        Raises NotMeasured for a Run whose weights were not kept, and NotApplicable for a model that has none.
        """
        folder = baked.folder / needs.MODEL
        if not folder.is_dir():
            raise NotMeasured(f"{baked.record.run_id} keeps no weights to ask: bake it with keep_weights=True")
        run = self._runs.get(baked.record.run_id, baked.record.run)
        return answers(run, self._data(run), folder, texts)

    def say(self, line: str) -> None:
        """Progress, on standard error."""
        print(line, file=sys.stderr, flush=True)

    def _bake(self, sweep: Sweep, machine: Machine) -> None:
        planned = planning.plan(sweep, self.store)
        runs = planning.to_bake(planned)
        if not runs:
            return
        check_device(machine, runs)
        told = f"{sweep.name}: {len(needs.with_needs(runs, self.store))} Runs to bake, {len(sweep.runs) - len(runs)} already recorded"
        self.say(told)
        seconds = planning.expected_seconds(planned)
        outcome = bake_runs(runs, machine, self.store, executor="local", group=f"claims/{sweep.name}", seconds=seconds)
        self._baked.update(outcome.baked)
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.failed:
            tell_end(outcome, runs, self.store)
            run_id, message = next(iter(outcome.failed.items()))
            raise NotMeasured(f"{len(outcome.failed)} of {len(sweep.runs)} Runs of {sweep.path} failed, such as {run_id}: {message}")

    def _restore_weights(self, runs: Sequence[Run], machine: Machine) -> None:
        """Make weights again that a Run was recorded without, or that were freed since."""
        for run in runs:
            if not isinstance(run.probe, Latency) and not needs.is_settled(self.store, run.run_id):
                restore_weights(run, machine, self.store)

    def _data(self, run: Run) -> "Prepared":
        from bakeoff.data.dataset import prepare

        run = self._runs.get(run.run_id, run)
        key = hash_identity(identity(run.dataset))
        if key not in self._prepared:
            self._prepared[key] = prepare(run.dataset)
        return self._prepared[key]


def _without_folders(override: str) -> str:
    """An override as it may be published: of an absolute path its last part."""
    key, _, value = override.partition("=")
    path = value.strip("'\"")
    return f"{key}={Path(path).name}" if Path(path).is_absolute() else override


def answers(run: Run, prepared: "Prepared", folder: Path, texts: Sequence[str]) -> np.ndarray:
    """Probabilities of the weights in `folder` for `texts`, float32, shape (texts, classes), read as the Run read its own."""
    from bakeoff.data.batches import LongestFirst
    from bakeoff.models import loading
    from bakeoff.probes import engines, pipeline, weights

    classes = loading.settings(folder).classes
    loaded = weights.load(run, prepared, classes=classes, folder=folder)
    if isinstance(loaded, weights.Neural):
        device = "cuda" if visible_gpus() else "cpu"
        assert isinstance(run.model, Neural | Frozen), "other models have no module"
        precision = run.model.precision
        stages = pipeline.neural_stages(loaded, run.longdoc, engines.eager(loaded.classifier, precision=precision, device=device))
    else:
        stages = pipeline.linear_stages(loaded, run.longdoc)
    found = np.zeros((len(texts), len(classes)), dtype=np.float32)
    if len(texts):
        read = [stages.tokens_processed(tokens) for tokens in stages.lengths_tokens(texts).tolist()]
        for rows in LongestFirst(np.asarray(read, dtype=np.int64), pipeline.PREDICTION_BATCH):
            found[rows] = stages.pool(stages.forward(stages.window(stages.tokenise([texts[row] for row in rows]))))
    return found
