"""What an answer costs in all, worked out by hand."""

from pathlib import Path

import pytest

import factories
from bakeoff.report.candidates import candidates
from bakeoff.report.costs import Prices, costs
from bakeoff.report.pages import write_report
from bakeoff.report.summary import sections
from bakeoff.report.timing import sessions
from bakeoff.report.total_cost import total_cost_blocks, totals
from bakeoff.spec import Run
from bakeoff.store import Store
from factories import cell, sweep_of

PRICES = Prices(currency="EUR", cpu_core_hour=3.6, gpu_hour=10.0, note="an example", label=0.1)


@pytest.fixture
def runs(store: Store) -> list[Run]:
    """Two models at two budgets, two seeds each, and a latency of both; a third is not timed."""
    found = [
        factories.make_run(model=model, labels=labels, seed=seed)
        for model in ("bilstm", "pretrained", "tfidf")
        for labels in (100, 1000)
        for seed in (0, 1)
    ]
    for run in found:
        factories.bake(store, run, accuracy=0.8 if run.model.kind == "pretrained" else 0.7)
    for model, ms in (("bilstm", 1.0), ("pretrained", 10.0)):
        found.append(factories.make_latency_run(model=model))
        factories.bake_latency(store, found[-1], factories.make_latency_facts(p50_ms=ms, ratio=ms))
    return found


def test_labels_training_and_a_million_predictions_add_up(store: Store, runs: list[Run]) -> None:
    (section,) = sections(runs, store)
    records = store.load_all()
    timed = sessions(records, candidates(runs))
    found = {(one.standing.candidate.kind, one.n_labels): one for one in totals(section, costs(timed, section), PRICES)}
    assert set(found) == {(kind, labels) for kind in ("bilstm", "pretrained") for labels in (100, 1000)}
    one = found["pretrained", 1000]
    # 3.6 an hour is 0.001 a second: 12.5 s of training; a million predictions at 900 / 10 a second.
    assert one.labels == pytest.approx(100.0)
    assert one.training == pytest.approx(0.0125)
    assert one.predictions == pytest.approx(1_000_000 / 90 * 0.001)
    assert one.total == pytest.approx(100 + 0.0125 + 1_000_000 / 90 * 0.001)


def test_the_page_has_it_only_with_the_price_of_a_label(store: Store, runs: list[Run], tmp_path: Path) -> None:
    text = write_report([sweep_of(*map(cell, runs))], store, tmp_path / "page", prices=PRICES).read_text()
    assert "## Total cost: reviews on Example CPU 3.0, 2 CPUs, 8 GB, torch 2.13.0" in text
    part = text.partition("## Total cost")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| ")]
    assert [row[:2] + row[3:5] for row in rows[1:]] == [
        ["bilstm", "100", "11.1", "10.0"],
        ["pretrained (minilm-l6)", "100", "21.1", "10.0"],
        ["bilstm", "1,000", "101", "100"],
        ["pretrained (minilm-l6)", "1,000", "111", "100"],
    ]
    assert list((tmp_path / "page" / "figures").glob("total-cost-*.svg"))
    free = Prices(currency="EUR", cpu_core_hour=3.6, gpu_hour=10.0, note="an example")
    assert total_cost_blocks(sections(runs, store), sessions(store.load_all(), candidates(runs)), free) == []
    with pytest.raises(ValueError, match="the price of a label is not given"):
        totals(sections(runs, store)[0], [], free)
