"""Composing once for many cells gives what Hydra gives for each, and planning a recorded sweep reads each record once."""

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import factories
from bakeoff import cli, fingerprint, resolve, store
from bakeoff import composer as composing
from bakeoff.composed import Composed, Setting, setting
from bakeoff.config import Composer, load_sweep
from bakeoff.errors import BakeoffError
from bakeoff.runner.plan import plan
from bakeoff.store import RECORD, Store, default_root
from bakery import on_table, rows, write_csv

NEURAL = ("bilstm", "scratch", "pretrained", "distilled", "distilled_bilstm")
MODELS = ("majority", "tfidf", "frozen", *NEURAL)
SOUND: dict[str, tuple[str, ...]] = {
    "seed": ("0", "3", "4294967295", "int(3)", "12"),
    "budget.labels": ("100", "all", "300", "1e3", "2000.0"),
    "budget.draw": ("null", "2", "${seed}"),
    "budget.order": ("random", "stratified", '"random"'),
    "dataset.held_out_rows": ("100", "200.0"),
    "dataset.name": ("'a b, (c)'", "12", "1e3", "a\\ b", "'it\\'s'", "true_or_false"),
    "dataset.family": ("mine", "null_and_void", "'null'"),
    "longdoc.max_tokens": ("64", "null", "1e2", "int(64.9)"),
    "probe.threads": ("1", "2"),
    "machine.slots": ("2", "null"),
}
OF_NEURAL: dict[str, tuple[str, ...]] = {
    "model.training.learning_rate": ("1e-4", "2E-5", "0.0001", "'2e-5'", "1"),
    "model.training.epochs": ("1", "2.0", "float(2)"),
    "model.training.schedule": ("linear", "constant"),
    "model.training.clip_norm": ("0.5", ".5", "5"),
}
FAULTY: dict[str, tuple[str, ...]] = {
    "dataset.label_map": ("{positive: good}", "{}", "null"),
    "seed": ("-1", "1.0", "01", "x", "null", "true", "'7'"),
    "budget.labels": ("few", "'500'", "null"),
    "budget.draw": ("'${seed}'", "${sed}"),
    "dataset.name": ("null", "???", "'${seed} x'"),
    "longdoc.max_tokens": ("64.5",),
    "model": ("3", "[tfidf]", "gru"),
    "model.lr": ("1",),
    "model.training": ("3", "{epochs: 2}"),
    "model.training.epochs": ("0", "many"),
    "model.training.epochs.more": ("1",),
    "model.training.learning_rate": ("nan", "inf"),
    "model.keep_layers": ("[0,2]", "null", "2"),
    "model.c_grid": ("[1.0]", "3"),
    "probe.threads": ("0",),
    "machine.slots": ("few",),
    "hydra.verbose": ("true",),
}
CHANGES = (
    "+seed=3",
    "+model.extra=1",
    "++model.dropout=0.2",
    "~model.tune",
    "~dataset.family",
    "~seed",
    "+dataset.label_map.a=b",
    "seed",
    "a b=1",
)


def drawn(draw: random.Random) -> list[str]:
    """Overrides of a Run: mostly sound ones, some that Hydra reads in its own way, a few mistakes."""
    model = draw.choice(MODELS)
    made = [f"model={model}"]
    if draw.random() < 0.3:
        made.append(f"longdoc={draw.choice(['default', 'head', 'tail', 'middle'])}")
    if model == "scratch" and draw.random() < 0.5:
        made.append("probe=pretrain")  # whose YAML computes values from the model's
    settings = SOUND | (OF_NEURAL if model in NEURAL else {})
    made += [f"{key}={draw.choice(settings[key])}" for key in draw.sample(list(settings), k=draw.randint(1, 4))]
    if draw.random() < 0.15:
        key = draw.choice(list(FAULTY))
        made.append(draw.choice([*CHANGES, *(f"{key}={value}" for value in FAULTY[key])]))
    draw.shuffle(made)
    return made


