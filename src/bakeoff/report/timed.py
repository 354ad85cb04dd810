"""Which measured latency counts for a contender under given limits, and the line that measures one."""

import re
import shlex
from collections.abc import Iterator, Sequence

from bakeoff.errors import DataError
from bakeoff.record import Record
from bakeoff.report.candidates import can_be_timed
from bakeoff.report.choice import Limits, Timed
from bakeoff.report.evidence import hide_folders
from bakeoff.report.frame import machine_name
from bakeoff.report.timing import Timing, machine_of
from bakeoff.spec import Dataset, Latency, Majority, Run, Tfidf, identity, to_plain

LONGEST_GRID_TOKENS = 4096
_AT_THE_CUT = 0.9
"""Fixed lengths are powers of two and cuts need not be: a length of at least this share of the cut stands for it."""
_TOLD_ELSEWHERE = ("strategy",)
_OWN_DATA = ("text", "text_pair", "label", "group", "fold_column", "fold_pattern", "group_pattern", "held_out_rows", "time", "newest_share")


def within(records: Sequence[Record], limits: Limits) -> list[Record]:
    """The single-stream latency records of the limits' device, engine, thread count and machine, so that all compare.

    Raises DataError where several machines, or several thread counts and none is 1, are left and the limits name none.
    """
    alike = [record for record in records if record.latency is not None and is_asked(record.run.probe, limits)]
    named = [record for record in alike if limits.machine in (None, machine_name(record), machine_of(record))]
    if alike and not named:
        raise DataError(f"machine={limits.machine} timed nothing here; timed were {'; '.join(_machines(alike))}")
    threads = sorted({record.run.probe.threads for record in named})
    if limits.threads is None and len(threads) > 1:
        if 1 not in threads:
            raise DataError(f"latencies were measured with {', '.join(map(str, threads))} threads: name one with threads={threads[0]}")
        named = [record for record in named if record.run.probe.threads == 1]
    machines = _machines(named)
    if len(machines) > 1:
        raise DataError(
            f"latencies come from {len(machines)} machines, which do not compare ({'; '.join(machines)}): name one, machine='{machines[0]}'"
        )
    return named


def pick(timings: Sequence[Timing], limits: Limits) -> Timed | None:
    """The timing of one contender that counts: undisturbed before contended, with a p95 before without, then the latest.

    With `tokens_p95` it is one on documents at least that long: of the dataset, or of a fixed length, whose median stands
    for the p95 of documents like these. A reading that cuts documents is taken at the cut, if it was timed there.
    """
    known = [found for timing in timings if (found := _at_length(timing, limits.tokens_p95)) is not None]
    latest = {timing.record.run_id: timing.record.finished_at for timing in timings}
    # Fixed lengths come last at equal standing: the dataset's own documents are the better evidence.
    return max(known, key=lambda one: (not one.contended, one.p95_ms is not None, one.tokens is None, latest[one.run_id]), default=None)


def timing_line(run: Run, limits: Limits, *, known: str | None = None) -> str | None:
    """The line that times a quality Run's model as the limits ask; `known` times it somehow already. None where nothing can."""
    has_forward_pass = not isinstance(run.model, Majority | Tfidf)
    if not can_be_timed(run) or not (has_forward_pass or (limits.device == "cpu" and limits.engine in (None, "eager"))):
        return None
    words = shlex.split(known) if known is not None else ["bakeoff", "run", *_choices(run), "probe=latency"]
    if limits.device != "cpu":
        words.append(f"probe.device={limits.device}")
    if limits.threads not in (None, 1):
        words.append(f"probe.threads={limits.threads}")
    if limits.engine not in (None, "eager"):
        words.append(f"probe.engine={limits.engine}")
    if limits.engine == "onnx_int8":  # its answers differ, so they are scored too
        words += ["probe.weights=trained", f"budget.labels={run.budget.labels}", f"seed={run.seed}"]
    if limits.tokens_p95 is not None:
        words.append(f"probe.lengths={'grid' if limits.tokens_p95 <= LONGEST_GRID_TOKENS else 'long_grid'}")
    return shlex.join(words)


