"""`bakeoff report` on the records of a committed page: no data, no network, the same bytes."""

import shutil
from pathlib import Path

import pytest

import bakery
import factories
from bakeoff import config
from bakeoff.commands.report import report
from bakeoff.errors import DataError
from bakeoff.store import Store, default_root

SWEEP = """\
name: mine
method: grid
parameters:
  dataset: {value: csv}
  dataset.path: {value: PATH}
  dataset.text: {value: text}
  dataset.label: {value: label}
  model: {values: [majority, tfidf]}
  budget.labels: {values: [10, 5000]}
  seed: {values: [0, 1, 2]}
"""
OVERRIDES = ["seed=0,1"]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page with its evidence, of a sweep whose data and store are gone: three Runs recorded, one failed, four cells refused."""
    monkeypatch.chdir(tmp_path)
    data, sweep = bakery.write_csv(tmp_path / "mail.csv", bakery.rows(60)), Path("mine.yaml")
    sweep.write_text(SWEEP.replace("PATH", str(data)))
    store = Store(default_root())
    runs = [cell.run for cell in config.load_sweep(sweep, OVERRIDES).cells if cell.run is not None and cell.run.budget.labels == 10]
    for run in runs[:3]:
        factories.bake(store, run, accuracy=0.7)
    store.write_failure(runs[3], type_="RuntimeError", message="out of memory", trace=[])
    written = report([sweep], OVERRIDES, out=Path("reports"), evidence=True)
    for gone in (data, sweep):
        gone.unlink()
    shutil.rmtree(store.root)
    monkeypatch.setenv("BAKEOFF_RUNS", "reports/mine/records")
    return written.parent


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_page_is_rebuilt_without_data(page: Path) -> None:
    before = contents(page)
    text = before["README.md"].decode()
    assert "3 of 4 Runs have a record." in text
    assert text.count("| not applicable |") >= 2
    assert "RuntimeError: out of memory" in text
    assert "\nbakeoff sweep mine.yaml seed=0,1\nbakeoff report mine.yaml seed=0,1\n" in text
    again = report([Path("mine.yaml")], OVERRIDES, out=Path("elsewhere"), evidence=False).parent
    assert contents(again) == {name: text for name, text in before.items() if not name.startswith("records/")}
    report([Path("mine.yaml")], OVERRIDES, out=Path("reports"), evidence=True)
    assert contents(page) == before


def test_another_sweep_is_one_sentence(page: Path) -> None:
    with pytest.raises(
        DataError, match=r"reports/mine/records holds the evidence of mine and not of starter: name its own sweep, or unset"
    ):
        report([Path("mine.yaml"), Path("sweeps/starter.yaml")], OVERRIDES, out=Path("reports"), evidence=False)


def test_other_overrides_are_one_sentence(page: Path) -> None:
    with pytest.raises(DataError, match=r"holds the evidence of a page made with seed=0,1: give the same, or unset BAKEOFF_RUNS$"):
        report([Path("mine.yaml")], ["seed=0"], out=Path("reports"), evidence=False)


@pytest.mark.parametrize("plan", ["", "[]", '{"plan_version": 1}'])
def test_a_plan_that_is_none_is_one_sentence(page: Path, plan: str) -> None:
    (page / "records" / "plan.json").write_text(plan)
    with pytest.raises(DataError, match=r"plan.json (is no readable plan|has plan_version 1 where this bakeoff reads 2)"):
        report([Path("mine.yaml")], OVERRIDES, out=Path("reports"), evidence=False)
