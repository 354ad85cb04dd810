"""`bakeoff tune` from its plan to the page that shows what it tried, on toy models in this process."""

import dataclasses
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import bakery
from bakeoff import bake as baking
from bakeoff import cli
from bakeoff.commands import tuned
from bakeoff.config import Composer, find_sweep, load_sweep
from bakeoff.data import checks
from bakeoff.errors import NotApplicable
from bakeoff.record import Record
from bakeoff.report.evidence import read_evidence
from bakeoff.spec import Quality
from bakeoff.store import Store, default_root
from bakery import TINY, on_table, rows, write_csv

POOL, TEST = 300, 20
MODELS = {
    "quick": {"defaults": ["bilstm", "_self_"], "name": "quick", "embedding_dim": 8, "hidden_dim": 8, "min_count": 1},
    "grams": {"defaults": ["tfidf", "_self_"], "name": "grams", "cv_folds": 2},
}
TUNE = {
    "quick": {"training.learning_rate": [1e-4, 1e-2], "training.epochs": [1, 2], "training.min_steps": None, "dropout": None},
    "grams": {"ngram_max": [1, 2, 3], "min_count": None, "sublinear_tf": None},
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Done:
    """How a command ended."""

    code: int
    out: list[str]
    err: str


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with two toy models: one of four recipes, one of three; and a sweep over them and the majority."""
    for name, values in MODELS.items():
        file = tmp_path / "conf" / "model" / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        training = {"training": {"epochs": 1, "min_steps": 4, "learning_rate": 1e-4}} if name == "quick" else {}
        file.write_text(yaml.safe_dump({**values, **training, "tune": TUNE[name]}))
    parameters = {"model": ["majority", "grams", "quick"], "budget.labels": [100, 300], "seed": [1, 0]}
    grid = {key: {"values": values} for key, values in parameters.items()}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({"method": "grid", "parameters": grid}, sort_keys=False))
    write_csv(tmp_path / "pool.csv", rows(POOL))
    write_csv(tmp_path / "test.csv", rows(TEST, seed=1))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def bakeoff(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """A command in this process."""

    def call(*arguments: str) -> Done:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["bakeoff", *arguments])
        try:
            cli.main()
            code: Any = 0
        except SystemExit as end:
            code = end.code
        captured = capsys.readouterr()
        return Done(code=code or 0, out=captured.out.splitlines(), err=captured.err)

    return call


@pytest.fixture
def table() -> list[str]:
    return on_table(Path("pool.csv"), Path("test.csv"))


def trials() -> list[Record]:
    return [record for record in Store(default_root()).load_all() if record.run.is_trial]


# One trial.


@pytest.mark.parametrize("model", ["majority", "tfidf", "frozen", "bilstm"])
def test_a_trial_scores_validation_and_meets_no_test_row(model: str, here: Path, table: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[tuple[str, ...]] = []
    learn = baking.learn

    def watched(run: Any, prepared: Any, spent: Any, **more: Any) -> Any:
        met.append((*prepared.pool.texts, *prepared.test.texts))
        return learn(run, prepared, spent, **more)

    monkeypatch.setattr(baking, "learn", watched)
    frozen = ["model=frozen", "model.cv_folds=2", "longdoc.max_tokens=32"]
    if model == "frozen":
        frozen.append(bakery.checkpoint_override(bakery.checkpoint(here / "toy")))
    ask = [*table, *(frozen if model == "frozen" else TINY[model]), "budget.labels=300"]
    tested = {text for text, _ in rows(TEST, seed=1)}
    baked = bakery.bake(Composer().job([*ask, "probe.scores=validation"]))
    assert not tested & set(met[0])
    facts = baked.record.data
    assert (facts.n_fit, facts.n_val, facts.n_test) == (240, 60, 0)
    assert set(baked.record.quality) == {"validation"}
    assert baked.record.quality["validation"].n == 60
    assert not (baked.folder / "predictions.parquet").exists()
    usual = bakery.bake(Composer().job(ask)).record
    assert tested <= set(met[1])
    assert usual.data.n_test == TEST
    assert "test" in usual.quality
    if model == "bilstm":  # the rows and the recipe are the same, so the answers on validation are
        assert usual.quality["validation"] == baked.record.quality["validation"]
        assert usual.data.subset_hashes["validation"] == facts.subset_hashes["validation"]
    else:  # in earnest they fit on every label
        assert (usual.data.n_fit, usual.data.n_val) == (300, 0)


def test_a_trial_that_says_nothing_names_the_rows_it_saw(here: Path, table: list[str]) -> None:
    ask = [*table, *TINY["bilstm"], "model.training.learning_rate=1e-9", "budget.labels=300", "probe.scores=validation"]
    messages = [each.message for each in bakery.bake(Composer().job(ask)).record.training.diagnostics]
    assert messages
    assert all("test" not in message for message in messages)
    assert any(message.startswith("validation accuracy") for message in messages)


def test_a_trial_needs_validation_rows(here: Path, table: list[str]) -> None:
    run = Composer().job([*table, "model=tfidf", "budget.labels=299", "probe.scores=validation"]).run
    with pytest.raises(NotApplicable) as caught:
        checks.check(run)
    assert str(caught.value) == (
        "probe.scores=validation needs validation rows, and there are none below 300 labels: set budget.labels=300 or more"
    )


def test_what_may_be_tried_is_no_part_of_the_question(here: Path, table: list[str]) -> None:
    before = Composer().job([*table, "model=grams"])
    (here / "conf" / "model" / "grams.yaml").write_text(yaml.safe_dump({**MODELS["grams"], "tune": {"ngram_max": [5, 6]}}))
    after = Composer().job([*table, "model=grams"])
    assert before.run.run_id == after.run.run_id
    assert before.space == {"model.ngram_max": (2, 1, 3)}
    assert after.space["model.ngram_max"] == (2, 5, 6)


# The command.


def test_tuning_from_its_plan_to_its_page(bakeoff: Callable[..., Done], here: Path, table: list[str]) -> None:
    planned = bakeoff("tune", "own.yaml", *table, "--trials", "3", "--dry-run")
    assert planned.code == 0
    assert [line.split()[0] for line in planned.out] == ["todo"] * 6 + ["to", *["not"] * 4]
    assert planned.out[0].endswith("  pool · grams · full · 300 labels  the default")
    assert {line.rpartition("  ")[2] for line in planned.out[1:3]} == {"ngram_max=1", "ngram_max=3"}
    assert planned.out[6] == "to bake: 6"
    below = "below 300 labels there are no validation rows to choose by"
    none = "its configuration names no `tune` values that the sweep leaves open"
    not_tuned = [
        f"not tuned: pool · majority · full · 100 labels: {below}",
        f"not tuned: pool · majority · full · 300 labels: {none}",
        f"not tuned: pool · grams · full · 100 labels: {below}",
        f"not tuned: pool · quick · full · 100 labels: {below}",
    ]
    assert planned.out[7:] == not_tuned
    assert not default_root().exists() or list(default_root().iterdir()) == []

    done = bakeoff("tune", "own.yaml", *table, "--trials", "3", "--executor", "inprocess")
    assert (done.code, done.err.count(" done ")) == (0, 6)
    assert done.out[0].split() == ["tuned", "tried", "of", "metric", "default", "%", "chosen", "%", "chosen", "values"]
    assert [line.split()[8:11] for line in done.out[1:3]] == [["3", "3", "accuracy"], ["3", "4", "accuracy"]]
    assert done.out[3:7] == not_tuned
    assert {(record.run.seed, record.run.budget.draw, record.run.budget.labels, record.data.n_test) for record in trials()} == {
        (0, 0, 300, 0)
    }
    assert all(not (default_root() / record.run_id / "predictions.parquet").exists() for record in trials())
    again = bakeoff("tune", "own.yaml", *table, "--trials", "3", "--executor", "inprocess")
    assert (again.out, "0 trials to bake, 6 already recorded" in again.err) == (done.out, True)

    # the quick model learns nothing at its default rate, and the files say what won
    file = here / "sweeps" / "tuned" / "own-pool-quick-300.yaml"
    best = max((record for record in trials() if record.run.model.kind == "bilstm"), key=lambda each: each.quality["validation"].accuracy)
    plain = yaml.safe_load(file.read_text())
    assert plain["name"] == "own-pool-quick-300"
    assert plain["parameters"]["model.name"] == {"value": "quick_tuned"}
    assert plain["parameters"]["seed"] == {"values": [1, 0]}
    assert plain["parameters"]["dataset.text"] == {"value": "text"}
    assert not {"dataset.path", "dataset.test_path", "machine.wandb"} & set(plain["parameters"])
    said_again = [text for text in table if "path" in text or text.startswith("machine")]
    runs = load_sweep(find_sweep(file), said_again).runs
    assert [run.seed for run in runs] == [1, 0]
    assert all(dataclasses.replace(run.model, name="quick") == best.run.model for run in runs)
    assert all(isinstance(run.probe, Quality) and run.probe.scores == "test" for run in runs)
    head = file.read_text().splitlines()
    assert head[0] == (
        "# pool · quick · full · 300 labels, as `bakeoff tune own.yaml dataset=csv dataset.text=text dataset.label=label --trials 3 "
        "--seed 0` chose it; do not edit."
    )
    assert head[1] == "# 3 of 4 recipes were tried on the 60 validation rows of draw 0, none on a test row."

    # what the command ends with bakes them and puts them beside the defaults
    sweeps, report = [line for line in done.out if line.startswith("bakeoff sweep")], done.out[-1]
    assert sweeps == [
        shlex.join(["bakeoff", "sweep", f"sweeps/tuned/own-pool-{model}-300.yaml", *said_again]) for model in ("grams", "quick")
    ]
    for line in [shlex.join(["bakeoff", "sweep", "own.yaml", *table]), *sweeps]:
        assert bakeoff(*shlex.split(line)[1:], "--executor", "inprocess").code == 0
    assert report == shlex.join(["bakeoff", "report", "own.yaml", *[line.split()[2] for line in sweeps], *table])
    page = bakeoff(*shlex.split(report)[1:], "--evidence", "--allow-dirty")
    assert page.code == 0
    text = Path(page.out[-1]).read_text()
    assert "## How the recipes were chosen" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| quick | 300 | 3 |")]
    assert "training.learning\\_rate 0.0001, 0.01" in line or "training.learning_rate 0.0001, 0.01" in line
    assert "quick_tuned" in text
    kept = Store(here / "reports" / "own" / "records")
    assert {record.run_id for record in trials()} <= {record.run_id for record in kept.load_all()}
    assert len(read_evidence(kept).sweeps) == 3


def test_every_model_has_as_many_trials_as_the_smallest_space_has_recipes(bakeoff: Callable[..., Done], table: list[str]) -> None:
    told = "3 trials each: the space of grams has 3 recipes"
    planned = bakeoff("tune", "own.yaml", *table, "budget.labels=300", "--dry-run")
    tried = [line.split("  ")[-2] for line in planned.out if line.startswith("todo")]
    assert tried == ["pool · grams · full · 300 labels"] * 3 + ["pool · quick · full · 300 labels"] * 3
    assert planned.out[7] == told
    done = bakeoff("tune", "own.yaml", *table, "budget.labels=300", "--executor", "inprocess")
    assert [line.split()[8:10] for line in done.out[1:3]] == [["3", "3"], ["3", "4"]]
    assert done.out[3] == told
    assert len(trials()) == 6
    alone = bakeoff("tune", "own.yaml", *table, "budget.labels=300", "model=quick", "--dry-run")
    assert alone.out[-1] == "4 trials each: the space of quick has 4 recipes"
    asked = bakeoff("tune", "own.yaml", *table, "budget.labels=300", "--trials", "2", "--dry-run")
    assert not any("trials each" in line for line in asked.out)


def test_what_a_trial_needs_is_listed_and_counted(bakeoff: Callable[..., Done], here: Path, table: list[str]) -> None:
    taught = {"defaults": ["quick", "_self_"], "name": "taught", "teacher": "quick"}
    only = {"training.learning_rate": None, "training.epochs": None, "distillation.temperature": [1, 2]}
    (here / "conf" / "model" / "taught.yaml").write_text(yaml.safe_dump({**taught, "tune": only}))
    ask = ["tune", "own.yaml", *table, "model=taught", "budget.labels=300"]
    planned = bakeoff(*ask, "--dry-run")
    assert planned.code == 0
    assert [line.split()[0] for line in planned.out] == ["todo", "todo", "needed", "to", "2"]
    teacher = Composer().job([*table, "model=quick", "budget.labels=300", "seed=0"]).run
    assert planned.out[2] == f"needed    {teacher.run_id}  {teacher.title}  needed by 2 Runs"
    assert planned.out[3] == "to bake: 3"
    assert bakeoff(*ask, "--executor", "inprocess").code == 0
    again = bakeoff(*ask, "--dry-run")
    assert [line.split()[0] for line in again.out] == ["done", "done", "to", "2"]
    assert again.out[2] == "to bake: 0"


@pytest.mark.parametrize(
    ("override", "is_path"),
    [
        ("dataset.path=own.csv", True),
        ("model.vectors='glove.txt'", True),
        ("+model.vectors=glove.txt", True),
        ("model.checkpoint=toy", True),
        ("model.checkpoint='./toy'", True),
        ("model.checkpoint=minilm-l6", False),
        ("model.checkpoint=owner/name", False),
        ("model.pooling=toy", False),
        ("anything=/elsewhere", True),
    ],
)
def test_a_path_of_this_machine_goes_into_no_committed_file(override: str, is_path: bool, here: Path) -> None:
    for folder in ("toy", "minilm-l6"):
        (here / folder).mkdir()
    assert tuned._said_again([override]) == ([override] if is_path else [])


def test_a_sweep_that_fixes_a_setting_leaves_it_alone(bakeoff: Callable[..., Done], here: Path, table: list[str]) -> None:
    fixed = bakeoff("tune", "own.yaml", *table, "model=quick", "model.training.epochs=2", "--dry-run")
    assert [line.rpartition("  ")[2] for line in fixed.out if line.startswith("todo")] == ["the default", "training.learning_rate=0.01"]
    none = bakeoff("tune", "own.yaml", *table, "model=grams", "model.ngram_max=1", "budget.labels=300")
    assert none.code == 2
    assert none.err == (
        "bakeoff: own.yaml has nothing to tune: pool · grams · full · 300 labels: its configuration names no `tune` values that the "
        "sweep leaves open\n"
    )


def test_another_seed_draws_other_recipes_and_more_trials_add_to_fewer(bakeoff: Callable[..., Done], table: list[str]) -> None:
    def drawn(*options: str) -> list[str]:
        lines = bakeoff("tune", "own.yaml", *table, "model=quick", "budget.labels=300", "--dry-run", *options).out
        return [line.rpartition("  ")[2] for line in lines if line.startswith("todo")]

    all_four = drawn()
    assert len(all_four) == len(set(all_four)) == 4
    assert drawn("--trials", "2") == all_four[:2]
    assert {drawn("--trials", "2", "--seed", str(seed))[1] for seed in range(8)} == set(all_four[1:])


def test_a_budget_that_the_data_refuses_is_told(bakeoff: Callable[..., Done], table: list[str]) -> None:
    done = bakeoff("tune", "own.yaml", *table, "model=grams", "budget.labels=300,5000", "--dry-run")
    assert done.out[-1] == (
        "not tuned: pool · grams · full · 5000 labels: budget.labels=5000 is more than the 300 labelled rows of the train pool: "
        "use at most 300, or all"
    )


def test_a_failed_trial_leaves_the_choice_open(bakeoff: Callable[..., Done], here: Path, table: list[str], monkeypatch: Any) -> None:
    learn = baking.learn

    def fails_once(run: Any, *arguments: Any, **more: Any) -> Any:
        if run.model.kind == "tfidf" and run.model.ngram_max == 1:
            raise RuntimeError("no memory")
        return learn(run, *arguments, **more)

    monkeypatch.setattr(baking, "learn", fails_once)
    done = bakeoff("tune", "own.yaml", *table, "model=grams", "budget.labels=300", "--executor", "inprocess")
    assert done.code == 1
    assert "failed: " in done.err
    assert done.out[1].endswith("no choice: 1 of 3 trials have no score")
    assert not (here / "sweeps").exists()
    monkeypatch.setattr(baking, "learn", learn)
    assert bakeoff("tune", "own.yaml", *table, "model=grams", "budget.labels=300", "--executor", "inprocess").code == 0
    assert (here / "sweeps" / "tuned" / "own-pool-grams-300.yaml").exists()


def test_latency_has_no_recipe_to_choose(bakeoff: Callable[..., Done], table: list[str]) -> None:
    done = bakeoff("tune", "own.yaml", *table, "model=grams", "probe=latency")
    assert done.code == 2
    assert done.err.endswith("probe=latency asks for no score\n")
