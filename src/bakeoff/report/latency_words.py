"""The sentences about speed that stand in the answer."""

from collections.abc import Callable, Sequence

from bakeoff.report import latency_long, words
from bakeoff.report.timing import Session, Timing, to_reference
from bakeoff.report.words import Answer

MOST_NAMED = 4


def answers(sessions: Sequence[Session]) -> list[Answer]:
    """One answer a session: who answers fastest, and how the others compare; a contended session answers nothing.

    One that timed nothing but long documents tells what its longest one takes.
    """
    asked = [f"{session.dataset}, {session.setting}" for session in sessions]
    said = [answer(session, among=asked.count(where) > 1) for session, where in zip(sessions, asked, strict=True) if session.timings]
    return said + [found for session in sessions if not session.timings and (found := whole_documents(session)) is not None]


def answer(session: Session, *, among: bool = False) -> Answer:
    """What one session says; `among` others of its kind it says which models it speaks of."""
    where = f"{session.dataset}, {session.setting}"
    if among:
        where += f", the {len(session.timings)} timed in session {session.session_id.split('-')[0]}"
    if session.contended:
        return _not_settled(session, where)
    if session.probe.scenario == "offline":
        return _offline(session, where)
    first, *others = session.timings
    interval = first.facts.intervals.get("p50_ms")
    about = [_times(first)] + (
        [f"95% interval of the median {words.three_digits(interval.low)} to {words.three_digits(interval.high)} ms"] if interval else []
    )
    return Answer(lead=f"{where}: {first.label} answers fastest", rest=" ".join([f"({', '.join(about)}).", *_listing(others, _times)]))


def whole_documents(session: Session) -> Answer | None:
    """What the longest document that was timed takes by each reading, fastest first; None where no long ones were."""
    where, growths = f"{session.dataset}, {session.setting}", latency_long.growths(session)
    if not growths:
        return None
    if session.contended:
        return _not_settled(session, where)
    longest = max(growth.tokens for growth in growths)
    asked = sorted((growth for growth in growths if growth.tokens == longest), key=lambda growth: growth.seconds)
    said = [f"{growth.name}: {words.three_digits(growth.seconds)} s{_memory(growth)}, {_growing(growth)}" for growth in asked]
    return Answer(lead=f"{where}: what a document of {longest:,} tokens takes, read whole.", rest="; ".join(said) + ".")


def _memory(growth: latency_long.Growth) -> str:
    return "" if growth.peak_memory_mb is None else f" and {growth.peak_memory_mb:,.0f} MB"


def _growing(growth: latency_long.Growth) -> str:
    if growth.whole is None:
        return "too few lengths to say how it grows"
    how = "linearly" if growth.word == "linear" else growth.word
    return f"growing {how} (exponent {growth.whole.exponent:.2f})"


def _not_settled(session: Session, where: str) -> Answer:
    return Answer(lead=f"{where}: not settled.", rest=f"Session {session.session_id} was contended: measure it again on a quiet machine.")


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
