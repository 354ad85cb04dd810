"""The W&B mirror: a stand-in for wandb in the unit tests, the real one offline in the slow ones."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import factories
from bakeoff import tracking
from bakeoff.record import Record
from bakeoff.spec import Machine, Run
from bakeoff.tracking import Mirror, mode_of, summary_of

CANARY = "canary-7f3a"


def machine(wandb: Any = "offline") -> Machine:
    return Machine(device="auto", slots=None, wandb=wandb, wandb_project="bakeoff", keep_weights="none", share_texts=False)


def record_of(run: Run) -> Record:
    return factories.make_record(run, *factories.make_predictions(accuracy=0.75))


class FakeRun:
    """What `wandb.init` returns, as far as the mirror uses it; `breaks` names the method that raises."""

    def __init__(self, breaks: str | None = None) -> None:
        self.rows: list[dict[str, float]] = []
        self.summary: dict[str, Any] = {}
        self.exit_code: int | None = None
        self.breaks = breaks
        self.blocked = threading.Event()

    def define_metric(self, name: str, step_metric: str) -> None:
        self.axis = (name, step_metric)

    def log(self, row: dict[str, float]) -> None:
        if self.breaks == "log":
            raise RuntimeError(CANARY)
        self.rows.append(row)

    def finish(self, exit_code: int) -> None:
        if self.breaks == "finish":
            raise RuntimeError(CANARY)
        if self.breaks == "hang":
            self.blocked.wait(30)
        self.exit_code = exit_code


class FakeWandb(ModuleType):
    def __init__(self, run: FakeRun, *, failing_modes: tuple[str, ...] = ()) -> None:
        super().__init__("wandb")
        self.calls: list[dict[str, Any]] = []

        def settings(**values: Any) -> SimpleNamespace:
            return SimpleNamespace(**values)

        settings.model_fields = ("mode", "console")  # type: ignore[attr-defined]
        self.Settings = settings

        def init(**values: Any) -> FakeRun:
            self.calls.append(values)
            if values["settings"].mode in failing_modes:
                raise ConnectionError(CANARY)
            return run

        self.init = init


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    # what `start` sets must not outlive a test
    for name in ("DIR", "CACHE_DIR", "DATA_DIR", "ARTIFACT_DIR", "ERROR_REPORTING"):
        monkeypatch.setenv(f"WANDB_{name}", "unset")
        monkeypatch.delenv(f"WANDB_{name}")


def begin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wandb: ModuleType | None, *, mode: str = "offline") -> tuple[Mirror, list[str]]:
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    notices: list[str] = []
    run = factories.make_run(seed=3)
    mirror = Mirror.start(run, machine=machine(mode), root=tmp_path, group="starter", notify=notices.append)
    return mirror, notices


@pytest.mark.parametrize(
    ("configured", "variable", "mode"),
    [
        ("offline", None, "offline"),
        ("online", None, "online"),
        ("disabled", None, "disabled"),
        ("offline", "online", "online"),
        ("offline", "run", "online"),
        ("online", "offline", "offline"),
        ("online", "dryrun", "offline"),
        ("online", "", "online"),
        ("offline", "disabled", "disabled"),
        ("disabled", "online", "disabled"),
        ("online", "shared", "offline"),
    ],
)
def test_mode(monkeypatch: pytest.MonkeyPatch, configured: str, variable: str | None, mode: str) -> None:
    if variable is not None:
        monkeypatch.setenv("WANDB_MODE", variable)
    assert mode_of(machine(configured)) == mode


def test_a_login_is_no_consent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    fake = FakeWandb(FakeRun())
    begin(monkeypatch, tmp_path, fake)
    assert [call["settings"].mode for call in fake.calls] == ["offline"]


def test_what_a_run_is_called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeWandb(FakeRun())
    begin(monkeypatch, tmp_path, fake)
    begin(monkeypatch, tmp_path, fake)
    run = factories.make_run(seed=3)
    first, second = fake.calls
    assert first["id"] != second["id"]
    assert [call["id"].rpartition("-")[0] for call in fake.calls] == [run.run_id] * 2
    assert len(first["id"]) == 12 + 1 + 8
    assert first["name"] == f"{run.run_id} reviews · tfidf · full · 100 labels · seed 3"
    assert first["tags"] == [run.run_id, "tfidf"]
    assert (first["project"], first["group"], first["job_type"]) == ("bakeoff", "starter", "quality")
    config = first["config"]
    assert (config["run_id"], config["question_id"], config["seed"]) == (run.run_id, run.question_id, 3)
    assert config["model"]["c_grid"] == [1.0, 10.0]
    assert json.loads(json.dumps(config)) == config  # plain containers, down to the leaves


def test_config_keeps_the_last_part_of_a_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeWandb(FakeRun())
    monkeypatch.setitem(sys.modules, "wandb", fake)
    run = factories.make_run(dataset=factories.make_dataset(path="/home/anne/acme/mails.csv"))
    Mirror.start(run, machine=machine(), root=tmp_path, group=None, notify=print)
    assert fake.calls[0]["config"]["dataset"]["path"] == "mails.csv"


def test_an_agents_id_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeWandb(FakeRun())
    monkeypatch.setenv("WANDB_RUN_ID", "left-over")
    begin(monkeypatch, tmp_path, fake)
    monkeypatch.setenv("WANDB_SWEEP_ID", "s1")
    begin(monkeypatch, tmp_path, fake)
    assert fake.calls[0]["id"].startswith(factories.make_run(seed=3).run_id)
    assert fake.calls[1]["id"] is None


def test_no_row_is_dropped_whatever_the_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = FakeRun()
    mirror, notices = begin(monkeypatch, tmp_path, FakeWandb(run))
    mirror.log(10, {"loss": 0.5})
    mirror.log(3, {"loss": 0.75})
    mirror.log(10, {"val_loss": 0.25})
    assert run.rows == [{"step": 10, "loss": 0.5}, {"step": 3, "loss": 0.75}, {"step": 10, "val_loss": 0.25}]
    assert run.axis == ("*", "step")
    assert notices == []


def test_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = FakeRun()
    mirror, _ = begin(monkeypatch, tmp_path, FakeWandb(run))
    mirror.finish(record_of(factories.make_run(seed=3)))
    assert run.exit_code == 0
    assert run.summary["test/accuracy"] == 0.75
    run = FakeRun()
    mirror, _ = begin(monkeypatch, tmp_path, FakeWandb(run))
    mirror.fail("ValueError: message withheld")
    assert (run.exit_code, run.summary) == (1, {"status": "failed", "error": "ValueError: message withheld"})


def test_the_summary_of_a_record() -> None:
    record = record_of(factories.make_run(seed=3))
    summary = summary_of(record)
    test = record.quality["test"]
    expected = {
        "status": "ok",
        "test/n": 200,
        "test/accuracy": 0.75,
        "test/macro_f1": test.macro_f1,
        "test/collapsed": False,
        "data/n_fit": record.data.n_fit,
        "training/seconds": record.training.seconds,
        "training/stop_reason": record.training.stop_reason,
        "machine/processor": "Example CPU 3.0",
        "provenance/commit": record.provenance.commit,
    }
    assert {key: summary[key] for key in expected} == expected
    assert all(isinstance(value, int | float | str) for value in summary.values())
    assert not [key for key in summary if "class" in key or "positive" in key]


def test_a_stand_in_that_raises_is_told_once_and_then_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for breaks in ("log", "finish"):
        mirror, notices = begin(monkeypatch, tmp_path, FakeWandb(FakeRun(breaks)))
        mirror.log(1, {"loss": 1.0})
        mirror.log(2, {"loss": 1.0})
        mirror.finish(record_of(factories.make_run(seed=3)))
        mirror.fail("twice")
        assert notices == ["W&B stopped taking metrics (RuntimeError): Runs go on, and their records are complete without it"]


def test_a_finish_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tracking, "_FINISH_SECONDS", 0.1)
    run = FakeRun("hang")
    mirror, notices = begin(monkeypatch, tmp_path, FakeWandb(run))
    began = time.monotonic()
    mirror.fail("x")
    assert time.monotonic() - began < 5
    run.blocked.set()
    assert [notice.split(":")[0] for notice in notices] == ["W&B stopped taking metrics (TimeoutError)"]


def test_without_wandb(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mirror, notices = begin(monkeypatch, tmp_path, None)  # None in sys.modules: not installed
    mirror.log(1, {"loss": 1.0})
    mirror.finish(record_of(factories.make_run(seed=3)))
    assert notices == ["W&B is not installed: Runs are recorded without it (pip install wandb, or set machine.wandb=disabled)"]


def test_disabled_imports_and_writes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mirror, notices = begin(monkeypatch, tmp_path, None, mode="disabled")
    mirror.log(1, {"loss": 1.0})
    assert (notices, list(tmp_path.iterdir())) == ([], [])


def test_a_start_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, notices = begin(monkeypatch, tmp_path, FakeWandb(FakeRun(), failing_modes=("offline",)))
    assert notices == ["W&B could not start (ConnectionError): Runs are recorded without it"]


def test_a_runs_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    _, notices = begin(monkeypatch, tmp_path / "runs", FakeWandb(FakeRun()))
    assert notices == ["W&B could not start (NotADirectoryError): Runs are recorded without it"]


def test_online_that_fails_goes_offline_and_the_next_run_does_not_wait(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = FakeRun()
    fake = FakeWandb(run, failing_modes=("online",))
    told = []
    for _ in range(2):
        mirror, notices = begin(monkeypatch, tmp_path, fake, mode="online")
        mirror.log(1, {"loss": 1.0})
        told += notices
    assert [call["settings"].mode for call in fake.calls] == ["online", "offline", "offline"]
    assert len(run.rows) == 2
    assert set(told) == {
        f"W&B did not answer (ConnectionError; log in with `wandb login` or check the network): "
        f"Runs are kept offline in {tmp_path / '.wandb'} and can be sent with `wandb sync`"
    }
    marker = tmp_path / ".wandb" / "unreachable"
    os.utime(marker, (0, 0))
    begin(monkeypatch, tmp_path, fake, mode="online")
    assert [call["settings"].mode for call in fake.calls][3:] == ["online", "offline"]


PRELUDE = """
import os, sys
from pathlib import Path
import factories
from bakeoff import tracking
from bakeoff.spec import Machine
from bakeoff.tracking import Mirror
machine = Machine(device="auto", slots=None, wandb=MODE, wandb_project="bakeoff", keep_weights="none", share_texts=False)
root = Path("runs").absolute()
def start(seed):
    return Mirror.start(factories.make_run(seed=seed), machine=machine, root=root, group="g", notify=print)
