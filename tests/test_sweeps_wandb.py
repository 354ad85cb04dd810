"""Sweep files as Weights & Biases reads them: its schema, its grid, and what its agent calls."""

import copy
import json
import os
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from wandb.sdk.launch.sweeps.utils import create_sweep_command, create_sweep_command_args

from bakeoff import cli
from bakeoff.commands import run as run_command
from bakeoff.commands.baking import bake_runs
from bakeoff.config import Composer, load_sweep
from bakeoff.record import Record
from bakeoff.store import RECORD, Store, default_root
from bakery import bake, compose, on_table, rows, write_csv

ROOT = Path(__file__).parents[1]
SWEEPS = sorted((ROOT / "sweeps").rglob("*.yaml"))
AGENT = {"WANDB_SWEEP_ID": "s1", "WANDB_RUN_ID": "given1"}


def engine() -> Any:
    """W&B's own engine of sweeps, which its server runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("sweeps", reason="comes with the dev extra")


def called(plain: dict[str, Any], values: dict[str, Any]) -> list[str]:
    """The command line that an agent makes of a cell."""
    arguments = create_sweep_command_args({"args": {key: {"value": value} for key, value in values.items()}})
    command = create_sweep_command(copy.deepcopy(plain["command"]))
    return [word for each in command for word in (arguments["args_no_hyphens"] if each == "${args_no_hyphens}" else [each])]


@pytest.mark.parametrize("file", SWEEPS, ids=lambda file: file.name)
def test_every_file_is_valid_by_their_schema(file: Path) -> None:
    plain = yaml.safe_load(file.read_text())
    assert engine().schema_violations_from_proposed_config(plain) == []
    assert plain["command"] == ["bakeoff", "run", "${args_no_hyphens}"]
    for key, spec in plain["parameters"].items():
        for value in spec.get("values", [spec.get("value")]):
            assert value is not None, f"{key}: an agent writes null as None"
            assert not {"=", ","} & set(str(value)), f"{key}: an agent writes {value} as it stands"


def test_their_grid_is_the_sweep() -> None:
    sweeps, plain, runs, lines = engine(), yaml.safe_load((ROOT / "sweeps" / "starter.yaml").read_text()), [], []
    grid = sweeps.SweepConfig(plain)
    while (run := sweeps.next_run(grid, runs)) is not None:
        run.state = sweeps.RunState.finished
        runs.append(run)
        lines.append(called(plain, {key: value["value"] for key, value in run.config.items()}))
    assert lines[0] == ["bakeoff", "run", "budget.labels=100", "dataset=movie", "model=majority", "seed=0"]
    composer = Composer()
    assert {composer.cell(line[2:]).run.run_id for line in lines} == {run.run_id for run in load_sweep(Path("starter")).runs}
    assert len(lines) == 24


# Under an agent.


@dataclass
class Mirrored:
    """Stands in for the W&B mirror, and keeps what it was handed."""

    record: Record | None = None

    def finish(self, record: Record, *, folder: Path) -> None:
        assert (folder / RECORD).is_file()
        self.record = record


@pytest.fixture
def table(tmp_path: Path) -> list[str]:
    return on_table(write_csv(tmp_path / "pool.csv", rows(24)), write_csv(tmp_path / "test.csv", rows(12, seed=1)))


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AGENT.items():
        monkeypatch.setenv(name, value)


def answered(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit code of `bakeoff run`, in this process."""
    monkeypatch.setattr(sys, "argv", ["bakeoff", "run", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert isinstance(end.value.code, int)
    return end.value.code


CELLS = [
    (
        ["model=majority", "budget.labels=25"],
        "budget.labels=25 is more than the 24 labelled rows of the train pool: use at most 24, or all",
    ),
    (["model=majority", "model.training.epochs=3"], "model.training.epochs is not a setting; the settings here are "),
    (["model=bilstm", "model.training.epochs=0"], "model.training.epochs=0 should be above 0"),
]


@pytest.mark.parametrize(("cell", "reason"), CELLS, ids=["data", "setting", "value"])
def test_a_cell_that_makes_no_sense_lets_the_agent_go_on(
    table: list[str],
    cell: list[str],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert answered(monkeypatch, *table, *cell) == 2
    alone = capsys.readouterr()
    assert alone.err.startswith(f"bakeoff: {reason}")
    for name, value in AGENT.items():
        monkeypatch.setenv(name, value)
    assert answered(monkeypatch, *table, *cell) == 0
    under = capsys.readouterr()
    assert (under.out, under.err) == ("", alone.err.replace("bakeoff: ", "not applicable: ", 1))
    assert Store(default_root()).load_all() == []


@pytest.mark.usefixtures("agent")
def test_what_no_cell_could_be_still_stops_the_agent(table: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert answered(monkeypatch, *table, "model=gru") == 2
    assert answered(monkeypatch, *table, "budget.labels=few") == 2
    assert answered(monkeypatch, *table, "dataset.path=gone.csv") == 2


def test_a_recorded_cell_is_mirrored_under_an_agent_alone(
    table: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    baked = bake(compose(*table, "model=majority"))
    mirrors: list[Mirrored] = []

    def start(run: object, **_: object) -> Mirrored:
        mirrors.append(Mirrored())
        return mirrors[-1]

    monkeypatch.setattr(run_command.Mirror, "start", start)
    monkeypatch.setattr(run_command, "bake_runs", lambda runs, *rest, **options: (_none(runs), bake_runs(runs, *rest, **options))[1])
    for environment, mirrored in ({}, 0), (AGENT, 1):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        assert answered(monkeypatch, *table, "model=majority") == 0
        assert capsys.readouterr().out == f"{baked.folder / RECORD}\n"
        assert [each.record for each in mirrors] == [Store(default_root()).load(baked.record.run_id)] * mirrored


def _none(runs: list[object]) -> None:
    assert runs == []


# With the real W&B and real processes.


@pytest.mark.slow
def test_an_agents_commands_bake_mirror_and_go_on(tmp_path: Path) -> None:
    """The first cell of the starter as an agent starts it; the same cell again, as the second agent of a sweep meets it; one too large."""
    plain = yaml.safe_load((ROOT / "sweeps" / "starter.yaml").read_text())
    values = {"budget.labels": 100, "dataset": "movie", "model": "majority", "seed": 0}
    (wanted,) = [run for run in load_sweep(Path("starter")).runs if (run.model.name, run.budget.labels, run.seed) == ("majority", 100, 0)]

    first = agents(tmp_path, plain, values, "aaaa1111")
    assert (first.returncode, first.stdout) == (0, f"{tmp_path / 'runs' / wanted.run_id / RECORD}\n"), first.stderr
    stamp = (tmp_path / "runs" / wanted.run_id / RECORD).stat().st_mtime_ns
    again = agents(tmp_path, plain, values, "bbbb2222")
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr
    assert (tmp_path / "runs" / wanted.run_id / RECORD).stat().st_mtime_ns == stamp
    refused = agents(tmp_path, plain, values | {"budget.labels": 100000}, "cccc3333")
    assert (refused.returncode, refused.stdout) == (0, "")
    assert refused.stderr.startswith("not applicable: budget.labels=100000 is more than the ")

    record = Store(tmp_path / "runs").load(wanted.run_id)
    assert record is not None
    files = {file.stem.removeprefix("run-"): file for file in (tmp_path / "runs" / ".wandb").rglob("*.wandb")}
    assert sorted(files) == ["aaaa1111", "bbbb2222"]
    for given, file in files.items():
        told = subprocess.run(
            [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(file)], capture_output=True, text=True, check=True, timeout=60
        )
        rows_ = [json.loads(line) for line in told.stdout.splitlines()]
        (run,) = [row["run"] for row in rows_ if row["type"] == "run"]
        assert (run["run_id"], run["sweep_id"]) == (given, "s1")
        assert wanted.run_id in run["tags"]
        config = {key: value for row in rows_ if row["type"] == "run" for key, value in row["run"]["config"]["update"].items()}
        assert config["run_id"] == wanted.run_id
        assert {key: config[key] for key in values} == values  # what W&B tells the cells of a grid apart by
        summary = {key: value for row in rows_ if row["type"] == "summary" for key, value in row["summary"]["update"].items()}
        assert summary["test/accuracy"] == record.quality["test"].accuracy
        assert [row["exit"]["exit_code"] for row in rows_ if row["type"] == "exit"] == [0]


def agents(folder: Path, plain: dict[str, Any], values: dict[str, Any], given: str) -> "subprocess.CompletedProcess[str]":
    """A cell as `wandb agent` starts it: its command, its ids, and the file with the cell's parameters."""
    parameters = folder / "wandb" / "sweep-s1" / f"config-{given}.yaml"
    parameters.parent.mkdir(parents=True, exist_ok=True)
    told = {key: {"value": value} for key, value in values.items()}
    parameters.write_text("wandb_version: 1\n\n" + yaml.safe_dump(told))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    own = {"WANDB_MODE": "offline", "WANDB_SWEEP_ID": "s1", "WANDB_RUN_ID": given, "WANDB_SWEEP_PARAM_PATH": str(parameters)}
    program, *words = called(plain, values)
    assert program == "bakeoff"
    return subprocess.run(
        [sys.executable, "-m", "bakeoff.cli", *words],
        cwd=folder,
        env=clean | own | {"BAKEOFF_RUNS": str(folder / "runs")},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
