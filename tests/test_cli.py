"""The commands as people type them: exit codes, one sentence for a mistake, the result on standard output."""

import csv
import io
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

import bakery
from bakeoff import cli
from bakeoff.commands import run as run_command
from bakeoff.commands.baking import bake_runs
from bakeoff.config import Composer
from bakeoff.report import frame
from bakeoff.store import RECORD, Store, default_root
from bakery import TINY, on_table, rows, write_csv

VERBS = (
    *("decide", "run", "sweep", "tune", "report", "choose", "records", "claims", "data", "export", "predict", "doctor", "status", "clean"),
)
COLUMNS = [
    *("run_id", "question_id", "status", "dataset", "dataset_fingerprint", "fold", "budget", "draw", "seed", "model", "longdoc"),
    *("precision", "probe", "engine", "threads", "scenario", "batch_size", "n_fit", "n_val", "n_test", "accuracy", "macro_f1"),
    *("loss", "ece", "collapsed", "truncated_fraction", "train_seconds", "tokens_per_second", "params_total", "latency_p50_ms"),
    *("latency_p95_ms", "latency_p99_ms", "session_id", "machine", "device", "commit", "dirty", "finished_at", "error"),
]
"""As the contract lists them."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        """The last line of standard output."""
        return self.out.splitlines()[-1]


Command = Callable[..., Done]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def bakeoff(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """A command in this process; `run` bakes in it too, since a fork server takes seconds to start."""

    def inprocess(*arguments: object, **options: object) -> object:
        return bake_runs(*arguments, **(options | {"executor": "inprocess"}))  # type: ignore[arg-type]

    monkeypatch.setattr(run_command, "bake_runs", inprocess)

    def call(*arguments: str) -> Done:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["bakeoff", *arguments])
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        captured = capsys.readouterr()
        return Done(code=code, out=captured.out, err=captured.err)

    return call


@pytest.fixture
def table(tmp_path: Path) -> list[str]:
    """Overrides that ask about 24 rows, 12 of them tested."""
    return on_table(write_csv(tmp_path / "pool.csv", rows(24)), write_csv(tmp_path / "test.csv", rows(12, seed=1)))


@pytest.fixture
def broken(tmp_path: Path) -> list[str]:
    """Overrides of a checkpoint whose weights are none, which nobody knows before it is loaded."""
    folder = bakery.checkpoint(tmp_path / "broken")
    (folder / "model.safetensors").write_bytes(b"no weights")
    return [*TINY["pretrained"], bakery.checkpoint_override(folder)]


def sweep_file(folder: Path, parameters: dict[str, Sequence[object]]) -> Path:
    file = folder / "own.yaml"
    grid = {key: {"values": list(values)} for key, values in parameters.items()}
    file.write_text(yaml.safe_dump({"method": "grid", "description": "Which one?", "parameters": grid}, sort_keys=False))
    return file


def one_sentence(done: Done) -> str:
    """The mistake that a command ended with."""
    assert done.code == 2
    assert done.out == ""
    assert "Traceback" not in done.err
    (line,) = done.err.splitlines()
    return line.removeprefix("bakeoff: ")


# Help and mistakes.


def test_every_verb_has_help(bakeoff: Command) -> None:
    assert {command.name or command.callback.__name__ for command in cli.app.registered_commands if command.callback} == set(VERBS)
    overview = bakeoff("--help")
    assert overview.code == 0
    for verb in VERBS:
        done = bakeoff(verb, "--help")
        assert (done.code, done.err) == (0, "")
        assert f"Usage: bakeoff {verb}" in done.out
        assert f"  {verb} " in overview.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "modle=tfidf"], "modle is not a setting; did you mean model?"),
        (
            ["run", "-m", "seed=0,1", "model=tfidf,gru"],
            "model=gru is not available; the choices are bert_base, bigbird, bilstm,",
        ),
        (["run", "--cfg", "job", "modle=tfidf"], "modle is not a setting; did you mean model?"),
        (["run", "--config-name", "rum"], "--config-name rum is not available; did you mean --config-name run? The choices are run"),
        (["run", "--config-dir=gone"], "--config-dir gone is no folder: check the path"),
        (["sweep", "gone.yaml"], "gone.yaml is no sweep file; those that come with bakeoff are labels.yaml,"),
        (["sweep", "starter.yaml", "model=majority", "budget.labels=few"], "budget.labels=few should be a whole number or all"),
        (["tune", "gone.yaml"], "gone.yaml is no sweep file; those that come with bakeoff are labels.yaml,"),
        (["report", "gone.yaml"], "gone.yaml is no sweep file; those that come with bakeoff are labels.yaml,"),
        (["records", "foo=1"], "foo is not a column; did you mean fold?"),
        (
            ["data", "movvie"],
            "dataset=movvie is not available; did you mean dataset=movie? The choices are ag_news, banking77, books, csv, folder, hub,",
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(bakeoff: Command, here: Path, arguments: list[str], message: str) -> None:
    assert one_sentence(bakeoff(*arguments)).startswith(message)
    assert list(here.iterdir()) == []
    assert list(default_root().iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["sweep"], "Missing argument 'SWEEP.yaml'"),
        (["report", "seed=1"], "name at least one sweep file"),
        (["records", "foo"], "'foo' should be COLUMN=VALUE"),
        (["sweep", "starter.yaml", "--executor", "dask"], "'dask' is not one of 'local', 'inprocess', 'ray'"),
        (["sweep", "starter.yaml", "--slots", "0"], "Invalid value for '--slots'"),
        (["tune"], "Missing argument 'SWEEP.yaml'"),
        (["tune", "starter.yaml", "--trials", "0"], "Invalid value for '--trials'"),
        (["records", "--format", "xml"], "'xml' is not one of 'table', 'csv', 'json'"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_exit_code_2(bakeoff: Command, arguments: list[str], message: str) -> None:
    done = bakeoff(*arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err.splitlines()[-1]


def test_what_only_the_data_can_tell_is_told_before_anything_starts(bakeoff: Command, table: list[str], tmp_path: Path) -> None:
    toy = bakery.checkpoint_override(bakery.checkpoint(tmp_path / "toy"))
    assert one_sentence(bakeoff("run", *table, "budget.labels=25")) == (
        "budget.labels=25 is more than the 24 labelled rows of the train pool: use at most 24, or all"
    )
    assert one_sentence(bakeoff("run", *table, "dataset.text=txt")) == (
        "dataset.text=txt is no column of pool.csv; did you mean text? There are label, text"
    )
    assert one_sentence(bakeoff("run", *table, *TINY["pretrained"], toy, "longdoc.max_tokens=65")) == (
        "longdoc.max_tokens=65 is above the 64 tokens that pretrained can read: use longdoc=head with longdoc.max_tokens=64 or less, "
        "or longdoc=windows for whole documents"
    )
    assert one_sentence(bakeoff("run", "-m", *table, "model=majority", "budget.labels=5,25")).startswith("budget.labels=25 is more than")
    assert one_sentence(bakeoff("run", *table, "model=majority", "machine.device=cuda")) == (
        "machine.device=cuda, but there is no GPU here: set machine.device=cpu or auto"
    )
    assert list(default_root().iterdir()) == []


# Run.


def test_a_run_prints_its_records_path_last_and_is_baked_once(bakeoff: Command, here: Path, table: list[str]) -> None:
    first = bakeoff("run", *table, *TINY["tfidf"])
    assert first.code == 0
    record = Path(first.last)
    run_id = Composer().job([*table, *TINY["tfidf"]]).run.run_id
    assert record == default_root() / run_id / RECORD
    assert first.out == f"{record}\n"
    assert first.err.splitlines()[-1].startswith(f"[1/1] done    {run_id}  pool · tfidf · full · all labels · seed 0 ")
    before = record.stat()
    again = bakeoff("run", *table, *TINY["tfidf"])
    assert (again.code, again.out, again.err) == (0, first.out, "")
    assert (record.stat().st_mtime_ns, record.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert list(here.iterdir()) == []


def test_a_recorded_run_needs_no_check(bakeoff: Command, table: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first = bakeoff("run", *table, "model=majority")
    monkeypatch.setattr(run_command, "check_run", lambda run, store: pytest.fail("asked about data of a recorded Run"))
    assert bakeoff("run", *table, "model=majority").out == first.out


def test_a_multirun_finishes_every_job_and_then_fails(bakeoff: Command, here: Path, table: list[str], broken: list[str]) -> None:
    done = bakeoff("run", "-m", *table, *broken, "seed=0,1")
    assert (done.code, done.out) == (1, "")
    assert done.err.count(" failed ") == 2
    mixed = bakeoff("run", "-m", *table, "model.name=x", "model=majority,tfidf", "seed=0,1")
    assert mixed.code == 0
    assert len(mixed.out.splitlines()) == 4
    assert all(Path(line).is_file() for line in mixed.out.splitlines())
    assert len(Store(default_root()).load_all()) == 4
    assert list(here.iterdir()) == []


def test_a_run_that_fails_is_exit_code_1_and_named(bakeoff: Command, here: Path, table: list[str], broken: list[str]) -> None:
    done = bakeoff("run", *table, *broken)
    (failure,) = Store(default_root()).failures()
    assert (done.code, done.out) == (1, "")
    assert failure["run_id"] in done.err
    assert "Traceback" not in done.err
    assert list(here.iterdir()) == []


def test_data_that_changes_between_check_and_bake_fails_that_job_only(
    bakeoff: Command, tmp_path: Path, table: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(run: object, store: object) -> None:
        (tmp_path / "pool.csv").unlink(missing_ok=True)

    monkeypatch.setattr(run_command, "check_run", meanwhile)
    done = bakeoff("run", *table, "model=majority")
    assert (done.code, done.out) == (1, "")
    missing = f"dataset.path={tmp_path / 'pool.csv'} does not exist: give the path of a file, or of a folder with one folder a class"
    assert done.err == f"bakeoff: {missing}\n"


def test_a_run_shows_its_configuration_without_baking(bakeoff: Command, here: Path, table: list[str]) -> None:
    done = bakeoff("run", "--cfg", "job", *table, "model=bilstm", "seed=4")
    assert done.code == 0
    shown = yaml.safe_load(done.out)
    assert (shown["seed"], shown["model"]["kind"], shown["longdoc"]["strategy"]) == (4, "bilstm", None)
    assert list(here.iterdir()) == list(default_root().iterdir()) == []


@pytest.mark.parametrize("kind", ["tfidf", "pretrained"])
def test_the_first_line_of_run_yaml_bakes_the_same_run(bakeoff: Command, tmp_path: Path, table: list[str], kind: str) -> None:
    toy = [bakery.checkpoint_override(bakery.checkpoint(tmp_path / "toy"))] if kind == "pretrained" else []
    record = Path(bakeoff("run", *table, *TINY[kind], *toy, "seed=2", "budget.labels=9").last)
    kept = shutil.copytree(record.parent, tmp_path / "kept")
    line = (record.parent / "run.yaml").read_text().splitlines()[0]
    program, *arguments = shlex.split(line.partition(": ")[2])
    assert program == "bakeoff"
    assert bakeoff(*arguments).out == f"{record}\n"
    shutil.rmtree(record.parent)
    again = bakeoff(*(word.replace(str(record.parent), str(kept)) for word in arguments))
    assert (again.code, again.out) == (0, f"{record}\n")
    assert (record.parent / "predictions.parquet").read_bytes() == (kept / "predictions.parquet").read_bytes()


def test_a_dataset_of_the_working_directory(bakeoff: Command, here: Path, table: list[str]) -> None:
    own = here / "conf" / "dataset"
    own.mkdir(parents=True)
    paths = {override.split("=")[0].removeprefix("dataset."): override.split("=", 1)[1].strip("'") for override in table[1:5]}
    plain = yaml.safe_load((Path(__file__).parents[1] / "conf" / "dataset" / "csv.yaml").read_text())
    (own / "tickets.yaml").write_text(yaml.safe_dump(plain | paths | {"name": "tickets"}))
    done = bakeoff("run", "dataset=tickets", "model=majority", "machine.wandb=disabled")
    assert done.code == 0
    assert json.loads(Path(done.last).read_text())["run"]["dataset"]["name"] == "tickets"
    shown = bakeoff("run", "-m", "dataset=tickets", "model=majority,tfidf", "machine.wandb=disabled")
    assert shown.out.splitlines()[0] == done.last
    assert len(shown.out.splitlines()) == 2


# Sweep, report, records.


def test_a_sweep_from_its_plan_to_its_page(bakeoff: Command, here: Path, table: list[str], broken: list[str]) -> None:
    file = sweep_file(
        here, {"model": ["majority", "tfidf", "pretrained"], "model.checkpoint": [broken[-1].partition("=")[2].strip("'")], "seed": [0, 1]}
    )
    quick = [*table, "longdoc.max_tokens=32"]
    planned = bakeoff("sweep", str(file), *quick, "--dry-run", "--format", "json")
    assert planned.code == 0
    cells = json.loads(planned.out)
    assert [cell["state"] for cell in cells] == ["not_applicable"] * 4 + ["todo"] * 2
    assert "model.checkpoint is not a setting" in cells[0]["reason"]
    assert cells[4]["run_id"] is not None
    assert list(default_root().iterdir()) == []

    file = sweep_file(here, {"model": ["majority", "tfidf"], "budget.labels": [1, 99], "seed": [0, 1]})
    planned = bakeoff("sweep", str(file), *table, "--dry-run")
    assert planned.out.splitlines()[-2:] == ["4 todo, 4 not applicable", "to bake: 4, roughly 12 s for 4 without records of their like"]
    done = bakeoff("sweep", str(file), *table, "--executor", "inprocess")
    assert done.code == 0
    assert done.out == shlex.join(["bakeoff", "report", str(file), *table]) + "\n"
    assert done.err.count(" done ") == 4
    assert done.err.count("not applicable: ") == 4
    assert "budget.labels=99 is more than the 24 labelled rows" in done.err

    again = bakeoff("sweep", str(file), *table, "--executor", "inprocess")
    assert (again.code, again.out) == (0, done.out)
    assert "0 Runs to bake, 4 already recorded" in again.err
    assert " done " not in again.err

    page = bakeoff(*shlex.split(done.out)[1:], "--allow-dirty")
    assert (page.code, page.out, page.err) == (0, "reports/own/README.md\n", "")
    written = sorted(path.name for path in (here / "reports" / "own").iterdir())
    assert written == ["README.md", "figures", "index.html", "records.csv", "records.parquet"]
    text = (here / "reports" / "own" / "README.md").read_text()
    assert "collapsed" in text
    assert "one class was predicted for every test row" in text
    assert "is more than the 24 labelled rows" in text
    assert len((here / "reports" / "own" / "records.csv").read_text().splitlines()) == 1 + 4
    assert sorted(path.name for path in here.iterdir()) == ["own.yaml", "reports"]


def test_failures_are_named_the_rest_is_recorded_and_only_they_are_tried_again(
    bakeoff: Command, here: Path, tmp_path: Path, table: list[str], broken: list[str]
) -> None:
    file = sweep_file(here, {"seed": [0, 1]})
    good = sweep_file(tmp_path, {"model": ["majority"], "seed": [0, 1]})
    assert bakeoff("sweep", str(good), *table, "--executor", "inprocess").code == 0
    done = bakeoff("sweep", str(file), *table, *broken, "--executor", "inprocess")
    assert done.code == 1
    failures = Store(default_root()).failures()
    assert len(failures) == 2
    for failure in failures:
        assert f"failed: {failure['run_id']} {failure['type']}: {failure['message']}" in done.err.splitlines()
    assert done.last.startswith("bakeoff report ")
    listed = json.loads(bakeoff("records", "--format", "json").out)
    assert [(row["status"], row["model"], row["error"] is None) for row in listed] == [("ok", "majority", True)] * 2 + [
        ("failed", "pretrained", False)
    ] * 2
    again = bakeoff("sweep", str(file), *table, *broken, "--executor", "inprocess", "--rebake", "failed")
    assert again.code == 1
    assert {failure["attempt"] for failure in Store(default_root()).failures()} == {2}
    page = bakeoff("report", str(file), *table, *broken, "--allow-dirty")
    assert page.code == 0
    assert failures[0]["type"] in Path(page.last).read_text()


def test_a_run_that_diverged_is_recorded_and_the_sweep_goes_on(bakeoff: Command, here: Path, table: list[str]) -> None:
    file = sweep_file(here, {"model.training.learning_rate": ["1e38", "1e-2"], "seed": [0]})
    done = bakeoff("sweep", str(file), *table, *(each for each in TINY["bilstm"] if "learning_rate" not in each), "--executor", "inprocess")
    assert done.code == 0
    assert "diverged" in done.err
    listed = json.loads(bakeoff("records", "--format", "json").out)
    assert sorted((row["status"], row["accuracy"] is None) for row in listed) == [("diverged", True), ("ok", False)]
    page = bakeoff(*shlex.split(done.out)[1:], "--allow-dirty")
    assert "lower the learning rate (it is 1e+38)" in Path(page.last).read_text()


def test_baking_all_again_deletes_nothing(bakeoff: Command, here: Path, table: list[str]) -> None:
    file = sweep_file(here, {"model": ["majority"], "seed": [0]})
    assert bakeoff("sweep", str(file), *table, "--executor", "inprocess").code == 0
    assert bakeoff("sweep", str(file), *table, "--executor", "inprocess", "--rebake", "all").code == 0
    (old,) = (default_root() / ".old").iterdir()
    assert (old / RECORD).exists()
    assert len(json.loads(bakeoff("records", "--format", "json").out)) == 1


def test_the_flat_table(bakeoff: Command, table: list[str]) -> None:
    assert bakeoff("records").out == "no records\n"
    assert bakeoff("records", "--format", "json").out == "[]\n"
    for settings in (["model=majority"], ["model=tfidf", "budget.labels=10"], ["model=tfidf", "budget.labels=10", "seed=1"]):
        assert bakeoff("run", *table, *settings).code == 0
    listed = json.loads(bakeoff("records", "--format", "json").out)
    assert tuple(COLUMNS) == frame.COLUMNS
    assert all(list(row) == COLUMNS for row in listed)
    assert [(row["model"], row["budget"], row["seed"], row["n_fit"], row["n_test"]) for row in listed] == [
        ("tfidf", "10", 0, 10, 12),
        ("tfidf", "10", 1, 10, 12),
        ("majority", "all", 0, 24, 12),
    ]
    assert all(row["status"] == "ok" and row["latency_p50_ms"] is None for row in listed)
    lines = list(csv.reader(io.StringIO(bakeoff("records", "--format", "csv").out)))
    assert lines[0] == COLUMNS
    assert [line[COLUMNS.index("run_id")] for line in lines[1:]] == [row["run_id"] for row in listed]
    assert {line[COLUMNS.index("latency_p50_ms")] for line in lines[1:]} == {""}
    assert len(bakeoff("records", "model=tfidf").out.splitlines()) == 1 + 2
    filtered = json.loads(bakeoff("records", "model=tfidf", "seed=1", "budget=10", "--format", "json").out)
    assert [row["run_id"] for row in filtered] == [listed[1]["run_id"]]
    assert json.loads(bakeoff("records", "collapsed=true", "--format", "json").out)[-1]["model"] == "majority"
    assert bakeoff("records", "model=gru").out == "no records\n"


# Data and doctor.


def test_the_audit_of_a_table(bakeoff: Command, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "tickets.csv", [*rows(40), ("", "pos"), rows(1)[0]])
    done = bakeoff("data", str(path), "--text", "text", "--label", "label", "--model", "tfidf")
    assert (done.code, done.err) == (0, "")
    assert "1 row without a text" in done.out
    assert "exact_duplicates: 1 row repeat" in done.out
    plain = json.loads(bakeoff("data", str(path), "--text", "text", "--label", "label", "--model", "tfidf", "--format", "json").out)
    assert plain["dataset"] == "tickets"
    assert {finding["code"]: finding["count"] for finding in plain["findings"]}["empty_texts"] == 1
    assert plain["n_pool"] + plain["n_test"] + sum(f["count"] for f in plain["findings"] if f["code"] == "left_out") == 42


def test_mistakes_about_a_table_name_the_options_of_the_command(bakeoff: Command, tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes(b"text,label\n" + "".join(f"caf\xe9 {text},{label}\n" for text, label in rows(20)).encode("cp1252"))
    assert one_sentence(bakeoff("data", str(path), "--text", "text")) == "--label is missing: set --label …"
    assert one_sentence(bakeoff("data", str(path), "--text", "text", "--label", "label")) == (
        "latin.csv is not UTF-8 and is likely cp1252: pass --encoding cp1252, or save the file as UTF-8"
    )
    assert one_sentence(bakeoff("data", str(path), "--text", "txt", "--label", "label", "--encoding", "cp1252")) == (
        "--text txt is no column of latin.csv; did you mean text? There are label, text"
    )
    assert bakeoff("data", str(path), "--text", "text", "--label", "label", "--encoding", "cp1252", "--model", "tfidf").code == 0


def test_the_doctor_says_what_is_there_and_fetches_nothing_unasked(bakeoff: Command) -> None:
    done = bakeoff("doctor")
    assert (done.code, done.err) == (0, "")
    assert "not yet    dataset movie (vaderSentiment==3.3.2)" in done.out.splitlines()
    assert f"runs       {default_root()}" in done.out.splitlines()
    assert "W&B        disabled; uploads only when machine.wandb=online" in done.out


# Real processes.


def real(here: Path, *arguments: str, **environment: str) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", "bakeoff.cli", *arguments],
        cwd=here,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


def test_a_mistake_in_a_real_process(here: Path) -> None:
    assert one_sentence(real(here, "run", "modle=tfidf")) == "modle is not a setting; did you mean model?"
    assert list(here.iterdir()) == []


@pytest.mark.slow
def test_help_costs_less_than_half_a_second(here: Path) -> None:
    def cpu_seconds(verb: list[str]) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert real(here, *verb, "--help").code == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    for verb in ([], *([verb] for verb in VERBS)):
        assert min(cpu_seconds(verb) for _ in range(3)) < 0.5


@pytest.mark.slow
def test_real_processes_bake_the_same_alone_and_as_the_fifth_and_leave_nothing_else(
    here: Path, tmp_path: Path, table: list[str], broken: list[str]
) -> None:
    toy = [*TINY["pretrained"], bakery.checkpoint_override(bakery.checkpoint(tmp_path / "toy"))]
    alone = real(here, "run", *table, *toy)
    assert (alone.code, len(alone.out.splitlines())) == (0, 1)
    first = (Path(alone.last).parent / "predictions.parquet").read_bytes()
    shutil.rmtree(default_root())
    fifth = real(here, "run", "-m", *table, *toy, "seed=4,3,2,1,0")
    assert (fifth.code, len(fifth.out.splitlines())) == (0, 5)
    assert fifth.last == alone.last
    assert (Path(fifth.last).parent / "predictions.parquet").read_bytes() == first
    failed = real(here, "run", "-m", *table, *broken, "seed=0,1")
    assert (failed.code, failed.out, failed.err.count(" failed ")) == (1, "", 2)
    assert list(here.iterdir()) == []


CANARY = "xylophonist4417"
RAISES = f"""
import os
import bakeoff.models.linear as linear

