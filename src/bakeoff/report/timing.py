"""What latency Runs found, in numbers: a session a machine, dataset, device, thread count and scenario; a timing a candidate.

Sessions never mix: a table holds models that took turns with one another on one machine, and what compares sessions is
the ratio to the reference, which every session times.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.record import LatencyFacts, Record
from bakeoff.report.candidates import Candidate
from bakeoff.report.frame import machine_name, precision_of
from bakeoff.spec import EncoderSize, Latency, Pretrained

FIT_FROM_TOKENS = 128
"""Below this, what a call costs whatever its length hides how latency grows."""
FEWEST_FIT_LENGTHS = 3


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """How many times as long one takes as another at the median, with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A ratio of two medians, and the number that is often quoted for it."""

    what: str
    ratio: Ratio
    quoted: str
    by_way_of_reference: bool


@dataclass(frozen=True, kw_only=True)
class Fit:
    """ms = scale × tokens ^ exponent by least squares on logarithms, over the measured lengths from `first_tokens` up."""

    exponent: float
    scale: float
    lengths: int
    first_tokens: float
    last_tokens: float

    def ms(self, tokens: float) -> float:
        """The fitted latency at a length."""
        return float(self.scale * tokens**self.exponent)


@dataclass(frozen=True, kw_only=True)
class Timing:
    """One latency Run's answer."""

    record: Record
    candidate: Candidate
    facts: LatencyFacts
    probe: Latency

    @property
    def label(self) -> str:
        """The candidate, and its engine unless that is eager: `pretrained (minilm-l6) · onnx int8`."""
        engine = "" if self.probe.engine == "eager" else f" · {engine_name(self.probe.engine)}"
        return self.candidate.label + engine

    @property
    def changes_answers(self) -> bool:
        """Whether the engine's answers are not those that the quality Runs were scored on."""
        agreement = self.facts.agreement
        beyond = agreement is not None and agreement.max_probability_difference > agreement.tolerance
        return bool(self.record.quality) or beyond or (agreement is not None and agreement.changed_labels > 0)

    @property
    def weights(self) -> str:
        """`untrained`, or `trained` with the labels and the seed behind the weights."""
        if self.probe.weights == "untrained":
            return "untrained"
        labels = self.record.run.budget.labels
        return f"trained ({labels if labels == 'all' else f'{labels:,}'} labels, seed {self.record.run.seed})"


@dataclass(frozen=True, kw_only=True)
class Session:
    """Models that took turns: their timings on the dataset's documents, and those by fixed lengths, from short or from long."""

    session_id: str
    dataset: str
    fingerprint: str
    machine: str
    gpu: str | None
    probe: Latency
    """One of its probes, for what they all share: device, threads, scenario."""
    timings: tuple[Timing, ...]
    grids: tuple[Timing, ...]
    long_grids: tuple[Timing, ...]

    @property
    def every(self) -> tuple[Timing, ...]:
        """All of them."""
        return (*self.timings, *self.grids, *self.long_grids)

    @property
    def contended(self) -> bool:
        """Whether another process used the processor beyond the stated share while it ran."""
        return any(timing.facts.contended for timing in self.every)

    @property
    def foreign_cpu_share(self) -> float:
        """The largest share of the processor that other processes used during it."""
        return max(timing.facts.foreign_cpu_share for timing in self.every)

    @property
    def setting(self) -> str:
        """`one document at a time on the CPU with 1 thread`; a GPU is told by its name."""
        how = "one document at a time" if self.probe.scenario == "single" else "offline throughput"
        device = "the CPU" if self.probe.device == "cpu" else self.gpu or "a GPU"
        return f"{how} on {device} with {self.probe.threads} thread{'' if self.probe.threads == 1 else 's'}"

    @property
    def title(self) -> str:
        """Unique on a page."""
        return f"{self.dataset}, {self.setting}, session {self.session_id}"

    @property
    def slug(self) -> str:
        """Fit for a file name, and unique on a page."""
        parts = (self.dataset, self.probe.device, str(self.probe.threads), self.probe.scenario, self.session_id)
        return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")


def engine_name(engine: str) -> str:
    """An engine as people write it."""
    return engine.replace("_", " ")


def sessions(records: Sequence[Record], known: dict[str, Candidate]) -> list[Session]:
    """Sessions of the records that hold a latency, by dataset, machine, device, threads and scenario; then as they were run."""
    groups: dict[tuple[str, ...], list[Timing]] = {}
    for record in records:
        probe, facts = record.run.probe, record.latency
        if isinstance(probe, Latency) and facts is not None:
            where = (record.run.dataset.fingerprint, machine_of(record), probe.device, str(probe.threads), probe.scenario)
            timing = Timing(record=record, candidate=known[record.run_id], facts=facts, probe=probe)
            groups.setdefault((*where, facts.session_id), []).append(timing)
    found = []
    for (fingerprint, machine, *_, session_id), timings in groups.items():
        some = timings[0].record
        assert isinstance(some.run.probe, Latency)
        session = Session(
            session_id=session_id,
            dataset=some.run.dataset.name,
            fingerprint=fingerprint,
            machine=machine,
            gpu=some.machine.gpu,
            probe=some.run.probe,
            timings=tuple(sorted((t for t in timings if t.probe.lengths == "dataset"), key=_fastest_first)),
            grids=tuple(sorted((t for t in timings if t.probe.lengths == "grid"), key=_fastest_first)),
            long_grids=tuple(sorted((t for t in timings if t.probe.lengths == "long_grid"), key=_fastest_first)),
        )
        found.append(session)
    return sorted(found, key=_session_order)


