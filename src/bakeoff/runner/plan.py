"""What of a sweep is to bake, in which order, and what stands already."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import median
from typing import Any, Literal

from bakeoff.record import Record
from bakeoff.runner import needs
from bakeoff.runner.attempt import is_locked
from bakeoff.spec import FLOORS, Latency, Neural, Pretrain, Pretrained, Run, hash_identity, identity
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
    """What the same question took with other seeds; null where none is recorded."""
    bake: bool
    """Whether this call bakes it."""
    is_needed: bool = False
    """Whether it is baked, or its weights alone, only because Runs that are to be baked are built from it."""


def plan(sweep: Sweep, store: Store, *, rebake: Rebake = "missing") -> tuple[Planned, ...]:
    """The state of every cell, in grid order, and after them of every Run that is no cell but is baked for one.

    `rebake` is missing (every Run without a record, failed ones too), failed (only failed Runs) or all.
    """
    seconds = _seconds_by_question(store.load_all())
    cells = [_planned(cell, store, rebake, seconds) for cell in sweep.cells]
    asked = to_bake(cells)
    of_asked = {run.run_id for run in asked}
    needed = {run.run_id: run for run in needs.with_needs(asked, store) if run.run_id not in of_asked}
    users: Counter[str | None] = Counter(each.run_id for run in asked for each in needs.needs_of(run).values())
    known = {_run_id(each) for each in cells}
    extra = [_planned(Cell(overrides=(), run=run), store, "missing", seconds) for run_id, run in needed.items() if run_id not in known]
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


def rough_seconds(run: Run) -> float:
    """An order of magnitude from the configuration alone, good enough to start long Runs first.

    Training tokens, at the rates of two desktop cores, plus a constant: `all` counts as 10,000 labels, and so does the text
    that pretraining or a teacher's student reads beside its labels; an unlimited document counts as 256 tokens.
    """
    model = run.model
    if not isinstance(model, Neural):
        return 1.0 if model.kind == "majority" else 5.0
    labels, training = 10_000 if run.budget.labels == "all" else run.budget.labels, model.training
    if isinstance(run.probe, Pretrain):
        labels, training = 10_000 if run.budget.unlabelled != "none" else labels, run.probe.training
    rows = max(labels * training.epochs, training.min_steps * training.batch_size)
    if model.distillation is not None and run.budget.unlabelled != "none":
        rows = 10_000 * model.distillation.transfer_epochs
    tokens_per_second = 2_000 if isinstance(model, Pretrained) else 75_000
    return 5.0 + rows * (run.longdoc.max_tokens or 256) / tokens_per_second


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
    states = [row["state"].replace("_", " ") for row in rows]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    total = f"to bake: {len(once)}"
    if known:
        total += f", about {sum(known):.0f} s for the {len(known)} of them whose like is recorded"
    return "\n".join([*lines, counts, total]) + "\n"


def _planned(cell: Cell, store: Store, rebake: Rebake, seconds: dict[str, float]) -> Planned:
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
    if state != "done" and is_locked(store, run.run_id):
        state, reason = "locked", "another process bakes it now"
    return Planned(cell=cell, state=state, reason=reason, estimate_seconds=seconds.get(_but_for_the_seed(run)), bake=bake)


def _seconds_by_question(records: Iterable[Record]) -> dict[str, float]:
    """Question apart from the seed → median seconds that a whole Run took; latency Runs share a session's, so they have none."""
    taken: dict[str, list[float]] = {}
    for record in records:
        if isinstance(record.run.probe, Latency):
            continue
        begin, end = (datetime.fromisoformat(text) for text in (record.started_at, record.finished_at))
        taken.setdefault(_but_for_the_seed(record.run), []).append((end - begin).total_seconds())
    return {question: median(seconds) for question, seconds in taken.items()}


def _but_for_the_seed(run: Run) -> str:
    return hash_identity(_without_seed(identity(run)))


def _without_seed(plain: dict[str, Any]) -> dict[str, Any]:
    budget = {key: value for key, value in plain["budget"].items() if key != "draw"}
    needs = {part: _without_seed(plain[part]) for part in ("teacher", "start") if plain.get(part) is not None}
    return plain | {"seed": None, "budget": budget} | needs


def _plain(each: Planned) -> dict[str, Any]:
    run = each.cell.run
    return {
        "run_id": run.run_id if run else None,
        "question_id": run.question_id if run else None,
        "title": each.cell.title,
        "state": each.state,
        "reason": each.reason,
        "estimate_seconds": each.estimate_seconds,
    }


def _run_id(each: Planned) -> str | None:
    return each.cell.run.run_id if each.cell.run else None


def _line(row: dict[str, Any]) -> str:
    estimate = f"   about {row['estimate_seconds']:.0f} s" if row["estimate_seconds"] is not None else ""
    reason = f"   ({row['reason']})" if row["reason"] else ""
    return f"{row['title']}{estimate}{reason}"
