"""The page of a decision, written anew after each round, and where the candidates stand by the rule."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bakeoff.commands.decide_field import Field
from bakeoff.commands.report import prices_file
from bakeoff.deciding.clock import Clock
from bakeoff.deciding.offers import Offer
from bakeoff.deciding.old_report import Decision as Chosen
from bakeoff.deciding.old_report import write_decision
from bakeoff.deciding.standing import Standing, standing
from bakeoff.report import costs, pages
from bakeoff.report.answer import Answered, Question, Unanswered, answer_or_why, questions
from bakeoff.report.choose import choose
from bakeoff.report.limits import Limits
from bakeoff.report.store_cache import ReadOnce
from bakeoff.spec import Run
from bakeoff.store import Store


@dataclass(kw_only=True)
class Page:
    """Records to a page under `reports/<name>/`."""

    field: Field
    store: Store
    limits: Limits

    def write(self, recorded: Sequence[Offer], clock: Clock) -> Path | None:
        """Write the page, the sweep files behind it and `decision.json`; None while nothing is scored."""
        begun = time.monotonic()
        if not any(offer.asks == "quality" for offer in recorded):
            return None
        sweeps = self.field.sweeps(recorded)
        path = pages.write_report(
            sweeps,
            ReadOnce(self.store.root),
            self.field.folder,
            overrides=self.field.paths,
            prices=costs.read_prices(prices_file()),
            limits=self.limits,
        )
        found = self._question(recorded)
        answered = None if found is None else answer_or_why(found, self.limits)
        answered = self.by_scores(answered, recorded) or answered
        if isinstance(answered, Answered) and (chosen := _chosen(answered)) is not None:
            write_decision(self.field.folder, chosen)
        clock.has_reported(time.monotonic() - begun)
        return path

    def answer(self, recorded: Sequence[Offer], clock: Clock) -> Answered | Unanswered | None:
        """The last word: the page once more, and its answer; None without a score."""
        if self.write(recorded, clock) is None:
            return None
        found = self._question(recorded)
        return None if found is None else answer_or_why(found, self.limits)

    def by_scores(self, answered: Answered | Unanswered | None, recorded: Sequence[Offer]) -> Answered | None:
        """The answer without the latency limit, where nobody was timed whom it could be held against; else None."""
        if not isinstance(answered, Answered) or answered.choice.reference is not None or answered.choice.with_status("infeasible"):
            return None
        limits = replace(self.limits, max_p95_ms=None, threads=None)
        question = self._question(recorded, limits)
        found = None if question is None else answer_or_why(question, limits)
        return found if isinstance(found, Answered) else None

    def standing(self, recorded: Sequence[Offer]) -> Standing:
        """Where the candidates stand on all labels; nothing where nobody is scored."""
        offers = [offer for offer in recorded if offer.asks == "latency" or offer.labels in ("all", 0)]
        question = self._question(offers)
        if question is None or not any(offer.labels == "all" and offer.asks == "quality" for offer in offers):
            return Standing()
        limits = question.under(self.limits)
        choice = choose(question.fields(limits), limits)
        if choice.reference is None and not choice.with_status("infeasible"):  # nobody could be timed: go on by scores alone
            limits = replace(limits, max_p95_ms=None, threads=None, machine=None)
            choice = choose(question.fields(limits), limits)
        return standing(choice, self._by_run(offers))

    def _question(self, recorded: Sequence[Offer], limits: Limits | None = None) -> Question | None:
        runs = [run for offer in recorded if (run := self.field.run(offer)) is not None]
        store = ReadOnce(self.store.root)
        records = [record for run in runs if (record := store.load(run.run_id)) is not None]
        return next(iter(questions(records, store, limits or self.limits, planned=runs)), None)

    def _by_run(self, offers: Sequence[Offer]) -> Mapping[str, Offer]:
        found: dict[str, Offer] = {}
        for offer in offers:
            run: Run | None = self.field.run(offer)
            if run is not None:
                found[run.run_id] = offer
        return found


def winner_runs(answered: Answered) -> tuple[str, ...]:
    """The quality Runs of what is recommended, or of what leads while nothing is; empty where none meets the limits."""
    best = answered.choice.recommended or answered.choice.reference
    return () if best is None else best.contender.fitted_by or best.contender.run_ids


def _chosen(answered: Answered) -> Chosen | None:
    """What next month is compared with: the winner and, of those that meet the limits, the candidates nearest to it by their score."""
    choice, winner = answered.choice, winner_runs(answered)
    if not winner:
        return None
    best = choice.recommended or choice.reference
    assert best is not None
    rivals = [each for each in choice.judged if each.feasibility.status == "feasible" and each.contender.key != best.contender.key]
    nearest = sorted(rivals, key=lambda each: abs(each.estimate.mean - best.estimate.mean))
    return Chosen(winner=winner, rivals=tuple(each.contender.run_ids for each in nearest))


def plain_seconds(took: Sequence[Any]) -> list[dict[str, Any]]:
    """Estimates beside what Runs took."""
    return [
        {"run": one.offer.title, "estimated_seconds": one.estimated_seconds, "seconds": one.seconds}
        for one in took
        if one.estimated_seconds is not None
    ]
