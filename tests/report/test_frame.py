"""The flat table: contract columns, filters, and its three forms."""

import csv
import io
import json
import subprocess
import sys

import pytest

import factories
from bakeoff.errors import ConfigError
from bakeoff.report import frame
from bakeoff.store import Store

CONTRACT = (
    "run_id, question_id, status, dataset, dataset_fingerprint, fold, budget, draw, seed, model, longdoc, precision, probe, engine, "
    "threads, scenario, batch_size, n_fit, n_val, n_test, accuracy, macro_f1, loss, ece, collapsed, truncated_fraction, train_seconds, "
    "tokens_per_second, params_total, latency_p50_ms, latency_p95_ms, latency_p99_ms, session_id, machine, device, commit, dirty, "
    "finished_at, error"
)


@pytest.fixture
def rows(store: Store) -> list[frame.Row]:
    factories.bake(store, factories.make_run(model="pretrained", labels=1000, seed=1), accuracy=0.8)
    factories.bake(store, factories.make_run(model="tfidf", labels="all"), accuracy=0.75)
    factories.bake(store, factories.make_run(model="tfidf", labels=100), accuracy=0.6)
    store.write_failure(factories.make_run(model="bilstm", labels=100), type_="RuntimeError", message="=cmd\nline 2", trace=[])
    return frame.flat_rows(store)


def test_columns_are_the_contract() -> None:
    assert ", ".join(frame.COLUMNS) == CONTRACT


def test_rows_hold_records_and_failures_in_reading_order(rows: list[frame.Row]) -> None:
    assert [(row["budget"], row["model"], row["status"]) for row in rows] == [
        ("100", "bilstm", "failed"),
        ("100", "tfidf", "ok"),
        ("1000", "pretrained", "ok"),
        ("all", "tfidf", "ok"),
    ]
    failed, _, pretrained, closed_form = rows
    assert tuple(failed) == tuple(pretrained) == frame.COLUMNS
    assert failed["error"] == "RuntimeError: =cmd line 2"
    assert failed["accuracy"] is None
    expected = {"accuracy": 0.8, "loss": 0.4, "collapsed": False, "n_fit": 800, "n_val": 200, "n_test": 200, "draw": 1, "seed": 1}
    expected |= {"longdoc": "head-256", "precision": "float32", "probe": "quality", "threads": 1, "engine": None, "session_id": None}
    expected |= {"dataset": "reviews", "fold": None, "machine": "Example CPU 3.0, 2 CPUs, 8 GB", "device": "cpu", "dirty": False}
    assert {key: pretrained[key] for key in expected} == expected
    assert closed_form["precision"] == "float64"


def test_latency_has_its_columns_and_an_untrained_model_no_labels_or_seed(store: Store) -> None:
    facts = factories.make_latency_facts(p50_ms=2.0, batch_size=64, session_id="5e5510a0")
    factories.bake_latency(store, factories.make_latency_run(scenario="offline", engine="onnx", threads=2), facts)
    factories.bake_latency(store, factories.make_latency_run(weights="trained"), factories.make_latency_facts(p50_ms=1.0))
    trained, untrained = frame.flat_rows(store)
    expected = {"probe": "latency", "engine": "onnx", "threads": 2, "scenario": "offline", "batch_size": 64, "session_id": "5e5510a0"}
    expected |= {
        "latency_p50_ms": 2.0,
        "latency_p95_ms": 4.0,
        "latency_p99_ms": None,
        "device": "cpu",
        "machine": "Example CPU 3.0, 2 CPUs, 8 GB",
    }
    expected |= {"budget": None, "draw": None, "seed": None, "accuracy": None, "train_seconds": None, "n_fit": 0, "n_val": 0, "n_test": 200}
    assert {key: untrained[key] for key in expected} == expected
    assert (trained["budget"], trained["draw"], trained["seed"], trained["engine"]) == ("100", 0, 0, "eager")


def test_a_failure_of_another_version_still_counts(store: Store, rows: list[frame.Row]) -> None:
    plain = {"run_id": "0123456789ab", "question_id": "0123456789ab", "type": "ValueError", "message": "odd", "run": {"seed": 0}}
    row = frame.failure_row(plain)
    assert (row["run_id"], row["status"], row["dataset"], row["error"]) == ("0123456789ab", "failed", None, "ValueError: odd")
    assert frame.sort_rows([*rows, row])[0] is row


@pytest.mark.parametrize(
    ("wanted", "budgets"),
    [
        ({"model": "tfidf"}, ["100", "all"]),
        ({"model": "tfidf", "budget": "all"}, ["all"]),
        ({"accuracy": "0.80"}, ["1000"]),
        ({"dirty": "False"}, ["100", "1000", "all"]),
        ({"accuracy": "null"}, ["100"]),
        ({"seed": "7"}, []),
        ({}, ["100", "100", "1000", "all"]),
    ],
)
def test_filters_are_equalities(rows: list[frame.Row], wanted: dict[str, str], budgets: list[str]) -> None:
    assert [row["budget"] for row in frame.filter_rows(rows, wanted)] == budgets


def test_an_unknown_column_names_the_nearest(rows: list[frame.Row]) -> None:
    with pytest.raises(ConfigError, match=r"^datset is not a column; did you mean dataset\?$"):
        frame.filter_rows(rows, {"datset": "reviews"})


def test_json_and_csv_hold_every_column(rows: list[frame.Row]) -> None:
    assert json.loads(frame.render(rows, "json")) == rows
    first, *lines = csv.reader(io.StringIO(frame.render(rows, "csv")))
    assert tuple(first) == frame.COLUMNS
    line = dict(zip(first, lines[2], strict=True))
    assert (line["accuracy"], line["collapsed"], line["engine"], line["budget"]) == ("0.8", "false", "", "1000")


def test_csv_cells_cannot_start_a_formula(store: Store) -> None:
    run = factories.make_run(dataset=factories.make_dataset(name="=1+1"))
    factories.bake(store, run, accuracy=0.6)
    _, line = csv.reader(io.StringIO(frame.render(frame.flat_rows(store), "csv")))
    assert line[frame.COLUMNS.index("dataset")] == "'=1+1"


def test_the_table_is_compact_and_aligned(rows: list[frame.Row]) -> None:
    lines = frame.render(rows, "table").split("\n")
    assert lines[0].split() == [
        column for column in frame.TABLE_COLUMNS if column != "fold" and "latency" not in column and column != "engine"
    ]
    assert lines[3].split()[1:8] == ["ok", "reviews", "1000", "1", "pretrained", "head-256", "0.800"]
    assert len({line.index(text) for line, text in zip(lines[1:], ("failed", "ok", "ok", "ok"), strict=True)}) == 1
    assert frame.render([], "table") == "no records"
    assert frame.render([], "json") == "[]"


def test_importing_the_frame_is_light() -> None:
    code = "import sys, bakeoff.report.frame; print(sorted({'pandas', 'scipy', 'numpy', 'matplotlib', 'torch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
