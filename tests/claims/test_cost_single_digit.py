"""Claim single-digit-ms: the rule of `choose` over a made field."""

import dataclasses
from pathlib import Path

import made_bench
import numpy as np
import pytest
from made_bench import MadeBench

import factories
from bakeoff import record as records
from bakeoff import spec
from bakeoff.claims.claim import Answer, Baked, NotMeasured
from bakeoff.claims.cost import single_digit_ms
from bakeoff.store import Store

P50_MS = {"tfidf": 0.5, "frozen": 13.0, "bilstm": 1.0}
"""Every p95 is twice the median."""


def bench(folder: Path, *, right: dict[str, int], int8_ms: float = 3.0, int8: bool = True, contended: bool = False) -> MadeBench:
    """Two draws of each model; int8 changes one label and so has answers of its own, as right as the encoder's."""
    store = made_bench.store(folder)

    def scored(model: str) -> list[Baked]:
        runs = [factories.make_run(model=model, labels=1000, seed=seed) for seed in range(2)]
        return [made_bench.scored(store, run, right[model]) for run in runs]

    changed = records.Agreement(n=1000, max_probability_difference=0.05, changed_labels=1, tolerance=0.001)
    quality = factories.make_record(*_answers(right["pretrained"])).quality
    quantised = []
    for seed in range(2):
        probe = {"engine": "onnx_int8", "weights": "trained"}
        run = factories.make_latency_run(model="pretrained", labels=1000, **probe)
        run = dataclasses.replace(run, seed=seed, budget=dataclasses.replace(run.budget, draw=seed))
        facts = factories.make_latency_facts(p50_ms=int8_ms, ratio=int8_ms, agreement=changed, contended=contended)
        record = factories.bake_latency(store, run, facts, quality=quality)
        _, labels, predicted = _answers(right["pretrained"])
        factories.write_predictions(store.folder(run.run_id), labels, predicted)
        quantised.append(Baked(record=record, folder=store.folder(run.run_id)))
    field = [one for model in ("tfidf", "frozen", "bilstm") for one in scored(model)]
    times = [made_bench.timed(store, model, ms=ms, ratio=ms) for model, ms in P50_MS.items()]
    return MadeBench(
        {
            "single_digit_ms": field,
            "single_digit_ms_encoder": scored("pretrained"),
            "single_digit_ms_latency": times,
            "single_digit_ms_int8": quantised if int8 else times[:1],
        }
    )


def _answers(right: int) -> tuple[spec.Run, np.ndarray, np.ndarray]:
    labels = np.arange(1000) % 2
    return factories.make_run(model="pretrained", labels=1000), labels, np.where(np.arange(1000) < right, labels, 1 - labels)


def measure(made: MadeBench) -> Answer:
    return single_digit_ms.CLAIM.measure(made)


def test_an_int8_encoder_within_ten_ms_beats_a_worse_bilstm(tmp_path: Path) -> None:
    made = bench(tmp_path, right={"tfidf": 680, "frozen": 760, "bilstm": 600, "pretrained": 770})
    answer = measure(made)
    assert (answer.verdict, answer.unit) == ("does not hold", "points behind the best within 10 ms")
    assert answer.figure == pytest.approx(17.0)
    assert answer.interval is not None
    assert answer.interval.low < 17.0 < answer.interval.high
    assert "int8" in answer.seen
    assert "p95 of 6.0 ms and 77.0% right" in answer.seen
    assert {row["contender"]: row["within_10_ms"] for row in answer.rows}["frozen (minilm-l6)"] == "infeasible"
    assert made.kept == ["single_digit_ms_encoder"]
    assert ("single_digit_ms", "seed=0,1") in made.asked
    assert answer.notes == ("2 draws of labels stand behind the choice.",)


def test_a_bilstm_that_is_best_within_ten_ms_is_what_the_claim_says(tmp_path: Path) -> None:
    answer = measure(bench(tmp_path, right={"tfidf": 600, "frozen": 760, "bilstm": 750, "pretrained": 770}, int8_ms=8.0))
    assert (answer.verdict, answer.figure, answer.interval) == ("holds", 0.0, None)
    assert answer.seen == "Within 10 ms the rule ships bilstm, at 75.0% right."


def test_a_bilstm_that_may_be_as_good_leaves_it_open(tmp_path: Path) -> None:
    answer = measure(bench(tmp_path, right={"tfidf": 600, "frozen": 760, "bilstm": 760, "pretrained": 768}))
    assert answer.verdict == "inconclusive"
    assert answer.detectable is not None
    assert answer.figure == pytest.approx(0.8)


def test_a_bilstm_that_is_too_slow_is_not_chosen_and_loses_to_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(P50_MS, "bilstm", 6.0)
    answer = measure(bench(tmp_path, right={"tfidf": 600, "frozen": 760, "bilstm": 750, "pretrained": 770}))
    assert (answer.verdict, answer.figure, answer.interval) == ("does not hold", None, None)
    monkeypatch.setitem(P50_MS, "tfidf", 6.0)
    right = {"tfidf": 600, "frozen": 760, "bilstm": 750, "pretrained": 770}
    none = measure(bench(tmp_path / "none", right=right, int8_ms=8.0))
    assert (none.verdict, none.figure) == ("does not hold", None)
    assert none.seen.startswith("Nothing is recommended within 10 ms")


def test_a_disturbed_int8_encoder_leaves_no_field_to_win(tmp_path: Path) -> None:
    right = {"tfidf": 600, "frozen": 760, "bilstm": 750, "pretrained": 770}
    answer = measure(bench(tmp_path, right=right, contended=True))
    assert answer.seen == "Within 10 ms the rule ships bilstm, at 75.0% right."
    assert answer.verdict == "inconclusive"
    assert "was disturbed" in answer.notes[-1]


def test_a_field_without_int8_is_not_whole(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match="no int8 encoder"):
        measure(bench(tmp_path, right={"tfidf": 600, "frozen": 760, "bilstm": 750, "pretrained": 770}, int8=False))


def test_the_store_is_where_the_runs_stand(tmp_path: Path) -> None:
    made = bench(tmp_path, right={"tfidf": 680, "frozen": 760, "bilstm": 600, "pretrained": 770})
    baked = [one for sweep in made.sweeps.values() for one in sweep]
    assert {one.folder.parent for one in baked} == {tmp_path}
    assert isinstance(made_bench.store(tmp_path), Store)
    assert single_digit_ms.chosen(baked).recommended is not None
