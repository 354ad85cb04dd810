"""Accuracy against latency, and cost, as texts."""

from collections.abc import Sequence

from bakeoff.report import words
from bakeoff.report.blocks import ABSENT, Grid, grid
from bakeoff.report.costs import Cost, Prices
from bakeoff.report.frame import precision_of
from bakeoff.report.joined import Joined, Served
from bakeoff.report.latency_view import identity_columns, percentile
from bakeoff.report.summary import Table
from bakeoff.report.timing import engine_name

NOT_MEASURED = "not measured"


def joined_grid(joined: Joined) -> Grid:
    """Scores by budget beside latency, best first, what was not timed last."""
    served, metric = joined.served, words.METRIC_NAMES[joined.section.metric]
    columns = [
        ("model", [row.candidate.name for row in served]),
        ("reading", [row.candidate.run.longdoc.label for row in served]),
        ("precision", [precision_of(row.candidate.run) for row in served]),
        *((f"{metric} % at {words.budget(table)}", [_score(row, table) for row in served]) for table in joined.section.tables),
        ("engine", [ABSENT if row.timing is None else engine_name(row.timing.probe.engine) for row in served]),
        ("score of", [_whose(row) for row in served]),
        ("device", [ABSENT if row.timing is None else _device(row) for row in served]),
        *(
            (f"{name} ms", [NOT_MEASURED if row.timing is None else percentile(row.timing, name) for row in served])
            for name in ("p50", "p95")
        ),
        ("weights timed", [ABSENT if row.timing is None else row.timing.weights for row in served]),
        ("session", [ABSENT if row.session is None else _session(row) for row in served]),
    ]
    texts = ("model", "reading", "precision", "engine", "score of", "device", "weights timed", "session")
    runs = [() if row.timing is None else (row.timing.record.run_id,) for row in served]
    return grid(f"Accuracy and latency, {joined.title}", columns, texts=texts, runs=runs)


def joined_notes(joined: Joined) -> list[str]:
    """What the table cannot say in a cell."""
    found = [
        "Quality and latency are joined on the dataset's fingerprint, the model's architecture, its reading and its precision: "
        "scores come from trained Runs, times from the same architecture one document at a time.",
    ]
    unscored = [row.timing.label for row in joined.served if row.timing is not None and row.own_quality and not row.estimates]
    if unscored:
        found.append(
            f"{words.listing(unscored)}: this engine changes answers, so the score of other Runs is not its own; "
            "time it with probe.weights=trained to have it scored on the whole test set."
        )
    if any(row.session is not None and row.session.contended for row in joined.served):
        found.append("Times of a contended session are no basis for a decision and are left out of the figure.")
    return found


def cost_grid(costs: Sequence[Cost], prices: Prices | None, *, name: str) -> Grid:
    """Size, arithmetic, memory, start-up and money of each way to serve."""
    timings = [cost.timing for cost in costs]
    sizes = [timing.record.size for timing in timings]
    serving = [timing.facts.cost for timing in timings]
    trained = [cost.training.records if cost.training is not None else () for cost in costs]
    money: list[tuple[str, list[str]]] = []
    if prices is not None:
        money = [
            (f"a million predictions, {prices.currency}", [_scaled(cost.money_a_million(prices), 1.0) for cost in costs]),
            (f"to train, {prices.currency}", [_scaled(cost.money_to_train(prices), 1.0) for cost in costs]),
        ]
    columns = [
        *identity_columns(timings),
        ("device", [f"{timing.probe.device}, {words.count(timing.probe.threads, 'thread')}" for timing in timings]),
        *money,
        ("parameters, M", [_scaled(size.parameters_total if size else None, 1e6) for size in sizes]),
        ("trainable, M", [_scaled(size.parameters_trainable if size else None, 1e6) for size in sizes]),
        ("embedding, M", [_scaled(size.parameters_embedding if size else None, 1e6) for size in sizes]),
        ("on disk, MB", [_scaled(size.bytes if size else None, 1e6) for size in sizes]),
        ("in memory, MB", [_scaled(cost.bytes_in_memory, 1e6) for cost in serving]),
        ("MFLOP a document", [_scaled(cost.flops, 1e6) for cost in serving]),
        ("share of peak, %", [_scaled(cost.share_of_peak, 0.01) for cost in serving]),
        ("peak memory serving, MB", [_scaled(cost.peak_memory_mb, 1.0) for cost in serving]),
        ("start to first answer, s", [_scaled(cost.start_up_seconds, 1.0) for cost in serving]),
        ("documents a second", [_scaled((cost.offline or cost.timing).facts.throughput_per_second, 1.0) for cost in costs]),
        (
            "peak memory training, MB",
            [_scaled(max(r.training.peak_memory_mb for r in records) if records else None, 1.0) for records in trained],
        ),
        ("training s", [_scaled(cost.training.train_seconds if cost.training and cost.training.records else None, 1.0) for cost in costs]),
    ]
    runs = [(cost.timing.record.run_id, *(record.run_id for record in records)) for cost, records in zip(costs, trained, strict=True)]
    return grid(name, columns, texts=("model", "reading", "precision", "engine", "device"), runs=runs)


def cost_notes(costs: Sequence[Cost], prices: Prices | None) -> list[str]:
    """Where the numbers of the cost table come from."""
    peaks = sorted({round(peak) for cost in costs if (peak := cost.timing.facts.cost.peak_gflops) is not None})
    found = [
        "FLOP are for a document of median length, from closed formulas; documents a second are those of the offline scenario where it "
        "was measured, else one document at a time. Training is the mean over seeds at the largest budget on this page."
    ]
    if peaks:
        product = words.listing([f"{peak:,}" for peak in peaks])
        found.append(f"The share of peak is FLOP over median time, against a matrix product measured at {product} GFLOP/s.")
    if prices is not None:
        found.append(
            f"Prices: {prices.currency} {prices.cpu_core_hour:g} a core-hour, {prices.currency} {prices.gpu_hour:g} a GPU-hour "
            f"({prices.note}). They are an assumption; put your own in conf/prices.yaml."
        )
    return found


def _score(row: Served, table: Table) -> str:
    estimate = row.estimates.get(table.labels)
    return ABSENT if estimate is None else f"{words.percent(estimate.mean)} ({words.span(estimate)})"


def _whose(row: Served) -> str:
    if not row.own_quality:
        return "quality Runs"
    return "this engine" if row.estimates else NOT_MEASURED


def _device(row: Served) -> str:
    assert row.timing is not None
    probe = row.timing.probe
    return f"{probe.device}, {words.count(probe.threads, 'thread')}"


def _session(row: Served) -> str:
    assert row.session is not None
    return row.session.session_id + (" (contended)" if row.session.contended else "")


def _scaled(value: float | None, unit: float) -> str:
    return ABSENT if value is None else words.three_digits(value / unit)
