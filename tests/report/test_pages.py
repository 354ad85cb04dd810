"""The page, compared whole with a golden one, and what it says of everything that can go wrong."""

import dataclasses
import os
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest

import factories
from bakeoff.errors import DataError
from bakeoff.record import Diagnostic, Finding, MachineFacts, Provenance, Record
from bakeoff.report.pages import write_report
from bakeoff.spec import Run
from bakeoff.store import Store
from bakeoff.sweep import Sweep
from factories import cell, sweep_of

GOLDEN = Path(__file__).parent / "golden"


def page(store: Store, *runs: Run) -> str:
    """The Markdown of a sweep of these Runs."""
    return write_report([sweep_of(*map(cell, runs))], store, store.root.parent / "page").read_text()


def bake_seeds(store: Store, model: Any, accuracies: Sequence[float], *, labels: Any = 1000, **changes: Any) -> list[Run]:
    runs = [factories.make_run(model=model, labels=labels, seed=seed) for seed in range(len(accuracies))]
    for run, accuracy in zip(runs, accuracies, strict=True):
        factories.bake(store, run, accuracy=accuracy, **changes)
    return runs


def changed(record_part: str, **changes: Any) -> dict[str, Any]:
    """A part of a made-up record with other values, for `factories.bake`."""
    record = factories.make_record(factories.make_run(), *factories.make_predictions(accuracy=0.6))
    return {record_part: dataclasses.replace(getattr(record, record_part), **changes)}


def row(markdown: str, start: str) -> list[str]:
    """The cells of the first row of a table of scores whose first cell is `start`."""
    (line, *_) = [line for line in markdown.splitlines() if line.startswith(f"| {start} |") and line.count(" | ") == 13]
    return [text.strip() for text in line.strip("|").split("|")]


def test_golden_page(small: Sweep, store: Store, tmp_path: Path) -> None:
    """`BAKEOFF_WRITE_GOLDEN=1` writes it anew; read the difference before you commit it."""
    written = write_report([small], store, tmp_path / "page")
    if os.environ.get("BAKEOFF_WRITE_GOLDEN"):
        (GOLDEN / "README.md").write_text(written.read_text())
    assert written == tmp_path / "page" / "README.md"
    assert written.read_text() == (GOLDEN / "README.md").read_text()


