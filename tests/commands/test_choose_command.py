"""`bakeoff choose` as people type it: the paragraph, the JSON, exit codes, one sentence for a mistake."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import factories
from bakeoff import cli
from bakeoff.record import MachineFacts, Provenance
from bakeoff.report.evidence import write_evidence
from bakeoff.store import Store

ACCURACY = {"tfidf": {100: 0.6, 1000: 0.7}, "bilstm": {100: 0.6, 1000: 0.75}, "pretrained": {100: 0.7, 1000: 0.8}}
SEEDS = {100: 3, 1000: 5}
P50_MS = {"tfidf": 0.3, "bilstm": 1.0, "pretrained": 12.0}

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Three models at two budgets with their latencies, each p95 twice the median and its interval ±5%."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BAKEOFF_RUNS", raising=False)
    found = Store(tmp_path / "runs")
    for model, scores in ACCURACY.items():
        for labels, accuracy in scores.items():
            for seed in range(SEEDS[labels]):
                factories.bake(found, factories.make_run(model=model, labels=labels, seed=seed), accuracy=accuracy)
    for model, ms in P50_MS.items():
        factories.bake_latency(found, factories.make_latency_run(model=model), factories.make_latency_facts(p50_ms=ms, ratio=ms))
    return found


@pytest.fixture
def choose(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command in this process: its exit code, standard output and standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bakeoff", "choose", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def one_line(text: str) -> str:
    return " ".join(text.split())


def answers(choose: Call, *arguments: str) -> list[dict[str, Any]]:
    code, out, _ = choose(*arguments, "--format", "json")
    assert code == 0
    found: list[dict[str, Any]] = json.loads(out)
    return found


def test_the_paragraph_without_limits(store: Store, choose: Call) -> None:
    code, out, err = choose()
    assert (code, err) == (0, "")
    paragraphs = [one_line(part) for part in out.split("\n\n")]
    assert paragraphs[:4] == [
        "reviews, 1,000 labels: ship pretrained (minilm-l6). It scores 80.0% accuracy (95% interval 75.6 to 84.4, 5 seeds, 200 test rows), "
        "answers in 24.0 ms at the 95th percentile (22.8 to 25.2) and takes under 0.01 MB. "
        "It has the highest mean, and nothing cheaper is shown to be as good.",
        "Runner-up: bilstm, 75.0%, 5.0 points below the best mean (95% interval 3.5 to 6.5), "
        "2.00 ms at the 95th percentile (1.90 to 2.10).",
        "What would change it: Where less than 25.2 ms is allowed at the 95th percentile it is bilstm (75.0%). "
        "More labels are not recorded. No GPU was timed.",
        "How sure: pretrained (minilm-l6) had the best score on 100% of resampled test sets; corrected for having been picked as the best, "
        "the score is 80.0%. A true difference of 2.6 points to the best would show in 4 of 5 such studies.",
    ]


def test_the_table_has_everyone_the_recommended_first(store: Store, choose: Call) -> None:
    _, out, _ = choose("--max-p95-ms", "10")
    lines = [one_line(line) for line in out.strip().splitlines()[-4:]]
    assert lines == [
        "candidate accuracy % p95 ms MB verdict why",
        "bilstm 75.0 (70.3 to 79.7) 2.00 (1.90 to 2.10) under 0.01 recommended the highest mean",
        "tfidf 70.0 (65.0 to 75.0) 0.600 (0.570 to 0.630) under 0.01 worse at least 3.7 points behind, 0.300 times the median latency",
        "pretrained (minilm-l6) 80.0 (75.6 to 84.4) 24.0 (22.8 to 25.2) under 0.01 misses a limit p95 may be 25.2 ms, above 10",
    ]


def test_a_latency_limit_names_the_looser_one_that_would_change_it(store: Store, choose: Call) -> None:
    _, out, _ = choose("--max-p95-ms", "10", "--min-accuracy", "0.6")
    text = one_line(out)
    assert text.startswith("reviews, 1,000 labels, p95 at most 10 ms on the CPU with 1 thread, accuracy at least 60%: ship bilstm. ")
    assert "A latency limit of 25.2 ms instead of 10 ms would make it pretrained (minilm-l6) (80.0%)." in text
    assert "With longer documents it was not timed." in text


def test_too_few_seeds_recommend_nothing_and_say_what_leads(store: Store, choose: Call) -> None:
    _, out, _ = choose("--labels", "100")
    text = one_line(out)
    assert "reviews, 100 labels: too few seeds to recommend a model; so far the rule picks pretrained (minilm-l6)." in text
    assert "It rests on 3 seeds, and a recommendation takes 10." in text
    assert "With 1,000 labels it stays pretrained (minilm-l6) (80.0%)." in text
    assert "recommended" not in text


def test_limits_that_nobody_meets_give_the_nearest(store: Store, choose: Call) -> None:
    code, out, _ = choose("--min-accuracy", "0.9")
    text = one_line(out)
    assert code == 0
    assert text.startswith(
        "reviews, 1,000 labels, accuracy at least 90%: no candidate meets the limits. "
        "Nearest: pretrained (minilm-l6) (80.0%): the accuracy may be 75.6%, below 90%; "
        "bilstm (75.0%): the accuracy may be 70.3%, below 90%; "
    )
    assert "A floor of 75.6% under the accuracy instead of 90% would make it pretrained (minilm-l6) (80.0%)." in text


def test_what_was_not_measured_has_its_command(store: Store, choose: Call) -> None:
    code, out, _ = choose("--device", "cuda", "--max-p95-ms", "10", "model=bilstm")
    assert code == 0
    assert one_line(out).startswith("reviews, 1,000 labels, p95 at most 10 ms on a GPU: not measured. ")
    assert "Not measured: bilstm (not timed on a GPU)." in out
    told = "dataset=csv dataset.path=reviews.csv dataset.text=text dataset.label=label dataset.held_out_rows=200"
    assert out.splitlines()[-1] == f"  bakeoff run {told} dataset.split=held_out_rows model=bilstm probe=latency probe.device=cuda"
    none = choose("--device", "cuda", "--max-p95-ms", "10", "model=tfidf")[1]
    assert "Not measured: tfidf (not timed on a GPU)." in none
    assert "bakeoff run" not in none


def test_prices_add_what_it_costs_in_all(store: Store, choose: Call) -> None:
    """1,000 labels at 0.1; 12.5 s of training and 10⁶ / 900 s of predictions at 0.05 an hour, one thread."""
    _, out, _ = choose("--price-per-label", "0.1", "model=bilstm")
    assert "Cost: bilstm 100.02 USD in all (100.00 for 1,000 labels, under 0.01 to train, 0.02 a million predictions)." in one_line(out)
    assert "labels, training and a million predictions, USD" in out
    assert "USD" not in choose("model=bilstm")[1]


def test_json_has_the_same_content_with_run_ids_and_commands(store: Store, choose: Call) -> None:
    run = factories.make_run(model="bilstm", labels=1000, seed=0)
    (store.folder(run.run_id) / "run.yaml").write_text("# resolved")
    (found,) = answers(choose, "--max-p95-ms", "10")
    assert (found["recommended"], found["runner_up"], found["reference"]) == ("bilstm", "tfidf", "bilstm")
    assert (found["labels"], found["other_labels"], found["enough_seeds"], found["warnings"]) == ("1000", ["100"], True, [])
    assert found["limits"] == {"max_p95_ms": 10.0, "device": "cpu", "machine": found["machine"], "margin_points": 1.0}
    assert found["answer"].startswith("reviews, 1,000 labels, p95 at most 10 ms on the CPU with 1 thread: ship bilstm.")
    assert list(found["points"]) == ["Runner-up", "What would change it", "How sure"]
    assert [one["candidate"] for one in found["candidates"]] == ["bilstm", "tfidf", "pretrained (minilm-l6)"]
    best, second, missed = found["candidates"]
    assert set(best["run_ids"]) == {factories.make_run(model="bilstm", labels=1000, seed=seed).run_id for seed in range(5)}
    assert best["commands"][run.run_id] == f"bakeoff run --config-dir runs/{run.run_id} --config-name run"
    assert sum(line is not None for line in best["commands"].values()) == 1
    assert (best["latency"]["p95_ms"], best["latency"]["high_ms"], best["status"], best["rule"]) == (2.0, 2.1, "feasible", "best")
    assert second["loss_to_reference"]["estimate"]["mean"] == pytest.approx(0.05)
    assert missed["misses"] == [{"limit": "max_p95_ms", "wanted": 10.0, "bound": 25.2, "value": 24.0}]
    assert {one["condition"]: one["chosen"] for one in found["what_would_change_it"]} == {
        "looser": "pretrained (minilm-l6)",
        "tighter": "tfidf",
    }


def test_several_datasets_have_an_answer_each(store: Store, choose: Call) -> None:
    news = factories.make_dataset(name="news", family="news", fingerprint="b" * 64)
    for seed in range(10):
        factories.bake(store, factories.make_run(labels=100, seed=seed, dataset=news), accuracy=0.9)
    found = answers(choose)
    assert [(one["dataset"], one["labels"], one["recommended"]) for one in found] == [
        ("news", "100", "tfidf"),
        ("reviews", "1000", "pretrained (minilm-l6)"),
    ]
    assert [one["dataset"] for one in answers(choose, "dataset=news")] == ["news"]
    _, out, _ = choose("--labels", "1000")
    assert "news: no answer, for labels=1000 is not recorded here; recorded are 100." in out
    assert "reviews, 1,000 labels: ship pretrained (minilm-l6)." in one_line(out)


def test_sweeps_name_the_records_and_the_evidence_their_commands(store: Store, choose: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [factories.cell(factories.make_run(model=model, labels=1000, seed=seed)) for model in ACCURACY for seed in range(5)]
    sweep = factories.sweep_of(*cells)
    write_evidence([sweep], store, Path("page"))
    monkeypatch.setenv("BAKEOFF_RUNS", "page/records")
    for arguments in ((), ("sweeps/small.yaml",)):
        (found,) = answers(choose, *arguments)
        assert found["recommended"] == "pretrained (minilm-l6)"
        run = cells[0].run
        assert run is not None
        commands = {run_id: line for one in found["candidates"] for run_id, line in one["commands"].items()}
        assert commands[run.run_id] == "bakeoff run dataset=reviews model=tfidf budget.labels=1000 seed=0"
    code, _, err = choose("sweeps/other.yaml")
    assert (code, err.count("\n")) == (2, 1)
    assert "holds the evidence of small and not of other" in err


def test_records_of_uncommitted_code_are_warned_of(store: Store, choose: Call) -> None:
    run = factories.make_run(model="scratch", labels=1000)
    dirty = Provenance(commit="1234567890abcdef", dirty=True, versions={})
    factories.bake(store, run, accuracy=0.5, provenance=dirty)
    code, _, err = choose("model=scratch")
    assert (code, err.count("\n")) == (2, 1)
    assert f"1 of 1 record come from code with uncommitted changes (the first is {run.run_id})" in err
    _, out, _ = choose("model=scratch", "--allow-dirty")
    assert "Warning: 1 of 1 record come from a dirty commit" in one_line(out)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--min-recall", "spam=0.9"], "min_recall names class spam, but the classes are negative, positive"),
        (["--min-recall", "spam"], "--min-recall spam should be CLASS=SHARE, for example spam=0.9"),
        (["--min-recall", "a=0.9", "--min-recall", "a=0.8"], "--min-recall names a twice: give one share for each class"),
        (["--max-p95-ms", "inf", "--format", "json"], "max_p95_ms=inf should be a number above 0"),
        (["--labels", "300"], "labels=300 is not recorded here; recorded are 100, 1000"),
        (["--labels", "1k"], "--labels 1k should be a whole number or all"),
        (["--min-accuracy", "80"], "min_accuracy=80 should be a share from 0 to 1, for example 0.8"),
        (["modle=tfidf"], "modle is not a column; did you mean model?"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(store: Store, choose: Call, arguments: list[str], sentence: str) -> None:
    assert choose(*arguments) == (2, "", f"bakeoff: {sentence}\n")


def test_no_records_at_all_is_one_sentence(tmp_path: Path, choose: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAKEOFF_RUNS", str(tmp_path / "nothing"))
    code, out, err = choose()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no record has a score to choose by: bake some Runs first" in err


def test_records_of_another_version_are_counted(store: Store, choose: Call) -> None:
    runs = [factories.make_run(model="tfidf", labels=100, seed=seed) for seed in range(2)]
    for run in runs:
        path = store.folder(run.run_id) / "record.json"
        path.write_text(path.read_text().replace('"schema_version": ', '"schema_version": 9'))
    _, out, _ = choose()
    assert "Warning: 2 records of another version were left out." in one_line(out)


def test_a_machine_that_cannot_answer_leaves_the_other_its_answer(store: Store, choose: Call) -> None:
    """Elsewhere 2 and 4 threads were timed, of which none is named; with one thread named, that machine is not asked."""
    other = factories.MACHINE.replace("Example", "Other")
    facts = MachineFacts(processor="Other CPU 3.0", usable_cpus=2, memory_gb=7.8, gpu=None, device="cpu")
    for threads in (2, 4):
        run = factories.make_latency_run(model="bilstm", threads=threads, machine=other)
        factories.bake_latency(store, run, factories.make_latency_facts(p50_ms=0.5), machine=facts)
    code, out, _ = choose()
    assert code == 0
    assert "reviews: no answer, for latencies were measured with 2, 4 threads: name one with threads=2." in one_line(out)
    assert "ship pretrained (minilm-l6)." in one_line(out)
    (only,) = answers(choose, "--threads", "1")
    assert (only["recommended"], only["machine"]) == ("pretrained (minilm-l6)", factories.MACHINE)


def test_a_fixed_length_is_no_p95(store: Store, choose: Call) -> None:
    for model in P50_MS:
        grid = factories.make_grid(fixed_ms=1.0, ms_a_token=0.01, most=1024)
        run = factories.make_latency_run(model=model, lengths="grid")
        factories.bake_latency(store, run, factories.make_latency_facts(p50_ms=1.0, p95_ms=None, grid=grid))
    _, out, _ = choose("--tokens-p95", "400", "model=bilstm")
    assert "ms at 512 tokens" in out
    assert "p95 ms" not in out


def test_names_cannot_write_to_the_terminal(store: Store, choose: Call) -> None:
    model = replace(factories.MODELS["tfidf"], name="tf\x1b[31midf\u202e", ngram_max=1)
    factories.bake(store, factories.make_run(model=model, labels=1000), accuracy=0.9)
    _, out, _ = choose()
    assert "tf\\u001b[31midf\\u202e" in out
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_records_alone_need_neither_torch_nor_hydra(store: Store) -> None:
    code = (
        "import sys; sys.argv = ['bakeoff', 'choose', '--max-p95-ms', '10']\n"
        "from bakeoff import cli; cli.main()\n"
        "print(sorted({'torch', 'hydra', 'omegaconf', 'transformers', 'wandb', 'matplotlib', 'pandas'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
