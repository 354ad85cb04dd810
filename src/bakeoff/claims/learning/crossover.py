"""Pretrained under about 50,000 labels; with millions the advantage evaporates.

Varied: how many labels there are. Measured: by how much the fine-tuned encoder leads the best model that was not pretrained,
with 1,000 labels and with the most that were baked, and how the lead changes in between.
"""

from collections.abc import Iterable, Mapping

from bakeoff.claims import phrases, rules
from bakeoff.claims.claim import Answer, Bench, Cell, Claim, NotMeasured
from bakeoff.claims.pictures import Lines
from bakeoff.claims.rules import Part
from bakeoff.claims.scores import Scored, accuracy_series, all_run_ids, change_of_gap, difference, never_pretrained, scored
from bakeoff.report.stats import Estimate

LEADER, FEW, CROSSING, MILLIONS = "pretrained", 1000, 50_000, 1_000_000
SMALL = ("budget.labels=1000,3000",)


def measure(bench: Bench) -> Answer:
    """Bake, take the lead at each budget, and judge where it stands at the largest and how it changed since FEW labels."""
    cells = scored(
        bench.bake("crossover", *(SMALL if bench.size == "small" else ())),
        by=lambda run: (run.model.name, run.budget.labels),
    )
    leader = {cell.n_labels: cell for (model, _), cell in cells.items() if model == LEADER}
    rival = _best([cell for cell in cells.values() if never_pretrained(cell.run)])
    budgets = sorted(n for n in leader if n in rival)
    if FEW not in budgets or budgets[-1] == FEW:
        raise NotMeasured(f"{LEADER} and a model that was not pretrained are not recorded with {FEW:,} labels and with more")
    leads = {n: _shared(difference(leader[n], rival[n]), n) for n in budgets}
    most, below = budgets[-1], [n for n in budgets if n < CROSSING][-1]
    change = rules.in_points(_shared(change_of_gap(leader[most], rival[most], from_a=leader[FEW], from_b=rival[FEW]), most))
    now, under = rules.in_points(leads[most]), rules.in_points(leads[below])
    shrinks = Part(
        asks=f"The lead shrinks from {FEW:,} to {most:,} labels",
        measured=change,
        unit=f"points of lead, from {FEW:,} to {most:,} labels",
        verdict=rules.below(0.0, change.interval),
    )
    ahead = Part(
        asks=f"{LEADER} leads with {below:,} labels",
        measured=under,
        unit=f"points of lead with {below:,} labels",
        verdict=rules.above(0.0, under.interval),
    )
    gone = Part(
        asks=f"At most a point of lead is left with {most:,} labels",
        measured=now,
        unit=f"points of lead with {most:,} labels",
        verdict=rules.within_a_point(now.interval),
    )
    parts = [shrinks, ahead, *([gone] if most >= MILLIONS else [])]
    decides = rules.deciding(parts)
    return Answer(
        verdict=decides.verdict,
        figure=decides.measured.figure,
        unit=decides.unit,
        interval=decides.measured.interval,
        seen=(
            f"Up to {most:,} labels: with {FEW:,} {LEADER} {phrases.leads(100 * leads[FEW].mean, rival[FEW].run.model.name)}, with "
            f"{most:,} "
            f"it {phrases.leads(now.figure, rival[most].run.model.name)} ({phrases.span(now.interval)}), a change of "
            f"{phrases.signed(change.figure)} ({phrases.span(change.interval)})."
        ),
        dataset=leader[FEW].run.dataset.name,
        rows=tuple(_row(leader[n], rival[n], leads[n]) for n in budgets),
        run_ids=all_run_ids(cells),
        detectable=decides.measured.detectable,
        pictures=(_picture({n: leader[n] for n in budgets}, {n: rival[n] for n in budgets}),),
        notes=(*(part.told for part in parts), *_notes(most, leader[most].baked[0].record.data.n_pool)),
    )


def _best(cells: Iterable[Scored]) -> dict[int, Scored]:
    """Number of labels → the cell with the highest accuracy."""
    best: dict[int, Scored] = {}
    for cell in cells:
        if cell.n_labels not in best or cell.accuracy.mean > best[cell.n_labels].accuracy.mean:
            best[cell.n_labels] = cell
    return best


def _shared(found: Estimate | None, labels: int) -> Estimate:
    if found is None:
        raise NotMeasured(f"{LEADER} and the best model that was not pretrained share no draw with {labels:,} labels: bake the same seeds")
    return found


def _row(leader: Scored, rival: Scored, lead: Estimate) -> dict[str, Cell]:
    return {
        "labels": leader.n_labels,
        f"{LEADER}, %": round(100 * leader.accuracy.mean, 1),
        "best not pretrained": rival.run.model.name,
        "its accuracy, %": round(100 * rival.accuracy.mean, 1),
        "lead, points": round(100 * lead.mean, 1),
        "from": round(100 * lead.low, 1),
        "to": round(100 * lead.high, 1),
        "draws": lead.seeds,
    }


def _picture(leader: Mapping[int, Scored], rival: Mapping[int, Scored]) -> Lines:
    name = next(iter(leader.values())).run.dataset.name
    curves = ((LEADER, leader), ("best not pretrained", rival))
    return Lines(
        title=f"The lead of {LEADER} as labels grow: {name}",
        x_label="labels",
        y_label="test accuracy, %",
        series=tuple(accuracy_series(label, {float(n): cell for n, cell in curve.items()}) for label, curve in curves),
        log_x=True,
    )


def _notes(most: int, pool: int) -> tuple[str, ...]:
    untested = " or ".join(f"{n:,}" for n in (CROSSING, MILLIONS) if most < n)
    return (
        "At each budget the rival is whichever model that was not pretrained scores highest there.",
        *(
            [f"What happens at {untested} labels cannot be tested here: the pool has {pool:,} rows, and {most:,} were used."]
            * bool(untested)
        ),
    )


CLAIM = Claim(
    name="crossover",
    statement="Pretrained under about 50,000 labels; with millions the advantage evaporates.",
    kind="learning",
    rule=(
        "Holds when the fine-tuned encoder leads the best model that was not pretrained at the largest budget under 50,000 labels (lower "
        "bound above 0), its lead at the largest budget is smaller than with 1,000 labels (upper bound of the change below 0), and, only "
        "where there are a million labels, at most 1.0 point is left of it."
    ),
    seconds={"small": 2000, "full": 40_000},
    shared_seconds={"labels-1000": {"small": 1300, "full": 39_000}},
    measure=measure,
    sweeps=("crossover",),
)