def outcome(answer: Any, overrides: list[str]) -> str:
    """The Job with the type of every value, or the mistake."""
    try:
        job = answer(overrides)
    except BakeoffError as mistake:
        return f"{type(mistake).__name__}: {mistake}"
    return f"{job.run.run_id} {job!r}"


def compare(seeds: range) -> list[str]:
    """Compare cells of one Composer with jobs that Hydra composes alone; what came out."""
    composer, outcomes = Composer(), []
    for seed in seeds:
        overrides = drawn(random.Random(seed))
        expected = outcome(Composer().job, overrides)
        assert outcome(composer.cell, overrides) == expected, overrides
        assert outcome(composer.cell, overrides) == expected, f"the second time: {overrides}"
        outcomes.append(expected)
    return outcomes


def test_cells_are_what_hydra_composes() -> None:
    outcomes = compare(range(1000, 1012))
    assert sum(" Job(" in each for each in outcomes) >= 6


@pytest.mark.slow
def test_two_hundred_random_cells_are_what_hydra_composes() -> None:
    outcomes = compare(range(240))
    runs = [each for each in outcomes if " Job(" in each]
    mistakes = {each.partition(":")[0] for each in outcomes if " Job(" not in each}
    assert len(runs) >= 200
    assert mistakes == {"ConfigError", "NotApplicable", "UnknownSetting"}


def test_a_value_computed_from_one_that_is_not_there_is_one_sentence() -> None:
    for answer in (Composer().job, Composer().cell):
        assert outcome(answer, ["budget.draw=${sed}"]) == "ConfigError: budget.draw cannot be computed: Interpolation key 'sed' not found"


def test_each_choice_of_groups_is_composed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    composed: list[list[str]] = []
    hydra = composing.compose

    def counting(name: str = "", *, overrides: list[str]) -> Any:
        composed.append(overrides)
        return hydra(name, overrides=overrides)

    monkeypatch.setattr(composing, "compose", counting)
    composer = Composer()
    for model in ("bilstm", "scratch"):
        for rate in ("1e-3", "1e-4", "2e-4"):
            for labels in ("100", "all"):
                for seed in range(3):
                    run = composer.cell(
                        [f"model={model}", f"model.training.learning_rate={rate}", f"budget.labels={labels}", f"seed={seed}"]
                    ).run
                    assert (run.model.name, run.seed, run.budget.draw, str(run.budget.labels)) == (model, seed, seed, labels)
                    assert run.model.training.learning_rate == float(rate)  # type: ignore[union-attr]
    assert composed == [["model=bilstm"], ["model=scratch"]]


def test_a_name_that_a_model_lacks_is_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    composer, asked = Composer(), []
    explain = composer._explain
    monkeypatch.setattr(composer, "_explain", lambda error, overrides: (asked.append(overrides), explain(error, overrides))[1])
    told = {
        outcome(composer.cell, ["model=tfidf", f"model.training.epochs={epochs}", f"seed={seed}"]) for epochs in (1, 2) for seed in (0, 1)
    }
    assert len(told) == len(asked) == 1
    assert told.pop().startswith("UnknownSetting: model.training.epochs is not a setting")
    added = ["model=tfidf", "model.training.epochs=1", "+model.extra=1"]
    assert outcome(composer.cell, added) == outcome(Composer().job, added)
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("seed", 3, Setting(key="seed", value=3)),
        ("model.training.learning_rate", 1e-4, Setting(key="model.training.learning_rate", value=1e-4)),
        ("a.b", None, Setting(key="a.b", value=None)),
        ("a", "it is ${b}", None),
        ("a", "???", None),
        ("a", [1], None),
        ("a", {"b": 1}, None),
        ("a[0]", 1, None),
        ("a/b", "c", None),
    ],
)
def test_what_is_a_plain_setting(key: str, value: object, read: Setting | None) -> None:
    assert setting(key, value) == read


