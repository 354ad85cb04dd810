"""The trials behind the recipes of a page: which Runs of the store tuned the models that it compares."""

from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff import tuning
from bakeoff.record import Record
from bakeoff.spec import Latency, Run, hash_identity, identity
from bakeoff.store import Store


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How one model was tuned on one dataset at one budget, and which Runs of the page have its recipes."""

    trials: tuple[Record, ...]
    """By run id; each scored on the same validation rows, and on no test row."""
    default: Run | None
    """The page's Run that has the model's own recipe, and its record among the trials; null where the page has none."""
    tuned: Run | None
    """The page's Run that has another recipe that was tried."""

    @property
    def best(self) -> Record:
        """The trial that validation rows put first; the model's own recipe wins a tie."""
        own = self.trial_of(self.default)
        ordered = sorted(self.trials, key=lambda record: record is not own)
        found = tuning.choose([tuning.tried({}, record.run, record) for record in ordered])
        return next(record for record in ordered if found is None or record.run_id == found.run.run_id)

    def trial_of(self, run: Run | None) -> Record | None:
        """The trial that had this Run's recipe."""
        return None if run is None else next((record for record in self.trials if _recipe(record.run) == _recipe(run)), None)


def efforts(runs: Sequence[Run], store: Store) -> list[Effort]:
    """How the models of these Runs were tuned, in the order of the Runs; empty where nothing was.

    Trials belong together when dataset, budget, reading, seed, kind and name are the same: those that `bakeoff tune` draws
    differ in the recipe alone. They belong to a page that has a Run with one of their recipes on the same rows.
    """
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in store.load_all():
        if record.run.is_trial:
            groups.setdefault((_setting(record.run), record.run.model.name), []).append(record)
    if not groups:
        return []
    page: dict[tuple[str, str], Run] = {}
    for run in runs:
        if not isinstance(run.probe, Latency) and not run.is_trial:
            page.setdefault((_setting(run), _recipe(run)), run)
    turns = {run.run_id: turn for turn, run in enumerate(runs)}
    found: list[tuple[int, Effort]] = []
    for (setting, name), records in groups.items():
        matched = [page[setting, _recipe(record.run)] for record in records if (setting, _recipe(record.run)) in page]
        if matched:
            default = next((run for run in matched if run.model.name == name), None)
            tuned = next((run for run in matched if run.model.name != name), None)
            effort = Effort(trials=tuple(records), default=default, tuned=tuned)
            found.append((min(turns[run.run_id] for run in matched), effort))
    return [effort for _, effort in sorted(found, key=lambda each: each[0])]


def _setting(run: Run) -> str:
    """The rows on which recipes are compared, and how they are read."""
    parts = [identity(part) for part in (run.dataset, run.budget, run.longdoc, run.seed)]
    return hash_identity([*parts, run.model.kind, run.probe.threads])


def _recipe(run: Run) -> str:
    return hash_identity([identity(run.model), {part: needed.run_id for part, needed in run.needs.items()}])
