"""Which records answer a sweep's Runs: its own by run id; a latency question may have been answered on another machine."""

from collections.abc import Iterable

from bakeoff.record import Record
from bakeoff.spec import Latency, Run
from bakeoff.store import Store


def answers(runs: Iterable[Run], store: Store) -> dict[str, tuple[Record, ...]]:
    """Run id → the records that answer that Run; empty where none does.

    The machine is part of a latency Run's id and not of its question, so where this machine has no record, those of other
    machines with the same question stand in, each of which the page keeps to a table of its own.
    """
    planned = list(runs)
    own = {run.run_id: store.load(run.run_id) for run in planned}
    elsewhere: dict[str, list[Record]] = {}
    if any(own[run.run_id] is None for run in planned if isinstance(run.probe, Latency)):
        for other in store.load_all():
            elsewhere.setdefault(other.question_id, []).append(other)
    found: dict[str, tuple[Record, ...]] = {}
    for run in planned:
        record = own[run.run_id]
        others = elsewhere.get(run.question_id, []) if isinstance(run.probe, Latency) else []
        found[run.run_id] = tuple(others) if record is None else (record,)
    return found
