"""Quality joined with latency: on dataset fingerprint, architecture, reading and precision; one machine a table.

An engine that changes answers is judged on its own quality; a candidate without a latency record is not measured,
which is neither slow nor fast.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bakeoff.report import stats
from bakeoff.report.candidates import Candidate, served_key
from bakeoff.report.stats import Estimate
from bakeoff.report.summary import PREDICTIONS, Labels, Section, read_answers
from bakeoff.report.timing import Session, Timing
from bakeoff.spec import Latency
from bakeoff.store import Store


@dataclass(frozen=True, kw_only=True)
class Served:
    """One way to serve a candidate, or a candidate that was not timed (`timing` is null); estimates by budget."""

    candidate: Candidate
    session: Session | None
    timing: Timing | None
    estimates: dict[Labels, Estimate]
    own_quality: bool
    """Whether the estimates are of this engine's own answers."""


@dataclass(frozen=True, kw_only=True)
class Joined:
    """A dataset's candidates as served on one machine, one document at a time."""

    section: Section
    machine: str
    probe: Latency
    """That of the first session, beside which another candidate can be timed."""
    served: tuple[Served, ...]
    """Best first, by the largest budget; those without a timing last."""

    @property
    def title(self) -> str:
        """Unique on a page that names machines apart."""
        return f"{self.section.title} on {self.machine}"


def join(sections: Sequence[Section], sessions: Sequence[Session], store: Store) -> list[Joined]:
    """Every dataset that has both quality and single-stream latency, machine by machine."""
    found = []
    for section in sections:
        alike = [s for s in sessions if s.fingerprint == section.dataset.fingerprint and s.probe.scenario == "single" and s.timings]
        for machine in dict.fromkeys(session.machine for session in alike):
            here = [session for session in alike if session.machine == machine]
            found.append(Joined(section=section, machine=machine, probe=here[0].probe, served=_served(section, here, store)))
    return found


def _served(section: Section, sessions: Sequence[Session], store: Store) -> tuple[Served, ...]:
    largest = section.tables[-1].labels
    rows = []
    for candidate, estimates in _candidates(section):
        key = served_key(candidate.run)
        timed = [(session, timing) for session in sessions for timing in session.timings if timing.candidate.key == key]
        for session, timing in timed:
            own = own_estimates(section, timing, store) if timing.changes_answers else estimates
            rows.append(Served(candidate=candidate, session=session, timing=timing, estimates=own, own_quality=timing.changes_answers))
        if not timed:
            rows.append(Served(candidate=candidate, session=None, timing=None, estimates=estimates, own_quality=False))
    return tuple(sorted(rows, key=lambda row: (row.timing is None, -_mean(row, largest))))


def _candidates(section: Section) -> list[tuple[Candidate, dict[Labels, Estimate]]]:
    """The section's candidates that have a score at some budget, in the order of its tables."""
    found: dict[str, tuple[Candidate, dict[Labels, Estimate]]] = {}
    for table in section.tables:
        for standing in table.scored:
            _, estimates = found.setdefault(standing.candidate.key, (standing.candidate, {}))
            if standing.estimate is not None:
                estimates[table.labels] = standing.estimate
    return list(found.values())


def own_estimates(section: Section, timing: Timing, store: Store) -> dict[Labels, Estimate]:
    """The score of an engine's own answers at the budget of its weights; empty where they were not scored."""
    record = timing.record
    if "test" not in record.quality or not (store.folder(record.run_id) / PREDICTIONS).exists():
        return {}
    return {record.run.budget.labels: stats.estimate(read_answers(store, [record]), section.metric)}


def _mean(row: Served, labels: Labels) -> float:
    estimate: Mapping[Labels, Estimate] = row.estimates
    return estimate[labels].mean if labels in estimate else -1.0
