"""The forms of a page: what each number and figure says of its Runs, tables that sort, print, CSV and Parquet, and texts from strangers."""

import csv
import dataclasses
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as parquet
import pytest

import factories
from bakeoff.report import frame
from bakeoff.report.pages import write_report
from bakeoff.report.plain import one_line, visible
from bakeoff.spec import Run
from bakeoff.store import Store
from bakeoff.sweep import Sweep
from factories import cell, sweep_of


@pytest.fixture
def page(small: Sweep, store: Store, tmp_path: Path) -> Path:
    return write_report([small], store, tmp_path / "page").parent


def test_every_score_and_figure_leads_to_its_runs_and_each_run_to_its_line(page: Path, store: Store) -> None:
    html, markdown = (page / "index.html").read_text(), (page / "README.md").read_text()
    recorded = {record.run_id for record in store.load_all()}
    rows = re.findall(r'<tr[^>]* data-runs="([^"]+)"', html)
    assert {run for row in rows for run in row.split()} == recorded
    assert set(re.findall(r'href="#run-([0-9a-f]{12})"', html)) == recorded
    anchors = re.findall(r'<tr id="run-([0-9a-f]{12})">', html)
    assert len(anchors) == len(set(anchors))
    assert recorded <= set(anchors)
    assert re.search(r"^### reviews, 100 labels\[\^\d+\]$", markdown, re.MULTILINE)
    marks = set(re.findall(r"[^\n]\[\^(\d+)\]", markdown))
    assert set(re.findall(r"^\[\^(\d+)\]: Runs: ", markdown, re.MULTILINE)) == marks
    assert set(re.findall(r"\b[0-9a-f]{12}\b", markdown.partition("[^1]: ")[2])) == recorded


def test_a_figure_says_what_it_was_drawn_from(page: Path, store: Store) -> None:
    for path in (page / "figures").glob("*.svg"):
        said = ElementTree.fromstring(path.read_text()).findtext("{http://www.w3.org/2000/svg}desc")
        assert said is not None
        assert re.fullmatch(r"Drawn from the Runs( [0-9a-f]{12})+", said)
        assert set(said.split()[4:]) <= {record.run_id for record in store.load_all()}


def test_tables_sort_with_a_script_and_are_whole_without_one(page: Path) -> None:
    html = (page / "index.html").read_text()
    assert html.count('<table class="sortable">') >= 4
    without = re.sub(r"<script>.*</script>", "", html, flags=re.DOTALL)
    assert without.index("<tbody>") < without.index("pretrained (minilm-l6)", without.index("<tbody>"))


def test_print_is_dark_on_white_whatever_the_screen(page: Path) -> None:
    html = (page / "index.html").read_text()
    printed = html[html.index("@media print") :]
    assert printed.index("--paper: #ffffff") < printed.index("</style>")
    assert html.index("@media (prefers-color-scheme: dark)") < html.index("@media print")
    assert "break-inside: avoid" in printed


def test_parquet_holds_the_rows_of_the_csv_as_numbers(page: Path) -> None:
    table = parquet.read_table(page / "records.parquet")
    rows = table.to_pylist()
    assert tuple(table.column_names) == frame.COLUMNS
    assert frame.render(rows, "csv") + "\n" == (page / "records.csv").read_text()
    assert {str(table.schema.field(name).type) for name in ("seed", "accuracy", "dirty", "run_id")} == {"int64", "double", "bool", "string"}


@pytest.mark.parametrize("value", ["=cmd()", "+1", "-1", "@x", "\t=x", "\r=x", "\n=x", " =x", "＝x"])
def test_no_cell_of_a_csv_starts_a_formula(store: Store, value: str) -> None:
    rows = [dict.fromkeys(frame.COLUMNS) | {"model": value, "loss": -0.5}]
    (row,) = csv.DictReader(io.StringIO(frame.render(rows, "csv"), newline=""))
    assert row["model"] == "'" + value.replace("\r", "\n")
    assert row["loss"] == "-0.5"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u202eb", "a\\u202eb"),
        ("x\u200by", "x\\u200by"),
        ("\x00\x1b[31m", "\\u0000\\u001b[31m"),
        ("a\ud800", "a\\ud800"),
        ("é 日本 😀\n", "é 日本 😀\n"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, seen: str) -> None:
    assert visible(text) == seen


def test_one_line() -> None:
    assert one_line(" a\n\tb \u2028 c") == "a b c"


HOSTILE = "<script>x</script>|`=cmd()`\n# head \u202e\u2066 [^1] ![i](http://e)"


def test_what_strangers_name_is_shown_and_does_nothing(store: Store, tmp_path: Path) -> None:
    dataset = factories.make_dataset(name=HOSTILE, description=HOSTILE)
    model = dataclasses.replace(factories.MODELS["tfidf"], name=HOSTILE)
    runs = [factories.make_run(model=model, labels=labels, seed=seed, dataset=dataset) for labels in (100, 1000) for seed in (0, 1, 2)]
    for run in runs[:-1]:
        factories.bake(store, run, accuracy=0.7)
    store.write_failure(runs[-1], type_=HOSTILE, message=HOSTILE, trace=[])
    markdown = write_report([sweep_of(*map(cell, runs))], store, tmp_path / "page").read_text()
    html = (tmp_path / "page" / "index.html").read_text()
    assert "<script>x" not in html
    assert "<script>x" not in re.sub(r"`[^`]*`", "", markdown)
    for text in (html, markdown, (tmp_path / "page" / "records.csv").read_text()):
        assert not {"\u202e", "\u2066"} & set(text)
    table = [line for line in markdown.splitlines() if line.startswith("| ") and "cmd" in line and "bakeoff run" not in line]
    assert table
    assert all(len(re.findall(r"(?<!\\)\|", line)) in (4, 6, 7, 15) for line in table)
    assert "![i](http" not in re.sub(r"`[^`]*`", "", markdown)
    for path in (tmp_path / "page" / "figures").glob("*.svg"):
        ElementTree.fromstring(path.read_text())


def test_a_page_with_texts_says_so_in_both_forms(store: Store, tmp_path: Path) -> None:
    run: Run = factories.make_run(labels=1000)
    factories.bake(store, run, accuracy=0.7)
    texts = {run.dataset.fingerprint: {f"{row:016x}": f"the <b>{row}</b>" for row in range(200)}}
    markdown = write_report([sweep_of(cell(run))], store, tmp_path / "page", texts=texts).read_text()
    html = (tmp_path / "page" / "index.html").read_text()
    assert "> This page contains data: texts of the dataset stand on it." in markdown
    assert "This page contains data:" in html
    assert len(re.findall(r"the &lt;b&gt;\d+&lt;/b&gt;", html)) == 20
    assert "the <b>" not in html
    without = write_report([sweep_of(cell(run))], store, tmp_path / "other").read_text()
    assert "contains data" not in without
    assert "surest mistakes" not in without
