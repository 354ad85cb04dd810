"""The label equivalents of a page: how many labels each candidate needs to score what the best one scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bakeoff.report import words
from bakeoff.report.blocks import ABSENT, Block, grid
from bakeoff.report.candidates import Candidate
from bakeoff.report.label_equivalent import LabelEquivalent, Labels, label_equivalent
from bakeoff.report.summary import Section, Standing, Table, on_test

Draw = tuple[int | None, int]


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """What `candidate` needs to score what the section's best scores at `table`'s budget, draw by draw."""

    candidate: Candidate
    table: Table
    best: Standing
    needed: LabelEquivalent
    runs: tuple[str, ...]


def equivalences(section: Section) -> list[Equivalence]:
    """Of every candidate but the best at the largest budget and the majority model, at each budget at which that best was scored.

    It takes two budgets with labels that share a draw; where the best has one Run, as without labels, that stands for every draw.
    """
    leader = section.tables[-1].best
    found = []
    for standing in section.tables[-1].scored:
        candidate = standing.candidate
        if candidate.key == leader.candidate.key or candidate.kind == "majority":
            continue
        budgets = {table.n_labels: _scores(table, candidate.key, section) for table in section.tables if table.n_labels}
        budgets = {n: scores for n, scores in budgets.items() if scores}
        for table in section.tables:
            best = _standing(table, leader.candidate.key)
            if best is None or len(budgets) < 2:
                continue
            equivalence = _equivalence(section, candidate, table, best, budgets)
            if equivalence is not None:
                found.append(equivalence)
    return found


def _equivalence(
    section: Section, candidate: Candidate, table: Table, best: Standing, budgets: Mapping[int, Mapping[Draw, float]]
) -> Equivalence | None:
    targets = {_draw(record.run.budget.draw, record.run.seed): getattr(on_test(record), section.metric) for record in best.records}
    draws = [draw for draw in next(iter(budgets.values())) if all(draw in scores for scores in budgets.values())]
    only = next(iter(targets.values())) if len(targets) == 1 else None
    draws = [draw for draw in draws if draw in targets or only is not None]
    if not draws:
        return None
    curves = [{n: scores[draw] for n, scores in budgets.items()} for draw in draws]
    own = [record.run_id for other in section.tables if (one := _standing(other, candidate.key)) for record in one.records]
    return Equivalence(
        candidate=candidate,
        table=table,
        best=best,
        needed=label_equivalent(curves, [targets.get(draw, only if only is not None else 0.0) for draw in draws]),
        runs=(*own, *(record.run_id for record in best.records)),
    )


def shown_in_figure(section: Section) -> Equivalence | None:
    """Of the next best: at the largest budget of the best whose equivalent lies within what was measured, else at the smallest."""
    found = equivalences(section)
    if not found:
        return None
    own = [one for one in found if one.candidate.key == found[0].candidate.key and one.table.n_labels]
    within = [one for one in own if one.needed.middle.side == "exactly"]
    beyond = [one for one in own if one.needed.middle.side == "more_than" and one.needed.middle.n > one.table.n_labels]
    return within[-1] if within else beyond[0] if beyond else None


def equivalent_blocks(sections: Sequence[Section]) -> list[Block]:
    """A table a dataset; none where no candidate was scored with two numbers of labels."""
    return [block for section in sections if (block := _block(section)) is not None]


def _block(section: Section) -> Block | None:
    found = equivalences(section)
    if not found:
        return None
    best = found[0].best.candidate.label
    tables = [table for table in section.tables if any(one.table is table for one in found)]
    members = list(dict.fromkeys(one.candidate.key for one in found))
    by_place = {(one.candidate.key, one.table.n_labels): one for one in found}
    rows = [[by_place.get((key, table.n_labels)) for table in tables] for key in members]
    names = [next(one.candidate.label for one in row if one is not None) for row in rows]
    columns = [
        ("labels that …", names),
        *((f"… needs for {best} with {words.budget(table)}", [cell(row[place]) for row in rows]) for place, table in enumerate(tables)),
    ]
    runs = tuple(tuple(dict.fromkeys(run for one in row if one is not None for run in one.runs)) for row in rows)
    title = f"Label equivalents: {section.title}"
    return Block(
        heading=title,
        level=2,
        grids=(grid(title, columns, texts=("labels that …",), runs=runs),),
        notes=_notes(section, [one.needed for one in found]),
    )


def cell(one: Equivalence | None) -> str:
    """`512 (430 to > 1,000)`."""
    if one is None:
        return ABSENT
    needed = one.needed
    spread = "" if needed.low == needed.high else f" ({text(needed.low)} to {text(needed.high)})"
    return text(needed.middle) + spread


def text(labels: Labels) -> str:
    """`512`, `≤ 100` or `> 1,000`."""
    return {"at_most": "≤ ", "exactly": "", "more_than": "> "}[labels.side] + f"{labels.n:,.0f}"


def _notes(section: Section, needed: Sequence[LabelEquivalent]) -> tuple[str, ...]:
    fewest = min(needed, key=lambda one: len(one.by_draw))
    draws = len(fewest.by_draw)
    how = (
        f"How many labels score as much {words.METRIC_NAMES[section.metric]} as the model that is best at the largest budget, draw by "
        "draw: a non-decreasing fit over the budgets, straight on the logarithm of labels, and nothing beyond what was measured (>, ≤)."
    )
    if draws == 1:
        return (how, "With one draw in common there is no interval.")
    return (
        how,
        f"The median over draws, and in brackets an interval for it that counts draws only: with the fewest, {draws}, it runs from the "
        f"lowest to the highest and would hold the median of all draws {words.percent(fewest.coverage)}% of the time."
        if draws < 9
        else f"The median over draws, and in brackets its interval by order statistics ({words.percent(fewest.coverage)}%): draws only.",
    )


def _scores(table: Table, key: str, section: Section) -> dict[Draw, float]:
    standing = _standing(table, key)
    records = () if standing is None else standing.records
    return {_draw(record.run.budget.draw, record.run.seed): getattr(on_test(record), section.metric) for record in records}


def _standing(table: Table, key: str) -> Standing | None:
    return next((standing for standing in table.scored if standing.candidate.key == key), None)


def _draw(draw: int | None, seed: int) -> Draw:
    return (draw, seed)