def is_asked(probe: object, limits: Limits) -> bool:
    """Whether a probe times one document at a time on the limits' device, with their engine and threads."""
    if not isinstance(probe, Latency) or probe.scenario != "single" or probe.device != limits.device:
        return False
    return limits.engine in (None, probe.engine) and limits.threads in (None, probe.threads)


def _machines(records: Sequence[Record]) -> list[str]:
    return sorted({machine_of(record) for record in records})


def _at_length(timing: Timing, tokens: int | None) -> Timed | None:
    facts = timing.facts
    if timing.probe.lengths == "dataset":
        if tokens is not None and facts.tokens.get("p95", 0) < tokens:
            return None
        interval = facts.intervals.get("p95_ms")
        bounds = (None, None) if interval is None else (interval.low, interval.high)
        return _timed(timing, p50_ms=facts.p50_ms, p95_ms=facts.p95_ms, bounds_ms=bounds, tokens=None)
    if tokens is None:
        return None
    points = sorted((point for point in facts.grid if point.p50_ms is not None and point.interval is not None), key=lambda p: p.tokens)
    most = timing.record.run.longdoc.max_tokens
    long = [point for point in points if point.tokens >= tokens]
    if not long and (most is None or not points or points[-1].tokens < _AT_THE_CUT * most):
        return None
    point = (long or points[-1:])[0]
    assert point.interval is not None
    return _timed(
        timing, p50_ms=point.p50_ms, p95_ms=point.p50_ms, bounds_ms=(point.interval.low, point.interval.high), tokens=point.tokens
    )


def _timed(
    timing: Timing, *, p50_ms: float | None, p95_ms: float | None, bounds_ms: tuple[float | None, float | None], tokens: int | None
) -> Timed:
    return Timed(
        run_id=timing.record.run_id,
        session_id=timing.facts.session_id,
        machine=machine_of(timing.record),
        device=timing.probe.device,
        threads=timing.probe.threads,
        engine=timing.probe.engine,
        p50_ms=p50_ms,
        p95_ms=p95_ms,
        low_ms=bounds_ms[0],
        high_ms=bounds_ms[1],
        contended=timing.facts.contended,
        tokens=tokens,
        ratio_to_reference=None if tokens is not None else timing.facts.ratio_to_reference,
    )


def _choices(run: Run) -> list[str]:
    """The configuration's words for a Run's dataset, model and reading."""
    words = [*_data(run.dataset)]
    words.append(f"model={run.model.name}")
    if identity(run.longdoc) != identity(run.model.default_longdoc):
        told = {name: value for name, value in to_plain(run.longdoc).items() if name not in _TOLD_ELSEWHERE and value is not None}
        words += [f"longdoc={run.longdoc.strategy}", *(f"longdoc.{name}={value}" for name, value in told.items())]
    return words


def _data(dataset: Dataset) -> Iterator[str]:
    """What makes the data: of a dataset that bakeoff names its name, what it generates, and the fold."""
    if dataset.path is None:
        yield f"dataset={dataset.name}"
        if dataset.needle is not None:
            yield from (f"dataset.needle.{name}={value}" for name, value in to_plain(dataset.needle).items())
    else:
        yield f"dataset={'folder' if dataset.format == 'folder' else 'csv'}"
        yield f"dataset.path={hide_folders(dataset.path)}"
        if dataset.test_path is not None:
            yield f"dataset.test_path={hide_folders(dataset.test_path)}"
        for name in _OWN_DATA:
            if (value := getattr(dataset, name)) is not None:
                yield f"dataset.{name}={value}" if re.fullmatch(r"[\w.\- ]+", str(value)) else f'dataset.{name}="{value}"'
    if dataset.newest_from is not None:
        yield f"dataset.newest_from=[{','.join(map(repr, dataset.newest_from))}]"
    if dataset.held_out_rows is not None:
        yield "dataset.split=held_out_rows"
    if dataset.fold:
        yield f"dataset.fold={dataset.fold}"
