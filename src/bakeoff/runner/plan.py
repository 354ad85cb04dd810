"""What of a sweep is to bake, in which order, and what stands already."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from bakeoff.runner import needs
from bakeoff.runner.attempt import is_locked
from bakeoff.runner.estimate import Estimates, rough_seconds
from bakeoff.spec import FLOORS, Latency, Run
from bakeoff.store import Store
from bakeoff.sweep import Cell, Sweep

State = Literal["done", "todo", "failed", "locked", "not_applicable"]
Rebake = Literal["missing", "failed", "all"]


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One cell of a sweep as it stands."""

    cell: Cell
    state: State
    reason: str | None
    """Why the cell is not applicable, how its Run failed, or why it is (not) baked despite its state."""
    estimate_seconds: float | None
    """What Runs took that are the same but for the seed, or else like it; null where none is recorded."""
    bake: bool
    """Whether this call bakes it."""
    is_needed: bool = False
    """Whether it is baked, or its weights alone, only because Runs that are to be baked are built from it."""


def plan(sweep: Sweep, store: Store, *, rebake: Rebake = "missing") -> tuple[Planned, ...]:
    """The state of every cell, in grid order, and after them of every Run that is no cell but is baked for one.

    `rebake` is missing (every Run without a record, failed ones too), failed (only failed Runs) or all.
    """
    estimates = Estimates(store.load_all())
    cells = [_planned(cell, store, rebake, estimates) for cell in sweep.cells]
    asked = to_bake(cells)
    of_asked = {run.run_id for run in asked}
    needed = {run.run_id: run for run in needs.with_needs(asked, store) if run.run_id not in of_asked}
    users: Counter[str | None] = Counter(each.run_id for run in asked for each in needs.needs_of(run).values())
    known = {_run_id(each) for each in cells}
    extra = [_planned(Cell(overrides=(), run=run), store, "missing", estimates) for run_id, run in needed.items() if run_id not in known]
    return tuple(_for_others(each, users[run_id]) if (run_id := _run_id(each)) in needed else each for each in (*cells, *extra))


def _for_others(each: Planned, users: int) -> Planned:
    """A Run that is to be baked since others need it."""
    why = f"needed by {users} Run{'s' if users > 1 else ''}"
    if each.state == "done":
        return replace(each, state="todo", reason=f"recorded, but its weights are gone and {why}", bake=True, is_needed=True)
    told = each.reason if each.state in ("failed", "locked") else None
    return replace(each, reason=why if told is None else f"{why}; {told}", bake=True, is_needed=True)


def to_bake(planned: Iterable[Planned]) -> list[Run]:
    """The Runs to bake, each once: floors first, then seed by seed, longest first within a seed; latency after all others.

    What these need is not among them: whoever bakes them puts it before them.
    """
    chosen = {each.cell.run.run_id: each for each in planned if each.bake and not each.is_needed and each.cell.run is not None}

    def turn(each: Planned) -> tuple[bool, bool, int, float]:
        run = each.cell.run
        assert run is not None
        if isinstance(run.probe, Latency):
            return (True, False, 0, 0.0)
        seconds = each.estimate_seconds if each.estimate_seconds is not None else rough_seconds(run)
        return (False, run.model.kind not in FLOORS, run.seed, -seconds)

    return [each.cell.run for each in sorted(chosen.values(), key=turn) if each.cell.run is not None]


def expected_seconds(planned: Iterable[Planned]) -> dict[str, float]:
    """What each Run to bake is expected to take, by id: from records of its like, or else roughly."""
    return {
        run.run_id: each.estimate_seconds if each.estimate_seconds is not None else rough_seconds(run)
        for each in planned
        if each.bake and (run := each.cell.run) is not None
    }


def as_json(planned: Sequence[Planned]) -> str:
    """A list of objects, one a cell."""
    return json.dumps([_plain(each) for each in planned], indent=2) + "\n"


def as_text(planned: Sequence[Planned]) -> str:
    """One line a cell, then the sums; the Runs to bake come in their order, the other cells after them."""
    turns: dict[str, int] = {}
    for run in to_bake(planned):
        for each in (*needs.needs_of(run).values(), run):
            turns.setdefault(each.run_id, len(turns))
    rows = [_plain(each) for each in sorted(planned, key=lambda each: turns.get(_run_id(each) or "", len(turns)))]
    lines = [f"{row['state'].replace('_', ' '):<14}  {row['run_id'] or '-':<12}  {_line(row)}" for row in rows]
    once = {_run_id(each): each for each in planned if each.bake}.values()
    known = [each.estimate_seconds for each in once if each.estimate_seconds is not None]
    rough = [seconds for each in once if (seconds := _roughly(each)) is not None]
    states = [row["state"].replace("_", " ") for row in rows]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    total = f"to bake: {len(once)}"
    if known:
        total += f", about {sum(known):.0f} s for the {len(known)} of them whose like is recorded"
    if rough:
        total += f", roughly {sum(rough):.0f} s for {len(rough)} without records of their like"
    return "\n".join([*lines, counts, total]) + "\n"


def _planned(cell: Cell, store: Store, rebake: Rebake, estimates: Estimates) -> Planned:
    run = cell.run
    if run is None or cell.reason is not None:
        return Planned(cell=cell, state="not_applicable", reason=cell.reason, estimate_seconds=None, bake=False)
    recorded, failed = store.load(run.run_id) is not None, store.failure(run.run_id)
    state: State = "done" if recorded else "failed" if failed else "todo"
    reason = f"{failed.get('type')}: {failed.get('message')}" if failed else None
    bake = {"missing": not recorded, "failed": failed is not None, "all": True}[rebake]
    if recorded and bake:
        state, reason = "todo", "recorded, and baked again as asked"
    elif state == "todo" and not bake:
        reason = "not asked for: it has not failed"
    elif state == "todo" and (unreadable := store.unreadable(run.run_id)) is not None:
        reason = f"{unreadable.why}; its folder will be kept in .old/"
    if state != "done" and is_locked(store, run.run_id):
        state, reason = "locked", "another process bakes it now"
    return Planned(cell=cell, state=state, reason=reason, estimate_seconds=estimates.seconds(run), bake=bake)


def _plain(each: Planned) -> dict[str, Any]:
    run = each.cell.run
    return {
        "run_id": run.run_id if run else None,
        "question_id": run.question_id if run else None,
        "title": each.cell.title,
        "state": each.state,
        "reason": each.reason,
        "estimate_seconds": each.estimate_seconds,
        "rough_seconds": _roughly(each),
    }


def _roughly(each: Planned) -> float | None:
    """The order of magnitude of a Run without records of its like; null for others, and for latency Runs, which share a session."""
    run = each.cell.run
    if run is None or each.state == "not_applicable" or each.estimate_seconds is not None or isinstance(run.probe, Latency):
        return None
    return rough_seconds(run)


def _run_id(each: Planned) -> str | None:
    return each.cell.run.run_id if each.cell.run else None


def _line(row: dict[str, Any]) -> str:
    estimate = f"   about {row['estimate_seconds']:.0f} s" if row["estimate_seconds"] is not None else ""
    if row["rough_seconds"] is not None:
        estimate = f"   roughly {row['rough_seconds']:.0f} s"
    reason = f"   ({row['reason']})" if row["reason"] else ""
    return f"{row['title']}{estimate}{reason}"
