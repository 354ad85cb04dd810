"""`bakeoff decide`: from a file to a recommendation within a time; a planner over ordinary Runs, so everything resumes."""

import dataclasses
import json
from pathlib import Path
from typing import Literal

from bakeoff.commands import decide_against, decide_words
from bakeoff.commands.data import in_options
from bakeoff.commands.decide_field import Field
from bakeoff.commands.decide_optimism import optimism
from bakeoff.commands.decide_shipped import shipped
from bakeoff.commands.decide_work import Decision
from bakeoff.deciding.against import compare, plan
from bakeoff.deciding.clock import Clock
from bakeoff.deciding.offers import floors, universe
from bakeoff.deciding.old_report import OldReport, read_old
from bakeoff.deciding.rounds import Round, next_round
from bakeoff.errors import BakeoffError
from bakeoff.report.limits import Limits
from bakeoff.store import Store, default_root, write_atomically

Format = Literal["text", "json"]


def decide(
    asked: Field, limits: Limits, *, hours: float, threads: int, against: Path | None = None, dry_run: bool = False, format: Format = "text"
) -> int:
    """Exit code of `bakeoff decide`. Raises BakeoffError for a mistake, for data that is no good, and for too little time."""
    clock = Clock(budget_seconds=hours * 3600)
    old = None if against is None else read_old(against, Store(default_root()))
    dataset = asked.first_run(floors()[0]).dataset
    try:
        asked.use(decide_against.pinned(dataset) if old is None else decide_against.grown(old, dataset))
    except BakeoffError as error:
        raise type(error)(in_options(str(error))) from None
    if old is not None:
        decide_against.beside(asked, dataset, Store(default_root()))
        plan(old, asked.first_run(floors()[0]).dataset)  # which refuses another question, before anything starts
    found = Decision.begin(asked, limits, clock=clock, threads=threads)
    if old is not None and not dry_run:
        return _again(old, found, format)
    if dry_run:
        print(decide_words.plan(found.plan(), found.session, clock, asked, as_json=format == "json"))
        return 0
    found.check_floors()
    found.time_architectures()
    _rounds(found)
    if not found.interrupted and found.time_again():
        _rounds(found)  # of whom the limit now lets lead
    if found.interrupted:
        return 130
    twin = optimism(found)
    answered = found.page.answer(found.recorded(), clock)
    print(decide_words.end(found, answered, twin, as_json=format == "json"))
    return 1 if found.failed else 0


def _rounds(found: Decision) -> None:
    """Bake round after round, until nothing is left that the rule asks for and the time allows."""
    while not found.interrupted and (following := next_round(found.known())) is not None:
        found.bake_round(following)


def _again(old: OldReport, found: Decision, format: Format) -> int:
    """Retrain last month's winner and its rivals on the grown file, and say keep, retrain or reconsider."""
    dataset = found.field.first_run(floors()[0]).dataset
    wanted = {run.run_id: None for run in plan(old, dataset)}
    offers = {
        run.run_id: offer for offer in universe(("all",), long=True) if (run := found.field.run(offer)) is not None and run.run_id in wanted
    }
    found.bake_round(Round(name="again", offers=tuple(offers[run_id] for run_id in wanted if run_id in offers)))
    if found.interrupted:
        return 130
    before = shipped(old, dataset, found.store, fits=found.clock.fits)
    said = compare(old, dataset, found.store, margin_points=found.limits.margin_points, shipped=before)
    section = decide_against.render(said)
    if (page := found.page.write(found.recorded(), found.clock)) is not None:
        write_atomically(page, page.read_text(encoding="utf-8") + "\n" + section)
    skipped = decide_words.not_run(found)
    if format == "json":
        plain = {"verdict": said.verdict, "reason": said.reason, "changes": dataclasses.asdict(said.changes), "report": str(page)}
        print(json.dumps(plain | {"not_run": [{"what": what, "why": why} for what, why in skipped]}, indent=2, ensure_ascii=False))
    else:
        print("\n".join([section, *(f"not run: {what}: {why}" for what, why in skipped), f"report: {page}"]))
    return 1 if found.failed else 0
