"""What the Runs behind an answer were given, as a reader asks first: which rows, how many labels and draws, and how they were timed."""

from collections.abc import Iterable

from bakeoff.record import Record
from bakeoff.spec import Latency


def settings(records: Iterable[Record]) -> tuple[str, ...]:
    """A line a dataset that was scored, and one a way of timing; none without Runs."""
    scored: dict[str, list[Record]] = {}
    timed: dict[str, int] = {}
    for record in records:
        if isinstance(record.run.probe, Latency):
            way = _timed(record.run.probe)
            samples = 0 if record.latency is None else record.latency.n_samples
            timed[way] = min(timed.get(way, samples), samples)
        else:
            scored.setdefault(record.run.dataset.name, []).append(record)
    return (
        *(f"{name}: {_scored(group)}" for name, group in scored.items()),
        *(f"{way}, {samples:,} samples or more a model" for way, samples in timed.items()),
    )


def _scored(records: list[Record]) -> str:
    labels = sorted({0 if record.run.budget.labels == 0 else record.data.n_fit + record.data.n_val for record in records})
    draws = len({(record.run.budget.draw, record.run.seed) for record in records})
    rows = sorted({record.data.n_test for record in records})
    said = f"{_listed(labels)} labels, {draws} {'draw' if draws == 1 else 'draws'}, {_listed(rows)} test rows"
    diverged = sum(record.status == "diverged" for record in records)
    if not diverged:
        return said
    runs = "1 Run" if diverged == 1 else f"{diverged} Runs"
    return f"{said}; {runs} diverged, which counts as always answering the most frequent class"


def _timed(probe: Latency) -> str:
    documents = "one document at a time" if probe.batch_size == 1 else f"{probe.batch_size or 'the best number of'} documents at a time"
    threads = "one CPU thread" if probe.threads == 1 else f"{probe.threads} CPU threads"
    where = threads if probe.device == "cpu" else "a GPU"
    return f"{documents} on {where}, {probe.weights} weights, engine {probe.engine}"


def _listed(numbers: list[int]) -> str:
    """`300`, `300 and 1,000`, `100, 300 and 1,000`."""
    words = [f"{number:,}" for number in numbers]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
