"""The part of a page about tuning: what was tried on validation rows, what was chosen, and the default beside it."""

from collections.abc import Sequence
from typing import Any

from bakeoff import tuning
from bakeoff.record import Record
from bakeoff.report import words
from bakeoff.report.blocks import ABSENT, Block, grid
from bakeoff.report.summary import Section, Standing
from bakeoff.report.trials import Effort, efforts
from bakeoff.spec import Run, to_plain
from bakeoff.store import Store

HOW = (
    "Each trial fitted another recipe on the same labels and was scored on their validation rows; none answered a test row. A validation "
    "score that won a choice looks better than it is: compare the test scores, of the default and of the tuned recipe."
)
_TEXTS = ("model", "labels", "tried", "chosen")
_HIDDEN = ("name", "default_longdoc", "checkpoint")


def tuning_blocks(sections: Sequence[Section], runs: Sequence[Run], store: Store) -> list[Block]:
    """One block with a line for each model, dataset and budget that was tuned; none where nothing was."""
    found = efforts(runs, store)
    if not found:
        return []
    datasets = {effort.trials[0].run.dataset.fingerprint for effort in found}
    columns = [
        *([("dataset", [effort.trials[0].run.dataset.name for effort in found])] if len(datasets) > 1 else []),
        ("model", [effort.trials[0].run.model.name for effort in found]),
        ("labels", [_labels(effort) for effort in found]),
        ("trials", [str(len(effort.trials)) for effort in found]),
        ("tried", [_tried(effort) for effort in found]),
        ("chosen", [_chosen(effort) for effort in found]),
        ("default, validation %", [_on_validation(effort.trial_of(effort.default)) for effort in found]),
        ("chosen, validation %", [_on_validation(_choice(effort)) for effort in found]),
        ("default, test %", [_on_test(effort.default, sections) for effort in found]),
        ("tuned, test %", [_on_test(effort.tuned, sections) for effort in found]),
    ]
    table = grid("Tuning", columns, texts=("dataset", *_TEXTS))
    return [Block(heading="How the recipes were chosen", level=2, paragraphs=(HOW,), grids=(table,), notes=_notes(found))]


def _labels(effort: Effort) -> str:
    labels = effort.trials[0].run.budget.labels
    return labels if isinstance(labels, str) else f"{labels:,}"


def _notes(found: Sequence[Effort]) -> tuple[str, ...]:
    counts = sorted({len(effort.trials) for effort in found})
    notes = (
        []
        if len(counts) == 1
        else [f"Not every model had equally many trials: from {counts[0]} to {counts[-1]}, since some spaces are small."]
    )
    lost = sum(not record.quality for effort in found for record in effort.trials)
    return (*notes, *([f"{words.count(lost, 'trial')} diverged and could not be chosen."] if lost else []))


def _choice(effort: Effort) -> Record:
    """The trial of the tuned Run on the page; without one, what validation rows put first."""
    return effort.trial_of(effort.tuned) or effort.best


def _tried(effort: Effort) -> str:
    """The settings in which trials differ, each with the values that were tried."""
    values = _values(effort)
    return "; ".join(f"{key} {', '.join(map(_text, _in_order(found)))}" for key, found in values.items()) or ABSENT


def _chosen(effort: Effort) -> str:
    """What the chosen recipe does otherwise than the default."""
    choice, default = _choice(effort), effort.trial_of(effort.default)
    if choice is default:
        return "the default"
    own, theirs = _flat(to_plain(choice.run.model)), {} if default is None else _flat(to_plain(default.run.model))
    said = []
    for key in _values(effort):
        instead = f" instead of {_text(theirs[key])}" if key in theirs else ""
        if own.get(key) != theirs.get(key):
            said.append(f"{key} {_text(own.get(key))}{instead}")
    return "; ".join(said)


def _values(effort: Effort) -> dict[str, list[Any]]:
    """Setting → its different values among the trials, of those in which they differ."""
    flat = [_flat(to_plain(record.run.model)) for record in effort.trials]
    found: dict[str, list[Any]] = {}
    for one in flat:
        for key, value in one.items():
            if value not in found.setdefault(key, []):
                found[key].append(value)
    return {key: values for key, values in found.items() if len(values) > 1}


def _in_order(values: Sequence[Any]) -> list[Any]:
    """Numbers by size, then the rest as it reads."""
    return sorted(values, key=lambda value: (False, value) if isinstance(value, int | float) else (True, str(value)))


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def _on_validation(record: Record | None) -> str:
    score = None if record is None else tuning.tried({}, record.run, record).score
    return ABSENT if score is None else words.percent(score)


def _on_test(run: Run | None, sections: Sequence[Section]) -> str:
    """The test score of a Run's candidate over all its seeds, with its interval."""
    standing = None if run is None else _standing(run, sections)
    if standing is None or standing.estimate is None:
        return ABSENT
    return f"{words.percent(standing.estimate.mean)} ({words.span(standing.estimate)})"


def _standing(run: Run, sections: Sequence[Section]) -> Standing | None:
    for section in sections:
        for table in section.tables:
            for standing in table.standings:
                if any(record.run_id == run.run_id for record in standing.records):
                    return standing
    return None


def _flat(value: Any, where: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {where: tuple(value) if isinstance(value, list) else value}
    found: dict[str, Any] = {}
    for key, item in value.items():
        if where or key not in _HIDDEN:
            found |= _flat(item, f"{where}.{key}" if where else key)
    return found
