"""What a page refuses to show as one experiment, and what it says of tuning.

Kept apart by the tables themselves: machines (a latency session is one machine's, and only ratios within it are told) and
variants of a dataset (a section each). Refused here, in a sentence: records of another schema, of code whose answers have
changed since, and of code that nobody can look up.
"""

import json
from collections.abc import Iterable, Sequence

from bakeoff import record as records
from bakeoff.errors import BakeoffError, DataError
from bakeoff.record import SCHEMA_VERSION, Record
from bakeoff.report import words
from bakeoff.report.trials import efforts
from bakeoff.spec import Quality, Run
from bakeoff.store import RECORD, Store


def refuse(runs: Iterable[Run], found: Sequence[Record], store: Store, *, allow_dirty: bool) -> None:
    """Raise DataError for records that do not belong on one page; `found` are those that answer `runs`."""
    refuse_unreadable(runs, store)
    if not allow_dirty:
        refuse_dirty(found)


def refuse_dirty(found: Sequence[Record]) -> None:
    """Raise DataError where code with uncommitted changes made a record."""
    dirty = [record for record in found if record.provenance.dirty]
    if dirty:
        raise DataError(
            f"{len(dirty)} of {words.count(len(found), 'record')} come from code with uncommitted changes "
            f"(the first is {dirty[0].run_id}): commit and bake them again with --rebake all, or add --allow-dirty, which is said then"
        )


def refuse_unreadable(runs: Iterable[Run], store: Store) -> None:
    """Raise DataError for a Run whose record is of another schema version or recipe, which would pass for one not baked yet.

    A file that is no JSON at all is no record: its Run is baked again.
    """
    for run in runs:
        path = store.folder(run.run_id) / RECORD
        if store.load(run.run_id) is not None or not path.exists():
            continue
        try:
            text = path.read_text(encoding="utf-8")
            version = json.loads(text)["schema_version"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if version != SCHEMA_VERSION:
            raise DataError(
                f"{run.run_id} is a record of schema version {version} where this bakeoff reads {SCHEMA_VERSION}: "
                "bake it again with --rebake all, or use the bakeoff that wrote it"
            )
        try:
            records.from_json(text)
        except BakeoffError as reason:
            raise DataError(f"{run.run_id} has a record that cannot stand on this page: {reason}") from None


def tuning(runs: Sequence[Run], store: Store) -> str:
    """How many trials on validation rows each model had, in a sentence."""
    tried: dict[str, int] = {}
    tuned: set[str] = set()
    for effort in efforts(runs, store):
        name = effort.trials[0].run.model.name
        tried[name] = max(tried.get(name, 0), len(effort.trials))
        tuned |= {name} | ({effort.tuned.model.name} if effort.tuned is not None else set())
    if not tried:
        return "no model was tuned: each has the recipe of its configuration"
    fitted = (run for run in runs if isinstance(run.probe, Quality) and run.model.kind not in ("majority", "predictions"))
    without = [name for name in dict.fromkeys(run.model.name for run in fitted) if name not in tuned]
    said = [f"{name} {words.count(count, 'trial')}" for name, count in tried.items()]
    return "; ".join([*said, *([f"none for {words.listing(without)}"] if without else [])])