def test_settings_are_laid_on_a_copy_and_only_where_plain_values_stand() -> None:
    values = {"a": {"b": {"c": 1, "d": [1]}, "e": None}, "f": "x"}
    base, before = Composed(values=values, missing=frozenset()), repr(values)

    def laid(*pairs: tuple[str, Any]) -> dict[str, Any] | None:
        return base.laid([Setting(key=key, value=value) for key, value in pairs])

    assert laid() == values
    assert laid(("a.b.c", 2), ("f", None), ("a.e", True), ("a.b.c", 3)) == {"a": {"b": {"c": 3, "d": [1]}, "e": True}, "f": None}
    for key in ("a", "a.b", "a.b.d", "a.b.d.0", "a.b.c.x", "a.e.x", "g", "a.g"):
        assert laid((key, 1)) is None
    assert repr(values) == before
    open_ = Composed(values={"a": "???", "b": 1}, missing=frozenset({"a"}))
    assert open_.laid([Setting(key="b", value=2)]) is None
    assert open_.laid([Setting(key="a", value=2)]) == {"a": 2, "b": 1}


def test_data_is_looked_at_once_a_sweep_and_anew_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, seen = write_csv(tmp_path / "own.csv", rows(20)), []
    of_files = fingerprint.of_files
    monkeypatch.setattr(resolve.fingerprint, "of_files", lambda *paths: (seen.append(paths), of_files(*paths))[1])
    file = sweep_file(tmp_path, {"model": ["majority", "tfidf"], "budget.labels": [5, 10], "seed": [0, 1, 2]})
    first = load_sweep(file, on_table(path)).runs
    assert (len(first), len(seen)) == (12, 1)
    write_csv(path, rows(20, seed=1))
    again = load_sweep(file, on_table(path)).runs
    assert len(seen) == 2
    assert {run.run_id for run in first}.isdisjoint(run.run_id for run in again)
    composer = Composer()
    assert composer.job(on_table(path)).run.dataset == again[0].dataset
    write_csv(path, rows(20, seed=2))
    assert composer.job(on_table(path)).run.dataset != again[0].dataset  # a job of its own is always looked at


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_recorded_sweep_is_planned_from_each_record_once(
    tmp_path: Path, dry_run: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = sweep_file(tmp_path, {"model": ["majority", "distilled"], "budget.labels": [100, 300], "seed": [0, 1, 2]})
    runs = load_sweep(file).runs
    labels = np.arange(40) % 2
    for run in runs:
        path = Store(default_root()).folder(run.run_id) / RECORD
        path.parent.mkdir(parents=True)
        path.write_text(factories.make_record(run, labels, labels).to_json())
    read: list[str] = []
    from_plain = store.records.from_plain
    monkeypatch.setattr(store.records, "from_plain", lambda plain: (read.append(plain["run_id"]), from_plain(plain))[1])
    monkeypatch.setattr("bakeoff.commands.sweep.check_run", lambda *_: pytest.fail("asked about the data of a recorded Run"))
    monkeypatch.setattr(sys, "argv", ["bakeoff", "sweep", str(file), *(["--dry-run"] if dry_run else [])])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    assert len(read) == len(runs) == 12
    told = capsys.readouterr()
    if dry_run:
        assert told.out.splitlines()[-2:] == ["12 done", "to bake: 0"]
    else:
        assert told.err == "0 Runs to bake, 12 already recorded\n"


def test_the_whole_field_is_planned() -> None:
    """Of every kind of model, those that hold mappings too."""
    planned = plan(load_sweep(Path("labels"), ["budget.labels=0,100", "seed=0"]), Store(default_root()))
    assert {each.cell.title.split()[2]: each.state for each in planned if each.state == "todo"}.keys() >= {
        "zero_shot",
        "tfidf",
        "distilled",
    }


def sweep_file(folder: Path, parameters: dict[str, list[object]]) -> Path:
    file = folder / "own.yaml"
    grid = {key: {"values": values} for key, values in parameters.items()}
    file.write_text(yaml.safe_dump({"method": "grid", "parameters": grid}, sort_keys=False))
    return file