def machine_of(record: Record) -> str:
    """The machine with its torch: what times of one table share, whatever their engines."""
    return f"{machine_name(record)}, torch {record.provenance.versions.get('torch', 'unknown')}"


def _session_order(session: Session) -> tuple[object, ...]:
    probe = session.probe
    started = min(timing.record.started_at for timing in session.every)
    setting = (probe.device, probe.threads, probe.scenario != "single")
    return (session.dataset, session.fingerprint, session.machine, *setting, started, session.session_id)


def _fastest_first(timing: Timing) -> tuple[float, str, str]:
    return (timing.facts.p50_ms if timing.facts.p50_ms is not None else math.inf, timing.label, timing.record.run_id)


def to_reference(timing: Timing) -> Ratio | None:
    """The ratio to the session's reference; None in a contended session, whose ratios are not to be trusted."""
    value, interval = timing.facts.ratio_to_reference, timing.facts.ratio_interval
    if value is None or interval is None or timing.facts.contended:
        return None
    return Ratio(value=value, low=interval.low, high=interval.high)


def between(slower: Timing, faster: Timing) -> Ratio | None:
    """The ratio of two timings of one session, by way of the reference.

    On a log scale the variances of both ratios to the reference are added, though the reference's own spread stands in
    both and drift that the two share is not taken off: as a rule the interval is wide rather than narrow.
    """
    a, b = to_reference(slower), to_reference(faster)
    if a is None or b is None:
        return None
    value = a.value / b.value
    low = math.exp(-math.hypot(math.log(a.value / a.low), math.log(b.high / b.value)))
    high = math.exp(math.hypot(math.log(a.high / a.value), math.log(b.value / b.low)))
    return Ratio(value=value, low=value * low, high=value * high)


def fit(points: Sequence[tuple[float, float]], *, from_tokens: float = FIT_FROM_TOKENS) -> Fit | None:
    """The power law through (tokens, ms) from `from_tokens` up; None with fewer than FEWEST_FIT_LENGTHS of them."""
    long = [(tokens, ms) for tokens, ms in points if tokens >= from_tokens]
    if len(long) < FEWEST_FIT_LENGTHS:
        return None
    x, y = ([math.log(value) for value in column] for column in zip(*long, strict=True))
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    exponent = math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / math.fsum((a - mean_x) ** 2 for a in x)
    return Fit(
        exponent=exponent,
        scale=math.exp(mean_y - exponent * mean_x),
        lengths=len(long),
        first_tokens=min(tokens for tokens, _ in long),
        last_tokens=max(tokens for tokens, _ in long),
    )


def grid_points(timing: Timing) -> list[tuple[float, float]]:
    """(tokens, median ms) of a timing by fixed lengths, shortest first."""
    return sorted((float(point.tokens), point.p50_ms) for point in timing.facts.grid if point.p50_ms is not None)


def comparisons(session: Session) -> list[Comparison]:
    """Eager single-stream ratios that people quote numbers for: encoders over the BiLSTM, and 12 layers over 6 of one width."""
    if session.probe.scenario != "single":
        return []
    eager = [timing for timing in session.timings if timing.probe.engine == "eager"]
    encoders = [timing for timing in eager if isinstance(timing.record.run.model, Pretrained)]
    found = []
    for encoder in encoders:
        ratio = to_reference(encoder)
        if ratio is not None:
            found.append(
                Comparison(what=f"{encoder.candidate.label} / BiLSTM reference", ratio=ratio, quoted="about 20×", by_way_of_reference=False)
            )
    for deep in encoders:
        for shallow in encoders:
            a, b = _size(deep), _size(shallow)
            if a is not None and b is not None and (a.layers, b.layers) == (12, 6) and a.width == b.width and _alike(deep, shallow):
                ratio = between(deep, shallow)
                if ratio is not None:
                    what = f"{deep.candidate.label} / {shallow.candidate.label}"
                    quoted = "6 layers 60% faster than 12, which is 1.6×"
                    found.append(Comparison(what=what, ratio=ratio, quoted=quoted, by_way_of_reference=True))
    return found


def _alike(one: Timing, other: Timing) -> bool:
    """Whether two timings differ in nothing but the model."""
    return (one.probe, one.record.run.longdoc, precision_of(one.record.run)) == (
        other.probe,
        other.record.run.longdoc,
        precision_of(other.record.run),
    )


def _size(timing: Timing) -> EncoderSize | None:
    model = timing.record.run.model
    return model.size if isinstance(model, Pretrained) else None