def record(seed):
    return factories.make_record(factories.make_run(seed=seed), *factories.make_predictions(accuracy=0.75))
"""


def program(folder: Path, code: str, *, mode: str = "offline", **environment: str) -> "subprocess.Popen[str]":
    """A program in `folder` with a home of its own and no W&B settings."""
    for name in ("home", "work", "tmp"):
        (folder / name).mkdir()
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB_", "XDG_"))}
    clean |= {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", PRELUDE.replace("MODE", repr(mode)) + code]
    return subprocess.Popen(
        command, cwd=folder / "work", env=clean | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def inspect(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """W&B run id → the rows of its offline file, read back with W&B's own tool."""
    found = {}
    for file in (folder / "work" / "runs" / ".wandb" / "wandb").glob("offline-run-*/*.wandb"):
        command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(file)]
        lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
        found[file.stem.removeprefix("run-")] = [json.loads(line) for line in lines]
    return found


def of_type(rows: list[dict[str, Any]], kind: str) -> list[Any]:
    return [row[kind] for row in rows if row["type"] == kind]


@pytest.mark.slow
def test_two_seeds_in_one_process_are_two_runs_and_nothing_is_written_elsewhere(tmp_path: Path) -> None:
    code = """
mirrors = [start(0), start(1)]
for seed, mirror in enumerate(mirrors):
    mirror.log(10, {"loss": 1.0 + seed})
    mirror.log(3, {"loss": 2.0 + seed})
mirrors[0].finish(record(0))
mirrors[1].fail("ValueError: withheld")
"""
    ended = program(tmp_path, code)
    out, err = ended.communicate(timeout=60)
    assert (out, ended.returncode) == ("", 0), err
    files = inspect(tmp_path)
    by_seed = {of_type(rows, "run")[0]["config"]["update"]["seed"]: (name, rows) for name, rows in files.items()}
    assert sorted(by_seed) == [0, 1]
    for seed, (name, rows) in by_seed.items():
        run_id = factories.make_run(seed=seed).run_id
        (run,) = of_type(rows, "run")
        assert name.startswith(f"{run_id}-")
        assert (run["run_id"], run["job_type"], run["run_group"], run["tags"]) == (name, "quality", "g", [run_id, "tfidf"])
        assert [(item["item"]["step"], item["item"]["loss"]) for item in of_type(rows, "history")] == [(10, 1.0 + seed), (3, 2.0 + seed)]
        assert [end["exit_code"] for end in of_type(rows, "exit")] == [seed]
        assert of_type(rows, "output_raw") == []
    summaries = {seed: {k: v for s in of_type(rows, "summary") for k, v in s["update"].items()} for seed, (_, rows) in by_seed.items()}
    assert summaries[0]["test/accuracy"] == 0.75
    assert summaries[1]["error"] == "ValueError: withheld"
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["runs"]
    assert [path.name for path in (tmp_path / "work" / "runs").iterdir()] == [".wandb"]
    assert [list((tmp_path / name).iterdir()) for name in ("home", "tmp")] == [[], []]
    everything = b"".join(path.read_bytes() for path in (tmp_path / "work" / "runs").rglob("*") if path.is_file())
    assert b"record(0)" not in everything  # neither code nor command line