def test_the_same_records_give_the_same_bytes(small: Sweep, store: Store, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_report([small], store, tmp_path / name)
    files = {path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file()}
    drawn = {f"figures/{name}-reviews.svg" for name in ("calibration", "classes", "confusion", "coverage")}
    assert {str(file) for file in files} == {
        *("README.md", "index.html", "records.csv", "records.parquet", "figures/reviews-accuracy.svg"),
        *drawn,
    }
    assert all((tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes() for file in files)


def test_html_holds_the_same_numbers_and_needs_nothing_from_outside(small: Sweep, store: Store, tmp_path: Path) -> None:
    markdown = write_report([small], store, tmp_path).read_text()
    html = (tmp_path / "index.html").read_text()
    assert re.findall(r"(?:src|href|url|action)\W+(?:https?:)?//", re.sub(r'xmlns(:xlink)?="[^"]+"', "", html)) == []
    assert re.findall(r"<script[^>]*>", html) == ["<script>"]  # the one that sorts tables
    html = re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    plain = re.sub(r"<[^>]+>", " ", html)
    for number in re.findall(r"\d+\.\d+", markdown.split("## Every number again")[0]):
        assert number in plain
    Balanced().feed(html)


class Balanced(HTMLParser):
    """Fails on a tag that closes another than the last that opened."""

    VOID = frozenset(("meta", "br", "link", "img"))

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_nothing_baked_yet(store: Store) -> None:
    found = page(store, factories.make_run(seed=0), factories.make_run(seed=1))
    assert (
        "**Nothing is baked yet.** 0 of 2 Runs have a record, and none has a score. `bakeoff sweep sweeps/small.yaml` bakes them." in found
    )
    assert "| reviews · tfidf · 100 labels · seeds 0, 1 | not run | not baked yet |" in found
    assert (store.root.parent / "page" / "records.csv").read_text().count("\n") == 1


def test_a_sweep_without_cells(store: Store) -> None:
    assert "0 of 0 Runs have a record" in page(store)


def test_one_seed_recommends_nothing(store: Store) -> None:
    found = page(store, *bake_seeds(store, "tfidf", [0.7]), *bake_seeds(store, "pretrained", [0.8]))
    assert "**These are too few seeds to recommend a model.** The fewest behind a score: 1 seed at 1,000 labels." in found
    assert "With one seed an interval covers the test rows only" in found
    # 0.8 ± 1.97196 · sqrt(0.8 · 0.2 / 199)
    assert row(found, "**pretrained (minilm-l6)**")[3:5] == ["**80.0**", "74.4 to 85.6"]
    assert row(found, "tfidf")[8:10] == ["1", "–"]


def test_enough_seeds_need_no_caution(store: Store) -> None:
    enough = [*bake_seeds(store, "tfidf", [0.7] * 5), *bake_seeds(store, "tfidf", [0.6] * 10, labels=299)]
    assert "too few seeds" not in page(store, *enough)
    assert "The fewest behind a score: 5 seeds at 299 labels." in page(store, *enough[:5], *enough[5:10])


def test_a_model_that_is_not_told_apart_is_named(store: Store) -> None:
    found = page(store, *bake_seeds(store, "bilstm", [0.69, 0.71, 0.70]), *bake_seeds(store, "pretrained", [0.70, 0.72, 0.70]))
    assert "pretrained (minilm-l6) scored best, 70.7% accuracy**" in found
    assert "These rows and seeds do not tell it from bilstm (0.7 points behind, 95% interval −" in found


def test_a_floor_that_wins_is_called_one(store: Store) -> None:
    found = page(store, *bake_seeds(store, "tfidf", [0.9] * 3), *bake_seeds(store, "pretrained", [0.6] * 3))
    assert "tfidf is a floor: nothing costlier scored higher here." in found


def test_the_largest_class_stands_in_every_table(store: Store) -> None:
    found = page(store, *bake_seeds(store, "tfidf", [0.7] * 3))
    line = row(found, "largest class, not baked")
    assert (line[3], line[6], line[12]) == ("50.0", "33.3", "by design")
    assert "Always answering the largest class scores 50.0%." in found


def test_collapsed_runs_are_counted_and_named_but_not_the_majority_model(store: Store) -> None:
    runs = bake_seeds(store, "bilstm", [0.7, 0.7])
    labels, _ = factories.make_predictions(accuracy=1.0)
    stuck = factories.make_run(model="bilstm", labels=1000, seed=2)
    factories.save(store, stuck, labels, np.ones_like(labels))
    found = page(store, *runs, stuck, *bake_seeds(store, "majority", [0.5] * 3))
    assert row(found, "**bilstm**")[12] == "1"
    assert row(found, "**bilstm**")[3] == "**63.3**"
    assert row(found, "majority")[12] == "by design"
    assert "| reviews · bilstm · 1,000 labels · seed 2 | collapsed | one class was predicted for every test row |" in found
    assert "majority · 1,000 labels" not in found


def test_diagnostics_are_named_with_what_to_check(store: Store) -> None:
    message = "test accuracy 51.0% is near the largest class share 50.0%; check the learning rate first (it is 2e-05)"
    near = changed("training", diagnostics=(Diagnostic(code="near_chance", message=message),))
    found = page(store, *bake_seeds(store, "bilstm", [0.51, 0.51], **near))
    assert f"| reviews · bilstm · 1,000 labels · seeds 0, 1 | near chance | {message} |" in found


def test_failed_diverged_missing_and_impossible_cells_are_told(small: Sweep, store: Store, tmp_path: Path) -> None:
    run = factories.make_run(model="bilstm", labels=1000)
    labels, predicted = factories.make_predictions(accuracy=0.5)
    training = changed("training", diagnostics=(Diagnostic(code="not_finite", message="the loss stopped being finite at step 3"),))
    store.write_record(factories.make_record(run, labels, predicted, status="diverged", quality={}, **training))
    sweep = dataclasses.replace(small, cells=(*small.cells, cell(run)))
    found = write_report([sweep], store, tmp_path).read_text()
    section = found.split("## Without an answer")[1].split("##")[0].strip().splitlines()[2:]
    assert section == [
        "| reviews · pretrained (minilm-l6) · 1,000 labels · seed 2 | failed | RuntimeError: out of memory |",
        "| reviews · bilstm · 1,000 labels · seed 0 | diverged | the loss stopped being finite at step 3 |",
        "| reviews · tfidf · 100 labels · seed 1 | not run | not baked yet |",
        "| dataset=reviews model=pretrained longdoc.max_tokens=1024 | not applicable "
        "| longdoc.max_tokens=1024 is above the 512 positions of minilm-l6 |",
    ]
    assert row(found, "bilstm")[3:9] == ["–", "–", "–", "–", "–", "0 of 1"]
    assert row(found, "tfidf")[8] == "2 of 3"
    csv = (tmp_path / "records.csv").read_text().splitlines()
    assert sorted({line.split(",")[2] for line in csv[1:]}) == ["diverged", "failed", "ok"]


def test_several_datasets_have_a_section_and_a_figure_each(store: Store) -> None:
    other = factories.make_dataset(name="News, short", family="news", fingerprint="b" * 64)
    runs = [factories.make_run(labels=1000, seed=seed, dataset=other) for seed in range(3)]
    for run in runs:
        factories.bake(store, run, accuracy=0.9)
    found = page(store, *bake_seeds(store, "tfidf", [0.7] * 3), *runs)
    assert "**reviews, 1,000 labels: tfidf scored best, 70.0% accuracy**" in found
    assert "**News, short, 1,000 labels: tfidf scored best, 90.0% accuracy**" in found
    assert "3 seeds for reviews at 1,000 labels; 3 seeds for News, short at 1,000 labels" in found
    names = {path.name for path in (store.root.parent / "page" / "figures").glob("*-accuracy.svg")}
    assert names == {"reviews-accuracy.svg", "news-short-accuracy.svg"}
    page(store, *runs)
    assert {path.name for path in (store.root.parent / "page" / "figures").glob("*-accuracy.svg")} == {"news-short-accuracy.svg"}


def test_two_variants_of_a_dataset_are_kept_apart(store: Store) -> None:
    other = factories.make_dataset(encoding="latin-1")
    run = factories.make_run(labels=1000, dataset=other)
    factories.bake(store, run, accuracy=0.9)
    found = page(store, *bake_seeds(store, "tfidf", [0.7]), run)
    assert re.search(r"^## reviews, variant [0-9a-f]{12}$", found, re.MULTILINE)
    assert "hold the same texts: they are one piece of evidence, not 2." in found


def test_models_that_share_a_name_are_told_apart_by_their_setting(store: Store) -> None:
    base = factories.MODELS["tfidf"]
    runs = [*bake_seeds(store, base, [0.7]), *bake_seeds(store, dataclasses.replace(base, ngram_max=1), [0.6])]
    found = page(store, *runs)
    assert row(found, "**tfidf · ngram_max 2**")[3] == "**70.0**"
    assert row(found, "tfidf · ngram_max 1")[3] == "60.0"


def test_macro_f1_is_the_score_where_the_record_says_so(store: Store) -> None:
    labels = np.r_[np.zeros(160, int), np.ones(40, int)]
    predicted = np.r_[np.zeros(160, int), np.zeros(20, int), np.ones(20, int)]
    run = factories.make_run(labels=1000)
    factories.save(store, run, labels, predicted, **changed("data", primary_metric="macro_f1", n_fit=1000))
    found = page(store, run)
    # F1 is 320/340 for the large class and 40/60 for the small one; the largest class alone gives 2 · 0.8 / 1.8 / 2.
    assert row(found, "**tfidf**")[3] == f"**{100 * (320 / 340 + 40 / 60) / 2:.1f}**" == "**80.4**"
    assert row(found, "largest class, not baked")[3] == "44.4"
    assert row(found, "**tfidf**")[6] == "90.0"


@pytest.mark.parametrize(
    ("chosen", "baked_under", "scored"),
    [
        ("macro_f1", ["auto", "auto"], "Scored by macro-F1, as its configuration says."),
        ("accuracy", ["macro_f1", "auto"], "Scored by accuracy, as its configuration says."),
        ("auto", ["macro_f1", "auto"], "Scored by accuracy, since its largest class is at most three times its smallest."),
        ("auto", ["macro_f1", "macro_f1"], "Scored by macro-F1, as the configuration said when its Runs were baked."),
    ],
)
def test_the_metric_is_todays_choice_whatever_it_was_at_baking(store: Store, chosen: Any, baked_under: list[Any], scored: str) -> None:
    labels, predicted = np.r_[np.zeros(150, int), np.ones(50, int)], np.r_[np.zeros(170, int), np.ones(30, int)]
    for seed, metric in enumerate(baked_under):
        run = factories.make_run(labels=1000, seed=seed, dataset=factories.make_dataset(metric=metric))
        found = "accuracy" if metric == "auto" else metric
        factories.save(store, run, labels, predicted, **changed("data", primary_metric=found, n_fit=1000))
    asked = factories.make_dataset(metric=chosen)
    text = page(store, *(factories.make_run(labels=1000, seed=seed, dataset=asked) for seed in range(2)))
    assert scored in text
    # 180 of 200 rows are right; F1 is 300/320 and 60/80.
    score, name = ("84.4", "macro-F1") if "Scored by macro-F1" in scored else ("90.0", "accuracy")
    assert row(text, "**tfidf**")[3] == f"**{score}**"
    assert f"tfidf scored best, {score}% {name}**" in text
    assert f"| precision | {name} % |" in text


def grouped(store: Store, *, accuracy: float = 0.7, seeds: int = 3, model: str = "tfidf", groups: Any = None) -> list[Run]:
    runs = [
        factories.make_run(model=model, labels=1000, seed=seed, dataset=factories.make_dataset(group="author")) for seed in range(seeds)
    ]
    for run in runs:
        factories.save(store, run, *factories.make_predictions(accuracy=accuracy, seed=run.seed), groups=groups)
    return runs


def test_rows_in_groups_are_counted_by_group(store: Store) -> None:
    found = page(store, *grouped(store, groups=np.arange(200) // 5, seeds=1))
    assert "1 seed, 200 test rows in 40 groups)." in found
    assert "8,000 rows to draw labels from, 200 test rows in 40 groups (held out by hash)." in found
    assert "too narrow" not in found
    figure = (store.root.parent / "page" / "figures" / "reviews-accuracy.svg").read_text()
    assert "200 test rows in 40 groups" in figure
    labels, predicted = factories.make_predictions(accuracy=0.7)
    off = ((labels == predicted) - 0.7).reshape(40, 5).sum(axis=1)
    half = 2.02269 * np.sqrt(40 / 39 * (off**2).sum()) / 200
    assert row(found, "**tfidf**")[4] == f"{100 * (0.7 - half):.1f} to {100 * (0.7 + half):.1f}"


def test_files_from_before_groups_were_saved_are_read_and_said(store: Store) -> None:
    runs = grouped(store)
    for run in runs:
        file = store.folder(run.run_id) / "predictions.parquet"
        parquet.write_table(parquet.read_table(file).drop_columns(["group"]), file)
    found = page(store, *runs)
    assert "3 seeds, 200 test rows)." in found
    assert "These Runs were baked before groups were saved, so intervals take every row for a group of its own: too narrow." in found
    factories.write_predictions(store.folder(runs[1].run_id), *factories.make_predictions(accuracy=0.7, seed=1), groups=np.arange(200) // 5)
    assert "too narrow" not in page(store, *runs)


def test_groups_that_contradict_each_other_are_refused(store: Store) -> None:
    runs = grouped(store, groups=np.arange(200) // 5)
    factories.write_predictions(
        store.folder(runs[2].run_id), *factories.make_predictions(accuracy=0.7, seed=2), groups=np.arange(200) // 10
    )
    with pytest.raises(DataError, match=r"put the test rows in different groups: bake them again$"):
        page(store, *runs)


def test_the_largest_class_of_the_labels_may_be_too_rare_in_the_test_rows_to_count(store: Store) -> None:
    # Class a is the largest of the labels and has 8 test rows; macro-F1 averages over b and c, which "always a" never answers.
    labels = np.r_[np.zeros(8, int), np.ones(60, int), np.full(32, 2)]
    run = factories.make_run(labels=1000)
    factories.save(store, run, labels, labels, ("a", "b", "c"), **changed("data", primary_metric="macro_f1", classes=("a", "b", "c")))
    line = row(page(store, run), "largest class, not baked")
    assert (line[3], line[6]) == ("0.0", "8.0")


def test_a_sweep_without_a_description_starts_with_the_answer(store: Store) -> None:
    runs = bake_seeds(store, "tfidf", [0.7])
    silent = dataclasses.replace(sweep_of(*map(cell, runs)), description="")
    said = dataclasses.replace(silent, description="Second.", name="second")
    found = write_report([silent, said], store, store.root.parent / "page").read_text()
    assert "# Bake-off: small\n\nSecond.\n\n## The answer\n" in found
    assert "# Bake-off: small\n\n## The answer\n" in write_report([silent], store, store.root.parent / "page").read_text()
    assert "asked" not in (store.root.parent / "page" / "index.html").read_text().split("</style>")[1]


def test_commands_carry_the_overrides(store: Store) -> None:
    sweeps, overrides = [sweep_of(name="one"), sweep_of(name="two")], ["seed=0,1", "dataset.label_map={1: a}"]
    found = write_report(sweeps, store, store.root.parent / "page", overrides=overrides).read_text()
    words = "seed=0,1 'dataset.label_map={1: a}'"
    bakes = [f"bakeoff sweep sweeps/{name}.yaml {words}" for name in ("one", "two")]
    report = f"bakeoff report sweeps/one.yaml sweeps/two.yaml {words}"
    assert f"`{bakes[0]}` and `{bakes[1]}` bake them." in found
    assert f"```\n{bakes[0]}\n{bakes[1]}\n{report}\n```" in found
    assert found.startswith(f"<!-- Generated by `{report}`; do not edit. -->\n")
    html = (store.root.parent / "page" / "index.html").read_text().replace("&#39;", "'")
    assert f"<pre>{bakes[0]}\n{bakes[1]}\n{report}</pre>" in html
    assert f"<code>{bakes[0]}</code> and <code>{bakes[1]}</code> bake them." in html


def test_quality_without_contaminated_rows_is_said_where_it_differs(store: Store) -> None:
    run = factories.make_run(labels=1000)
    labels, predicted = factories.make_predictions(accuracy=0.7)
    kept = factories.split_quality(labels[:180], predicted[:180])
    quality = {"test": factories.split_quality(labels, predicted), "test_uncontaminated": kept}
    factories.save(store, run, labels, predicted, quality=quality)
    expected = f"Without the 20 test rows that nearly repeat a pool row: tfidf {100 * kept.accuracy:.1f}% instead of 70.0%."
    assert expected in page(store, run)


def test_findings_are_told_once(store: Store) -> None:
    same = Finding(code="empty_texts", count=2, message="2 rows without a text")
    few, more = (Finding(code="truncated", count=n, message=f"{n} of 200 documents are longer than 256 tokens") for n in (3, 5))
    runs = bake_seeds(store, "tfidf", [0.7, 0.7], **changed("data", audit=(same,)))
    runs += bake_seeds(store, "bilstm", [0.7], **changed("data", audit=(same, few)))
    runs += bake_seeds(store, "pretrained", [0.7], **changed("data", audit=(same, more)))
    found = page(store, *runs)
    assert found.count("2 rows without a text") == 1
    assert "- 5 of 200 documents are longer than 256 tokens (the most of any Run; 2 Runs of 4 have some)\n" in found


def test_a_clean_experiment_has_no_warning(small: Sweep, store: Store, tmp_path: Path) -> None:
    assert "WARNING" not in write_report([small], store, tmp_path).read_text()


def test_dirty_commits_several_commits_and_machines_are_warned_of(store: Store) -> None:
    dirty = Provenance(commit="fedcba0987654321", dirty=True, versions={"torch": "2.13.0"})
    machine = MachineFacts(processor="Other CPU", usable_cpus=8, memory_gb=32.0, gpu="Some GPU", device="cuda")
    found = page(store, *bake_seeds(store, "tfidf", [0.7]), *bake_seeds(store, "bilstm", [0.7], provenance=dirty, machine=machine))
    assert "> [!WARNING]" in found
    assert "> 1 of 2 records come from a dirty commit" in found
    assert "> The records come from 2 commits (1234567890ab, fedcba098765)." in found
    assert "> The records come from 2 machines (Example CPU 3.0, 2 CPUs, 8 GB; Other CPU, 8 CPUs, 32 GB, Some GPU)" in found
    assert "- Commit: 1234567890ab, fedcba098765 (dirty)" in found
    assert "<strong>Warning:</strong>" in (store.root.parent / "page" / "index.html").read_text()


def test_the_starter_checkpoint_is_called_what_it_is(store: Store) -> None:
    note = "minilm-l6 is a distilled, sentence-tuned encoder"
    assert note in page(store, *bake_seeds(store, "pretrained", [0.7]))
    assert note not in page(store, *bake_seeds(store, "tfidf", [0.7]))


def test_every_cell_has_the_line_that_bakes_it(small: Sweep, store: Store, tmp_path: Path) -> None:
    found = write_report([small], store, tmp_path).read_text()
    assert "```\nbakeoff sweep sweeps/small.yaml\nbakeoff report sweeps/small.yaml\n```" in found
    for one in small.cells:
        assert f"`bakeoff run {' '.join(one.overrides)}`" in found
    for record in store.load_all():
        assert f"| {record.run_id} | ok | {100 * record.quality['test'].accuracy:.1f} |" in found


def test_names_from_strangers_are_escaped(store: Store) -> None:
    dataset = factories.make_dataset(name="a|b<img src=x>", description="*bold* [x](http://evil) <script>")
    run = factories.make_run(labels=1000, dataset=dataset)
    factories.bake(store, run, accuracy=0.7)
    store.write_failure(factories.make_run(labels=1000, seed=1, dataset=dataset), type_="E", message="a | b <b>\n# c", trace=[])
    found = page(store, run, factories.make_run(labels=1000, seed=1, dataset=dataset))
    html = (store.root.parent / "page" / "index.html").read_text()
    for text in (re.sub("`[^`]*`", "", found), html):
        assert "<img src=x>" not in text
        assert "<script" not in text.replace("<script>\n// A click on a head", "")
    assert "\\*bold\\* \\[x\\](http://evil) &lt;script&gt;" in found
    assert "| failed | E: a \\| b &lt;b&gt; # c |" in found


def test_predictions_that_contradict_the_record_are_refused(store: Store) -> None:
    (run,) = bake_seeds(store, "tfidf", [0.7])
    factories.write_predictions(store.folder(run.run_id), *factories.make_predictions(accuracy=0.9))
    with pytest.raises(DataError, match=f"^{run.run_id}: predictions.parquet and record.json disagree on the accuracy"):
        page(store, run)
    (store.folder(run.run_id) / "predictions.parquet").unlink()
    with pytest.raises(DataError, match=f"^{run.run_id} has a record but no predictions.parquet"):
        page(store, run)


def test_runs_that_answer_other_rows_are_refused(store: Store) -> None:
    runs = bake_seeds(store, "tfidf", [0.7])
    other = factories.make_run(labels=1000, seed=1)
    factories.bake(store, other, accuracy=0.7, rows=100)
    with pytest.raises(DataError, match="answer different rows"):
        page(store, *runs, other)


def test_a_page_shows_records_of_its_own_sweep_only(store: Store) -> None:
    bake_seeds(store, "bilstm", [0.9])
    found = page(store, *bake_seeds(store, "tfidf", [0.7]))
    assert "bilstm" not in found
    record = store.load(factories.make_run(labels=1000).run_id)
    assert isinstance(record, Record)
    assert (store.root.parent / "page" / "records.csv").read_text().splitlines()[1].startswith(record.run_id)
