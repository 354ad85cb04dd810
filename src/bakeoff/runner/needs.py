"""Runs that are built from others' weights: who needs whom, what is baked first, and who fails with whom."""

from collections.abc import Container, Iterable, Sequence

from bakeoff.runner.events import Tally
from bakeoff.runner.failure import Described
from bakeoff.spec import Latency, Run
from bakeoff.store import Store

MODEL = "model"
"""The folder of a Run's weights, inside the Run's own."""


def needs_of(run: Run) -> dict[str, Run]:
    """The Runs whose weights are read when this one is baked, by their part; timing a model reads its own weights alone."""
    return {} if isinstance(run.probe, Latency) else run.needs


def needed_by(runs: Iterable[Run]) -> frozenset[str]:
    """Ids of the Runs that some of these are built from."""
    return frozenset(needed.run_id for run in runs for needed in needs_of(run).values())


def with_needs(runs: Sequence[Run], store: Store) -> list[Run]:
    """Each Run once and in its order, with what it needs and what has no weights in the store yet before it."""
    asked = {run.run_id: run for run in runs}
    ordered: dict[str, Run] = {}
    for run in runs:
        for needed in needs_of(run).values():
            if needed.run_id in asked or not is_settled(store, needed.run_id):
                ordered.setdefault(needed.run_id, asked.get(needed.run_id, needed))
        ordered.setdefault(run.run_id, run)
    return list(ordered.values())


def has_weights(store: Store, run_id: str) -> bool:
    """Whether a Run's folder keeps its weights."""
    return (store.folder(run_id) / MODEL).is_dir()


def is_settled(store: Store, run_id: str) -> bool:
    """Whether a needed Run is recorded and has its weights, or can have none since its training diverged."""
    record = store.load(run_id)
    return record is not None and (record.status == "diverged" or has_weights(store, run_id))


def waits(run: Run, tally: Tally, here: Container[str]) -> bool:
    """Whether a Run needs one that is baked `here`, in the same call, and has not ended yet."""
    return any(needed.run_id in here and not tally.has_ended(needed.run_id) for needed in needs_of(run).values())


def hindrance(run: Run, tally: Tally, store: Store) -> Described | None:
    """Why a Run cannot be baked, once all that it needs has ended."""
    for part, needed in needs_of(run).items():
        if (reason := tally.failure(needed.run_id)) is None:
            record = store.load(needed.run_id)
            if record is not None and record.status == "diverged":
                reason = "its loss stopped being finite"
        if reason is not None:
            return Described(type_="NeedFailed", message=f"its {part} {needed.model.name} ({needed.run_id}) failed: {reason}", trace=[])
    return None
