"""The answer at the top of a page: sentences, what would change it, limits in words, and how Markdown and HTML carry it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import factories
from bakeoff.record import MachineFacts
from bakeoff.report.answer_limits import loosened, options, rounded_up
from bakeoff.report.choice import Limits
from bakeoff.report.costs import Prices
from bakeoff.report.pages import write_report
from bakeoff.spec import Run
from bakeoff.store import Store
from factories import cell, sweep_of


def page(store: Store, *runs: Run, limits: Limits | None = None, prices: Prices | None = None) -> str:
    """The Markdown of a sweep of these Runs."""
    return write_report(
        [sweep_of(*map(cell, runs))], store, store.root.parent / "page", limits=limits or Limits(), prices=prices
    ).read_text()


def scored(store: Store, model: Any, *accuracies: float, labels: Any = 1000, seeds: int = 5) -> list[Run]:
    """Quality Runs with records that take turns at these accuracies."""
    runs = [factories.make_run(model=model, labels=labels, seed=seed) for seed in range(seeds)]
    for run in runs:
        factories.bake(store, run, accuracy=accuracies[run.seed % len(accuracies)])
    return runs


def timed(store: Store, model: Any, p50_ms: float, *, changes: Any = None, **probe: Any) -> Run:
    """A latency Run whose p95 is twice the median, ±5%."""
    run = factories.make_latency_run(model=model, **probe)
    factories.bake_latency(store, run, factories.make_latency_facts(p50_ms=p50_ms, ratio=p50_ms, **(changes or {})))
    return run


def both_timed(store: Store) -> list[Run]:
    """A BiLSTM of 2 ms and an encoder of 24 ms at the 95th percentile."""
    return [timed(store, "bilstm", 1.0), timed(store, "pretrained", 12.0)]


def points(markdown: str) -> dict[str, str]:
    """The points under the answer, by their bold lead."""
    lines = markdown.split("## The answer")[1].split("##")[0].splitlines()
    return dict(line.removeprefix("- **").split(":** ", 1) for line in lines if line.startswith("- **"))


def lead(markdown: str) -> str:
    """The bold words of the answer."""
    return markdown.split("## The answer\n\n**")[1].split("**")[0]


def test_a_cheaper_one_that_is_as_good_is_recommended_in_place_of_the_best(store: Store) -> None:
    """Nothing but 1 of 200 rows tells the two apart, so a margin of 3 points holds."""
    runs = [
        *scored(store, "bilstm", 0.80),
        *scored(store, "pretrained", 0.805),
        timed(store, "bilstm", 1.0),
        timed(store, "pretrained", 12.0),
    ]
    found = page(store, *runs, limits=Limits(margin_points=3))
    assert lead(found) == "reviews, 1,000 labels, margin 3 points: ship bilstm."
    assert (
        "pretrained (minilm-l6) has the highest mean, 80.5%, but this is as good: it loses at most 0.9 points (95%), "
        "within the margin of 3, at 0.0833 times the median latency." in found
    )
    assert points(found)["Runner-up"].startswith("pretrained (minilm-l6), 80.5%, the best by its mean, 24.0 ms at the 95th percentile")
    assert "| bilstm | 80.0 (75.6 to 84.4) | 2.00 (1.90 to 2.10) | under 0.01 | recommended | at most 0.9 points behind, " in found


def test_an_undecided_one_has_the_numbers_that_would_decide_and_save(store: Store) -> None:
    runs = [*scored(store, "bilstm", 0.80, 0.79), *scored(store, "pretrained", 0.80, 0.82), timed(store, "bilstm", 1.0)]
    found = page(store, *runs, timed(store, "pretrained", 12.0), limits=Limits(margin_points=2))
    assert lead(found) == "reviews, 1,000 labels, margin 2 points: ship pretrained (minilm-l6)."
    said = points(found)["Cheaper, and perhaps as good"]
    assert said.startswith("bilstm: ")
    assert "would decide it, if the gap stays; if it is, it saves 11.0 ms" in said


def test_more_labels_that_change_the_answer(store: Store) -> None:
    """At 100 labels the simple model leads, at 1,000 the other."""
    runs = [
        *scored(store, "tfidf", 0.70, labels=300),
        *scored(store, "bilstm", 0.60, labels=300),
        *scored(store, "tfidf", 0.71),
        *scored(store, "bilstm", 0.80),
    ]
    found = page(store, *runs, limits=Limits(labels=300))
    assert lead(found) == "reviews, 300 labels: ship tfidf."
    assert points(found)["What would change it"] == "With 1,000 labels it is bilstm (80.0%). No GPU was timed."


def test_a_gpu_that_changes_the_answer(store: Store) -> None:
    runs = [
        *scored(store, "bilstm", 0.70),
        *scored(store, "pretrained", 0.80),
        timed(store, "bilstm", 1.0),
        timed(store, "pretrained", 12.0),
    ]
    runs += [timed(store, "pretrained", 2.0, device="cuda", changes={"session_id": "c0da"})]
    found = page(store, *runs, limits=Limits(max_p95_ms=10))
    assert lead(found) == "reviews, 1,000 labels, p95 at most 10 ms on the CPU with 1 thread: ship bilstm."
    assert "On a GPU it is pretrained (minilm-l6) (80.0%)." in points(found)["What would change it"]
    assert "No GPU was timed" not in found


def test_longer_documents_that_change_the_answer(store: Store) -> None:
    """The encoder takes 0.02 ms a token, the BiLSTM 0.002, timed at 8 to 1,024 tokens: 10.24 ± 5% is above 10."""
    runs = [*scored(store, "bilstm", 0.70), *scored(store, "pretrained", 0.80)]
    for model, slope, most in (("bilstm", 0.002, 1024), ("pretrained", 0.05, 256)):
        runs.append(timed(store, model, 1.0))
        grid = factories.make_grid(fixed_ms=0.1, ms_a_token=slope, most=most)
        runs.append(timed(store, model, 1.0, lengths="grid", changes={"grid": grid}))
    found = page(store, *runs, limits=Limits(max_p95_ms=10))
    assert lead(found).endswith("ship pretrained (minilm-l6).")
    # 0.05 × 256 = 12.8 ms, at 128 tokens 6.4
    assert "With documents of 256 tokens it is bilstm (70.0%)." in points(found)["What would change it"]


def test_one_seed_of_the_best_recommends_nothing_and_says_who_leads_among_the_others(store: Store) -> None:
    found = page(store, *scored(store, "pretrained", 0.9, seeds=1), *scored(store, "bilstm", 0.7))
    assert lead(found) == "reviews, 1,000 labels: no recommendation."
    assert "pretrained (minilm-l6), the best by its mean, has one seed" in found
    assert "Among those with more than one seed it is bilstm (70.0%)." in points(found)["What would change it"]
    assert "| bilstm | 70.0 (65.0 to 75.0) | under 0.01 | undecided | one seed in common with the best |" in found


def test_one_seed_far_behind_is_not_perhaps_as_good(store: Store) -> None:
    """On one shared seed tfidf is 15 points behind; bilstm 0.5, which rows alone may make nothing of."""
    runs = [*scored(store, "pretrained", 0.80), *scored(store, "tfidf", 0.65, seeds=1), *scored(store, "bilstm", 0.795, seeds=1)]
    runs += [timed(store, "tfidf", 0.1), *both_timed(store)]
    found = points(page(store, *runs))
    assert found["Cheaper, and perhaps as good"] == "bilstm: undecided, with one seed in common with the best."
    assert found["Cheaper, not comparable yet"] == "tfidf: 15.0 points behind, with one seed in common with the best."
    assert found["Runner-up"] == "none yet: bilstm, 79.5%, has one seed."


def test_a_disturbed_session_is_told_beside_its_time(store: Store) -> None:
    runs = [*scored(store, "bilstm", 0.80), timed(store, "bilstm", 1.0, changes={"contended": True})]
    found = page(store, *runs)
    assert "answers in 2.00 ms at the 95th percentile (1.90 to 2.10), in a session that other processes disturbed and takes" in found


def test_every_label_leaves_no_more_to_record(store: Store) -> None:
    found = page(store, *scored(store, "bilstm", 0.8, labels="all"))
    assert points(found)["What would change it"] == "No GPU was timed."


def test_gpus_of_two_machines_are_told(store: Store) -> None:
    runs = [*scored(store, "bilstm", 0.8), *scored(store, "pretrained", 0.9), *both_timed(store)]
    for name, number in (("One", 1), ("Two", 2)):
        run = factories.make_latency_run(model="bilstm", device="cuda", machine=factories.MACHINE.replace("Example", name))
        facts = MachineFacts(processor=f"{name} CPU 3.0", usable_cpus=2, memory_gb=7.8, gpu="H", device="cuda")
        factories.bake_latency(store, run, factories.make_latency_facts(p50_ms=1.0, ratio=1.0, session_id=f"c0da{number}"), machine=facts)
        runs.append(run)
    said = points(page(store, *runs))["What would change it"]
    assert "A GPU was timed on 2 machines, which do not compare: ask for each with --device cuda." in said


def test_what_nobody_knows_to_be_cheaper_is_not_called_dearer(store: Store) -> None:
    runs = scored(store, "bilstm", 0.8)
    rules = factories.make_run(model="predictions", labels=1000)
    factories.bake(store, rules, accuracy=0.5, size=None)
    assert "It has the highest mean, and nothing here is known to be cheaper." in page(store, *runs, rules)


def test_collapsed_runs_of_the_recommended_are_told(store: Store) -> None:
    runs = scored(store, "bilstm", 0.9, seeds=4)
    labels, _ = factories.make_predictions(accuracy=1.0)
    stuck = factories.make_run(model="bilstm", labels=1000, seed=4)
    factories.save(store, stuck, labels, labels * 0)
    found = page(store, *runs, stuck)
    assert "1 of 5 Runs of bilstm collapsed to one answer for every text." in found
    assert "| recommended (1 collapsed) |" in found


def test_another_machine_is_another_answer(store: Store) -> None:
    other = factories.MACHINE.replace("Example CPU", "Other CPU")
    facts = MachineFacts(processor="Other CPU 3.0", usable_cpus=2, memory_gb=7.8, gpu=None, device="cpu")
    runs = [
        *scored(store, "bilstm", 0.70),
        *scored(store, "pretrained", 0.80),
        timed(store, "pretrained", 12.0),
        timed(store, "bilstm", 1.0),
    ]
    slow = factories.make_latency_run(model="bilstm", machine=other)
    factories.bake_latency(store, slow, factories.make_latency_facts(p50_ms=9.0, ratio=1.0, session_id="07e5"), machine=facts)
    found = page(store, *runs, slow, limits=Limits(max_p95_ms=10))
    assert "reviews, 1,000 labels, p95 at most 10 ms on the CPU with 1 thread, timed on Example CPU 3.0, 2 CPUs, 8 GB, torch" in found
    assert "timed on Other CPU 3.0, 2 CPUs, 8 GB, torch 2.13.0: not measured." not in found
    assert "timed on Other CPU 3.0, 2 CPUs, 8 GB, torch 2.13.0: no candidate meets the limits." in found


def test_what_the_records_do_not_allow_is_no_answer_and_no_crash(store: Store) -> None:
    found = page(store, *scored(store, "bilstm", 0.7), limits=Limits(labels=300))
    assert "**reviews: no answer,** for labels=300 is not recorded here; recorded are 1000.\n" in found


def test_the_page_says_its_limits_in_the_command_that_makes_it(store: Store) -> None:
    found = page(store, *scored(store, "bilstm", 0.7), limits=Limits(min_accuracy=0.5, min_recall={"positive": 0.25}))
    assert "bakeoff report sweeps/small.yaml --min-accuracy 0.5 --min-recall positive=0.25\n" in found


def test_names_are_escaped_in_both_forms(store: Store, tmp_path: Path) -> None:
    model = replace(factories.MODELS["bilstm"], name="<script>alert(1)</script> | x")
    found = page(store, *scored(store, model, 0.7))
    assert "ship &lt;script&gt;alert(1)&lt;/script&gt; \\| x." in found
    html = (store.root.parent / "page" / "index.html").read_text()
    assert "<script>alert" not in html
    assert "ship &lt;script&gt;alert(1)&lt;/script&gt; | x." in html


@pytest.mark.parametrize(("value", "text"), [(18.86, "18.9"), (0.6301, "0.631"), (100.0, "100"), (25.2, "25.2"), (1234.2, "1,240")])
def test_a_limit_that_would_do_is_rounded_up(value: float, text: str) -> None:
    assert rounded_up(value) == text


def test_a_floor_that_would_do_is_rounded_down() -> None:
    assert loosened("min_accuracy", 0.7568, Limits(min_accuracy=0.8)) == "a floor of 75.6% under the accuracy instead of 80%"
    assert (
        loosened("min_recall spam", 0.5, Limits(min_recall={"spam": 0.925})) == "a floor of 50.0% under the recall of spam instead of 92.5%"
    )
    assert loosened("max_size_mb", 90.31, Limits(max_size_mb=50)) == "a size limit of 90.4 MB instead of 50 MB"


def test_only_what_is_stated_becomes_an_option() -> None:
    assert options(Limits()) == []
    stated = Limits(labels=1000, max_p95_ms=10.0, device="cuda", margin_points=0.5, metric="macro_f1", min_recall={"a b": 0.9})
    assert options(stated) == [
        *("--labels", "1000", "--max-p95-ms", "10", "--device", "cuda", "--min-recall", "a b=0.9"),
        *("--metric", "macro_f1", "--margin", "0.5"),
    ]