def fit(self, texts, *_):
    quoted = next(text for text in texts if "{CANARY}" in text)
    try:
        float(quoted)
    except ValueError as error:
        raise RuntimeError(f"cannot learn from {{quoted}}") from error

linear.TfidfClassifier.fit = fit
linear.MajorityClassifier.fit = lambda *_: os._exit(9)
"""


@pytest.fixture
def spare() -> Iterator[Path]:
    """A folder for temporary files, whose path is short enough for a socket in it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.slow
def test_no_text_leaves_the_data_and_its_cache(here: Path, tmp_path: Path, broken: list[str], spare: Path) -> None:
    """A good Run, one whose error quotes a text, one with broken weights and one that exits with code 9; W&B offline, then the page."""
    pool, test = (
        write_csv(tmp_path / f"{name}.csv", [(f"{text} {CANARY}", label) for text, label in rows(24, seed=seed)])
        for seed, name in enumerate(("pool", "test"))
    )
    startup, cache = (tmp_path / name for name in ("startup", "cache"))
    for folder in (startup, here / "conf" / "model"):
        folder.mkdir(parents=True)
    (startup / "sitecustomize.py").write_text(RAISES)
    settings = {"good": TINY["bilstm"], "broken": broken}
    for name, overrides in settings.items():
        shown = real(here, "run", "--cfg", "job", "--package", "model", *overrides)
        (here / "conf" / "model" / f"{name}.yaml").write_text("\n".join(shown.out.splitlines()[1:]))
    environment = {
        "PYTHONPATH": str(startup),
        "WANDB_MODE": "offline",
        "BAKEOFF_CACHE": str(cache),
        "TMPDIR": str(spare),
        "HOME": str(spare),
    }
    ask = [each for each in on_table(pool, test) if each != "machine.wandb=disabled"]
    file = sweep_file(here, {"model": ["good", "tfidf", "broken", "majority"], "longdoc.max_tokens": [32]})
    said = [real(here, "sweep", str(file), *ask, **environment), real(here, "report", str(file), *ask, "--allow-dirty", **environment)]
    said += [real(here, "records", "--format", form) for form in ("json", "table")]
    assert [done.code for done in said] == [1, 0, 0, 0]
    assert "RuntimeError: message withheld" in said[0].err

    store = Store(default_root())
    assert len(store.load_all()) == 1
    assert len(store.failures()) == 3
    assert "ProcessDied: the process ended with exit code 9 before it gave an answer" in said[0].err
    assert all(f"failed: {failure['run_id']}" in said[0].err for failure in store.failures())
    died = {failure["run_id"] for failure in store.failures() if failure["type"] == "ProcessDied"}
    ended = {each.run_id for each in store.load_all()} | {failure["run_id"] for failure in store.failures()} - died
    mirrored = [path for path in (store.root / ".wandb").rglob("*.wandb") if path.stat().st_size > 1000]
    # the process that died at once may have taken what W&B had not yet written with it
    assert (len(died), len(ended)) == (1, 3)
    assert all(any(run_id in path.name for path in mirrored) for run_id in ended)
    needle = CANARY.encode()
    assert any(needle in path.read_bytes() for path in cache.rglob("*.parquet"))
    places = [path for folder in (store.root, here, spare) for path in folder.rglob("*") if path.is_file()]
    assert len(places) > 20
    assert [path for path in places if needle in path.read_bytes()] == []
    assert [done for done in said if CANARY in done.out + done.err] == []
