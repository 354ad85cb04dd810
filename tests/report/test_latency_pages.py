"""Pages with latency Runs: the golden one, and what is said of contention, missing percentiles, engines and candidates not timed."""

import dataclasses
import os
import re
from pathlib import Path
from typing import Any

import pytest

import factories
from bakeoff.record import Agreement, MachineFacts
from bakeoff.report.costs import Prices
from bakeoff.report.evidence import read_evidence, write_evidence
from bakeoff.report.pages import write_report
from bakeoff.spec import LongDoc, Run
from bakeoff.store import Store
from bakeoff.sweep import Sweep
from factories import cell, sweep_of

GOLDEN = Path(__file__).parent / "golden" / "latency.md"
PRICES = Prices(currency="USD", cpu_core_hour=0.05, gpu_hour=2.0, note="an example")


@pytest.fixture
def timed(store: Store) -> Sweep:
    """Two quality models and two sizes without a checkpoint, on two engines, offline and by length; one latency Run is missing."""
    bert, distilbert = factories.encoder("bert_base", layers=12), factories.encoder("distilbert", layers=6)
    cells = []
    for model, ms in (("bilstm", 1.0), ("tfidf", 0.31), ("pretrained", 12.0), (bert, 40.0), (distilbert, 20.5)):
        run = factories.make_latency_run(model=model)
        factories.bake_latency(store, run, factories.make_latency_facts(p50_ms=ms, ratio=ms))
        cells.append(cell(run))
    int8 = factories.make_latency_run(model="pretrained", engine="onnx_int8", weights="trained", labels=1000)
    agreement = Agreement(n=200, max_probability_difference=0.0123, changed_labels=3, tolerance=1e-4)
    facts = factories.make_latency_facts(p50_ms=4.0, ratio=4.0, agreement=agreement, engine_versions={"onnxruntime": "1.27.0"})
    labels, predicted = factories.make_predictions(accuracy=0.785)
    factories.write_predictions(store.folder(int8.run_id), labels, predicted)
    factories.bake_latency(store, int8, facts, quality={"test": factories.split_quality(labels, predicted)})
    cells.append(cell(int8))
    for model, ms, batch in (("bilstm", 0.2, 64), ("pretrained", 8.0, 8)):
        run = factories.make_latency_run(model=model, scenario="offline")
        facts = factories.make_latency_facts(p50_ms=ms, ratio=ms, batch_size=batch, session_id="0ff11ae0")
        factories.bake_latency(store, run, facts)
        cells.append(cell(run))
    for model, grid in (
        ("bilstm", factories.make_grid(fixed_ms=0.4, ms_a_token=0.01)),
        ("pretrained", factories.make_grid(fixed_ms=6.0, ms_a_token=0.02, exponent=1.3, most=512)),
    ):
        run = factories.make_latency_run(model=model, lengths="grid")
        factories.bake_latency(store, run, factories.make_latency_facts(p50_ms=1.0, grid=grid))
        cells.append(cell(run))
    cells.append(cell(factories.make_latency_run(model="bilstm", engine="compile")))
    return sweep_of(*cells, name="latency")


def test_golden_latency_page(small: Sweep, timed: Sweep, store: Store, tmp_path: Path) -> None:
    """`BAKEOFF_WRITE_GOLDEN=1` writes it anew; read the difference before you commit it."""
    written = write_report([small, timed], store, tmp_path / "page", prices=PRICES)
    if os.environ.get("BAKEOFF_WRITE_GOLDEN"):
        GOLDEN.write_text(written.read_text())
    assert written.read_text() == GOLDEN.read_text()


def row(markdown: str, *starts: str) -> list[str]:
    """The cells of the first table row whose first cells are `starts`."""
    (line, *_) = [line for line in markdown.splitlines() if line.startswith(f"| {' | '.join(starts)} |")]
    return [text.strip() for text in line.strip("|").split("|")]


def page(store: Store, *sweeps: Sweep) -> str:
    """The Markdown of these sweeps."""
    return write_report(sweeps, store, store.root.parent / "page", prices=PRICES).read_text()


def latency(
    store: Store, model: Any = "bilstm", *, p50_ms: float = 1.0, ratio: float | None = 1.0, changes: Any = None, **probe: Any
) -> Run:
    """A latency Run with a record; `changes` are those of its facts."""
    run = factories.make_latency_run(model=model, **probe)
    factories.bake_latency(store, run, factories.make_latency_facts(p50_ms=p50_ms, ratio=ratio, **(changes or {})))
    return run


