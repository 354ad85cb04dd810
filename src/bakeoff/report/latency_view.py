"""Latency as texts: a session's table, how it was measured, the ratios people quote, and growth with length."""

from collections.abc import Callable, Iterable, Sequence

from bakeoff.record import Interval
from bakeoff.report import words
from bakeoff.report.blocks import ABSENT, Grid, grid
from bakeoff.report.frame import precision_of
from bakeoff.report.timing import Comparison, Session, Timing, engine_name, fit, grid_points, to_reference

STAGES = ("tokenise", "window", "forward", "pool")
PERCENTILES = ("p50", "p90", "p95", "p99")
HOW = "Each time runs from raw text to label: tokenising, windowing, the forward pass, pooling."
HOW_OWN_DOCUMENTS = (
    f"{HOW} The documents are the dataset's own test documents at their own lengths, read as the model reads them. Models take turns in "
    "random order; a turn is a few untimed calls and then a block of timed calls on different documents, so caches are as warm as in "
    "serving and drift of the machine meets all alike.",
    "A percentile is over documents, with a 95% interval from resampling turns. Where samples are too few for a percentile it is left "
    "empty. The ratio to the reference (our BiLSTM at its default size, timed in every session) is of medians, with rounds paired.",
)
UNTRAINED = (
    "Where the weights column says untrained, an architecture was timed at its true size without having been fitted. Its times are "
    "those of serving it; its answers mean nothing, so scores come from other Runs."
)

BY_WAY = (
    "The ratio of two models neither of which is the reference is worked out from both their ratios to it; its interval adds their "
    "variances as if they were independent, which as a rule makes it wider than pairing the two would."
)


def session_grid(session: Session) -> Grid:
    """Percentiles, stages and ratios of the models that took turns, fastest first."""
    timings = session.timings
    speed = [
        ("documents a second", _each(timings, lambda t: words.three_digits(t.facts.throughput_per_second))),
        ("batch", [f"{timing.facts.batch_size:,}" for timing in timings]),
    ]
    columns = [
        *identity_columns(timings),
        ("weights", [timing.weights for timing in timings]),
        *(speed if session.probe.scenario == "offline" else []),
        *((f"{name} ms", [percentile(timing, name) for timing in timings]) for name in PERCENTILES),
        ("times the reference", [_ratio_cell(timing) for timing in timings]),
        ("tokenise / window / forward / pool ms", [_stages(timing) for timing in timings]),
        ("after a switch ms", _each(timings, lambda t: words.three_digits(t.facts.after_switch_ms))),
        ("changed against eager", [_agreement(timing) for timing in timings]),
        ("median tokens", _each(timings, lambda t: _whole(t.facts.tokens.get("p50")))),
        ("samples", [f"{timing.facts.n_samples:,}" for timing in timings]),
    ]
    return grid(session.title, columns, texts=("model", "reading", "precision", "engine", "weights"), runs=runs_of(timings))


def identity_columns(timings: Sequence[Timing]) -> list[tuple[str, list[str]]]:
    """Model, reading, precision and engine."""
    return [
        ("model", [timing.candidate.name for timing in timings]),
        ("reading", [timing.record.run.longdoc.label for timing in timings]),
        ("precision", [precision_of(timing.record.run) for timing in timings]),
        ("engine", [engine_name(timing.probe.engine) for timing in timings]),
    ]


def runs_of(timings: Sequence[Timing]) -> list[tuple[str, ...]]:
    """The Run behind each timing."""
    return [(timing.record.run_id,) for timing in timings]


def percentile(timing: Timing, name: str) -> str:
    """A percentile in ms with its interval: `1.23 (1.20 to 1.27)`."""
    value = {"p50": timing.facts.p50_ms, "p90": timing.facts.p90_ms, "p95": timing.facts.p95_ms, "p99": timing.facts.p99_ms}[name]
    return ABSENT if value is None else words.three_digits(value) + _interval(timing.facts.intervals.get(f"{name}_ms"))


def measured(session: Session) -> list[str]:
    """How this session was measured, in a few sentences from its records."""
    facts = [timing.facts for timing in session.timings]
    if not facts:
        return []
    calls = "one document a call" if session.probe.scenario == "single" else "each model at the batch that answers most documents a second"
    return [
        f"Machine: {session.machine}. {_range([one.n_documents for one in facts], 'different document')}, {calls}; "
        f"{_range([one.n_turns for one in facts], 'turn')} a model, {_range([one.n_samples for one in facts], 'timed call')} after "
        f"{_range([one.warm_up_calls for one in facts], 'warm-up call')}. "
        f"Versions: {', '.join(f'{name} {version}' for name, version in _versions(session))}."
    ]


def alarms(session: Session) -> list[str]:
    """What makes a session less than a clean measurement."""
    found = []
    if session.contended:
        found.append(
            f"Contended: other processes used {session.foreign_cpu_share:.2f} cores during session {session.session_id}. It is kept, but "
            "its ratios are left out and nothing should be decided on it; measure it again on a quiet machine with --rebake all."
        )
    unstable = [timing.label for timing in session.timings if not timing.facts.warm_up_stable]
    if unstable:
        found.append(f"Calls were still becoming faster when the first turn began: {words.listing(unstable)}.")
    return found


