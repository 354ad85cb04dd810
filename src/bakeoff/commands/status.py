"""`bakeoff status`: what is being baked right now, by whichever process, and how far a sweep has come."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bakeoff import config
from bakeoff.commands.baking import where_log
from bakeoff.commands.sweep import checked_against_data
from bakeoff.runner import plan as planning
from bakeoff.runner.live import duration
from bakeoff.runner.plan import Planned
from bakeoff.runner.progress import shorten
from bakeoff.store import Holder, Store, default_root


def status(files: Sequence[Path], overrides: Sequence[str], *, now: datetime | None = None) -> str:
    """How far each sweep has come; without one, what runs in the store."""
    store, now = Store(default_root()), now or datetime.now(UTC)
    holders = store.holders()
    if not files:
        return "\n".join(_store_lines(store, holders, now))
    lines: list[str] = []
    known: set[str] = set()
    for file in files:
        sweep = checked_against_data(config.load_sweep(file, list(overrides)), store)
        planned = _once(planning.plan(sweep, store))
        known |= set(planned)
        lines += sweep_lines(sweep.name, list(planned.values()), store, holders, now)
    if others := [each for each in holders if each.run_id not in known]:
        lines.append(f"{_counted(len(others))} of no sweep named here {_are(len(others))} being baked in {shorten(str(store.root))} too")
    return "\n".join(lines)


def sweep_lines(name: str, planned: Sequence[Planned], store: Store, holders: Sequence[Holder], now: datetime) -> list[str]:
    """How many Runs of a sweep are in which state, then those that run and those that failed, one a line."""
    of = {state: [each for each in planned if each.state == state] for state in ("done", "locked", "failed", "todo", "not_applicable")}
    n = {state: len(those) for state, those in of.items()}
    n_runs = len(planned) - n["not_applicable"]
    counts = [f"{name}: {n['done']} of {n_runs} done, {n['locked']} running, {n['failed']} failed, {n['todo']} to do"]
    seconds = planning.expected_seconds(of["todo"])
    if seconds:
        counts.append(f"about {duration(sum(seconds.values()))} of work for one slot")
    if n["not_applicable"]:
        counts.append(f"{n['not_applicable']} not applicable")
    lines, by_id = [", ".join(counts)], {each.run_id: each for each in holders}
    for each in of["locked"]:
        assert each.cell.run is not None
        lines.append(_running(by_id.get(each.cell.run.run_id, Holder(run_id=each.cell.run.run_id)), now, title=each.cell.title))
    for each in of["failed"]:
        assert each.cell.run is not None
        lines.append(f"failed   {each.cell.run.run_id}  {each.cell.title}   {each.reason} ({where_log(store, each.cell.run.run_id)})")
    return lines


def _store_lines(store: Store, holders: Sequence[Holder], now: datetime) -> list[str]:
    place = shorten(str(store.root))
    if not holders:
        return [f"nothing is being baked in {place}"]
    return [f"{_counted(len(holders))} {_are(len(holders))} being baked in {place}", *(_running(each, now) for each in holders)]


def _running(holder: Holder, now: datetime, *, title: str = "") -> str:
    """One line of a Run that somebody bakes: for how long, what, and who."""
    seconds = None if holder.started_at is None else (now - datetime.fromisoformat(holder.started_at)).total_seconds()
    since = "" if seconds is None else f" for {duration(max(0.0, seconds))}"
    who = "" if holder.pid is None else f"   (process {holder.pid} on {holder.host})"
    return f"running  {holder.run_id}  {holder.title or title}{since}{who}"


def _once(planned: Sequence[Planned]) -> dict[str, Planned]:
    """Each Run once, by id; a cell without a Run under its own title."""
    return {each.cell.run.run_id if each.cell.run is not None else each.cell.title: each for each in planned}


def _counted(number: int) -> str:
    return f"{number} Run{'' if number == 1 else 's'}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
