"""The leader's score on a random split, once, beside that on the newest rows: how much the random split flatters."""

import dataclasses
from dataclasses import dataclass

from bakeoff.commands.baking import bake_runs
from bakeoff.commands.decide_work import Decision
from bakeoff.deciding.offers import UNLABELLED, Offer
from bakeoff.deciding.optimism import random_twin
from bakeoff.report.words import METRIC_NAMES, percent
from bakeoff.runner.live import duration


@dataclass(frozen=True, kw_only=True)
class Optimism:
    """What one draw of the leader scores on each split, from 0 to 1; null with a reason where the twin was not run."""

    candidate: str
    metric: str
    newest: float
    random: float | None
    why_not: str | None = None

    @property
    def sentence(self) -> str:
        """For a person."""
        if self.random is None:
            return f"not known: {self.why_not}"
        gap = 100 * (self.random - self.newest)
        return (
            f"on a random split {self.candidate} scores {percent(self.random)}% {self.metric}, on the newest rows {percent(self.newest)}%: "
            f"{gap:+.1f} points (one draw each, on different rows)"
        )


def optimism(found: Decision) -> Optimism | None:
    """Bake the twin of the leader's first draw where it fits; None for a decision that is not split by time, or without a leader."""
    leader = found.known().standing.leader
    offer = None if leader is None else Offer(model=leader[0], reading=leader[1], labels=0 if leader[0] == UNLABELLED else "all")
    run = None if offer is None else found.field.run(offer)
    record = None if run is None else found.store.load(run.run_id)
    if run is None or offer is None or record is None or run.dataset.split != "newest" or "test" not in record.quality:
        return None
    twin = found.field.composer.job(random_twin(found.field.overrides(offer))).run
    metric = record.data.primary_metric if found.limits.metric is None else found.limits.metric
    known = Optimism(candidate=offer.label, metric=METRIC_NAMES[metric], newest=float(getattr(record.quality["test"], metric)), random=None)
    seconds = found.seconds(offer) * (2 if twin.needs else 1)
    if found.store.load(twin.run_id) is None:
        if not found.clock.fits(seconds):
            return dataclasses.replace(known, why_not=f"the same on a random split takes about {duration(seconds)}")
        machine = dataclasses.replace(found.machine, time_limit_minutes=found.clock.limit_seconds / (2 if twin.needs else 1) / 60)
        bake_runs([twin], machine, found.store, executor="local", slots=1, group=found.field.name)
    other = found.store.load(twin.run_id)
    if other is None or "test" not in other.quality:
        return dataclasses.replace(known, why_not="the same on a random split has no score")
    return dataclasses.replace(known, random=float(getattr(other.quality["test"], metric)))
