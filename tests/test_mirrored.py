"""What W&B is shown of answers: counted by hand, and a canary text that must reach none of its files."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import factories
from bakeoff.mirrored import MOST_ERRORS, sheets
from bakeoff.record import Record
from bakeoff.spec import Machine
from bakeoff.store import Store
from bakeoff.tracking import Mirror

CANARY = "canary-7f3a"


def saved(tmp_path: Path, *, accuracy: float = 0.75, rows: int = 200, **dataset: Any) -> tuple[Record, Path]:
    store = Store(tmp_path / "runs")
    run = factories.make_run(seed=3, dataset=factories.make_dataset(**dataset))
    return factories.bake(store, run, accuracy=accuracy, rows=rows), store.folder(run.run_id)


def test_without_texts_there_are_ids_and_numbered_classes(tmp_path: Path) -> None:
    record, folder = saved(tmp_path)
    confusion, errors = sheets(record, folder / "predictions.parquet", None)
    assert (confusion.name, confusion.columns) == ("confusion", ("label", "answered", "rows"))
    assert sum(rows for *_, rows in confusion.rows) == 200
    assert sum(rows for label, answered, rows in confusion.rows if label == answered) == 150
    assert {label for label, *_ in confusion.rows} == {"class 0", "class 1"}
    assert errors.columns == ("row_id", "label", "answered", "confidence")
    assert len(errors.rows) == 50
    assert errors.rows[0] == (errors.rows[0][0], *errors.rows[0][1:3], 1.0)
    assert len(errors.rows[0][0]) == 16


def test_with_texts_classes_have_their_names(tmp_path: Path) -> None:
    record, folder = saved(tmp_path)
    texts = {f"{row:016x}": f"{CANARY} {row}" for row in range(200)}
    confusion, errors = sheets(record, folder / "predictions.parquet", texts)
    assert {label for label, *_ in confusion.rows} == {"negative", "positive"}
    assert errors.columns[-1] == "text"
    assert all(row[-1] == texts[row[0]] for row in errors.rows)


def test_the_error_table_has_an_end(tmp_path: Path) -> None:
    record, folder = saved(tmp_path, accuracy=0.1, rows=1000)
    _, errors = sheets(record, folder / "predictions.parquet", None)
    assert len(errors.rows) == MOST_ERRORS == 200


class Logged:
    """A W&B run that keeps what is logged."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.summary: dict[str, Any] = {}

    def log(self, row: dict[str, Any]) -> None:
        self.rows.append(row)

    def finish(self, exit_code: int) -> None:
        self.exit_code = exit_code


@pytest.mark.parametrize(("allowed", "shown"), [(True, ["text"]), (False, [])])
def test_texts_are_dropped_unless_sharing_them_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: bool, shown: list[str]
) -> None:
    record, folder = saved(tmp_path)
    monkeypatch.setattr("wandb.Table", lambda columns, data: (columns, data))
    run = Logged()
    Mirror(run, print, shares_texts=allowed).finish(record, folder=folder, texts={f"{row:016x}": CANARY for row in range(200)})
    (row,) = run.rows
    assert row["errors"][0][4:] == shown
    assert (CANARY in repr(row)) is allowed
    assert run.summary["test/accuracy"] == 0.75


def test_a_record_without_predictions_has_no_tables(tmp_path: Path) -> None:
    record, folder = saved(tmp_path)
    (folder / "predictions.parquet").unlink()
    run = Logged()
    Mirror(run, print).finish(record, folder=folder, texts={})
    assert (run.rows, run.exit_code) == ([], 0)


PRELUDE = """
from pathlib import Path
import factories
from bakeoff.mirrored import Sheet
from bakeoff.spec import Machine
from bakeoff.store import Store
from bakeoff.tracking import Mirror
root = Path("runs").absolute()
machine = Machine(device="auto", slots=None, wandb="offline", wandb_project="bakeoff", keep_weights="none", share_texts=SHARE)
texts = {f"{row:016x}": f"CANARY {row}" for row in range(200)}
def bake(seed, **dataset):
    run = factories.make_run(seed=seed, dataset=factories.make_dataset(**dataset))
    mirror = Mirror.start(run, machine=machine, root=root, group="g", notify=print)
    mirror.finish(factories.bake(Store(root), run, accuracy=0.75), folder=root / run.run_id, texts=texts)
"""


def run(folder: Path, code: str, *, share: bool = False) -> Path:
    """Run a program in `folder` with a home of its own; the folder of its W&B files."""
    for name in ("home", "work", "tmp"):
        (folder / name).mkdir()
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB_", "XDG_"))}
    clean |= {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), "PYTHONPATH": str(Path(__file__).parent)}
    program = PRELUDE.replace("SHARE", str(share)).replace("CANARY", CANARY) + code
    done = subprocess.run([sys.executable, "-c", program], cwd=folder / "work", env=clean, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
    assert [list((folder / name).iterdir()) for name in ("home", "tmp")] == [[], []]
    assert [path.name for path in (folder / "work").iterdir()] == ["runs"]
    return folder / "work" / "runs" / ".wandb"


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_tables_lie_with_the_runs_and_hold_no_text(tmp_path: Path) -> None:
    files = run(tmp_path, "for seed in (0, 1):\n    bake(seed)\n")
    tables = [json.loads(path.read_text()) for path in files.rglob("media/table/*.json")]
    assert (
        sorted(table["columns"] for table in tables)
        == [["label", "answered", "rows"]] * 2 + [["row_id", "label", "answered", "confidence"]] * 2
    )
    assert sorted(len(table["data"]) for table in tables) == [4, 4, 50, 50]
    assert CANARY.encode() not in everything(files)


@pytest.mark.slow
@pytest.mark.parametrize(("share", "dataset"), [(True, ""), (False, ", redistributable=True")])
def test_texts_go_along_where_they_may(tmp_path: Path, share: bool, dataset: str) -> None:
    files = run(tmp_path, f"bake(0{dataset})\n", share=share)
    assert CANARY.encode() in everything(files)


@pytest.mark.slow
def test_a_report_is_a_run_with_its_table_and_its_pages(tmp_path: Path) -> None:
    code = """
page = root / "index.html"
root.mkdir()
page.write_text("<!doctype html><p>the page</p>")
mirror = Mirror.start_report("starter", machine=machine, root=root, notify=print)
mirror.finish_report([Sheet(name="records", columns=("run_id", "accuracy"), rows=(("a1", "0.7"),))], {"page": page})
"""
    files = run(tmp_path, code)
    assert [path.read_text() for path in files.rglob("media/html/*.html")] == ["<!doctype html><p>the page</p>"]
    assert [json.loads(path.read_text())["data"] for path in files.rglob("media/table/*.json")] == [[["a1", "0.7"]]]


def test_a_report_without_w_and_b_is_silent(tmp_path: Path) -> None:
    machine = Machine(device="auto", slots=None, wandb="disabled", wandb_project="x", keep_weights="none", share_texts=False)
    mirror = Mirror.start_report("starter", machine=machine, root=tmp_path, notify=print)
    mirror.finish_report([], {})
    assert list(tmp_path.iterdir()) == []
