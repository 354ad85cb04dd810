"""Reach for a recurrent model when latency is measured in single-digit milliseconds and there is no GPU.

Varied: the model, from TF-IDF over a BiLSTM and a frozen encoder to a fine-tuned one in int8. Measured: what the rule of
`bakeoff choose` ships at a 95th percentile of at most 10 ms on one CPU thread, with 1,000 labels.
"""

from collections.abc import Sequence

from bakeoff.claims import latencies, rules
from bakeoff.claims.claim import Answer, Baked, Bench, Claim, NotMeasured, Verdict
from bakeoff.claims.rules import Measured
from bakeoff.report.answer import questions
from bakeoff.report.choice import Choice, Judged, Limits
from bakeoff.report.choose import choose
from bakeoff.spec import BiLstm, Latency, Run
from bakeoff.store import Store

FIELD, TRAINED, TIMED, INT8 = (
    "single_digit_ms",
    "single_digit_ms_encoder",
    "single_digit_ms_latency",
    "single_digit_ms_int8",
)
LIMITS = Limits(labels=1000, max_p95_ms=10.0, threads=1)
TWO_DRAWS = "seed=0,1"
"""Of the small form: each draw trains an encoder and times its weights in int8, two minutes on a core."""


def measure(bench: Bench) -> Answer:
    """Judged: whether what `choose` recommends is recurrent. The figure is what the best recurrent model loses to the best in time."""
    draws = [TWO_DRAWS] if bench.size == "small" else []
    scored = (*bench.bake(FIELD, *draws), *bench.bake(TRAINED, *draws, keep_weights=True))
    timed = (*bench.bake(TIMED), *bench.bake(INT8, *draws))
    if not any(_engine(one.record.run) == "onnx_int8" for one in timed):
        raise NotMeasured("no int8 encoder could be timed, and without one the field is not whole: pip install 'bakeoff[onnx]'")
    baked = (*scored, *timed)
    choice = chosen(baked)
    recurrent = next((each for each in choice.judged if is_recurrent(each)), None)
    if recurrent is None:
        raise NotMeasured(f"there is no score of a recurrent model with 1,000 labels: bake sweeps/claims/{FIELD}.yaml")
    loss = _loss(recurrent)
    return Answer(
        verdict=latencies.quiet(verdict_of(choice, recurrent), timed),
        figure=_figure(recurrent, loss),
        unit="points behind the best within 10 ms",
        interval=None if loss is None else loss.interval,
        seen=_seen(choice, recurrent),
        dataset=baked[0].record.run.dataset.name,
        rows=tuple(_row(each) for each in choice.judged),
        run_ids=tuple(one.record.run_id for one in baked),
        detectable=_detectable(choice) if loss is None else loss.detectable,
        notes=(*((f"{choice.seeds} draws of labels stand behind the choice.",) if choice.seeds else ()), *latencies.notes(timed)),
    )


def chosen(baked: Sequence[Baked]) -> Choice:
    """What `bakeoff choose` answers from these Runs alone; their folders stand in one store. Raises DataError where it has no answer."""
    (question,) = questions([one.record for one in baked], Store(baked[0].folder.parent), LIMITS)
    return choose(question.fields(question.under(LIMITS)), question.under(LIMITS))


def is_recurrent(judged: Judged) -> bool:
    """Whether it is a BiLSTM."""
    return isinstance(judged.contender.candidate.run.model, BiLstm)


def verdict_of(choice: Choice, recurrent: Judged) -> Verdict:
    """Of a choice that may be open: where a recurrent model is fast enough and nobody can say that it is worse.

    One that is too slow is not chosen, whatever else is.
    """
    if choice.recommended is not None and is_recurrent(choice.recommended):
        return "holds"
    if recurrent.feasibility.status == "infeasible":
        return "does not hold"
    if choice.recommended is None or recurrent.feasibility.status == "not_measured" or recurrent.verdict == "undecided":
        return "inconclusive"
    return "does not hold"


def _figure(recurrent: Judged, loss: Measured | None) -> float | None:
    """None where the recurrent model is too slow, or was not timed, and so loses to nobody."""
    return loss.figure if loss is not None else 0.0 if recurrent.verdict == "best" else None


def _loss(recurrent: Judged) -> Measured | None:
    """Points behind the best that is fast enough; None where the recurrent model is that, or is too slow itself."""
    estimate = recurrent.gap if recurrent.loss is None else recurrent.loss.estimate
    return None if estimate is None else rules.in_points(estimate)


def _detectable(choice: Choice) -> float | None:
    """Points that the field as a whole could have seen; None where none is fast enough, or only one."""
    sureness = choice.sureness
    return None if sureness is None or sureness.detectable is None else 100 * sureness.detectable


def _seen(choice: Choice, recurrent: Judged) -> str:
    own = recurrent.contender
    if choice.recommended is None:
        return f"Nothing is recommended within 10 ms: {choice.reason}."
    if is_recurrent(choice.recommended):
        return f"Within 10 ms the rule ships {own.label}, at {100 * recurrent.accuracy.mean:.1f}% right."
    best = choice.recommended
    time = best.contender.timed
    p95 = "" if time is None or time.p95_ms is None else f", with a p95 of {time.p95_ms:.1f} ms"
    return (
        f"Within 10 ms the rule ships {best.contender.label}{p95} and {100 * best.accuracy.mean:.1f}% right; "
        f"{own.label} has {100 * recurrent.accuracy.mean:.1f}%."
    )


def _row(judged: Judged) -> dict[str, str | float | int | None]:
    timed = judged.contender.timed
    return {
        "contender": judged.contender.label,
        "accuracy": judged.accuracy.mean,
        "p50_ms": None if timed is None else timed.p50_ms,
        "p95_ms": None if timed is None else timed.p95_ms,
        "within_10_ms": judged.feasibility.status,
        "judged": judged.verdict,
        "draws": judged.contender.seeds,
    }


def _engine(run: Run) -> str | None:
    return run.probe.engine if isinstance(run.probe, Latency) else None


CLAIM = Claim(
    name="single-digit-ms",
    statement="Reach for a recurrent model when latency is measured in single-digit milliseconds and there is no GPU.",
    kind="cost",
    rule="Holds if `bakeoff choose`, with 1,000 labels and a p95 of at most 10 ms on one CPU thread, picks a recurrent model from a field "
    "with TF-IDF, frozen features and an int8 encoder.",
    seconds={"small": 440, "full": 800},
    measure=measure,
    sweeps=(FIELD, TRAINED, TIMED, INT8),
)
