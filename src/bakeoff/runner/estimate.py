"""How long Runs take, from what like ones took."""

import functools
import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from bakeoff.record import Record
from bakeoff.spec import Latency, Model, Neural, Pretrain, Pretrained, Run, hash_identity, identity


@dataclass(frozen=True, kw_only=True)
class _Taken:
    """What one recorded Run took."""

    seconds: float
    besides_seconds: float
    """Those in which it did not learn by steps."""
    seconds_per_token: float | None
    """Null for models that are not trained by steps."""


@dataclass(frozen=True)
class Estimates:
    """What records tell about Runs that have none. Records of every machine count alike: give those that are like this one."""

    records: Sequence[Record]

    @functools.cached_property
    def _alike(self) -> dict[str, list[_Taken]]:
        """What recorded Runs took, by what they share with others; latency Runs share the time of a session, so theirs tells nothing."""
        alike: dict[str, list[_Taken]] = {}
        for record in self.records:
            if not isinstance(record.run.probe, Latency):
                for key in (_same(record.run), *_like(record.run)):
                    alike.setdefault(key, []).append(_taken(record))
        return alike

    def seconds(self, run: Run) -> float | None:
        """What the same question took with other seeds; else what the most alike Runs took, by their training tokens; null without any.

        Most alike are first Runs of the same architecture on the same dataset, then on any; then those of its kind.
        """
        if isinstance(run.probe, Latency):
            return None
        if (taken := self._alike.get(_same(run))) is not None:
            return median(each.seconds for each in taken)
        taken = next((self._alike[key] for key in _like(run) if key in self._alike), None)
        if taken is None:
            return None
        rates = [each.seconds_per_token for each in taken if each.seconds_per_token is not None]
        if not rates:
            return median(each.seconds for each in taken)
        return median(each.besides_seconds for each in taken) + training_tokens(run) * median(rates)


def estimate_seconds(run: Run, records: Sequence[Record]) -> float | None:
    """`Estimates.seconds` of a single Run."""
    return Estimates(records).seconds(run)


def time_left_seconds(seconds: Sequence[float], slots: int) -> float:
    """When the last of these Runs ends, if they start in this order in as many slots, each as soon as one is free."""
    free_at = [0.0] * slots
    for each in seconds:
        heapq.heapreplace(free_at, free_at[0] + each)
    return max(free_at)


def training_tokens(run: Run) -> float:
    """An order of magnitude of the tokens that a model trained by steps learns from; 0 for others.

    `all` counts as 10,000 labels, and so does the text that pretraining or a teacher's student reads beside its labels; an
    unlimited document counts as 256 tokens.
    """
    model = run.model
    if not isinstance(model, Neural):
        return 0.0
    labels, training = 10_000 if run.budget.labels == "all" else run.budget.labels, model.training
    if isinstance(run.probe, Pretrain):
        labels, training = 10_000 if run.budget.unlabelled != "none" else labels, run.probe.training
    rows = max(labels * training.epochs, training.min_steps * training.batch_size)
    if model.distillation is not None and run.budget.unlabelled != "none":
        rows = 10_000 * model.distillation.transfer_epochs
    return float(rows * (run.longdoc.max_tokens or 256))


def rough_seconds(run: Run) -> float:
    """An order of magnitude from the configuration alone, at the rates of two desktop cores: good enough to start long Runs first."""
    if not isinstance(run.model, Neural):
        return 1.0 if run.model.kind == "majority" else 5.0
    return 5.0 + training_tokens(run) / (2_000 if isinstance(run.model, Pretrained) else 75_000)


def _taken(record: Record) -> _Taken:
    begin, end = (datetime.fromisoformat(text) for text in (record.started_at, record.finished_at))
    seconds, tokens = (end - begin).total_seconds(), training_tokens(record.run)
    # Times of day are whole seconds, so a short Run may have learned for longer than it seems to have taken.
    besides = max(0.0, seconds - record.training.seconds)
    return _Taken(seconds=seconds, besides_seconds=besides, seconds_per_token=record.training.seconds / tokens if tokens else None)


def _same(run: Run) -> str:
    """What Runs share that differ in their seed alone."""
    return hash_identity(_without_seed(identity(run)))


def _like(run: Run) -> list[str]:
    """What other Runs share that take alike, the most alike first."""
    architecture, kind, dataset = _architecture(run.model), f"{run.probe.kind} {run.model.kind}", run.dataset.fingerprint
    return [f"{kind} {architecture} {dataset}", f"{kind} {architecture}", f"{kind} on {dataset}", kind]


def _architecture(model: Model) -> str:
    return hash_identity(identity(model, part="architecture"))


def _without_seed(plain: dict[str, Any]) -> dict[str, Any]:
    budget = {key: value for key, value in plain["budget"].items() if key != "draw"}
    needs = {part: _without_seed(plain[part]) for part in ("teacher", "start") if plain.get(part) is not None}
    return plain | {"seed": None, "budget": budget} | needs