def test_html_is_balanced_holds_the_same_numbers_and_needs_nothing_from_outside(small: Sweep, timed: Sweep, store: Store) -> None:
    markdown = page(store, small, timed)
    html = (store.root.parent / "page" / "index.html").read_text()
    assert re.findall(r"(?:src|href|url|action)\W+(?:https?:)?//", re.sub(r'xmlns(:xlink)?="[^"]+"', "", html)) == []
    plain = re.sub(r"<[^>]+>", " ", html)
    for number in re.findall(r"\d+\.\d+", markdown.split("## Every number again")[0]):
        assert number in plain
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_figures_of_latency_are_written_and_stale_ones_go(small: Sweep, timed: Sweep, store: Store) -> None:
    page(store, small, timed)
    figures = store.root.parent / "page" / "figures"
    of_quality = {"reviews-accuracy.svg", *(f"{name}-reviews.svg" for name in ("calibration", "classes", "confusion", "coverage"))}
    assert {path.name for path in figures.iterdir()} == of_quality | {
        "front-reviews-on-example-cpu-3-0-2-cpus-8-gb-torch-2-13-0.svg",
        "percentiles-reviews-cpu-1-single-5e5510a0.svg",
        "length-reviews-cpu-1-single-5e5510a0.svg",
    }
    page(store, small)
    assert {path.name for path in figures.iterdir()} == of_quality


def test_a_page_of_latency_alone_answers_without_scores(store: Store) -> None:
    found = page(store, sweep_of(cell(latency(store)), cell(latency(store, "pretrained", p50_ms=22.0, ratio=22.0)), name="latency"))
    assert "Nothing is baked yet" not in found
    assert (
        "- **reviews, one document at a time on the CPU with 1 thread: bilstm answers fastest** (median 1.00 ms, 95th percentile 2.00 ms, "
        "1.00 times the reference, 95% interval of the median 0.950 to 1.05 ms). pretrained (minilm-l6): median 22.0 ms, "
        "95th percentile 44.0 ms, 22.0 times the reference." in found
    )
    assert row(found, "pretrained (minilm-l6) / BiLSTM reference")[1:] == ["22.0× (20.9× to 23.1×)", "about 20×"]
    assert "Accuracy against latency" not in found
    assert "What they cost to serve is not measured here" not in found


def test_of_two_sessions_of_a_kind_each_says_how_many_models_it_timed(store: Store) -> None:
    other = factories.make_latency_run(model="tfidf")
    factories.bake_latency(store, other, factories.make_latency_facts(p50_ms=0.5, ratio=0.5, session_id="0ff11ae0-20260102T030405Z"))
    found = page(store, sweep_of(cell(latency(store)), cell(other), name="latency"))
    for model, session in (("bilstm", "5e5510a0"), ("tfidf", "0ff11ae0")):
        assert (
            f"- **reviews, one document at a time on the CPU with 1 thread, the 1 timed in session {session}: {model} answers fastest**"
            in found
        )


def test_twelve_layers_over_six_by_way_of_the_reference(store: Store) -> None:
    runs = [
        latency(store, factories.encoder("bert_base", layers=12), p50_ms=40.0, ratio=40.0),
        latency(store, factories.encoder("distilbert", layers=6), p50_ms=20.0, ratio=20.0),
        latency(store, factories.encoder("narrow", layers=6, width=384), p50_ms=9.0, ratio=9.0),
    ]
    found = page(store, sweep_of(*map(cell, runs)))
    # log intervals: ln 1.05 and ln 0.95 combined with one another, sqrt(0.04879² + 0.05129²) = 0.07079.
    assert row(found, "bert_base / distilbert")[1:] == ["2.00× (1.86× to 2.15×)", "6 layers 60% faster than 12, which is 1.6×"]
    assert "bert_base / narrow" not in found


def test_a_contended_session_is_marked_and_left_out_of_ratios_and_of_the_front(small: Sweep, store: Store) -> None:
    busy = {"contended": True, "foreign_cpu_share": 0.83}
    runs = [latency(store, model, p50_ms=ms, ratio=ms, changes=busy) for model, ms in (("tfidf", 0.3), ("pretrained", 22.0))]
    found = page(store, small, sweep_of(*map(cell, runs), name="latency"))
    assert "**reviews, one document at a time on the CPU with 1 thread: not settled.** Session 5e5510a0 was contended" in found
    assert "### reviews, one document at a time on the CPU with 1 thread, session 5e5510a0 (contended)" in found
    assert "> Contended: other processes used 0.83 cores during session 5e5510a0." in found
    assert "times the reference" not in found
    assert "about 20×" not in found
    assert "| 5e5510a0 (contended) |" in found
    assert not list((store.root.parent / "page" / "figures").glob("front-*"))


