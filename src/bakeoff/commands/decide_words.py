"""What a decision prints: its plan, and at its end the recommendation, what was not run, and the line that ships the winner."""

import dataclasses
import json
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bakeoff.commands.decide_field import Field
from bakeoff.commands.decide_latency import SessionPlan
from bakeoff.commands.decide_page import plain_seconds, winner_runs
from bakeoff.deciding.clock import Clock
from bakeoff.deciding.estimates import right_share
from bakeoff.deciding.offers import Offer
from bakeoff.deciding.rounds import WHY, Round
from bakeoff.report.answer import Answered, Unanswered
from bakeoff.report.answer_plain import plain as plain_answer
from bakeoff.report.answer_table import answer_grid, as_text
from bakeoff.report.answer_words import say
from bakeoff.report.plain import one_line
from bakeoff.runner.live import duration as duration
from bakeoff.spec import FOLDS

if TYPE_CHECKING:
    from bakeoff.commands.decide_optimism import Optimism
    from bakeoff.commands.decide_work import Decision

WIDTH = 110
FEW_TEST_ROWS = 1000


def plan(
    planned: Sequence[tuple[Round, list[tuple[Offer, float]]]], session: SessionPlan, clock: Clock, field: Field, *, as_json: bool
) -> str:
    """The rounds with what each Run is expected to take, and whether it would fit if nothing before it is dropped or decided."""
    if as_json:
        rows = [
            {"round": each.name, "run": offer.title, "overrides": list(field.overrides(offer)), "estimate_seconds": round(seconds, 1)}
            for each, offers in planned
            for offer, seconds in offers
        ]
        timed = {"models": [offer.label for offer in session.offers], "estimate_seconds": round(session.seconds, 1)}
        return json.dumps({"budget_seconds": clock.budget_seconds, "latency_session": timed, "runs": rows}, indent=2, ensure_ascii=False)
    lines = [f"{duration(clock.budget_seconds)} in all; {duration(clock.report_seconds)} of them for the page"]
    if session.offers:
        lines.append(f"timed before training: {', '.join(offer.label for offer in session.offers)}   about {duration(session.seconds)}")
    draws = [each for each, _ in planned if each.name == "draws"]
    for each, offers in planned:
        if each.name == "draws" and each is not draws[0]:
            continue
        more = f", and {len(draws) - 1} times more where that decides nothing" if each.name == "draws" and len(draws) > 1 else ""
        lines.append(f"{each.name}: {WHY[each.name]}{more}")
        lines += [f"  {offer.title:<44} about {duration(seconds)}" for offer, seconds in offers]
    lines.append("more draws are of whoever is undecided then, and smaller budgets of whoever leads: here as if all were open")
    for label, reason in field.refused.items():
        lines.append(f"cannot be run: {label}: {reason}")
    return "\n".join(lines)


def end(found: "Decision", answered: Answered | Unanswered | None, twin: "Optimism | None", *, as_json: bool) -> str:
    """The last word of a decision; where nobody could be timed, also what scores alone say."""
    scores = found.page.by_scores(answered, found.recorded())
    page = found.field.folder / "README.md"
    skipped = not_run(found)
    best = scores or (answered if isinstance(answered, Answered) else None)
    export = None if best is None else export_line(best, f"{found.field.name}-model")
    if as_json:
        plain: dict[str, Any] = {} if answered is None else plain_answer(answered, lambda _: None)
        more = {
            "not_run": [{"what": what, "why": why} for what, why in skipped],
            "report": str(page) if answered is not None else None,
            "export": export,
            "by_scores_alone": None if scores is None else f"{say(scores).lead} {say(scores).rest}",
            "more_labels": more_labels(found, answered),
            "optimism": None if twin is None else dataclasses.asdict(twin) | {"sentence": twin.sentence},
            "seconds": round(found.clock.spent_seconds, 1),
            "budget_seconds": found.clock.budget_seconds,
            "runs": plain_seconds(found.estimates.took),
            "estimates_right_share": right_share(found.estimates.took),
        }
        return json.dumps(plain | more, indent=2, ensure_ascii=False, allow_nan=False)
    parts = ["Nothing was scored."]
    if answered is not None:
        said = say(answered)
        parts = [_wrapped(f"{said.lead} {said.rest}"), *(_wrapped(f"{point.lead} {point.rest}") for point in said.points)]
        if scores is not None:
            parts.append(_wrapped(f"By scores alone: {say(scores).lead} {say(scores).rest}"))
        if (more_said := more_labels(found, answered)) is not None:
            parts.append(_wrapped(f"More labels: {more_said}"))
        if twin is not None:
            parts.append(_wrapped(f"Optimism: {twin.sentence}."))
    if isinstance(answered, Answered):
        parts.append(as_text(answer_grid(answered)))
    if skipped:
        parts.append("\n".join(["Not run:", *(_wrapped(f"{what}: {why}", indent="  ") for what, why in skipped)]))
    ends = [f"{duration(found.clock.spent_seconds)} of {duration(found.clock.budget_seconds)} were used."]
    if (share := right_share(found.estimates.took)) is not None:
        known = sum(one.estimated_seconds is not None for one in found.estimates.took)
        ends.append(f"{100 * share:.0f}% of {known} Runs took what was estimated, within a factor of 1.5.")
    parts.append(" ".join(ends))
    if answered is not None:
        parts.append(f"report: {page}")
    if export is not None and best is not None:
        parts.append(f"{'ship it' if best.choice.recommended is not None else 'the best so far, not yet recommended'}: {export}")
    return "\n\n".join(parts)


