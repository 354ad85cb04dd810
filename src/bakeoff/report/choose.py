"""The rule by which a model is chosen, from contenders and limits alone.

1. *Feasible* are the contenders that meet every limit (`feasible`).
2. The *reference* is the feasible one with the best mean of the metric.
3. Every other feasible one is *as good*, *worse* or *undecided*. Its loss is reference − contender, paired over test rows
   (or groups) and draws. As good: the one-sided 95% upper bound of the loss lies below the margin. Worse: the lower bound
   lies above the margin. Undecided: neither, which never counts as equal. Both compare the loss with the same margin, so
   more data can turn undecided into a verdict and, luck aside, no verdict into its opposite.
4. Bounds are corrected by Holm over the contenders cheaper than the reference. Dearer ones, which the rule never picks,
   are a family of their own.
5. Recommended is the cheapest that is cheaper than the reference and as good, else the reference.

Cheaper is a lower median latency where contender and reference took turns in one session at one length, else a lower
ratio to the model that every session times, else fewer floating-point operations, else fewer bytes, each as a share of
the reference's, so that the cheapest of several is well defined.

One draw of labels, with one seed or several, says nothing of others: it gives no verdict, and a reference with one draw
no recommendation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from bakeoff.report import bounds, pairs
from bakeoff.report.choice import MEGABYTE, Contender, Field, Judged, Limits, Loss, Saving, Scale, Sureness
from bakeoff.report.choice import Choice as Choice
from bakeoff.report.choice import Counts as Counts
from bakeoff.report.choice import Feasibility as Feasibility
from bakeoff.report.choice import Needed as Needed
from bakeoff.report.choice import Timed as Timed
from bakeoff.report.feasible import feasibility
from bakeoff.report.stats import Estimate, Metric, smallest_detectable
from bakeoff.report.winner import winners

MOST_MISSES = 3


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """What the rule says of the feasible: all of them, judged, best score first; the first is the reference."""

    judged: tuple[Judged, ...]
    recommended: Judged | None
    reason: str | None


def choose(field: Field, limits: Limits) -> Choice:
    """What to ship under these limits, with every contender judged. Raises DataError for a class that does not exist."""
    judged = sorted((_scored(each, limits, field) for each in field.contenders), key=_best_first)
    ruling = rule([each for each in judged if each.feasibility.status == "feasible"], limits, metric=field.metric)
    by_key = {each.contender.key: each for each in ruling.judged}
    recommended = ruling.recommended
    others = [each for each in ruling.judged if recommended is not None and each is not recommended]
    second = rule(others, limits, metric=field.metric)
    runner_up, best_of_others = second.recommended, second.judged[0] if second.judged else None
    infeasible = [each for each in judged if each.feasibility.status == "infeasible"]
    return Choice(
        limits=limits,
        metric=field.metric,
        recommended=recommended,
        reason=ruling.reason,
        reference=ruling.judged[0] if ruling.judged else None,
        runner_up=by_key[runner_up.contender.key] if runner_up is not None else None,
        waiting=by_key[best_of_others.contender.key] if runner_up is None and best_of_others is not None else None,
        judged=tuple(by_key.get(each.contender.key, each) for each in judged),
        nearest_misses=() if ruling.judged else tuple(sorted(infeasible, key=lambda each: each.feasibility.shortfall)[:MOST_MISSES]),
        sureness=_sureness(ruling.judged, field) if ruling.judged else None,
    )


def rule(feasible: Sequence[Judged], limits: Limits, *, metric: Metric) -> Ruling:
    """Steps 2 to 5 for the feasible."""
    if not feasible:
        return Ruling(judged=(), recommended=None, reason="no candidate is known to meet the limits")
    reference, *others = sorted(feasible, key=_best_first)
    losses = {each.contender.key: pairs.loss(reference.contender, each.contender, metric) for each in others}
    savings = {each.contender.key: saving(reference.contender, each.contender) for each in others}
    done = {reference.contender.key: replace(reference, verdict="best", loss=None, saving=None, needed=None, why_undecided=None)}
    for is_cheaper in (True, False):
        family = [each for each in others if savings[each.contender.key].is_cheaper is is_cheaper]
        for each in _judge_family(reference, family, losses, limits):
            done[each.contender.key] = replace(each, saving=savings[each.contender.key])
    judged = tuple(done[each.contender.key] for each in (reference, *others))
    if reference.contender.reads_labels and reference.contender.seeds < 2:
        best = reference.contender
        reason = f"{best.label}, the best by its mean, has {best.alone}, which says nothing of other draws of labels: bake more"
        return Ruling(judged=judged, recommended=None, reason=reason)
    replacing = [each for each in judged if each.verdict == "as_good" and each.saving is not None and each.saving.is_cheaper]
    cheapest = min(replacing, key=lambda each: savings[each.contender.key].share or 0.0, default=judged[0])
    return Ruling(judged=judged, recommended=cheapest, reason=None)


def saving(reference: Contender, contender: Contender) -> Saving:
    """What the contender takes less than the reference, on the first scale that is known of both."""
    scales: dict[Scale, tuple[float | None, float | None]] = {
        "p50_ms": (reference.p50_ms, contender.p50_ms) if _took_turns(reference.timed, contender.timed) else (None, None),
        "ratio": (reference.ratio_to_reference, contender.ratio_to_reference),
        "flops": (reference.flops, contender.flops),
        "bytes": (reference.bytes, contender.bytes),
    }
    known = {scale: (ours, theirs) for scale, (ours, theirs) in scales.items() if ours and theirs is not None}
    shares = {scale: theirs / ours for scale, (ours, theirs) in known.items()}
    scale = next(iter(shares), None)
    less = {scale: ours - theirs for scale, (ours, theirs) in known.items()}
    return Saving(
        scale=scale,
        share=None if scale is None else shares[scale],
        ms=less.get("p50_ms"),
        megabytes=less["bytes"] / MEGABYTE if "bytes" in less else None,
    )


def _took_turns(one: Timed | None, other: Timed | None) -> bool:
    """Whether two times stand in one session and are of documents alike."""
    return one is not None and other is not None and (one.session_id, one.tokens) == (other.session_id, other.tokens)


def _scored(contender: Contender, limits: Limits, field: Field) -> Judged:
    estimate = pairs.score(contender, field.metric)
    accuracy = estimate if field.metric == "accuracy" else pairs.score(contender, "accuracy")
    found = feasibility(contender, limits, accuracy=accuracy, classes=field.classes)
    return Judged(contender=contender, estimate=estimate, accuracy=accuracy, feasibility=found)


def _judge_family(reference: Judged, family: Sequence[Judged], losses: dict[str, Estimate | None], limits: Limits) -> list[Judged]:
    """Verdicts of contenders whose bounds are corrected together; those that cannot be tested are undecided and no part of it."""
    judged, tested = [], []
    for each in family:
        loss = losses[each.contender.key]
        learns = reference.contender.reads_labels or each.contender.reads_labels
        if loss is None:
            judged.append(replace(each, verdict="undecided", why_undecided="no seed and test set in common"))
        elif learns and loss.seeds < 2:
            judged.append(replace(each, verdict="undecided", why_undecided=_alone(reference.contender, each.contender), gap=loss))
        else:
            tested.append((each, loss))
    margin = limits.margin
    below = bounds.holm([bounds.p_value(loss, margin=margin, side="below") for _, loss in tested])
    above = bounds.holm([bounds.p_value(loss, margin=margin, side="above") for _, loss in tested])
    for i, (each, loss) in enumerate(tested):
        tested_loss = Loss(
            estimate=loss,
            low=bounds.bound(loss, level=above.levels[i], side="above"),
            high=bounds.bound(loss, level=below.levels[i], side="below"),
            as_good_p=below.adjusted[i],
            worse_p=above.adjusted[i],
        )
        if below.adjusted[i] < bounds.ALPHA:
            judged.append(replace(each, verdict="as_good", loss=tested_loss))
        elif above.adjusted[i] < bounds.ALPHA:
            judged.append(replace(each, verdict="worse", loss=tested_loss))
        else:
            level = below.levels[i] if loss.mean < margin else above.levels[i]
            more = bounds.needed(loss, margin=margin, level=level)
            judged.append(replace(each, verdict="undecided", loss=tested_loss, needed=more))
    return judged


def _alone(reference: Contender, contender: Contender) -> str:
    """What they have one of in common."""
    pair = [each for each in (reference, contender) if each.reads_labels]
    shared = set.intersection(*(set(each.folds[0].seeds) for each in pair))
    return "one seed" if len(shared) < 2 else "one draw"


def _sureness(judged: Sequence[Judged], field: Field) -> Sureness:
    found = winners([each.contender for each in judged], field.metric)
    pairs_seen = [smallest_detectable(each.loss.estimate) for each in judged if each.loss is not None]
    return Sureness(
        wins=found.wins,
        corrected=found.corrected,
        detectable=median(pairs_seen) if pairs_seen else None,
        seeds=min((each.contender.seeds for each in judged if each.contender.reads_labels), default=1),
        advised_seeds=10 if field.n_labels < 300 else 5,
    )


def _best_first(judged: Judged) -> tuple[float, float, str]:
    """By the mean; then the faster, so that a tie falls to the cheaper."""
    p50 = judged.contender.p50_ms
    return (-judged.estimate.mean, float("inf") if p50 is None else p50, judged.contender.key)