def test_a_percentile_without_samples_says_why(store: Store) -> None:
    few = {"p95_ms": None, "missing": {"p95_ms": "400 samples, and it takes 1,000"}}
    found = page(store, sweep_of(cell(latency(store, changes=few)), cell(latency(store, "tfidf"))))
    assert "- p95 left empty: 400 samples, and it takes 1,000 (bilstm)." in found
    assert row(found, "bilstm")[7] == "–"
    assert row(found, "tfidf")[7] == "2.00 (1.90 to 2.10)"
    assert "p99 ms" not in found  # nobody has one, so it has no column, and its reason stands below
    assert "- p99 left empty: 2,000 samples, and it takes 5,000 (tfidf)." in found


def test_what_was_not_timed_is_neither_slow_nor_fast_and_has_its_command(small: Sweep, store: Store) -> None:
    found = page(store, small, sweep_of(cell(latency(store, "pretrained", threads=2)), name="latency"))
    joined = found.split("## Accuracy against latency")[1].split("## Latency")[0]
    assert row(joined, "pretrained (minilm-l6)")[5:10] == [
        "eager",
        "quality Runs",
        "cpu, 2 threads",
        "1.00 (0.950 to 1.05)",
        "2.00 (1.90 to 2.10)",
    ]
    assert row(joined, "tfidf")[5:] == ["–", "quality Runs", "–", "not measured", "not measured", "–", "–"]
    assert "- Not measured, so neither slow nor fast: tfidf and majority. To have it measured:" in joined
    assert "bakeoff run dataset=reviews model=tfidf probe=latency probe.device=cpu probe.threads=2\n" in joined


@pytest.mark.parametrize(
    ("model_changes", "dataset_changes", "joins"),
    [
        ({"training": dataclasses.replace(factories.TRAINING, epochs=9)}, {}, True),
        ({}, {"name": "renamed"}, True),
        ({"precision": "bfloat16"}, {}, False),
        ({"pooling": "cls"}, {}, False),
        ({}, {"fingerprint": "b" * 64}, False),
    ],
    ids=["another recipe", "another name", "another precision", "another architecture", "another dataset"],
)
def test_quality_joins_on_dataset_architecture_and_precision(
    store: Store, model_changes: dict[str, Any], dataset_changes: dict[str, Any], joins: bool
) -> None:
    quality = factories.make_run(model="pretrained", labels=1000)
    factories.bake(store, quality, accuracy=0.8)
    model = dataclasses.replace(factories.MODELS["pretrained"], **model_changes)
    timed = latency(store, model, dataset=factories.make_dataset(**dataset_changes))
    found = page(store, sweep_of(cell(quality)), sweep_of(cell(timed), name="latency"))
    joined = found.split("## Accuracy against latency")[1].split("## Latency")[0] if "## Accuracy against latency" in found else ""
    assert ("| 1.00 (0.950 to 1.05) | 2.00 (1.90 to 2.10) | untrained |" in joined) == joins


def test_another_reading_is_not_joined(store: Store) -> None:
    quality = factories.make_run(model="pretrained", labels=1000)
    factories.bake(store, quality, accuracy=0.8)
    timed = dataclasses.replace(factories.make_latency_run(model="pretrained"), longdoc=LongDoc(strategy="head", max_tokens=128))
    factories.bake_latency(store, timed, factories.make_latency_facts(p50_ms=1.0))
    found = page(store, sweep_of(cell(quality)), sweep_of(cell(timed), name="latency"))
    assert row(found.split("## Accuracy against latency")[1], "pretrained (minilm-l6)")[7:9] == ["not measured", "not measured"]


def test_an_engine_that_changes_answers_is_judged_on_its_own(small: Sweep, store: Store) -> None:
    changed = Agreement(n=200, max_probability_difference=0.2, changed_labels=9, tolerance=1e-4)
    same = Agreement(n=200, max_probability_difference=5e-9, changed_labels=0, tolerance=1e-4)
    runs = [
        latency(store, "pretrained", engine="onnx_int8", changes={"agreement": changed}),
        latency(store, "pretrained", engine="onnx", changes={"agreement": same}),
    ]
    joined = page(store, small, sweep_of(*map(cell, runs), name="latency")).split("## Accuracy against latency")[1].split("## Cost")[0]
    scores = {
        line.split(" | ")[5]: line.split(" | ")[3:7]
        for line in joined.splitlines()
        if line.startswith("| pretrained (minilm-l6) | head-256")
    }
    assert scores["onnx"] == ["71.0 (65.7 to 76.3)", "80.5 (75.7 to 85.3)", "onnx", "quality Runs"]
    assert scores["onnx int8"] == ["–", "–", "onnx int8", "not measured"]
    assert "- pretrained (minilm-l6) · onnx int8: this engine changes answers, so the score of other Runs is not its own;" in joined
    assert "9 of 200 labels (probabilities ± 0.2)" in joined


