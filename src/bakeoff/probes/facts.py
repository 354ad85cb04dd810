"""From a session's turns to what a record says of one Run."""

from dataclasses import dataclass

import numpy as np

from bakeoff.probes import samples
from bakeoff.probes.contention import CONTENDED_SHARE
from bakeoff.probes.grid import grid_rules
from bakeoff.probes.kit import Served
from bakeoff.probes.rules import Rules
from bakeoff.probes.samples import PERCENTILES, Ratio, Samples, Summary
from bakeoff.probes.session import Measured, Outcome
from bakeoff.record import Agreement, GridPoint, LatencyFacts, ServingCost

ONLY_IN_GRID = "a grid has a median for each length instead"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What the facts of one session share."""

    outcome: Outcome
    n_documents: int
    reference: Measured | None
    reference_reason: str
    """Why there is no ratio, where the reference was not timed."""
    rules: Rules
    resolution_ns: int


def facts_of(
    measured: Measured, setting: Setting, *, versions: dict[str, str], tokens: dict[str, float], agreement: Agreement | None
) -> LatencyFacts:
    """The facts of one Run; `tokens` are percentiles of its documents' lengths, `agreement` is with the eager engine."""
    rng = np.random.default_rng(0)
    served: Served = measured.served
    own = gather(measured, setting.n_documents)
    in_grid = bool(measured.grid or measured.grid_reasons)
    summary = _summary(own, measured, setting, rng) if not in_grid else _nothing()
    ratio = _ratio(own, setting, rng) if not in_grid else None
    missing = dict(summary.missing)
    if ratio is None:
        missing["ratio_to_reference"] = ONLY_IN_GRID if in_grid else setting.reference_reason or "there are fewer than two shared rounds"
    turns = [turn for cell in (measured.turns, *measured.grid.values()) for turn in cell.values()]
    share = setting.outcome.foreign_cpu_share
    return LatencyFacts(
        session_id=setting.outcome.session_id,
        unit="ms per document",
        n_samples=sum(len(turn.total_ns) for turn in turns),
        n_turns=len(turns),
        n_documents=setting.n_documents,
        batch_size=measured.batch_size,
        warm_up_calls=measured.warm_up.calls if measured.warm_up else 0,
        warm_up_stable=measured.warm_up is not None and measured.warm_up.stable,
        tokens=tokens,
        p50_ms=summary.values["p50_ms"],
        p90_ms=summary.values["p90_ms"],
        p95_ms=summary.values["p95_ms"],
        p99_ms=summary.values["p99_ms"],
        intervals=summary.intervals,
        missing=missing,
        throughput_per_second=None if in_grid or not len(own.total_ms) else 1000 / float(own.total_ms.mean()),
        stages_ms=samples.stage_medians_ms(measured.turns, batch_size=measured.batch_size),
        after_switch_ms=float(np.median([turn.after_switch_ns for turn in turns])) / 1e6 / measured.batch_size if turns else None,
        reference_p50_ms=ratio.reference_p50_ms if ratio else None,
        ratio_to_reference=ratio.value if ratio else None,
        ratio_interval=ratio.interval if ratio else None,
        contended=share > CONTENDED_SHARE,
        foreign_cpu_share=round(share, 4),
        clock_resolution_ns=setting.resolution_ns,
        engine_versions=versions,
        agreement=agreement,
        notes=(*served.notes, *_notes(measured, agreement, setting.rules)),
        cost=_cost(measured, served, summary.values["p50_ms"]),
        grid=tuple(_grid_point(length, measured, setting, rng) for length in sorted({*measured.grid, *measured.grid_reasons})),
    )


def gather(measured: Measured, n_documents: int) -> Samples:
    """The timed calls of a Run over the dataset's documents."""
    return samples.gather(measured.turns, batch_size=measured.batch_size, n_batches=-(-n_documents // measured.batch_size))


def _summary(own: Samples, measured: Measured, setting: Setting, rng: np.random.Generator) -> Summary:
    return samples.summarise(own, rules=setting.rules, resolution_ns=setting.resolution_ns, batch_size=measured.batch_size, rng=rng)


def _nothing() -> Summary:
    return Summary(values=dict.fromkeys(PERCENTILES), intervals={}, missing=dict.fromkeys(PERCENTILES, ONLY_IN_GRID))


def _ratio(own: Samples, setting: Setting, rng: np.random.Generator) -> Ratio | None:
    if setting.reference is None:
        return None
    return samples.ratio(own, gather(setting.reference, setting.n_documents), rules=setting.rules, rng=rng)


def _grid_point(tokens: int, measured: Measured, setting: Setting, rng: np.random.Generator) -> GridPoint:
    turns = measured.grid.get(tokens)
    if turns is None:
        return GridPoint(tokens=tokens, n_samples=0, p50_ms=None, interval=None, reason=measured.grid_reasons[tokens])
    own = samples.gather(turns, batch_size=1, n_batches=1)
    rules = grid_rules(setting.rules, measured.lengths)
    summary = samples.summarise(own, rules=rules, resolution_ns=setting.resolution_ns, batch_size=1, rng=rng)
    return GridPoint(
        tokens=tokens,
        n_samples=len(own.total_ms),
        p50_ms=summary.values["p50_ms"],
        interval=summary.intervals.get("p50_ms"),
        reason=summary.missing.get("p50_ms"),
        peak_memory_mb=measured.grid_memory_mb.get(tokens),
        tokens_processed=measured.grid_processed.get(tokens),
    )


def _cost(measured: Measured, served: Served, p50_ms: float | None) -> ServingCost:
    gflops = None if served.flops is None or not p50_ms else served.flops / p50_ms / 1e6
    return ServingCost(
        flops=served.flops,
        bytes_in_memory=served.size.bytes,
        peak_memory_mb=measured.peak_memory_mb,
        start_up_seconds=None if measured.start_up_seconds is None else round(measured.start_up_seconds, 3),
        peak_gflops=served.peak_gflops,
        share_of_peak=None if gflops is None or not served.peak_gflops else gflops / served.peak_gflops,
    )


def _notes(measured: Measured, agreement: Agreement | None, rules: Rules) -> list[str]:
    notes = []
    if measured.warm_up is not None and not measured.warm_up.stable:
        notes.append(f"warm-up did not settle within {rules.warm_up_seconds:g} s: medians of consecutive blocks still differed")
    if (search := measured.search) is not None and search.ended != "falling":
        why = {"memory": "the next batch size did not fit in memory", "largest": "no larger batch was tried"}[search.ended]
        notes.append(f"the search for the best batch ended at {max(search.documents_per_second)} documents: {why}")
    if agreement is not None and agreement.max_probability_difference > agreement.tolerance:
        notes.append(
            f"answers differ from eager ones by up to {agreement.max_probability_difference:.2g} in probability, "
            f"above the {agreement.tolerance:g} allowed for this engine"
        )
    return notes