@pytest.mark.slow
def test_a_run_killed_in_training_keeps_its_config_and_its_metrics_so_far(tmp_path: Path) -> None:
    code = """
mirror = start(0)
for step in range(3):
    mirror.log(step, {"loss": 1 / (step + 1)})
print("trained", flush=True)
import time; time.sleep(60)
"""
    killed = program(tmp_path, code)
    assert killed.stdout is not None
    assert killed.stdout.readline() == "trained\n"
    time.sleep(1.0)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    ((name, rows),) = inspect(tmp_path).items()
    assert of_type(rows, "run")[0]["config"]["update"]["run_id"] == name.rpartition("-")[0]
    assert [item["item"]["loss"] for item in of_type(rows, "history")] == [1.0, 0.5, 1 / 3]
    assert of_type(rows, "exit") == []


@pytest.mark.slow
def test_a_w_and_b_process_that_dies_fails_no_run(tmp_path: Path) -> None:
    code = """
import psutil
mirror = start(0)
for child in psutil.Process().children(recursive=True):
    child.kill(); child.wait()
for step in range(50):
    mirror.log(step, {"loss": 1.0})
mirror.finish(record(0))
print("done")
"""
    ended = program(tmp_path, code)
    out, err = ended.communicate(timeout=100)
    assert ended.returncode == 0, err
    *notices, last = out.splitlines()
    assert last == "done"
    assert len(notices) == 1
    assert notices[0].startswith("W&B stopped taking metrics (")


