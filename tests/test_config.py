"""Every configuration file composes, what is left open is resolved, and every mistake is one sentence."""

import copy
import dataclasses
import functools
import itertools
import os
from pathlib import Path

import pytest
import yaml

from bakeoff import config, tuning
from bakeoff.config import Composer, find_sweep, load_sweep, machine_of, parse, quoted
from bakeoff.errors import BakeoffError, ConfigError, DataError, NotApplicable, UnknownSetting
from bakeoff.spec import LongDoc
from bakeoff.sweep import Sweep
from bakeoff.sweep_file import as_text
from bakery import on_table, rows, write_csv

ROOT = Path(__file__).parents[1]
CONF = sorted(file for file in (ROOT / "conf").rglob("*.yaml") if file.name != "prices.yaml")
SIZES = ("bert_base", "bigbird", "distilbert", "longformer", "modernbert", "roberta_base")
MODELS = (
    "bert_base, bigbird, bilstm, bilstm_pieces, deberta_v3, decoder, distilbert, distilled, distilled_bilstm, frozen, longformer, "
    "majority, modernbert, off_the_shelf, predictions, pretrained, pretrained_mlm, roberta_base, scratch, scratch_mlm, tfidf, zero_shot"
)
HUB = ("ag_news", "banking77", "hub", "imdb", "newsgroups_raw", "rotten_tomatoes", "sst2")
SWEEPS = sorted((ROOT / "sweeps").rglob("*.yaml"))
BESIDE = {
    ("model", "deberta_v3"): [f"model.revision={'0' * 40}"],
    ("probe", "pretrain"): ["model=scratch"],
    ("model", "pretrained_mlm"): ["probe=pretrain"],
}
"""What a file is composed with, where it goes with no tfidf or no quality."""
HEAD, FULL = LongDoc(strategy="head", max_tokens=256), LongDoc(strategy="full", max_tokens=None)
WINDOWS = LongDoc(strategy="windows", max_tokens=None, window_tokens=256, overlap_tokens=64, pool="mean_logits", trained_windows=32)


@pytest.fixture
def table(tmp_path: Path) -> list[str]:
    """Overrides that ask about a small table."""
    return on_table(write_csv(tmp_path / "tickets.csv", rows(30)))


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@functools.cache
def loaded(file: Path, *overrides: str) -> Sweep:
    """A sweep that comes with bakeoff; composing its cells takes seconds."""
    return load_sweep(file, overrides)


@pytest.fixture(scope="session")
def own_data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, ...]]:
    """Sweep file → what the command line adds, where it asks about data of one's own."""
    folder = tmp_path_factory.mktemp("data")
    for label, fold in itertools.product(("neg", "pos"), range(10)):
        (folder / "reviews" / label).mkdir(parents=True, exist_ok=True)
        (folder / "reviews" / label / f"cv{fold}00.txt").write_text(f"a {label} one of fold {fold}")
    train, test, table = (write_csv(folder / name, rows(30)) for name in ("train.jsonl", "test.jsonl", "own.csv"))
    reviews, novels, own = (f"dataset.path={quoted(str(path))}" for path in (folder / "reviews", train, table))
    return {
        "published_mr.yaml": (own,),
        "long_documents.yaml": (reviews,),
        "long_documents_whole.yaml": (reviews,),
        "long_novels.yaml": (novels, f"dataset.test_path={quoted(str(test))}"),
    }