def export_line(best: Answered, folder: str) -> str | None:
    """What ships the recommended, or whoever leads; None where none meets the limits, and for a model that learned no weights."""
    leader, run_id = best.choice.recommended or best.choice.reference, next(iter(winner_runs(best)), None)
    if leader is None or run_id is None or not leader.contender.reads_labels:
        return None
    return shlex.join(["bakeoff", "export", run_id, folder])


def not_run(found: "Decision") -> list[tuple[str, str]]:
    """What a decision left out, and why."""
    rows = [(Offer(model=model, reading=reading).label, why) for (model, reading), why in found.dropped.items()]
    rows += list(found.field.refused.items())
    by_reason: dict[str, list[str]] = {}
    for offer, why in found.left_out.items():
        by_reason.setdefault(why, []).append(offer.title)
    rows += [("; ".join(titles), why) for why, titles in by_reason.items()]
    rows += [(offer.title, f"failed: {message}") for offer, message in found.failed.items()]
    run = found.field.run(Offer(model="majority"))
    tests = found.estimates.sizes.test
    if run is not None and run.dataset.split == "fold" and not run.dataset.brings_folds and tests < FEW_TEST_ROWS:
        others = ",".join(str(fold) for fold in range(FOLDS))
        file = found.field.folder / "plan" / f"{found.field.name}.yaml"
        line = shlex.join(["bakeoff", "sweep", str(file), *found.field.paths, f"dataset.fold={others}"])
        total = tests + found.estimates.sizes.pool
        rows.append((f"the other {FOLDS - 1} folds", f"all five would judge on {total:,} rows instead of {tests:,}: {line}"))
    return rows


def more_labels(found: "Decision", answered: Answered | Unanswered | None) -> str | None:
    """What the last doubling of the labels bought whoever leads; None where it was not asked."""
    if not isinstance(answered, Answered):
        return None
    leader, metric = found.known().standing.leader, answered.choice.metric
    if leader is None:
        return None
    scores: dict[Any, dict[int, float]] = {}
    for offer in found.recorded():
        run = found.field.run(offer)
        record = None if run is None or offer.candidate != leader or offer.asks != "quality" else found.store.load(run.run_id)
        if record is not None and "test" in record.quality:
            scores.setdefault(offer.labels, {})[offer.seed] = float(getattr(record.quality["test"], metric))
    return _gain(scores, leader=Offer(model=leader[0], reading=leader[1]).label, pool=found.estimates.sizes.pool)


def _gain(scores: Mapping[Any, Mapping[int, float]], *, leader: str, pool: int) -> str | None:
    smaller = sorted((labels for labels in scores if labels != "all"), reverse=True)
    said = []
    for labels in smaller:
        shared = sorted(set(scores[labels]) & set(scores.get("all", {})))
        if shared:
            gain = 100 * sum(scores["all"][seed] - scores[labels][seed] for seed in shared) / len(shared)
            draws = f"{len(shared)} draw{'' if len(shared) == 1 else 's'}"
            said.append(f"from {labels:,} to {pool:,} labels {leader} gained {gain:+.1f} points ({draws})")
    return None if not said else f"{'; '.join(said)}; another doubling rarely buys more than the last one did."


def _wrapped(text: str, *, indent: str = "") -> str:
    return textwrap.fill(
        one_line(text), WIDTH, break_long_words=False, break_on_hyphens=False, initial_indent=indent, subsequent_indent=2 * indent
    )
