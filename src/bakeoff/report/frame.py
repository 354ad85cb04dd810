"""The flat table: one row a Run, with the columns that `bakeoff records` and `records.csv` promise."""

import csv
import difflib
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from bakeoff import convert
from bakeoff.errors import ConfigError
from bakeoff.record import Record
from bakeoff.report.plain import visible
from bakeoff.spec import Latency, Predictions, Run
from bakeoff.store import Store

COLUMNS: tuple[str, ...] = (
    *("run_id", "question_id", "status", "dataset", "dataset_fingerprint", "fold", "budget", "draw", "seed"),
    *("model", "longdoc", "precision", "probe", "engine", "threads", "scenario", "batch_size", "n_fit", "n_val", "n_test"),
    *("accuracy", "macro_f1", "loss", "ece", "collapsed", "truncated_fraction", "train_seconds", "tokens_per_second"),
    *("params_total", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "session_id", "machine", "device"),
    *("commit", "dirty", "finished_at", "error"),
)
TABLE_COLUMNS: tuple[str, ...] = (
    *("run_id", "status", "dataset", "fold", "budget", "seed", "model", "longdoc"),
    *("accuracy", "macro_f1", "loss", "collapsed", "train_seconds", "engine", "latency_p50_ms", "latency_p95_ms", "error"),
)
_WHOLE = ("fold", "draw", "seed", "threads", "batch_size", "n_fit", "n_val", "n_test", "params_total")
_NUMBERS = (
    *("accuracy", "macro_f1", "loss", "ece", "truncated_fraction", "train_seconds", "tokens_per_second"),
    *("latency_p50_ms", "latency_p95_ms", "latency_p99_ms"),
)
_KINDS = dict.fromkeys(_WHOLE, "whole") | dict.fromkeys(_NUMBERS, "number") | dict.fromkeys(("collapsed", "dirty"), "flag")
"""What a column of `records.parquet` holds, where that is not text."""
_WIDEST_CELL = 60

Row = dict[str, Any]
Format = Literal["table", "csv", "json"]


def flat_rows(store: Store) -> list[Row]:
    """Every record and every failure of a store as plain values, one key a column, absent values None."""
    rows = [record_row(record) for record in store.load_all()] + [failure_row(failure) for failure in store.failures()]
    return sort_rows(rows)


def sort_rows(rows: Iterable[Row]) -> list[Row]:
    """Rows by dataset, fold, budget, model, reading, draw and seed."""
    return sorted(rows, key=_order)


def record_row(record: Record) -> Row:
    """The row of a finished Run."""
    test, facts, values = record.quality.get("test"), record.latency, _run_values(record.run)
    return _row(
        values,
        run_id=record.run_id,
        question_id=record.question_id,
        status=record.status,
        n_fit=record.data.n_fit,
        n_val=record.data.n_val,
        n_test=record.data.n_test,
        accuracy=test.accuracy if test else None,
        macro_f1=test.macro_f1 if test else None,
        loss=test.log_loss if test else None,
        ece=test.ece if test else None,
        collapsed=test.collapsed if test else None,
        truncated_fraction=record.data.truncated_fraction,
        train_seconds=None if facts else record.training.seconds,
        tokens_per_second=record.training.tokens_per_second,
        batch_size=facts.batch_size if facts else values["batch_size"],
        latency_p50_ms=facts.p50_ms if facts else None,
        latency_p95_ms=facts.p95_ms if facts else None,
        latency_p99_ms=facts.p99_ms if facts else None,
        session_id=facts.session_id if facts else None,
        params_total=record.size.parameters_total if record.size else None,
        machine=machine_name(record),
        device=record.machine.device,
        commit=record.provenance.commit,
        dirty=record.provenance.dirty,
        finished_at=record.finished_at,
    )


def failure_row(failure: Mapping[str, Any]) -> Row:
    """The row of a Run that failed and has no record; `failure` is a parsed `failure.json`."""
    try:
        values = _run_values(convert.build_run(failure["run"]))
    except (KeyError, ConfigError):  # written by another version: its ids and its error still count
        values = {}
    return _row(
        values,
        run_id=failure.get("run_id"),
        question_id=failure.get("question_id"),
        status="failed",
        finished_at=failure.get("failed_at"),
        error=failure_text(failure),
    )


def failure_text(failure: Mapping[str, Any]) -> str:
    """What went wrong, on one line: `RuntimeError: out of memory`."""
    return " ".join(f"{failure.get('type', 'Error')}: {failure.get('message', '')}".split())


