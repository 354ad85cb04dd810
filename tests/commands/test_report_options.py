"""Options of `bakeoff report`: dirty records, a page with texts, and the W&B run of a page."""

from pathlib import Path
from typing import Any

import pytest

import bakery
import factories
from bakeoff import config
from bakeoff.commands import report as command
from bakeoff.commands.report import report
from bakeoff.data.dataset import prepare
from bakeoff.errors import ConfigError, DataError
from bakeoff.record import Provenance
from bakeoff.spec import Run
from bakeoff.store import Store, default_root

SWEEP = """\
name: mine
method: grid
parameters:
  dataset: {value: csv}
  dataset.path: {value: mail.csv}
  dataset.text: {value: text}
  dataset.label: {value: label}
  model: {value: tfidf}
  budget.labels: {value: 10}
  seed: {values: [0, 1]}
"""
FILE = Path("mine.yaml")
DIRTY = Provenance(commit="fedcba0987654321", dirty=True, versions={})


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Two Runs of a sweep over a file in the working directory, with answers to its test rows that are all wrong."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BAKEOFF_CACHE", str(tmp_path / "cache"))
    bakery.write_csv(tmp_path / "mail.csv", bakery.rows(300))
    FILE.write_text(SWEEP)
    return [cell.run for cell in config.load_sweep(FILE, []).cells if cell.run is not None]


def bake(runs: list[Run], **changes: Any) -> None:
    for run in runs:
        test = prepare(run.dataset).test
        record = factories.save(Store(default_root()), run, test.labels, 1 - test.labels, **changes)
        assert record.quality["test"].accuracy == 0.0
        rename_rows(run, test.row_ids)


def rename_rows(run: Run, row_ids: tuple[str, ...]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path = Store(default_root()).folder(run.run_id) / "predictions.parquet"
    table = parquet.read_table(path)
    parquet.write_table(table.set_column(0, "row_id", pa.array(row_ids, pa.string())), path)


def test_dirty_records_are_refused_and_shown_when_that_is_allowed(runs: list[Run]) -> None:
    bake(runs, provenance=DIRTY)
    with pytest.raises(DataError, match=r"^2 of 2 records come from code with uncommitted changes .*--allow-dirty"):
        report([FILE], [], out=Path("reports"), evidence=False)
    text = report([FILE], [], out=Path("reports"), evidence=False, allow_dirty=True).read_text()
    assert "> 2 of 2 records come from a dirty commit" in text


def test_texts_stand_on_a_page_of_their_own_that_git_ignores(runs: list[Run]) -> None:
    bake(runs)
    plain = report([FILE], [], out=Path("reports"), evidence=False)
    shown = report([FILE], [], out=Path("reports"), evidence=False, show_texts=True)
    assert (plain.parent.name, shown.parent.name) == ("mine", "mine-contains-data")
    assert (shown.parent / ".gitignore").read_text() == "*\n"
    text = prepare(runs[0].dataset).test.texts[0]
    assert text in shown.read_text()
    assert text in (shown.parent / "index.html").read_text()
    assert "This page contains data" in shown.read_text()
    for path in plain.parent.rglob("*"):
        assert path.is_dir() or text.encode() not in path.read_bytes()


@pytest.mark.parametrize("other", ["evidence", "wandb"])
def test_a_page_with_texts_goes_nowhere_else(runs: list[Run], other: str) -> None:
    options = {"evidence": False, "wandb": False} | {other: True}
    with pytest.raises(
        ConfigError, match=r"^--show-texts builds a page that contains data and stays here: leave out --evidence and --wandb$"
    ):
        report([FILE], [], out=Path("reports"), show_texts=True, **options)
    assert not Path("reports").exists()


def test_a_page_is_mirrored_with_its_table_and_its_figures(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    bake(runs)
    ended: dict[str, Any] = {}

    class Fake:
        @classmethod
        def start_report(cls, name: str, **options: Any) -> "Fake":
            ended.update(name=name, mode=options["machine"].wandb, root=options["root"])
            return cls()

        def finish_report(self, tables: Any, pages: Any) -> None:
            ended.update(tables=tables, pages=pages)

    monkeypatch.setattr(command, "Mirror", Fake)
    page = report([FILE], ["machine.wandb=offline"], out=Path("reports"), evidence=False, wandb=True)
    assert (ended["name"], ended["mode"], ended["root"]) == ("mine", "offline", default_root())
    (table,) = ended["tables"]
    assert table.columns[0] == "run_id"
    assert {row[0] for row in table.rows} == {run.run_id for run in runs}
    assert ended["pages"]["page"] == page.parent / "index.html"
    assert set(ended["pages"]) - {"page"} == {f"figures/{path.stem}" for path in (page.parent / "figures").iterdir()}
