"""The sentences about speed that stand in the answer."""

from collections.abc import Callable, Sequence

from bakeoff.report import words
from bakeoff.report.timing import Session, Timing, to_reference
from bakeoff.report.words import Answer

MOST_NAMED = 4


def answers(sessions: Sequence[Session]) -> list[Answer]:
    """One answer a session: who answers fastest, and how the others compare; a contended session answers nothing."""
    asked = [f"{session.dataset}, {session.setting}" for session in sessions]
    return [answer(session, among=asked.count(where) > 1) for session, where in zip(sessions, asked, strict=True) if session.timings]


def answer(session: Session, *, among: bool = False) -> Answer:
    """What one session says; `among` others of its kind it says which models it speaks of."""
    where = f"{session.dataset}, {session.setting}"
    if among:
        where += f", the {len(session.timings)} timed in session {session.session_id.split('-')[0]}"
    if session.contended:
        return Answer(
            lead=f"{where}: not settled.", rest=f"Session {session.session_id} was contended: measure it again on a quiet machine."
        )
    if session.probe.scenario == "offline":
        return _offline(session, where)
    first, *others = session.timings
    interval = first.facts.intervals.get("p50_ms")
    about = [_times(first)] + (
        [f"95% interval of the median {words.three_digits(interval.low)} to {words.three_digits(interval.high)} ms"] if interval else []
    )
    return Answer(lead=f"{where}: {first.label} answers fastest", rest=" ".join([f"({', '.join(about)}).", *_listing(others, _times)]))


def _offline(session: Session, where: str) -> Answer:
    timings = sorted(session.timings, key=lambda timing: -(timing.facts.throughput_per_second or 0.0))
    first, *others = timings
    return Answer(lead=f"{where}: {first.label} answers most", rest=" ".join([f"({_speed(first)}).", *_listing(others, _speed)]))


def _listing(timings: Sequence[Timing], say: Callable[[Timing], str]) -> list[str]:
    said = [f"{timing.label}: {say(timing)}" for timing in timings[:MOST_NAMED]]
    if len(timings) > MOST_NAMED:
        said.append(f"{words.count(len(timings) - MOST_NAMED, 'other')} in the table")
    return ["; ".join(said) + "."] if said else []


def _speed(timing: Timing) -> str:
    return f"{words.three_digits(timing.facts.throughput_per_second)} documents a second in batches of {timing.facts.batch_size:,}"


def _times(timing: Timing) -> str:
    """`median 1.20 ms, 95th percentile 3.40 ms, 0.9 times the reference`."""
    parts = [f"median {words.three_digits(timing.facts.p50_ms)} ms"]
    if timing.facts.p95_ms is not None:
        parts.append(f"95th percentile {words.three_digits(timing.facts.p95_ms)} ms")
    ratio = to_reference(timing)
    if ratio is not None:
        parts.append(f"{words.three_digits(ratio.value)} times the reference")
    return ", ".join(parts)
