"""`model.teacher` and `model.start`: what they compose to, what they change, and a student from the command line to its record."""

import contextlib
import dataclasses
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

import bakery
import factories
from bakeoff import cli, spec
from bakeoff.bake import rerunnable
from bakeoff.commands import baking
from bakeoff.commands import run as run_command
from bakeoff.commands.baking import bake_runs
from bakeoff.config import Composer, load_sweep
from bakeoff.errors import BakeoffError, ConfigError, DataError, NotApplicable
from bakeoff.store import RECORD, Store, default_root

ROOT = Path(__file__).parents[1]
TAUGHT = (*bakery.TINY["bilstm"], "model.teacher=bilstm", "model.distillation.transfer_epochs=2")
TUTORED = (*TAUGHT, "model.teacher=tutor")
"""With the teacher that `here` configures, which trains in tenths of a second."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a tiny teacher."""
    folder = tmp_path / "here"
    folder.mkdir()
    training = yaml.safe_load((ROOT / "conf" / "model" / "bilstm.yaml").read_text())["training"]
    quick = training | {"epochs": 2, "min_steps": 4, "learning_rate": 1e-2}
    own_model(folder, "tutor", embedding_dim=8, hidden_dim=6, min_count=1, training=quick)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def table(tmp_path: Path) -> list[str]:
    pool, test = bakery.write_csv(tmp_path / "pool.csv", bakery.rows(24)), bakery.write_csv(tmp_path / "test.csv", bakery.rows(12, seed=1))
    return bakery.on_table(pool, test)


def compose(*overrides: str) -> spec.Run:
    return Composer().job(overrides).run


def own_model(folder: Path, name: str, **changes: object) -> None:
    """`conf/model/NAME.yaml` of the working directory: a packaged model with changes."""
    base = str(changes.pop("like", "bilstm"))
    (folder / "conf" / "model").mkdir(parents=True, exist_ok=True)
    plain = yaml.safe_load((ROOT / "conf" / "model" / f"{base}.yaml").read_text())
    (folder / "conf" / "model" / f"{name}.yaml").write_text(yaml.safe_dump(plain | {"name": name} | changes))


# What it composes to.


def test_a_teacher_is_made_from_the_students_data_labels_seed_and_threads(table: list[str]) -> None:
    shared = [*table, "seed=3", "budget.labels=10", "budget.order=random", "probe.threads=2"]
    student = compose(*shared, *TAUGHT, "budget.unlabelled=pool", "longdoc.max_tokens=64")
    teacher = student.teacher
    assert teacher is not None
    assert teacher == compose(*shared, "model=bilstm")
    assert (teacher.seed, teacher.budget.draw, teacher.budget.labels, teacher.budget.unlabelled) == (3, 3, 10, "none")
    assert teacher.longdoc == spec.LongDoc(strategy="full", max_tokens=None)
    assert (teacher.probe.threads, teacher.dataset) == (2, student.dataset)
    assert student.budget.unlabelled == "pool"
    assert student.start is None


def test_a_start_is_a_pretraining_run_of_its_own_texts() -> None:
    shared = ["budget.labels=1000", "seed=2"]
    run = compose(*shared, "model=scratch", "model.start=scratch_mlm", "probe.threads=2")
    assert run.start == compose(*shared, "model=scratch_mlm", "probe=pretrain", "probe.threads=2")
    assert run.start is not None
    assert (run.start.probe.kind, run.start.budget.unlabelled, run.budget.unlabelled) == ("pretrain", "pool", "none")


def test_the_student_hashes_the_id_of_its_teacher(table: list[str], here: Path) -> None:
    own_model(here, "careful", dropout=0.1)
    alone, taught = compose(*table, *bakery.TINY["bilstm"]), compose(*table, *TAUGHT)
    other = compose(*table, *TAUGHT, "model.teacher=careful")
    assert len({alone.run_id, taught.run_id, other.run_id}) == 3
    assert taught.teacher is not None
    assert taught._identity(taught.probe)["teacher"] == taught.teacher.run_id
    assert compose(*table, *TAUGHT, "model.dropout=0.1").teacher == taught.teacher
    assert compose(*table, *TAUGHT, "model.distillation.temperature=3").run_id != taught.run_id
    renamed = dataclasses.replace(taught.teacher, model=dataclasses.replace(taught.teacher.model, name="x"))
    assert dataclasses.replace(taught, teacher=renamed).run_id == taught.run_id


