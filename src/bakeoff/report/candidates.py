"""What competes: quality Runs that differ in nothing but dataset, number of labels, draw and seed are one candidate.

Latency is a matter of architecture, reading and precision alone, so Runs of that probe are grouped by these; the same
three join them to quality. Runs are grouped by identity, not by name: two models that share a name and differ in a
learning rate stay apart.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from bakeoff.record import without_folders
from bakeoff.report.frame import precision_of
from bakeoff.spec import BudgetZero, Latency, Model, Predictions, Quality, Run, ZeroShot, hash_identity, identity, to_plain


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
        """The kind of model, such as tfidf."""
        return self.run.model.kind


def candidates(runs: Iterable[Run]) -> dict[str, Candidate]:
    """Run id → candidate. Names and labels say only as much as tells the candidates of one probe apart."""
    quality, latency = split_by_probe(runs)
    return _named(quality, key=_candidate_key, settings=_settings) | _named(latency, key=served_key, settings=_architecture_settings)


def split_by_probe(runs: Iterable[Run]) -> tuple[list[Run], list[Run]]:
    """The Runs that ask how right a model is, and those that ask how fast it answers; pretraining asks neither."""
    every = list(runs)
    timed = [run for run in every if isinstance(run.probe, Latency)]
    return [run for run in every if isinstance(run.probe, Quality)], timed


def served_key(run: Run) -> str:
    """What has one latency: architecture (precision with it) and reading. Quality and latency join on it, within a dataset."""
    reading = {name: value for name, value in identity(run.longdoc).items() if name != "trained_windows"}  # no part of an answer
    return hash_identity([identity(run.model, part="architecture"), reading])


def can_be_timed(run: Run) -> bool:
    """Whether there is a latency probe for its model: not for checkpoints as they are, nor for answers from a file."""
    return not isinstance(run.model, BudgetZero | Predictions)


def _named(runs: Sequence[Run], *, key: Callable[[Run], str], settings: Callable[[Run], dict[str, Any]]) -> dict[str, Candidate]:
    members: dict[str, list[Run]] = {}
    for run in runs:
        members.setdefault(key(run), []).append(run)
    first = {each: group[0] for each, group in members.items()}
    by_name: dict[str, list[str]] = {}
    for each, run in first.items():
        by_name.setdefault(model_name(run), []).append(each)
    found: dict[str, Candidate] = {}
    for name, keys in by_name.items():
        own = {each: settings(first[each]) for each in keys}
        varied = sorted({setting for one in own.values() for setting in one if len({str(s.get(setting)) for s in own.values()}) > 1})
        readings, precisions = {first[each].longdoc.label for each in keys}, {precision_of(first[each]) for each in keys}
        for each in keys:
            run = first[each]
            extra = "".join(f" · {setting.rsplit('.', 1)[-1]} {own[each].get(setting)}" for setting in varied)
            reading = f" · {run.longdoc.label}" if len(readings) > 1 else ""
            precision = f" · {precision_of(run)}" if len(precisions) > 1 else ""
            candidate = Candidate(key=each, name=name + extra, label=name + reading + precision + extra, run=run)
            found |= {member.run_id: candidate for member in members[each]}
    return found


def model_name(run: Run) -> str:
    """The model's name, with its checkpoint where it has one: `pretrained (minilm-l6)`."""
    checkpoint = getattr(run.model, "checkpoint", None)
    if checkpoint is None:
        return run.model.name
    checkpoint = PurePath(checkpoint).name if PurePath(checkpoint).is_absolute() else checkpoint
    return run.model.name if checkpoint in run.model.name else f"{run.model.name} ({checkpoint})"


_KEYS: dict[str, str] = {}
"""Run id → key: a page asks for the candidates of thousands of Runs several times."""


def _candidate_key(run: Run) -> str:
    """What is asked of every Run of a candidate, whatever its dataset, labels, draw and seed."""
    if isinstance(run.model, ZeroShot):  # its key also depends on words that are no part of the id
        return _asked(run)
    if run.run_id not in _KEYS:
        _KEYS[run.run_id] = _asked(run)
    return _KEYS[run.run_id]


def _asked(run: Run) -> str:
    needed = {name: _candidate_key(each) for name, each in run.needs.items()}
    texts = run.budget.unlabelled_fingerprint or run.budget.unlabelled
    asked = [identity(_by_itself(run)), identity(run.longdoc), identity(run.probe), run.budget.order, texts]
    return hash_identity([*asked, needed] if needed else asked)


def _by_itself(run: Run) -> Model:
    """The model without what its dataset told it, so that one candidate stays one on every dataset."""
    if not isinstance(run.model, ZeroShot):
        return run.model
    told = run.dataset.label_descriptions
    return replace(run.model, descriptions={name: words for name, words in run.model.descriptions.items() if told.get(name) != words})


def _settings(run: Run) -> dict[str, Any]:
    """Dotted settings that can tell two candidates of one name apart, without those that have a column of their own."""
    asked = without_folders(to_plain(replace(run, model=_by_itself(run))))
    budget = {"order": run.budget.order, "unlabelled": asked["budget"].get("unlabelled_path") or run.budget.unlabelled}
    plain = {"model": asked["model"], "probe": asked["probe"], "budget": budget}
    return {
        key: value
        for key, value in _flat(plain, "")
        if not key.endswith((".name", ".precision", ".checkpoint", "fingerprint")) and "default_longdoc" not in key
    }


def _architecture_settings(run: Run) -> dict[str, Any]:
    hidden = ("kind", "recipe", "precision")
    return {key: value for key, value in _flat(identity(run.model, part="architecture"), "") if key not in hidden}


def _flat(value: Any, where: str) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        return [(where, value)]
    return [pair for key, item in value.items() for pair in _flat(item, f"{where}.{key}" if where else key)]