@pytest.mark.slow
def test_a_closed_port_is_told_once_and_the_run_is_kept_offline(tmp_path: Path) -> None:
    code = """
tracking._INIT_SECONDS = 3.0
import time
begin = time.monotonic()
for seed in (0, 1):
    mirror = start(seed)
    mirror.log(1, {"loss": 1.0})
    mirror.finish(record(seed))
print(time.monotonic() - begin)
"""
    with socket.socket() as closed:  # bound all the while and never listening, so that nobody else can answer there
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        ended = program(tmp_path, code, mode="online", WANDB_BASE_URL=url, WANDB_API_KEY="0123456789" * 4)
        out, err = ended.communicate(timeout=100)
    assert ended.returncode == 0, err
    *notices, seconds = out.splitlines()
    assert len(set(notices)) == 1
    assert notices[0].startswith("W&B did not answer (CommError;")
    assert float(seconds) < 15
    runs = [of_type(rows, "run")[0]["config"]["update"]["seed"] for rows in inspect(tmp_path).values()]
    assert sorted(runs) == [0, 1]


@pytest.mark.slow
def test_under_an_agent_the_file_carries_the_agents_id(tmp_path: Path) -> None:
    ended = program(tmp_path, "start(0).finish(record(0))", WANDB_SWEEP_ID="s1", WANDB_RUN_ID="agent-gave-this")
    _, err = ended.communicate(timeout=60)
    assert ended.returncode == 0, err
    assert list(inspect(tmp_path)) == ["agent-gave-this"]