def test_machines_never_share_a_table(small: Sweep, store: Store) -> None:
    other = MachineFacts(processor="Other CPU", usable_cpus=8, memory_gb=32.0, gpu=None, device="cpu")
    here = latency(store, "pretrained")
    there = factories.make_latency_run(model="tfidf", machine="Other CPU, 8 CPUs")
    factories.bake_latency(store, there, factories.make_latency_facts(p50_ms=0.1, ratio=0.1, session_id="07e50000"), machine=other)
    found = page(store, small, sweep_of(cell(here), cell(there), name="latency"))
    for heading in ("## Accuracy against latency: reviews on", "## Cost: reviews on"):
        assert found.count(heading) == 2
        assert f"{heading} Other CPU, 8 CPUs, 32 GB, torch 2.13.0\n" in found
    blocks = found.split("## Accuracy against latency")[1:3]
    assert [row(block, "tfidf")[8] for block in blocks] == ["not measured", "0.100 (0.0950 to 0.105)"]


def test_another_machines_answer_to_the_same_question_counts_where_this_one_has_none(store: Store) -> None:
    asked = factories.make_latency_run(machine="this machine")
    recorded = latency(store, machine="that machine")
    assert asked.run_id != recorded.run_id
    found = page(store, sweep_of(cell(asked), name="latency"))
    assert "1 of 1 Run have a record" in found
    assert row(found, "bilstm")[5] == "1.00 (0.950 to 1.05)"
    assert f"| {asked.run_id} | ok |  | 1.00 |" in found
    latency(store, p50_ms=3.0, machine="this machine")
    assert row(page(store, sweep_of(cell(asked), name="latency")), "bilstm")[5] == "3.00 (2.85 to 3.15)"


def test_cost_by_hand(small: Sweep, store: Store) -> None:
    runs = [latency(store, "pretrained", changes={"throughput_per_second": 100.0})]
    runs.append(latency(store, "pretrained", scenario="offline", changes={"throughput_per_second": 250.0, "session_id": "0ff1"}))
    found = row(page(store, small, sweep_of(*map(cell, runs), name="latency")).split("## Cost")[1], "pretrained (minilm-l6)")
    # 1,000,000 / 250 a second = 4,000 s of one core at 0.05 an hour; training 12.5 s of one core.
    assert found[4:7] == ["cpu, 1 thread", "0.0556", "0.00017"]
    assert found[-3:] == ["250", "500", "12.5"]


def test_names_from_strangers_are_escaped_in_latency_tables(store: Store) -> None:
    dataset = factories.make_dataset(name="a|b<img src=x>")
    found = page(store, sweep_of(cell(latency(store, dataset=dataset, changes={"notes": ("<script>x</script>",)}))))
    html = (store.root.parent / "page" / "index.html").read_text()
    for text in (re.sub("`[^`]*`", "", found), html):
        assert "<img src=x>" not in text
        assert "<script>x" not in text


def test_records_of_latency_rebuild_the_page_without_raw_samples(small: Sweep, timed: Sweep, store: Store, tmp_path: Path) -> None:
    for run in timed.runs:
        if store.folder(run.run_id).exists():
            (store.folder(run.run_id) / "latency.parquet").write_bytes(b"raw")
    first, again = tmp_path / "first", tmp_path / "again"
    write_report([small, timed], store, first, prices=PRICES)
    write_evidence([small, timed], store, first)
    assert not list((first / "records").rglob("latency.parquet"))
    kept = Store(first / "records")
    write_report(read_evidence(kept).sweeps, kept, again, prices=PRICES)
    for name in ("README.md", "index.html", "records.csv"):
        assert (first / name).read_bytes() == (again / name).read_bytes()
    assert {path.name for path in (first / "figures").iterdir()} == {path.name for path in (again / "figures").iterdir()}


def test_a_record_from_another_machine_stands_in_the_evidence(store: Store, tmp_path: Path) -> None:
    asked, recorded = factories.make_latency_run(machine="this machine"), latency(store, machine="that machine")
    write_evidence([sweep_of(cell(asked))], store, tmp_path)
    assert [path.name for path in (tmp_path / "records").iterdir() if path.is_dir()] == [recorded.run_id]
    kept = Store(tmp_path / "records")
    written = write_report(read_evidence(kept).sweeps, kept, tmp_path / "page")
    assert row(written.read_text(), "bilstm")[5] == "1.00 (0.950 to 1.05)"
