"""Which contenders meet the limits: a 95% bound is held against each, the one that is worse for the contender."""

from collections.abc import Sequence
from dataclasses import replace

from bakeoff.errors import DataError
from bakeoff.report import pairs, words
from bakeoff.report.choice import MEGABYTE, Contender, Feasibility, Limits, Miss
from bakeoff.report.stats import Estimate
from bakeoff.report.timing import engine_name


def feasibility(contender: Contender, limits: Limits, *, accuracy: Estimate, classes: Sequence[str]) -> Feasibility:
    """Feasible: the upper 95% bound of p95 and the lower one of accuracy and of each recall meet their limits, and the size does.

    Bounds are the ends of the 95% intervals that pages print. Without a measurement that a limit asks for a contender is
    not measured, whatever else it misses. Raises DataError for a class that does not exist.
    """
    misses, lacking = [], _lacking(contender, limits)
    timed, size = contender.timed, contender.bytes
    if limits.max_p95_ms is not None and lacking is None:
        assert timed is not None
        assert timed.high_ms is not None
        assert timed.p95_ms is not None
        if timed.high_ms > limits.max_p95_ms:
            misses.append(Miss(limit="max_p95_ms", wanted=limits.max_p95_ms, bound=timed.high_ms, value=timed.p95_ms))
    if limits.max_size_mb is not None and size is not None and size / MEGABYTE > limits.max_size_mb:
        misses.append(Miss(limit="max_size_mb", wanted=limits.max_size_mb, bound=size / MEGABYTE, value=size / MEGABYTE))
    if limits.min_accuracy is not None and accuracy.low < limits.min_accuracy:
        misses.append(Miss(limit="min_accuracy", wanted=limits.min_accuracy, bound=accuracy.low, value=accuracy.mean))
    for name, least in limits.min_recall.items():
        found = recall(contender, name, classes=classes)
        if found is None:
            lacking = lacking or f"no test row is of class {name}"
        elif found.low < least:
            misses.append(Miss(limit=f"min_recall {name}", wanted=least, bound=found.low, value=found.mean))
    if lacking is not None:
        asks = limits.max_p95_ms is not None or limits.engine is not None
        command = contender.timing_command if asks else None
        return Feasibility(status="not_measured", misses=tuple(misses), lacking=lacking, command=command)
    return Feasibility(status="infeasible" if misses else "feasible", misses=tuple(misses))


def recall(contender: Contender, name: str, *, classes: Sequence[str]) -> Estimate | None:
    """The share of the class's test rows that get its label, with its interval; None without such rows.

    Raises DataError for a class that does not exist.
    """
    if name not in classes:
        raise DataError(f"min_recall names class {name}, but the classes are {', '.join(classes)}")
    index = classes.index(name)
    own = [answers.where(answers.labels == index) for answers in contender.folds if index in answers.labels]
    return pairs.score(replace(contender, folds=tuple(own)), "accuracy") if own else None


def _lacking(contender: Contender, limits: Limits) -> str | None:
    """What is missing to hold the limits against it; null where nothing is."""
    timed = contender.timed
    if limits.engine is not None and limits.engine != (contender.engine or "eager"):
        if limits.engine in contender.unscored_engines:
            return f"its answers with engine {engine_name(limits.engine)} were not scored at this budget"
        return _not_timed(limits)
    if limits.max_size_mb is not None and contender.bytes is None:
        return "its size is not known"
    if limits.max_p95_ms is None:
        return None
    if timed is None:
        return _not_timed(limits)
    if timed.contended:
        return "other processes disturbed its latency session"
    return "too few samples for a p95" if timed.high_ms is None or timed.p95_ms is None else None


def _not_timed(limits: Limits) -> str:
    """`not timed on a GPU with engine onnx`, or `no latency record` where the limits ask for nothing in particular."""
    how = ["on a GPU"] if limits.device == "cuda" else []
    how += [f"with {words.count(limits.threads, 'thread')}"] if limits.threads is not None else []
    how += [f"with engine {engine_name(limits.engine)}"] if limits.engine is not None else []
    how += [f"at {limits.tokens_p95:,} tokens or more"] if limits.tokens_p95 is not None else []
    return f"not timed {' '.join(how)}" if how else "no latency record"