def test_how_a_teacher_would_teach_is_no_part_of_a_run_without_one(table: list[str]) -> None:
    run = compose(*table, *bakery.TINY["bilstm"])
    assert run.model.distillation is None  # type: ignore[union-attr]
    assert run.run_id == compose(*table, *bakery.TINY["bilstm"], "model.distillation.temperature=9").run_id


def test_an_untrained_latency_run_has_no_teacher(table: list[str]) -> None:
    plain, taught = (compose(*table, "probe=latency", f"model={name}") for name in ("bilstm", "distilled_bilstm"))
    assert (taught.needs, taught.budget.unlabelled) == ({}, "none")
    assert taught.run_id == plain.run_id
    trained = compose(*table, "probe=latency", "probe.weights=trained", "model=distilled_bilstm", "probe.threads=2")
    quality = compose(*table, "model=distilled_bilstm")
    assert trained.teacher == quality.teacher  # its weights are those of the quality Run at one thread


def test_a_models_own_pretraining_is_that_of_its_start_and_of_its_own_run(here: Path) -> None:
    shared = ["budget.labels=1000", "budget.unlabelled=pool"]
    start = compose("budget.labels=1000", "model=pretrained", "model.start=pretrained_mlm").start
    direct = compose(*shared, "probe=pretrain", "model=pretrained_mlm")
    assert start == direct
    assert start is not None
    assert start.run_id == direct.run_id
    (gentle, usual), lower = (
        [_pretraining(compose(*shared, "probe=pretrain", f"model={name}")) for name in ("pretrained_mlm", "scratch_mlm")],
        _pretraining(compose(*shared, "probe=pretrain", "model=pretrained_mlm", "probe.training.learning_rate=1e-5")),
    )
    assert (gentle.learning_rate, gentle.epochs) == (5e-5, 3)
    assert (usual.learning_rate, usual.epochs) == (3e-4, 10)
    assert (lower.learning_rate, lower.epochs) == (1e-5, 3)
    assert dataclasses.replace(gentle, learning_rate=3e-4, epochs=10) == usual
    own_model(here, "slow_start", like="scratch", unlabelled="pool", pretraining={"epochs": 4})
    own = compose("model=scratch", "model.start=slow_start").start
    assert own is not None
    assert _pretraining(own) == dataclasses.replace(usual, epochs=4)
    own_model(here, "odd_start", like="scratch", unlabelled="pool", pretraining={"steps": 4})
    with pytest.raises(ConfigError) as raised:
        compose("model=scratch", "model.start=odd_start")
    assert str(raised.value) == "model.pretraining={'steps': 4} should map learning_rate or epochs, or both, to a number"


def _pretraining(run: spec.Run) -> spec.Training:
    assert isinstance(run.probe, spec.Pretrain)
    return run.probe.training


# Unlabelled text.


def test_a_models_own_unlabelled_text_fills_what_the_budget_leaves_open(table: list[str], here: Path) -> None:
    own_model(here, "greedy", unlabelled="pool")
    run = compose(*table, "model=greedy")
    assert run.budget.unlabelled == "pool"
    assert run.run_id == compose(*table, "model=bilstm", "budget.unlabelled=pool").run_id
    assert compose(*table, "model=greedy", "budget.unlabelled=none").run_id == compose(*table, "model=bilstm").run_id
    taught = compose(*table, *TAUGHT, "model.teacher=greedy")
    assert taught.teacher == dataclasses.replace(run, model=dataclasses.replace(run.model, name="greedy"))
    assert taught.budget.unlabelled == "none"


def test_the_distilled_models_read_the_pool() -> None:
    for name in ("distilled", "distilled_bilstm"):
        run = compose(f"model={name}", "budget.labels=1000")
        assert run.budget.unlabelled == "pool"
        assert run.teacher == compose("model=pretrained", "budget.labels=1000")
        assert run.model.distillation is not None  # type: ignore[union-attr]


