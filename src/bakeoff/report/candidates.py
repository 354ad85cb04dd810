"""What competes: Runs that differ in nothing but dataset, number of labels, draw and seed are one candidate.

Runs are grouped by identity, not by name: two models that share a name and differ in a learning rate stay apart.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from bakeoff.report.frame import precision_of
from bakeoff.spec import Run, hash_identity, identity, to_plain


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A model with its reading and precision; `name` tells apart what differs, `label` is short for figures."""

    key: str
    name: str
    label: str
    run: Run
    """One of its Runs, for what they all share."""

    @property
    def kind(self) -> str:
        """The kind of model: majority, tfidf, bilstm, pretrained."""
        return self.run.model.kind


def candidates(runs: Iterable[Run]) -> dict[str, Candidate]:
    """Run id → candidate. Names and labels say only as much as tells the candidates apart."""
    members: dict[str, list[Run]] = {}
    for run in runs:
        members.setdefault(_candidate_key(run), []).append(run)
    first = {key: group[0] for key, group in members.items()}
    by_name: dict[str, list[str]] = {}
    for key, run in first.items():
        by_name.setdefault(model_name(run), []).append(key)
    found: dict[str, Candidate] = {}
    for name, keys in by_name.items():
        settings = {key: _settings(first[key]) for key in keys}
        varied = sorted(
            {setting for one in settings.values() for setting in one if len({str(s.get(setting)) for s in settings.values()}) > 1}
        )
        readings, precisions = {first[key].longdoc.label for key in keys}, {precision_of(first[key]) for key in keys}
        for key in keys:
            run = first[key]
            extra = "".join(f" · {setting.rsplit('.', 1)[-1]} {settings[key].get(setting)}" for setting in varied)
            reading = f" · {run.longdoc.label}" if len(readings) > 1 else ""
            precision = f" · {precision_of(run)}" if len(precisions) > 1 else ""
            candidate = Candidate(key=key, name=name + extra, label=name + reading + precision + extra, run=run)
            found |= {member.run_id: candidate for member in members[key]}
    return found


def model_name(run: Run) -> str:
    """The model's name, with its checkpoint where it has one: `pretrained (minilm-l6)`."""
    checkpoint = getattr(run.model, "checkpoint", None)
    if checkpoint is None:
        return run.model.name
    checkpoint = PurePath(checkpoint).name if PurePath(checkpoint).is_absolute() else checkpoint
    return run.model.name if checkpoint in run.model.name else f"{run.model.name} ({checkpoint})"


def _candidate_key(run: Run) -> str:
    budget = run.budget
    return hash_identity([identity(run.model), identity(run.longdoc), identity(run.probe), budget.order, budget.unlabelled])


def _settings(run: Run) -> dict[str, Any]:
    """Dotted settings that can tell two candidates of one name apart, without those that have a column of their own."""
    budget = {"order": run.budget.order, "unlabelled": run.budget.unlabelled}
    plain = {"model": to_plain(run.model), "probe": to_plain(run.probe), "budget": budget}
    return {
        key: value
        for key, value in _flat(plain, "")
        if not key.endswith((".name", ".precision", ".checkpoint")) and "default_longdoc" not in key
    }


def _flat(value: Any, where: str) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        return [(where, value)]
    return [pair for key, item in value.items() for pair in _flat(item, f"{where}.{key}" if where else key)]