def machine_name(record: Record) -> str:
    """What a person calls the machine of a record: `Xeon Platinum, 2 CPUs, 8 GB`."""
    facts = record.machine
    parts = [facts.processor, f"{facts.usable_cpus} CPU{'s' if facts.usable_cpus > 1 else ''}", f"{facts.memory_gb:.0f} GB"]
    return ", ".join(parts + ([facts.gpu] if facts.gpu else []))


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """The rows with all columns as Parquet, numbers as numbers and what is absent as null; the same rows give the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    kinds = {"text": pa.string(), "whole": pa.int64(), "number": pa.float64(), "flag": pa.bool_()}
    schema = pa.schema([(column, kinds[_KINDS.get(column, "text")]) for column in COLUMNS])
    plain = [{column: visible(value) if isinstance(value, str) else value for column, value in row.items()} for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        parquet.write_table(pa.Table.from_pylist(plain, schema=schema), temporary, compression="zstd")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def filter_rows(rows: Sequence[Row], wanted: Mapping[str, str]) -> list[Row]:
    """The rows whose columns equal the wanted values as text (`null` for absent, `true` and `false`).

    Raises ConfigError for a column that does not exist, naming the nearest one.
    """
    for column in wanted:
        if column not in COLUMNS:
            near = difflib.get_close_matches(column, COLUMNS, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]}?" if near else f"the columns are {', '.join(COLUMNS)}"
            raise ConfigError(f"{column} is not a column; {hint}")
    return [row for row in rows if all(_equals(row[column], value) for column, value in wanted.items())]


def render(rows: Sequence[Row], format: Format) -> str:
    """The rows as an aligned table of the most useful columns, or as CSV or JSON with all of them; no line end at the end."""
    if format == "json":
        return json.dumps(list(rows), indent=2, ensure_ascii=False)
    return _csv(rows) if format == "csv" else _table(rows)


def _run_values(run: Run) -> Row:
    probe = run.probe
    # An untrained model is its architecture: whatever budget and seed its Run carries is no part of the question.
    untrained = isinstance(probe, Latency) and probe.weights == "untrained"
    return {
        "dataset": run.dataset.name,
        "dataset_fingerprint": run.dataset.fingerprint,
        "fold": run.dataset.fold,
        "budget": None if untrained else str(run.budget.labels),
        "draw": None if untrained else run.budget.draw,
        "seed": None if untrained else run.seed,
        "model": run.model.name,
        "longdoc": run.longdoc.label,
        "precision": precision_of(run),
        "probe": probe.kind,
        "threads": probe.threads,
        "engine": probe.engine if isinstance(probe, Latency) else None,
        "scenario": probe.scenario if isinstance(probe, Latency) else None,
        "batch_size": probe.batch_size if isinstance(probe, Latency) else None,
    }


def precision_of(run: Run) -> str:
    """The number format a Run computes in; closed-form models use NumPy's float64, and answers from a file do not say."""
    return "unknown" if isinstance(run.model, Predictions) else str(getattr(run.model, "precision", "float64"))


def _row(values: Row, **more: Any) -> Row:
    known = values | more
    return {column: known.get(column) for column in COLUMNS}


def _order(row: Row) -> tuple[Any, ...]:
    budget = float("inf") if row["budget"] in (None, "all") else float(row["budget"])
    text = [row[column] or "" for column in ("model", "longdoc", "precision", "probe", "engine", "scenario")]
    numbers = [-1 if row[column] is None else row[column] for column in ("draw", "seed")]
    return (row["dataset"] or "", -1 if row["fold"] is None else row["fold"], budget, *text, *numbers, row["run_id"] or "")


def _equals(value: Any, wanted: str) -> bool:
    if isinstance(value, float):
        try:
            return value == float(wanted)
        except ValueError:
            return False
    if value is None:
        return wanted.lower() in ("null", "")
    return str(value).lower() == wanted.lower() if isinstance(value, bool) else str(value) == wanted


def _csv(rows: Iterable[Row]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_csv_cell(row[column]) for column in COLUMNS] for row in rows)
    return out.getvalue().removesuffix("\n")


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    # Spreadsheets run a cell that starts like this; names and messages may come from strangers.
    if not isinstance(value, str):
        return str(value)
    risky = value.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "\n", *"＝＋－＠"))  # the wide forms too
    # The writer leaves a lone carriage return unquoted, and readers take it for the end of a row.
    return ("'" if risky else "") + visible(value).replace("\r\n", "\n").replace("\r", "\n")


def _table(rows: Sequence[Row]) -> str:
    if not rows:
        return "no records"
    columns = [column for column in TABLE_COLUMNS if any(row[column] is not None for row in rows)]
    cells = [[_table_cell(row[column]) for column in columns] for row in rows]
    widths = [max(len(text) for text in column) for column in zip(columns, *cells, strict=True)]
    numeric = [all(isinstance(row[column], int | float | None) for row in rows) for column in columns]
    lines = [
        "  ".join(text.rjust(width) if right else text.ljust(width) for text, width, right in zip(line, widths, numeric, strict=True))
        for line in [columns, *cells]
    ]
    return "\n".join(line.rstrip() for line in lines)


def _table_cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.3f}"
    text = " ".join(str("" if value is None else value).split())
    return text if len(text) <= _WIDEST_CELL else text[: _WIDEST_CELL - 1] + "…"