def test_a_file_of_unlabelled_text_is_hashed_by_its_bytes(table: list[str], tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("a text\nanother\n")
    (tmp_path / "same.txt").write_text("a text\nanother\n")
    runs = [compose(*table, *TAUGHT, f"budget.unlabelled_path={tmp_path / name}") for name in ("more.txt", "same.txt")]
    assert runs[0].budget.unlabelled == "file"
    assert runs[0].run_id == runs[1].run_id
    assert runs[0].teacher is not None
    assert (runs[0].teacher.budget.unlabelled, runs[0].teacher.budget.unlabelled_path) == ("none", None)


# The configuration that a Run writes down.


def written(run: spec.Run, folder: Path) -> Composer:
    machine = Composer().job([]).machine
    folder.mkdir()
    (folder / "run.yaml").write_text(rerunnable(run, machine, folder))
    return Composer(folder, "run")


def test_a_students_run_yaml_composes_to_the_same_run(table: list[str], here: Path, tmp_path: Path) -> None:
    own_model(here, "fleeting", dropout=0.1, unlabelled="pool")
    for name, run in (
        ("taught", compose(*table, *TAUGHT, "model.teacher=fleeting", "seed=4", "budget.unlabelled=pool", "longdoc.max_tokens=64")),
        ("started", compose("model=scratch", "model.start=scratch_mlm", "budget.labels=500")),
        ("further", compose("model=pretrained", "model.start=pretrained_mlm", "budget.labels=500")),
        ("timed", compose(*table, "probe=latency", "model=distilled_bilstm")),
    ):
        composer = written(run, tmp_path / name)
        if name == "taught":
            shutil.rmtree(here / "conf")  # what is written down needs no model's YAML
        assert composer.job([]).run == run
        assert composer.job([]).run.run_id == run.run_id


def test_what_is_changed_in_a_run_yaml_changes_its_teacher_too(table: list[str], here: Path, tmp_path: Path) -> None:
    composer = written(compose(*table, *TAUGHT, "seed=4"), tmp_path / "taught")
    other = composer.job(["seed=5", "budget.labels=9", "probe.threads=2"]).run
    assert other.teacher is not None
    assert (other.teacher.seed, other.teacher.budget.labels, other.teacher.probe.threads) == (5, 9, 2)
    assert composer.job(["model.teacher=null"]).run.needs == {}
    named = composer.job(["model.teacher=pretrained"]).run.teacher
    assert named is not None
    assert named.model.kind == "pretrained"


# Mistakes.

HIDDEN = "compares layers, which takes a pretrained student and teacher of one checkpoint: set it to 0"
CANNOT_TEACH = (
    "model.teacher={} cannot teach, since it keeps no validation rows back, by which the student's best step is chosen: name a model "
    "that is trained by steps, such as model.teacher=pretrained"
)

MISTAKES: list[tuple[list[str], type[BakeoffError], str]] = [
    (
        ["model=bilstm", "model.teacher=pretraned"],
        ConfigError,
        "model.teacher=pretraned is not available; did you mean model.teacher=pretrained? The choices are bert_base, ",
    ),
    (["model=scratch", "model.start=xyzzy"], ConfigError, "model.start=xyzzy is not available; the choices are bert_base, "),
    (
        ["model=bilstm", "model.teacher=distilled"],
        NotApplicable,
        "model.teacher=distilled is itself built from another model: only one level is allowed",
    ),
    (
        ["model=bilstm", "model.teacher=zero_shot"],
        NotApplicable,
        "model.teacher=zero_shot cannot be made here: budget.labels=all means nothing to zero_shot, which reads no label",
    ),
    (
        ["model=bilstm", "model.teacher=off_the_shelf"],
        NotApplicable,
        "model.teacher=off_the_shelf cannot be made here: its YAML leaves checkpoint open, so name one that fills it in",
    ),
    *[(["model=bilstm", f"model.teacher={name}"], NotApplicable, CANNOT_TEACH.format(name)) for name in ("majority", "tfidf", "frozen")],
    (
        ["model=bilstm", "model.teacher=bert_base"],
        DataError,
        "model.checkpoint=google-bert/bert-base-uncased is on the hub and needs its commit",
    ),
    (["model=tfidf", "+model.teacher=bilstm"], ConfigError, "model.teacher is not a setting"),
    (
        ["model=bilstm", "model.teacher=pretrained", "model.distillation=null"],
        NotApplicable,
        "model.teacher=pretrained needs model.distillation, which says how it teaches: model=distilled_bilstm has an example",
    ),
    (
        ["model=bilstm", "model.teacher=pretrained", "model.distillation.temperature=0"],
        NotApplicable,
        "model.distillation.temperature=0.0 should be above 0",
    ),
    (
        ["model=bilstm", "model.teacher=pretrained", "model.distillation.hidden_weight=1"],
        NotApplicable,
        f"model.distillation.hidden_weight=1 {HIDDEN}",
    ),
    (
        ["model=pretrained", "model.teacher=bilstm", "model.distillation.hidden_weight=0.5"],
        NotApplicable,
        f"model.distillation.hidden_weight=0.5 {HIDDEN}",
    ),
    (
        ["model=distilled", "model.training.epochs=9", "model.head_first_epochs=3"],
        NotApplicable,
        "model.head_first_epochs=3 should be below model.distillation.transfer_epochs=3",
    ),
]


@pytest.mark.parametrize(("overrides", "kind", "message"), MISTAKES, ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_a_mistake_about_a_teacher_is_one_sentence(overrides: list[str], kind: type[BakeoffError], message: str) -> None:
    with pytest.raises(BakeoffError) as raised:
        compose(*overrides)
    assert isinstance(raised.value, kind)
    assert str(raised.value).startswith(message)


def test_a_student_keeps_layers_that_its_teacher_has() -> None:
    teacher = factories.make_run(model="pretrained")
    shallow = dataclasses.replace(teacher, model=dataclasses.replace(teacher.model, keep_layers=(0, 2)))
    how = spec.Distillation(temperature=1.0, soft_weight=1.0, hard_weight=0.0, hidden_weight=1.0, transfer_epochs=1)

    def student(keep: tuple[int, ...] | None) -> spec.Run:
        return dataclasses.replace(
            teacher, teacher=shallow, model=dataclasses.replace(teacher.model, keep_layers=keep, teacher="pretrained", distillation=how)
        )

    assert student((2,)).teacher == shallow
    for keep, asked in (((1,), "layers [1]"), (None, "all layers")):
        with pytest.raises(ValueError, match="keeps") as raised:
            student(keep)
        assert str(raised.value) == (f"model.keep_layers asks for {asked}, but model.teacher=pretrained keeps [0, 2]: keep some of these")


def test_a_sweep_over_teachers(table: list[str], tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    grid = {"model": {"value": "bilstm"}, "model.teacher": {"values": [None, "bilstm", "tfidf"]}, "budget.unlabelled": {"value": "pool"}}
    file.write_text(yaml.safe_dump({"method": "grid", "parameters": grid}))
    plain, taught, refused = load_sweep(file, table).cells
    assert plain.run is not None
    assert taught.run is not None
    assert (plain.run.teacher, taught.run.teacher) == (None, compose(*table, "model=bilstm"))
    assert refused.reason == CANNOT_TEACH.format("tfidf")


# From the command line to the record.

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def bakeoff(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """A command in this process: its exit code, standard output and standard error."""

    def inprocess(*arguments: object, **options: object) -> object:
        return bake_runs(*arguments, **(options | {"executor": "inprocess"}))  # type: ignore[arg-type]

    monkeypatch.setattr(run_command, "bake_runs", inprocess)

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["bakeoff", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        captured = capsys.readouterr()
        return int(end.value.code or 0), captured.out, captured.err

    return call


def test_a_student_from_the_command_line_bakes_its_teacher_first(bakeoff: Command, table: list[str]) -> None:
    run, store = compose(*table, *TUTORED), Store(default_root())
    assert run.teacher is not None
    code, out, err = bakeoff("run", *table, *TUTORED)
    assert (code, out) == (0, f"{store.folder(run.run_id) / RECORD}\n")
    done = [line.split()[1:3] for line in err.splitlines() if line.startswith("[")]
    assert done == [["done", run.teacher.run_id], ["done", run.run_id]]
    record, teacher = store.load(run.run_id), store.load(run.teacher.run_id)
    assert record is not None
    assert teacher is not None
    assert record.run.teacher is not None
    assert record.run.teacher.run_id == teacher.run_id
    assert (record.data.n_fit, record.data.n_transfer, teacher.data.n_transfer) == (24, 24, 0)
    assert (store.folder(teacher.run_id) / "model").is_dir()
    assert not (store.folder(run.run_id) / "model").exists()
    again = bakeoff("run", *table, "model=tutor")
    assert again[1] == f"{store.folder(teacher.run_id) / RECORD}\n"


def test_unlabelled_text_is_counted_and_replaces_the_epochs(bakeoff: Command, table: list[str]) -> None:
    overrides = [*table, *TUTORED, "budget.labels=8", "budget.unlabelled=pool"]
    assert bakeoff("run", *overrides)[0] == 0
    record = Store(default_root()).load(compose(*overrides).run_id)
    assert record is not None
    assert (record.data.n_fit, record.data.n_transfer) == (8, 24)
    assert record.training.epochs == 4.0  # 2 of one step, but never fewer than 4 steps


def test_a_multirun_over_teachers(bakeoff: Command, table: list[str]) -> None:
    code, out, _ = bakeoff("run", "-m", *table, *TUTORED, "model.teacher=null,tutor", "seed=0,1")
    assert code == 0
    expected = [
        compose(*table, *TUTORED, f"model.teacher={teacher}", f"seed={seed}").run_id for teacher in ("null", "tutor") for seed in (0, 1)
    ]
    assert [Path(line).parent.name for line in out.splitlines()] == expected
    assert len(Store(default_root()).load_all()) == 6


def test_the_first_line_of_a_students_run_yaml_bakes_it_again(bakeoff: Command, table: list[str], tmp_path: Path) -> None:
    _, out, _ = bakeoff("run", *table, *TUTORED, "seed=1")
    folder = Path(out.strip()).parent
    kept = shutil.copytree(folder, tmp_path / "kept")
    for each in default_root().iterdir():
        shutil.rmtree(each)
    code, again, _ = bakeoff("run", "--config-dir", str(kept), "--config-name", "run")
    assert (code, again) == (0, out)
    assert (folder / "predictions.parquet").read_bytes() == (kept / "predictions.parquet").read_bytes()
    assert len(Store(default_root()).load_all()) == 2


@pytest.mark.parametrize("keep", ["needed", "best", "all", "none"])
def test_which_weights_stay(bakeoff: Command, table: list[str], keep: str) -> None:
    run, store = compose(*table, *TUTORED), Store(default_root())
    assert run.teacher is not None
    assert bakeoff("run", *table, *TUTORED, f"machine.keep_weights={keep}")[0] == 0
    stays = {run_id: (store.folder(run_id) / "model").is_dir() for run_id in (run.run_id, run.teacher.run_id)}
    assert stays == {run.run_id: keep in ("best", "all"), run.teacher.run_id: keep != "none"}


def test_weights_that_were_there_or_that_another_process_holds_stay(
    bakeoff: Command, table: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, store = compose(*table, *TUTORED), Store(default_root())
    assert run.teacher is not None
    folder = store.folder(run.teacher.run_id) / "model"
    assert bakeoff("run", *table, *TUTORED)[0] == 0
    assert bakeoff("run", *table, *TUTORED, "model.dropout=0.1", "machine.keep_weights=none")[0] == 0
    assert folder.is_dir()
    shutil.rmtree(folder)
    original = baking.run_inprocess
    with contextlib.ExitStack() as held:

        def then_taken(*arguments: object, **options: object) -> object:
            outcome = original(*arguments, **options)  # type: ignore[arg-type]
            held.enter_context(locked(store.root / ".locks" / folder.parent.name))
            return outcome

        monkeypatch.setattr(baking, "run_inprocess", then_taken)
        assert bakeoff("run", *table, *TUTORED, "model.dropout=0.2", "machine.keep_weights=none")[0] == 0
        assert folder.is_dir()
    monkeypatch.setattr(baking, "run_inprocess", original)
    shutil.rmtree(folder)
    assert bakeoff("run", *table, *TUTORED, "model.dropout=0.4", "machine.keep_weights=none")[0] == 0
    assert not folder.exists()  # restored by this call, and so taken away again


@contextlib.contextmanager
def locked(lock: Path) -> Iterator[None]:
    """Another process holds a Run."""
    code = "import fcntl,sys; f=open(sys.argv[1],'w'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
    holder = subprocess.Popen([sys.executable, "-c", code, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    holder.stdout.readline()
    try:
        yield
    finally:
        holder.communicate("")


def test_a_teacher_that_has_its_weights_is_not_checked_again(table: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run, store, checked = compose(*table, *TAUGHT), Store(default_root()), list[str]()
    assert run.teacher is not None
    monkeypatch.setattr(baking, "check", lambda each: checked.append(each.run_id))
    factories.bake(store, run.teacher, accuracy=0.5)
    baking.check_run(run, store)
    assert checked == [run.run_id, run.teacher.run_id]  # its weights are gone, so that it is baked again
    (store.folder(run.teacher.run_id) / "model").mkdir()
    baking.check_run(run, store)
    assert checked[2:] == [run.run_id]


def test_weights_that_are_gone_are_baked_again_and_answer_as_before(bakeoff: Command, table: list[str]) -> None:
    run, store = compose(*table, *TUTORED), Store(default_root())
    assert run.teacher is not None
    bakeoff("run", *table, *TUTORED)
    folder = store.folder(run.teacher.run_id)
    weights = (folder / "model" / "model.safetensors").read_bytes()
    shutil.rmtree(folder / "model")
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    code, _, err = bakeoff("run", *table, *TUTORED, "model.dropout=0.1")
    assert code == 0
    assert "its weights are gone and are baked again; its record stays" in err
    assert (folder / "model" / "model.safetensors").read_bytes() == weights
    shutil.rmtree(folder / "model")
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before


def test_a_teacher_that_fails_fails_its_student_with_the_reason(bakeoff: Command, table: list[str], here: Path, tmp_path: Path) -> None:
    broken = bakery.checkpoint(tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"no weights")
    own_model(here, "broken", like="pretrained", checkpoint=str(broken), default_longdoc={"strategy": "head", "max_tokens": 32})
    code, out, err = bakeoff("run", *table, *TUTORED, "model.teacher=broken")
    assert (code, out) == (1, "")
    run = compose(*table, *TUTORED, "model.teacher=broken")
    failure = Store(default_root()).failure(run.run_id)
    assert run.teacher is not None
    assert failure is not None
    assert failure["message"].startswith(f"its teacher broken ({run.teacher.run_id}) failed: ")
    assert err.count(" failed ") == 2


def test_a_teacher_that_cannot_read_so_far_is_refused_before_anything_starts(
    bakeoff: Command, table: list[str], here: Path, tmp_path: Path
) -> None:
    toy = bakery.checkpoint(tmp_path / "toy")
    own_model(here, "short", like="pretrained", checkpoint=str(toy), default_longdoc={"strategy": "head", "max_tokens": 99})
    code, _, err = bakeoff("run", *table, *TUTORED, "model.teacher=short")
    assert code == 2
    assert err.startswith("bakeoff: model.teacher=short cannot be made here: longdoc.max_tokens=99 is above the 64 tokens")
    assert not any(default_root().iterdir())


def test_a_three_layer_student_is_baked_from_its_teachers_layers(bakeoff: Command, table: list[str], here: Path, tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel

    toy = bakery.checkpoint(tmp_path / "toy")
    BertModel(BertConfig.from_pretrained(toy, num_hidden_layers=3), add_pooling_layer=False).save_pretrained(toy)
    shared = {"like": "pretrained", "checkpoint": str(toy), "default_longdoc": {"strategy": "head", "max_tokens": 32}}
    own_model(here, "deep", **shared)
    own_model(here, "shallow", **shared, keep_layers=[0, 2], teacher="deep")
    overrides = [*table, "model=shallow", *bakery.QUICK, "model.distillation.hidden_weight=1", "machine.keep_weights=all"]
    code, out, err = bakeoff("run", *overrides)
    assert code == 0, err
    record = Store(default_root()).load(Path(out.strip()).parent.name)
    assert record is not None
    assert record.run.teacher is not None
    teacher = Store(default_root()).load(record.run.teacher.run_id)
    assert teacher is not None
    assert record.size is not None
    assert teacher.size is not None
    layer = 4 * (16 * 16 + 16) + 2 * 16 * 32 + 32 + 16 + 4 * 16
    assert teacher.size.parameters_total - record.size.parameters_total == layer


def test_the_reference_of_a_session_has_no_teacher(table: list[str]) -> None:
    from bakeoff.bake_latency import reference_of

    plain = compose(*table, "probe=latency", "model=bilstm")
    for name in ("distilled", "distilled_bilstm"):
        timed = compose(*table, "probe=latency", "probe.weights=trained", f"model={name}")
        assert timed.teacher is not None
        assert reference_of(timed).needs == {}
        assert reference_of(timed).run_id == plain.run_id