def notes(session: Session) -> list[str]:
    """Reasons of empty cells and the probe's own notes, candidates together."""
    reasons = (
        (f"{name.removesuffix('_ms').replace('_', ' ')} left empty", why, timing.label)
        for timing in session.timings
        for name, why in timing.facts.missing.items()
    )
    said = [f"{what}: {why} ({names})" for what, why, names in _together(reasons)]
    own = (("", note.rstrip("."), timing.label) for timing in session.every for note in timing.facts.notes)
    said += [f"{note} ({names})" for _, note, names in _together(own)]
    return [text if text.endswith(".") else f"{text}." for text in said]


def comparison_grid(found: Sequence[Comparison]) -> Grid:
    """Measured ratios of medians beside the numbers that are often quoted."""
    columns = [
        ("medians compared", [one.what for one in found]),
        ("measured here", [f"{words.three_digits(one.ratio.value)}× ({_ends(one.ratio.low, one.ratio.high, '×')})" for one in found]),
        ("often quoted", [one.quoted for one in found]),
    ]
    return grid("Ratios beside what is often quoted", columns, texts=("medians compared", "often quoted"))


def scaling_grid(session: Session) -> Grid:
    """Medians at the shortest and longest length read, and the exponent of growth."""
    timings = [timing for timing in session.grids if grid_points(timing)]
    points = [grid_points(timing) for timing in timings]
    fits = [fit(each) for each in points]
    columns = [
        *identity_columns(timings),
        ("shortest", [f"{words.three_digits(each[0][1])} ms at {each[0][0]:,.0f}" for each in points]),
        ("longest", [f"{words.three_digits(each[-1][1])} ms at {each[-1][0]:,.0f}" for each in points]),
        ("exponent", [ABSENT if one is None else f"{one.exponent:.2f}" for one in fits]),
        (
            "fitted over",
            [ABSENT if one is None else f"{one.lengths} lengths from {one.first_tokens:,.0f} to {one.last_tokens:,.0f}" for one in fits],
        ),
    ]
    return grid(f"Latency by length, {session.title}", columns, texts=("model", "reading", "precision", "engine"), runs=runs_of(timings))


def scaling_notes(session: Session) -> list[str]:
    """What the exponent means, and lengths that were not timed, with the reason."""
    return [
        "Generated documents of fixed length. The exponent is that of ms = a · tokens^b, by least squares on logarithms; 1 grows as fast "
        "as the document, 2 four times for each doubling. Shorter lengths are left out of it, since there a call's fixed cost hides it.",
        *untimed_lengths(session.grids),
    ]


def untimed_lengths(timings: Sequence[Timing]) -> list[str]:
    """Generated lengths without a median, with the reason."""
    reasons = (
        (timing.label, point.reason, f"{point.tokens:,}")
        for timing in timings
        for point in timing.facts.grid
        if point.p50_ms is None and point.reason
    )
    return [f"{label}, {tokens} tokens: {why.rstrip('.')}." for label, why, tokens in _together(reasons)]


def _stages(timing: Timing) -> str:
    stages = timing.facts.stages_ms
    return " / ".join(words.three_digits(stages.get(name)) for name in STAGES) if stages else ABSENT


def _ratio_cell(timing: Timing) -> str:
    ratio = to_reference(timing)
    return ABSENT if ratio is None else f"{words.three_digits(ratio.value)} ({_ends(ratio.low, ratio.high)})"


def _agreement(timing: Timing) -> str:
    found = timing.facts.agreement
    if found is None:
        return ABSENT
    return f"{found.changed_labels:,} of {found.n:,} labels (probabilities ± {found.max_probability_difference:.1g})"


def _interval(found: Interval | None) -> str:
    return "" if found is None else f" ({_ends(found.low, found.high)})"


def _ends(low: float, high: float, unit: str = "") -> str:
    return f"{words.three_digits(low)}{unit} to {words.three_digits(high)}{unit}"


def _range(values: Sequence[int], noun: str) -> str:
    low, high = min(values), max(values)
    return words.count(low, noun) if low == high else f"{low:,} to {words.count(high, noun)}"


def _versions(session: Session) -> list[tuple[str, str]]:
    return sorted({pair for timing in session.timings for pair in timing.facts.engine_versions.items()})


def _each(timings: Sequence[Timing], text: Callable[[Timing], str]) -> list[str]:
    return [text(timing) for timing in timings]


def _whole(value: float | None) -> str:
    return ABSENT if value is None else f"{value:,.0f}"


def _together(found: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """(what, why, name) with the names of equal what and why listed together."""
    names: dict[tuple[str, str], list[str]] = {}
    for what, why, name in found:
        names.setdefault((what, why), []).append(name)
    return [(what, why, words.listing(list(dict.fromkeys(members)))) for (what, why), members in names.items()]
