"""What tuning chose: a table to print, and a sweep file for each model, dataset and budget."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff import config, sweep_file, tuning
from bakeoff.fingerprint import CHECKPOINTS
from bakeoff.provenance import provenance
from bakeoff.store import Store, write_atomically
from bakeoff.tuning import Contest, Entry, Recipe, Space, Trial

FOLDER = Path("sweeps") / "tuned"


@dataclass(frozen=True, kw_only=True)
class Result:
    """A contest with its scores."""

    contest: Contest
    trials: tuple[Trial, ...]
    chosen: Trial | None
    """Null while a trial has no record, or where every one diverged."""
    metric: tuning.Metric
    n_validation: int

    @classmethod
    def of(cls, contest: Contest, store: Store) -> "Result":
        """From the records of its trials."""
        records = [store.load(run.run_id) for _, run in contest.tried]
        trials = tuple(tuning.tried(recipe, run, record) for (recipe, run), record in zip(contest.tried, records, strict=True))
        known = [record for record in records if record is not None]
        return cls(
            contest=contest,
            trials=trials,
            chosen=tuning.choose(trials) if len(known) == len(trials) else None,
            metric=tuning.metric_of(known[0]) if known else "accuracy",
            n_validation=known[0].data.n_val if known else 0,
        )

    def write(self, file: Path, overrides: Sequence[str], *, trials: int, seed: int) -> Path:
        """The sweep file of the chosen recipe, over all seeds of the sweep it was tuned for."""
        assert self.chosen is not None
        default, first, code = self.trials[0], self.contest.entry.first, provenance()
        assert first.run is not None
        chosen = {key: [sweep_file.as_text(value)] for key, value in self.chosen.recipe.items()}
        name = {} if self.chosen is default else {"model.name": [f"{first.run.model.name}_tuned"]}
        own = [text for text in overrides if text not in _said_again(overrides)]
        words = ["bakeoff", "tune", file.name if file.is_absolute() else str(file), *own, "--trials", str(trials), "--seed", str(seed)]
        comments = [
            f"{self.contest.title}, as `{shlex.join(words)}` chose it; do not edit.",
            f"{_tried(self)} on the {self.n_validation} validation rows of draw {first.run.budget.draw}, none on a test row.",
            f"Validation {self.metric}: {_percent(self.chosen)}%, the default {_percent(default)}%.",
            f"Commit {code.commit or 'unknown'}{' with changes' if code.dirty else ''}.",
        ]
        parameters = _fixed(self.contest.entry, overrides) | chosen | name | _seeds(self.contest.entry)
        path = FOLDER / f"{self.contest.entry.name}.yaml"
        write_atomically(path, sweep_file.render(path.stem, parameters, comments=comments))
        return path


def changes(recipe: Recipe, space: Space) -> str:
    """What a recipe does otherwise than the default."""
    changed = [f"{key.removeprefix('model.')}={sweep_file.as_text(value)}" for key, value in recipe.items() if value != space[key][0]]
    return " ".join(changed) or "the default"


def as_table(results: Sequence[Result]) -> list[str]:
    """One line an entry: how many recipes were tried of how many, the default's validation score, the chosen one's, and its values."""
    heads = ("tuned", "tried", "of", "metric", "default %", "chosen %", "chosen values")
    rows = [heads, *(_row(result) for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _row(result: Result) -> tuple[str, ...]:
    counts = (str(len(result.trials)), str(tuning.size(result.contest.space)))
    if result.chosen is None:
        missing = sum(trial.score is None for trial in result.trials)
        said = f"no choice: {missing} of {len(result.trials)} trials have no score"
        return (result.contest.title, *counts, result.metric, _percent(result.trials[0]), "–", said)
    said = changes(result.chosen.recipe, result.contest.space)
    return (result.contest.title, *counts, result.metric, _percent(result.trials[0]), _percent(result.chosen), said)


def _percent(trial: Trial) -> str:
    return "–" if trial.score is None else f"{100 * trial.score:.1f}"


def _tried(result: Result) -> str:
    tried, all_of_them = len(result.trials), tuning.size(result.contest.space)
    return f"All {tried} recipes were tried" if tried == all_of_them else f"{tried} of {all_of_them} recipes were tried"


def _fixed(entry: Entry, overrides: Sequence[str]) -> dict[str, list[str]]:
    """The parameters that all cells of an entry share, without what the command line has to say again."""
    shared = [text for text in entry.first.overrides if tuning.setting_of(text) not in tuning.SEEDS]
    said_again = _said_again(overrides)
    return {text.partition("=")[0]: [text.partition("=")[2]] for text in shared if text not in said_again}


def _seeds(entry: Entry) -> dict[str, list[str]]:
    """Seeds and draws of an entry's cells, where the sweep names them."""
    found: dict[str, list[str]] = {}
    for text in (text for cell in entry.cells for text in cell.overrides if tuning.setting_of(text) in tuning.SEEDS):
        key, _, value = text.partition("=")
        found[key] = [*found.get(key, []), *([] if value in found.get(key, []) else [value])]
    return found


def _said_again(overrides: Sequence[str]) -> list[str]:
    """Overrides that belong in no committed file: how to execute, paths of this machine, and keys taken away."""
    return [text for text in overrides if "=" not in text or tuning.setting_of(text).startswith("machine") or _is_path(text)]


def _is_path(override: str) -> bool:
    key, value = tuning.setting_of(override), override.partition("=")[2].strip("'\"[]")
    if key == "model.checkpoint" and value not in CHECKPOINTS and Path(value).is_dir():
        return True
    return key.endswith("path") or key == "model.vectors" or value.startswith(("/", "~"))


def commands(file: Path, overrides: Sequence[str], written: Sequence[Path]) -> list[str]:
    """What bakes the tuned Runs and puts them beside the defaults."""
    again = _said_again(overrides)
    single = not any(each.is_sweep_override() for each in config.parse(overrides))
    report = ["bakeoff", "report", str(file), *map(str, written), *(overrides if single else again)]
    return [*(shlex.join(["bakeoff", "sweep", str(path), *again]) for path in written), *([shlex.join(report)] if written else [])]
