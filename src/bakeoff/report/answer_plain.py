"""An answer as plain values for JSON: the same content as the words, with run ids and the lines that rerun each."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from bakeoff.report.answer import Answered, Unanswered
from bakeoff.report.answer_table import in_order, verdict, why
from bakeoff.report.answer_words import say
from bakeoff.report.choice import Judged
from bakeoff.report.frame import precision_of
from bakeoff.report.limits import Limits
from bakeoff.report.stats import Estimate
from bakeoff.report.what_if import WhatIf

Rerun = Callable[[str], str | None]
"""Run id → the line that bakes it again; None where nobody knows it."""
_INNER = ("seed_variance", "row_variance", "degrees")


def plain(answered: Answered | Unanswered, rerun: Rerun) -> dict[str, Any]:
    """One dataset's answer. Shares are from 0 to 1, differences too; what is not known is null."""
    said = say(answered)
    words = {"answer": f"{said.lead} {said.rest}".strip(), "points": {one.lead.rstrip(":"): one.rest for one in said.points}}
    if isinstance(answered, Unanswered):
        return {"dataset": answered.title, **words, "recommended": None, "reason": answered.reason, "candidates": []}
    field, choice, sure = answered.field, answered.choice, answered.choice.sureness
    return {
        "dataset": field.title,
        **words,
        "dataset_fingerprint": field.dataset.fingerprint,
        "labels": str(field.labels),
        "n_labels": field.n_labels,
        "other_labels": [str(labels) for labels in field.other_labels],
        "metric": choice.metric,
        "machine": field.machine,
        "limits": limits_given(choice.limits),
        "recommended": _name(choice.recommended),
        "reason": choice.reason,
        "enough_seeds": choice.has_enough_seeds,
        "reference": _name(choice.reference),
        "runner_up": _name(choice.runner_up),
        "waiting": _name(choice.waiting),
        "nearest_misses": [each.contender.label for each in choice.nearest_misses],
        "candidates": [_candidate(each, answered, rerun) for each in in_order(answered)],
        "unscored": list(field.unscored),
        "what_would_change_it": [_what_if(one) for one in answered.what_ifs],
        "sureness": None if sure is None else dataclasses.asdict(sure) | {"wins": _by_label(answered, sure.wins)},
    }


def limits_given(limits: Limits) -> dict[str, Any]:
    """The limits that are set, with the margin and the device, which always are."""
    found = {f.name: getattr(limits, f.name) for f in dataclasses.fields(limits)}
    return {name: dict(value) if name == "min_recall" else value for name, value in found.items() if value is not None and value != {}}


def _candidate(judged: Judged, answered: Answered, rerun: Rerun) -> dict[str, Any]:
    contender, timed = judged.contender, judged.contender.timed
    run, total = contender.candidate.run, answered.totals.get(contender.key)
    loss, saving, needed = judged.loss, judged.saving, judged.needed
    return {
        "candidate": contender.label,
        "model": run.model.name,
        "longdoc": run.longdoc.label,
        "precision": precision_of(run),
        "engine": contender.engine,
        "verdict": verdict(judged, answered),
        "why": why(judged),
        "status": judged.feasibility.status,
        "rule": judged.verdict,
        answered.choice.metric: _estimate(judged.estimate),
        "accuracy": _estimate(judged.accuracy),
        "latency": None if timed is None else dataclasses.asdict(timed) | {"command": rerun(timed.run_id)},
        "size_mb": None if contender.bytes is None else contender.bytes / 1e6,
        "train_seconds": contender.train_seconds,
        "runs": dataclasses.asdict(contender.counts),
        "misses": [dataclasses.asdict(miss) for miss in judged.feasibility.misses],
        "lacking": judged.feasibility.lacking,
        "command_to_measure": judged.feasibility.command,
        "loss_to_reference": None if loss is None else dataclasses.asdict(loss) | {"estimate": _estimate(loss.estimate)},
        "saving": None if saving is None else dataclasses.asdict(saving),
        "gap_on_one_draw": None if judged.gap is None else _estimate(judged.gap),
        "needed": None if needed is None else dataclasses.asdict(needed),
        "cost": None if total is None else dataclasses.asdict(total) | {"total": total.total, "currency": answered.currency},
        "run_ids": list(contender.run_ids),
        "commands": {run_id: rerun(run_id) for run_id in contender.run_ids},
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {name: value for name, value in dataclasses.asdict(estimate).items() if name not in _INNER}


def _what_if(one: WhatIf) -> dict[str, Any]:
    return {
        "condition": one.condition,
        "limit": one.limit,
        "value": one.value,
        "labels": None if one.condition != "labels" else str(one.limits.labels),
        "chosen": _name(one.chosen),
        "reason": one.reason,
        "changes": one.changes,
        "enough_seeds": one.too_few_seeds is None,
    }


def _name(judged: Judged | None) -> str | None:
    return None if judged is None else judged.contender.label


def _by_label(answered: Answered, wins: Mapping[str, float]) -> dict[str, float]:
    labels = {each.key: each.label for each in answered.field.contenders}
    return {labels[key]: share for key, share in wins.items()}