def added(file: Path, own_data: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    return own_data.get(file.name, ())


def run(*overrides: str) -> object:
    return Composer().job(overrides).run


def identity(*overrides: str) -> str:
    return Composer().job(overrides).run.run_id


# The files themselves.


def test_no_file_is_forgotten() -> None:
    """Raise these counts with the file that you add, and see that the tests below reach it."""
    assert len(CONF) == 65
    assert len(SWEEPS) == 45


@pytest.mark.parametrize("file", CONF, ids=lambda file: str(file.relative_to(ROOT / "conf")))
def test_every_configuration_composes(file: Path, tmp_path: Path, table: list[str]) -> None:
    group, name = file.parent.name, file.stem
    if group == "conf":
        job = Composer(config_name=name).job([])
        assert (job.run.dataset.name, job.run.model.kind, job.run.seed) == ("movie", "tfidf", 0)
        return
    overrides = [f"{group}={name}", *BESIDE.get((group, name), [])]
    if (group, name) == ("dataset", "csv"):
        overrides = table
    elif (group, name) == ("dataset", "novel_chapters"):
        path, test = (write_csv(tmp_path / f"{name}.jsonl", rows(3)) for name in ("train", "test"))
        overrides += [f"dataset.path={quoted(str(path))}", f"dataset.test_path={quoted(str(test))}"]
    elif (group, name) in (("dataset", "folder"), ("dataset", "movie_reviews")):
        for label in ("good", "bad"):
            (tmp_path / "reviews" / label).mkdir(parents=True)
            (tmp_path / "reviews" / label / "1.txt").write_text(f"a {label} one")
        overrides.append(f"dataset.path={quoted(str(tmp_path / 'reviews'))}")
    elif group == "dataset" and name in HUB:  # whose revision is nowhere verified, so that a command names it
        overrides += [f"dataset.revision={'0' * 40}", "dataset.hub=owner/hub", "dataset.text=t", "dataset.label=l"]
        with pytest.raises(DataError, match=r"is on the hub and needs its commit: set dataset.revision=<40 hex digits>"):
            Composer().job([overrides[0], *overrides[2:]])
    elif group == "longdoc" and name not in ("default", "full"):
        overrides.append("model=pretrained")
    elif group == "model" and name in ("zero_shot", "off_the_shelf", "predictions"):
        (tmp_path / "answers.csv").write_text("row_id,label\n")
        own = {"off_the_shelf": ["model.checkpoint=minilm-l6"], "predictions": [f"model.path={quoted(str(tmp_path / 'answers.csv'))}"]}
        overrides += ["budget.labels=0", *own.get(name, [])]
    elif group == "model" and name in SIZES:  # an architecture without its weights can only be timed
        overrides.append("probe=latency")
    job = Composer().job(overrides)
    assert job.run.dataset.name == {"csv": "tickets", "folder": "reviews"}.get(name, name) if group == "dataset" else "movie"
    if group == "model":
        assert job.run.model.name == name
    if group == "probe":
        assert job.run.probe.kind == name


def test_every_file_is_short_and_has_values_only() -> None:
    for file in CONF:
        text = file.read_text()
        assert "_target_" not in text, file
        assert len(text.splitlines()) <= 25, file
        assert "path: /" not in text, file


@pytest.mark.parametrize("file", SWEEPS, ids=lambda file: file.name)
def test_every_sweep_loads_and_is_flat(file: Path, own_data: dict[str, tuple[str, ...]]) -> None:
    sweep = loaded(file, *added(file, own_data))
    plain = yaml.safe_load(file.read_text())
    assert sweep.name == plain["name"] == file.stem
    assert sweep.description == plain["description"]
    sizes = [len(each["values"]) if "values" in each else 1 for each in plain["parameters"].values()]
    assert len(sweep.cells) == _product(sizes)
    assert len(sweep.runs) == len({run.run_id for run in sweep.runs})
    for key, each in plain["parameters"].items():
        assert set(each) <= {"value", "values"}, f"{key} should be flat, with dots"
        assert not any(isinstance(value, dict) for value in [each.get("value"), *each.get("values", [])])


@pytest.mark.parametrize("file", SWEEPS, ids=lambda file: file.name)
def test_every_sweep_is_one_of_weights_and_biases_too(file: Path, own_data: dict[str, tuple[str, ...]]) -> None:
    """What a W&B agent would call composes to the very Runs that `bakeoff sweep` bakes."""
    from wandb.sdk.launch.sweeps.utils import create_sweep_command, create_sweep_command_args

    plain = yaml.safe_load(file.read_text())
    assert plain["method"] == "grid"
    grid = {key: each["values"] if "values" in each else [each["value"]] for key, each in plain["parameters"].items()}
    called, composer = set(), Composer()
    for values in itertools.product(*grid.values()):
        command = create_sweep_command(copy.deepcopy(plain["command"]))
        arguments = create_sweep_command_args({"args": {key: {"value": value} for key, value in zip(grid, values, strict=True)}})
        words = [word for each in command for word in (arguments["args_no_hyphens"] if each == "${args_no_hyphens}" else [each])]
        assert words[:2] == ["bakeoff", "run"]
        try:
            called.add(composer.cell([*words[2:], *added(file, own_data)]).run.run_id)
        except NotApplicable:
            continue
    assert called == {run.run_id for run in loaded(file, *added(file, own_data)).runs}


def test_the_starter() -> None:
    sweep = loaded(ROOT / "sweeps" / "starter.yaml")
    assert len(sweep.cells) == len(sweep.runs) == 24
    assert {run.model.kind for run in sweep.runs} == {"majority", "tfidf", "bilstm", "pretrained"}
    assert {run.dataset.name for run in sweep.runs} == {"movie"}
    assert {run.probe.threads for run in sweep.runs} == {1}


def test_a_cell_is_the_job_that_its_overrides_compose() -> None:
    composer = Composer()
    for rest in (["model=tfidf"], ["model=bilstm", "budget.labels=100"], ["model=tfidf", "budget.draw=7"]):
        for seed in ("seed=0", "seed=3", "seed=1"):
            assert composer.cell([*rest, seed]) == Composer().job([*rest, seed])
    assert composer.cell(["seed=2", "model=tfidf"]).run.seed == 2
    for mistake in (["model=tfidf", "seed=x"], ["model=tfidf", "seed=01"], ["modle=tfidf", "seed=1"]):
        with pytest.raises(ConfigError) as raised:
            composer.cell(mistake)
        with pytest.raises(ConfigError) as expected:
            Composer().job(mistake)
        assert str(raised.value) == str(expected.value)


def test_the_field_at_every_budget() -> None:
    sweep = loaded(ROOT / "sweeps" / "labels.yaml")
    assert len(sweep.cells) == 330
    without_labels = {run.model.name for run in sweep.runs if run.budget.labels == 0}
    assert without_labels == {"zero_shot"}
    trained = {(run.model.name, run.budget.labels) for run in sweep.runs} - {("zero_shot", 0)}
    assert len(trained) == 10 * 5
    assert len(sweep.runs) == 51 * 5
    assert {run.budget.draw for run in sweep.runs} == set(range(5))
    assert all("budget.labels=" in (cell.reason or "budget.labels=") for cell in sweep.cells)


def test_a_sweep_over_ones_own_data_asks_for_it() -> None:
    with pytest.raises(ConfigError, match=r"^dataset\.path is missing: set dataset\.path=…$"):
        load_sweep(ROOT / "sweeps" / "published_mr.yaml")


# What tuning may try.

TUNED = [file for file in CONF if file.parent.name == "model" and "tune:" in file.read_text()]


@pytest.mark.parametrize("file", TUNED, ids=lambda file: file.stem)
def test_every_value_that_tuning_may_try_is_one_that_the_model_takes(file: Path) -> None:
    beside = [f"model={file.stem}", *BESIDE.get(("model", file.stem), [])]
    timed = ["probe=latency"] if file.stem in SIZES else []
    job = Composer().job([*beside, *timed])
    listed = {f"model.{key}": values for key, values in yaml.safe_load(file.read_text())["tune"].items() if values is not None}
    assert listed.keys() <= job.space.keys()
    assert 6 <= tuning.size(job.space) <= 100
    for key, values in job.space.items():
        assert key not in listed or len(listed[key]) == len(values), f"{key}: the default is among the values"
        for value in values[1:]:
            other = Composer().job([*beside, *timed, f"{key}={as_text(value)}"]).run
            assert other.model != job.run.model
            assert timed or other.run_id != job.run.run_id


def test_every_model_that_is_trained_may_be_tuned() -> None:
    quiet = {"majority", "zero_shot", "off_the_shelf", "predictions"}
    spaces = {file.stem for file in CONF if file.parent.name == "model" and file.stem not in quiet} - {file.stem for file in TUNED}
    assert all("defaults:" in (ROOT / "conf" / "model" / f"{name}.yaml").read_text() for name in spaces), spaces


# What is left open.


@pytest.mark.parametrize(
    ("overrides", "reading"),
    [
        (["model=tfidf"], FULL),
        (["model=bilstm"], FULL),
        (["model=pretrained"], HEAD),
        (["model=pretrained", "longdoc=full"], FULL),
        (["model=bilstm", "longdoc=head"], HEAD),
        (["model=pretrained", "longdoc.max_tokens=64"], LongDoc(strategy="head", max_tokens=64)),
        (["model=bilstm", "longdoc.max_tokens=64"], LongDoc(strategy="head", max_tokens=64)),
        (["model=pretrained", "longdoc=head", "longdoc.max_tokens=9"], LongDoc(strategy="head", max_tokens=9)),
        (["model=pretrained", "longdoc.strategy=head"], HEAD),
        (["model=pretrained", "longdoc.strategy=full"], FULL),
        (["model=pretrained", "longdoc=tail"], LongDoc(strategy="tail", max_tokens=256)),
        (
            ["model=pretrained", "longdoc=head_tail", "longdoc.head_share=0.25"],
            LongDoc(strategy="head_tail", max_tokens=256, head_share=0.25),
        ),
        (["model=bilstm", "longdoc=select"], LongDoc(strategy="select", max_tokens=256, rank="tfidf")),
        (["model=pretrained", "longdoc=windows"], WINDOWS),
        (["model=bilstm", "longdoc=windows", "longdoc.max_tokens=900"], dataclasses.replace(WINDOWS, max_tokens=900)),
        (["model=frozen", "longdoc=extended"], LongDoc(strategy="extended", max_tokens=4096, attention_window=256)),
    ],
)
def test_an_explicit_reading_wins_and_what_it_leaves_open_is_the_models_own(overrides: list[str], reading: LongDoc) -> None:
    assert Composer().job(overrides).run.longdoc == reading


def test_equal_readings_are_one_question_however_they_were_chosen() -> None:
    assert identity("model=pretrained") == identity("model=pretrained", "longdoc=head")
    assert identity("model=pretrained") != identity("model=pretrained", "longdoc.max_tokens=255")


def test_the_draw_is_the_seed_unless_it_is_chosen() -> None:
    assert Composer().job(["seed=3"]).run.budget.draw == 3
    assert Composer().job(["seed=3", "budget.draw=0"]).run.budget.draw == 0
    assert identity("seed=3") == identity("seed=3", "budget.draw=3")


@pytest.mark.parametrize(
    ("overrides", "resolved"),
    [
        ([], ("fold", 0, None)),
        (["dataset.fold=2"], ("fold", 2, None)),
    ],
)
def test_the_split_of_a_table(table: list[str], overrides: list[str], resolved: tuple[str, int | None, int | None]) -> None:
    dataset = Composer().job([*table, *overrides]).run.dataset
    assert (dataset.split, dataset.fold, dataset.held_out_rows) == resolved


def test_a_test_file_makes_the_split_official(tmp_path: Path) -> None:
    pool, test = write_csv(tmp_path / "a.csv", rows(10)), write_csv(tmp_path / "b.csv", rows(4, seed=1))
    dataset = Composer().job(on_table(pool, test)).run.dataset
    assert (dataset.split, dataset.fold, dataset.path, dataset.test_path) == ("official", None, str(pool), str(test))
    assert dataset.fingerprint != Composer().job(on_table(pool)).run.dataset.fingerprint


@pytest.mark.parametrize(
    ("name", "form"), [("a.csv", "csv"), ("a.CSV", "csv"), ("a.tsv", "tsv"), ("a.jsonl", "jsonl"), ("a.ndjson", "jsonl")]
)
def test_the_ending_says_the_format(tmp_path: Path, name: str, form: str) -> None:
    path = tmp_path / name
    path.write_text("text,label\n")
    assert Composer().job(on_table(path)).run.dataset.format == form
    assert Composer().job([*on_table(path), "dataset.format=tsv"]).run.dataset.format == "tsv"


def test_names_come_from_the_file_and_change_no_question(tmp_path: Path) -> None:
    one = write_csv(tmp_path / "my tickets (2).csv", rows(10))
    other = write_csv(tmp_path / "other.csv", rows(10))
    jobs = [Composer().job(on_table(path)) for path in (one, other)]
    assert [(job.run.dataset.name, job.run.dataset.family) for job in jobs] == [("my_tickets_2_", "my_tickets_2_"), ("other", "other")]
    assert jobs[0].run.run_id == jobs[1].run.run_id
    named = Composer().job([*on_table(one), "dataset.name=t", "dataset.family=f"]).run
    assert (named.dataset.name, named.dataset.family, named.run_id) == ("t", "f", jobs[0].run.run_id)


def test_a_relative_path_is_made_absolute(elsewhere: Path) -> None:
    write_csv(elsewhere / "own.csv", rows(10))
    dataset = Composer().job(on_table(Path("own.csv"))).run.dataset
    assert dataset.path == str(elsewhere / "own.csv")


def test_a_folder_called_like_a_starter_checkpoint_does_not_replace_it(elsewhere: Path) -> None:
    before = identity("model=pretrained")
    (elsewhere / "minilm-l6").mkdir()
    assert identity("model=pretrained") == before


@pytest.mark.parametrize("written", ["2e-5", "2E-5", "0.00002", "2.0e-5", "'2e-5'"])
def test_a_learning_rate_is_one_number_however_it_is_written(written: str, tmp_path: Path) -> None:
    made = Composer().job(["model=pretrained", f"model.training.learning_rate={written}"]).run
    assert made.model.training.learning_rate == 2e-5  # type: ignore[union-attr]
    assert made.run_id == identity("model=pretrained")
    file = sweep_file(tmp_path, {"model": {"value": "pretrained"}, "model.training.learning_rate": {"value": written.strip("'")}})
    assert [run.run_id for run in load_sweep(file).runs] == [made.run_id]


def test_a_value_that_hydra_would_parse_is_quoted() -> None:
    for text in ("a b", "it's", "x(1),[y]", "a\\", "a\\'b", "\\\\share\\x", '"q"', "a=b", "null", "1e3", ""):
        (override,) = parse([f"key={quoted(text)}"])
        assert override.value() == text


# Where configurations are looked for.


def test_the_working_directorys_conf_comes_first(elsewhere: Path) -> None:
    own = elsewhere / "conf" / "dataset"
    own.mkdir(parents=True)
    plain = yaml.safe_load((ROOT / "conf" / "dataset" / "movie.yaml").read_text())
    (own / "mine.yaml").write_text(yaml.safe_dump(plain | {"name": "mine", "held_out_rows": 100}))
    (own / "movie.yaml").write_text(yaml.safe_dump(plain | {"held_out_rows": 50}))
    assert Composer().job(["dataset=mine"]).run.dataset.held_out_rows == 100
    assert Composer().job(["dataset=movie"]).run.dataset.held_out_rows == 50
    assert Composer().job(["model=bilstm"]).run.model.kind == "bilstm"
    with pytest.raises(ConfigError, match=r"^dataset=mime is not available; did you mean dataset=mine\?"):
        run("dataset=mime")


def test_a_config_dir_that_holds_the_run_wins_over_both(elsewhere: Path) -> None:
    for folder, seed in (("conf", 5), ("chosen", 6)):
        (elsewhere / folder).mkdir()
        defaults = ["dataset: movie", "budget: default", "model: tfidf", "longdoc: default", "probe: quality", "machine: default", "_self_"]
        lines = ["defaults:", *(f"  - {each}" for each in defaults), f"seed: {seed}"]
        (elsewhere / folder / "run.yaml").write_text("\n".join(lines) + "\n")
    assert Composer().job([]).run.seed == 5
    assert Composer(elsewhere / "chosen").job([]).run.seed == 6
    assert Composer(Path("chosen")).job(["seed=7", "model=bilstm"]).run.seed == 7


def test_a_config_dir_without_a_run_adds_choices(elsewhere: Path) -> None:
    more = elsewhere / "it's more, (1)" / "model"
    more.mkdir(parents=True)
    (more / "wide.yaml").write_text((ROOT / "conf" / "model" / "bilstm.yaml").read_text().replace("hidden_dim: 128", "hidden_dim: 256"))
    composer = Composer(more.parent)
    assert composer.job(["model=wide"]).run.model.hidden_dim == 256  # type: ignore[union-attr]
    with pytest.raises(ConfigError, match=r"^model=wid is not available; did you mean model=wide\?"):
        composer.job(["model=wid"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Path("gone"), "run"), "--config-dir gone is no folder: check the path"),
        ((None, "rum"), "--config-name rum is not available; did you mean --config-name run? The choices are run"),
    ],
)
def test_a_configuration_that_is_not_there(elsewhere: Path, arguments: tuple[Path | None, str], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Composer(*arguments)
    assert str(raised.value) == message


def test_a_users_file_that_is_no_yaml(elsewhere: Path) -> None:
    (elsewhere / "conf" / "dataset").mkdir(parents=True)
    (elsewhere / "conf" / "dataset" / "broken.yaml").write_text("name: [unclosed\n")
    with pytest.raises(ConfigError, match=r"while parsing a flow sequence .*broken\.yaml"):
        run("dataset=broken")


# Mistakes.

KINDS = "bilstm, frozen, majority, off_the_shelf, predictions, pretrained, scratch, tfidf, zero_shot"
EXISTING = "give the path of a file, or of a folder with one folder a class"
QUOTING = "(put a value with spaces or punctuation in quotes: KEY='\"a b\"')"
MANY = "lists several values: `bakeoff run -m` runs each of them, without -m choose one"

MISTAKES: list[tuple[list[str], type[BakeoffError], str]] = [
    (["modle=tfidf"], UnknownSetting, "modle is not a setting; did you mean model?"),
    (["model=bert"], ConfigError, f"model=bert is not available; did you mean model=bert_base? The choices are {MODELS}"),
    (["model=tfdf"], ConfigError, f"model=tfdf is not available; did you mean model=tfidf? The choices are {MODELS}"),
    (["model=null"], ConfigError, f"model=None is not available; the choices are {MODELS}"),
    (["model=tfidf,bilstm"], ConfigError, f"model=tfidf,bilstm {MANY}"),
    (["seed=range(3)"], ConfigError, f"seed=range(3) {MANY}"),
    (["model=bilstm", "model.hiden_dim=3"], UnknownSetting, "model.hiden_dim is not a setting; did you mean model.hidden_dim?"),
    (["model=bilstm", "+model.hiden_dim=3"], UnknownSetting, "model.hiden_dim is not a setting; did you mean model.hidden_dim?"),
    (
        ["model=bilstm", "model.learning_rate=1"],
        UnknownSetting,
        "model.learning_rate is not a setting; did you mean model.training.learning_rate?",
    ),
    (["model=bilstm", "model.hidden_dim=wide"], ConfigError, "model.hidden_dim=wide should be a whole number"),
    (["model=bilstm", "model.hidden_dim=1.5"], ConfigError, "model.hidden_dim=1.5 should be a whole number"),
    (["model=bilstm", "model.training.learning_rate=fast"], ConfigError, "model.training.learning_rate=fast should be a number"),
    (["model=bilstm", "model.training.learning_rate=nan"], ConfigError, "model.training.learning_rate=nan should be a number"),
    (["model=bilstm", "model.training.learning_rate=0"], NotApplicable, "model.training.learning_rate=0.0 should be above 0"),
    (["model=bilstm", "model.training.epochs=0"], NotApplicable, "model.training.epochs=0 should be above 0"),
    (["model=bilstm", "model.precision=float16"], ConfigError, "model.precision=float16 should be one of float32, bfloat16"),
    (["model=tfidf", "model.sublinear_tf=maybe"], ConfigError, "model.sublinear_tf=maybe should be true or false"),
    (["model=tfidf", "model.c_grid=3"], ConfigError, "model.c_grid=3 should be a list"),
    (["model=tfidf", "model.c_grid=[1,x]"], ConfigError, "model.c_grid[1]=x should be a number"),
    (["model.kind=gru"], ConfigError, f"model.kind=gru should be one of {KINDS}"),
    (["~model"], ConfigError, "model is missing: choose one with model=…"),
    (["~seed"], ConfigError, "seed=None should be a whole number"),
    (["~machine"], ConfigError, "machine is missing: choose one with machine=…"),
    (["budget.labels=many"], ConfigError, "budget.labels=many should be a whole number or all"),
    (["budget.labels=0"], NotApplicable, "budget.labels=0 leaves tfidf nothing to learn from: give it labels, or choose model=zero_shot"),
    (["budget=1000"], ConfigError, "budget=1000 is not available; the choices are default"),
    (["longdoc=full", "longdoc.max_tokens=12"], NotApplicable, "longdoc.max_tokens=12 needs longdoc=head: full reads the whole document"),
    (["longdoc.max_tokens=2"], NotApplicable, "longdoc.max_tokens=2 should be at least 3 (one token between two special ones)"),
    (
        ["longdoc.strategy=first"],
        ConfigError,
        "longdoc.strategy=first should be one of full, head, tail, head_tail, middle, select, windows, extended",
    ),
    (["longdoc.strategy=tail"], NotApplicable, "longdoc.max_tokens is missing: longdoc=tail needs it"),
    (
        ["longdoc=windows", "model=pretrained", "longdoc.overlap_tokens=254"],
        NotApplicable,
        "longdoc.overlap_tokens=254 should be from 0 to 253, so that each window of longdoc.window_tokens=256 reads on beside two special "
        "tokens",
    ),
    (["seed=x"], ConfigError, "seed=x should be a whole number"),
    (["seed=1.5"], ConfigError, "seed=1.5 should be a whole number"),
    (["seed=true"], ConfigError, "seed=True should be a whole number"),
    (["seed="], ConfigError, "seed= should be a whole number"),
    (["seed=-1"], NotApplicable, "seed=-1 should be from 0 to 4294967295"),
    (["seed"], ConfigError, f"'seed' should be KEY=VALUE {QUOTING}"),
    (["seed=(1"], ConfigError, f"'seed=(1' should be KEY=VALUE {QUOTING}"),
    (["probe.threads=0"], NotApplicable, "probe.threads=0 should be at least 1"),
    (["machine.slots=0"], NotApplicable, "machine.slots=0 should be at least 1"),
    (["machine.wandb=yes"], ConfigError, "machine.wandb=yes should be one of offline, online, disabled"),
    (
        ["machine.keep=all"],
        UnknownSetting,
        "machine.keep is not a setting; the settings here are machine.device, machine.devices, machine.gpu_share, "
        "machine.gpus, machine.keep_weights, machine.share_texts, machine.slots, machine.time_limit_minutes, machine.wandb, "
        "machine.wandb_project",
    ),
    (["dataset.fold=1"], NotApplicable, "dataset.fold=1 needs dataset.split=fold, but dataset.split=held_out_rows"),
    (
        ["dataset.split=fold", "dataset.fold=5", "dataset.held_out_rows=null"],
        NotApplicable,
        "dataset.fold=5 should be a number from 0 to 4 when dataset.split=fold",
    ),
    (
        ["dataset.split=fold", "dataset.fold=1"],
        NotApplicable,
        "dataset.held_out_rows=2000 needs dataset.split=held_out_rows, but dataset.split=fold",
    ),
    (["dataset.held_out_rows=0"], NotApplicable, "dataset.held_out_rows=0 should be at least 1 when dataset.split=held_out_rows"),
    (["dataset.asset=imdb"], DataError, "dataset.asset=imdb should be one of books, movie, newsgroups, reuters52, reuters8"),
    (["dataset=csv"], ConfigError, "dataset.label is missing: set dataset.label=…"),
    (
        ["dataset=csv", "dataset.path=null", "dataset.text=a", "dataset.label=b"],
        DataError,
        "dataset.path is empty: pass dataset.path=FILE, or a folder with one folder a class",
    ),
    (
        ["dataset=csv", "dataset.path=/gone.csv", "dataset.text=a", "dataset.label=b"],
        DataError,
        f"dataset.path=/gone.csv does not exist: {EXISTING}",
    ),
    (
        ["model=pretrained", "model.checkpoint=bert-base-uncased"],
        DataError,
        "model.checkpoint=bert-base-uncased is on the hub and needs its commit: set model.revision=<40 hex digits> "
        "(the starter checkpoints that need no hub are minilm-l6)",
    ),
    (
        ["model=pretrained", "model.checkpoint=bert-base-uncased", "model.revision=main"],
        DataError,
        "model.revision=main should be a commit of 40 hex digits",
    ),
    (["model=pretrained", "model.checkpoint=/gone"], DataError, "model.checkpoint=gone is no folder: check the path"),
]


@pytest.mark.parametrize(("overrides", "kind", "message"), MISTAKES, ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_a_mistake_is_one_sentence(overrides: list[str], kind: type[BakeoffError], message: str) -> None:
    with pytest.raises(BakeoffError) as raised:
        run(*overrides)
    assert (type(raised.value), str(raised.value)) == (kind, message)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["dataset=movie", "dataset.path=mine.csv"],
            "dataset.path means nothing to the starter dataset movie: use dataset=csv or dataset=folder",
        ),
        (
            ["dataset=reuters8", "dataset.test_path=mine.csv"],
            "dataset.test_path means nothing to the starter dataset reuters8: use dataset=csv or dataset=folder",
        ),
        (
            ["dataset=movie", "dataset.text=body"],
            "dataset.text means nothing to the starter dataset movie: use dataset=csv or dataset=folder",
        ),
        (
            ["model=pretrained", "budget.unlabelled=pool"],
            "budget.unlabelled=pool means nothing to pretrained, which reads labelled texts only",
        ),
    ],
)
def test_a_setting_that_would_change_nothing_is_refused(overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Composer().job(overrides)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["dataset.label_map.neg=bad"], "dataset.label_map.neg is a new name in an empty mapping: write +dataset.label_map.neg=…"),
        (["dataset.text=null"], "dataset.text is empty: name the column that holds the text"),
        (
            ["dataset.held_out_rows=3"],
            "dataset.held_out_rows=3 is for data that never grows: rows added later would move old ones; use dataset.split=fold",
        ),
        (["dataset.split=official"], "dataset.split=official needs dataset.test_path=FILE with the official test rows"),
        (["dataset.metric=f1"], "dataset.metric=f1 should be one of auto, accuracy, macro_f1"),
        (["dataset.format=xlsx"], "dataset.format=xlsx should be one of csv, tsv, jsonl, parquet, folder, orange, movie, hub, needle"),
    ],
)
def test_a_mistake_about_ones_own_table(table: list[str], overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        run(*table, *overrides)
    assert str(raised.value) == message


def test_endings_and_folders_that_say_no_format(tmp_path: Path, table: list[str]) -> None:
    (tmp_path / "notes.txt").write_text("x")
    for path, advice in (
        (tmp_path / "notes.txt", "should end in .csv, .tsv, .jsonl or .parquet, or set dataset.format=csv"),
        (tmp_path, "is a folder: use dataset=folder"),
    ):
        with pytest.raises(DataError) as raised:
            run(*table, f"dataset.path={quoted(str(path))}")
        assert str(raised.value) == f"dataset.path={path.name} {advice}"


# Sweeps.


VALUES = "should be `{value: x}` or `{values: [x, y]}`"


def sweep_file(folder: Path, parameters: dict[str, object], **more: object) -> Path:
    file = folder / "own.yaml"
    file.write_text(yaml.safe_dump({"method": "grid", "parameters": parameters, **more}, sort_keys=False))
    return file


def test_overrides_replace_a_parameter_or_are_added_to_every_cell(tmp_path: Path) -> None:
    file = sweep_file(tmp_path, {"model": {"values": ["majority", "tfidf"]}, "seed": {"values": [0, 1]}})
    cells = load_sweep(file, ["seed=7", "budget.labels=10"]).cells
    assert [cell.overrides for cell in cells] == [(f"model={model}", "seed=7", "budget.labels=10") for model in ("majority", "tfidf")]
    assert [(cell.run.seed, cell.run.budget.labels) for cell in cells if cell.run] == [(7, 10), (7, 10)]
    listed = load_sweep(file, ["model=majority", "seed=range(2)", "budget.labels=5,all"]).cells
    assert [cell.overrides[1:] for cell in listed] == [(f"seed={s}", f"budget.labels={n}") for s in (0, 1) for n in (5, "all")]
    assert len({cell.run.run_id for cell in listed if cell.run}) == 4


def test_overrides_reach_the_cells_as_they_were_written(tmp_path: Path, table: list[str]) -> None:
    file = sweep_file(tmp_path, {"model": {"value": "majority"}})
    (cell,) = load_sweep(file, [*table, "+dataset.label_map.neg=bad", "dataset.name='a, b'"]).cells
    assert cell.run is not None
    assert cell.run.dataset.label_map == {"neg": "bad"}
    assert cell.run.dataset.name == "a, b"
    assert cell.run == Composer().job(cell.overrides).run


def test_a_setting_that_some_models_lack_is_not_applicable_to_them(tmp_path: Path) -> None:
    file = sweep_file(tmp_path, {"model": {"values": ["majority", "bilstm"]}, "model.training.epochs": {"values": [1, 0]}})
    cells = load_sweep(file).cells
    assert [(cell.run is not None, cell.reason) for cell in cells] == [
        (False, cells[0].reason),
        (False, cells[0].reason),
        (True, None),
        (False, "model.training.epochs=0 should be above 0"),
    ]
    assert cells[0].reason is not None
    assert cells[0].reason.startswith("model.training.epochs is not a setting")
    assert len(load_sweep(file).runs) == 1


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["model.lr=1"], "own.yaml has no cell that applies: model.lr is not a setting; the settings here are"),
        (["budget.labels=many"], "budget.labels=many should be a whole number or all"),
        (["model=tfidf,svm"], f"model=svm is not available; the choices are {MODELS}"),
        (["seed"], "'seed' should be KEY=VALUE"),
        (["dataset=csv"], "dataset.label is missing: set dataset.label=…"),
    ],
)
def test_a_value_that_no_cell_could_take_is_an_error(tmp_path: Path, overrides: list[str], message: str) -> None:
    file = sweep_file(tmp_path, {"model": {"values": ["majority", "tfidf"]}})
    with pytest.raises(ConfigError) as raised:
        load_sweep(file, overrides)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("method: grid\n", "own.yaml has no parameters: a sweep file lists them as `key: {values: […]}`"),
        ("- a\n", "own.yaml has no parameters: a sweep file lists them as `key: {values: […]}`"),
        ("method: bayes\nparameters: {seed: {value: 1}}\n", "own.yaml: method=bayes should be grid, so that every cell is listed"),
        ("parameters: {seed: {value: 1}}\n", "own.yaml: method=None should be grid, so that every cell is listed"),
        ("methd: grid\nparameters: {seed: {value: 1}}\n", "own.yaml: methd is not a setting; did you mean method?"),
        ("method: grid\nparameters: {seed: 1}\n", f"parameter seed {VALUES}"),
        ("method: grid\nparameters: {seed: {values: []}}\n", f"parameter seed {VALUES}"),
        ("method: grid\nparameters: {seed: {min: 0, max: 3}}\n", f"parameter seed {VALUES}"),
        ("method: grid\nparameters: {budget: {parameters: {labels: {value: 3}}}}\n", f"parameter budget {VALUES}"),
    ],
)
def test_a_file_that_is_no_sweep(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as raised:
        load_sweep(file)
    assert str(raised.value) == message


def test_a_sweep_that_is_not_there(elsewhere: Path) -> None:
    with pytest.raises(ConfigError, match=r"^stater\.yaml is no sweep file; those that come with bakeoff are .*starter\.yaml$"):
        load_sweep(Path("stater.yaml"))
    for name in ("starter", "starter.yaml", "sweeps/starter.yaml"):
        assert find_sweep(Path(name)) == ROOT / "sweeps" / "starter.yaml"
    with pytest.raises(ConfigError, match=r"no sweep file"):
        find_sweep(Path("/gone/starter.yaml"))


def test_a_files_own_values_are_read_as_yaml_means_them(tmp_path: Path, table: list[str]) -> None:
    parameters = {
        "model": {"value": "tfidf"},
        "model.sublinear_tf": {"values": [True, False]},
        "model.c_grid": {"value": [1, 0.5]},
        "budget.draw": {"value": None},
        "dataset.group": {"value": None},
    }
    runs = load_sweep(sweep_file(tmp_path, parameters), table).runs
    assert [run.model.sublinear_tf for run in runs] == [True, False]  # type: ignore[union-attr]
    assert runs[0].model.c_grid == (1.0, 0.5)  # type: ignore[union-attr]
    assert (runs[0].budget.draw, runs[0].dataset.group) == (0, None)


def test_the_machine_of_a_sweep(tmp_path: Path) -> None:
    file = sweep_file(tmp_path, {"dataset": {"value": "csv"}, "machine.slots": {"value": 3}})
    assert machine_of(file, ["model=tfidf"]).slots == 3
    assert machine_of(file, ["machine.slots=2", "machine.wandb=disabled"]).slots == 2
    with pytest.raises(ConfigError, match=r"^machine\.slots=few should be a whole number or null$"):
        machine_of(file, ["machine.slots=few"])


def test_the_machine_is_no_part_of_the_question(elsewhere: Path) -> None:
    assert identity("machine.slots=2", "machine.device=cpu", "machine.keep_weights=all") == identity()


def test_a_users_own_run_may_leave_open_what_the_sweep_says(elsewhere: Path) -> None:
    (elsewhere / "conf").mkdir()
    (elsewhere / "conf" / "run.yaml").write_text((ROOT / "conf" / "run.yaml").read_text().replace("dataset: movie", "dataset: csv"))
    own = write_csv(elsewhere / "own.csv", rows(10))
    file = sweep_file(elsewhere, {"model": {"value": "majority"}})
    overrides = [f"dataset.path={own}", "dataset.text=text", "dataset.label=label", "machine.slots=1"]
    assert len(load_sweep(file, overrides).runs) == 1
    assert machine_of(file, overrides).slots == 1


# Running many at once.


@pytest.mark.parametrize(
    ("overrides", "jobs"),
    [
        (["seed=1"], [["seed=1"]]),
        (["model=tfidf,bilstm", "seed=range(0,2)"], [[f"model={m}", f"seed={s}"] for m in ("tfidf", "bilstm") for s in (0, 1)]),
        (["model=majority", "budget.labels=5,all"], [["model=majority", "budget.labels=5"], ["model=majority", "budget.labels=all"]]),
    ],
)
def test_a_multirun_is_expanded_as_hydra_would(overrides: list[str], jobs: list[list[str]]) -> None:
    assert config.expand(overrides) == jobs


def test_composing_changes_nothing_around_it(elsewhere: Path) -> None:
    before = dict(os.environ)
    run("model=bilstm")
    assert list(elsewhere.iterdir()) == []
    assert dict(os.environ) == before


def _product(numbers: list[int]) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total
