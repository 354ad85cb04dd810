"""Cost against length on a page: tables, exponents over both ranges by hand, and what is called linear."""

import dataclasses
import math
from collections.abc import Callable

import pytest

import factories
from bakeoff.record import GridPoint, Interval
from bakeoff.report.candidates import candidates
from bakeoff.report.latency_long import growths
from bakeoff.report.pages import write_report
from bakeoff.report.timing import sessions
from bakeoff.spec import LongDoc, Run
from bakeoff.store import Store
from factories import cell, sweep_of

TOKENS = (512, 1024, 2048, 4096, 8192, 16384, 32768)
WINDOWS = LongDoc(strategy="windows", max_tokens=None, window_tokens=256, overlap_tokens=64, pool="mean_logits", trained_windows=32)


def points(ms: Callable[[int], float | None], *, memory: bool = True) -> tuple[GridPoint, ...]:
    """A long grid of these medians; a null one was not read."""
    made = []
    for tokens in TOKENS:
        median = ms(tokens)
        made.append(
            GridPoint(
                tokens=tokens,
                n_samples=0 if median is None else 5,
                p50_ms=median,
                interval=None if median is None else Interval(low=median / 2, high=2 * median),
                reason=None if median is not None else "longdoc=extended-256-4096 reads 4096 tokens of a document",
                peak_memory_mb=300 + tokens / 100 if memory and median is not None else None,
                tokens_processed=2 * tokens,
            )
        )
    return tuple(made)


def bake(store: Store, grid: tuple[GridPoint, ...], *, longdoc: LongDoc | None = None, model: str = "pretrained") -> Run:
    run = factories.make_latency_run(model=model, lengths="long_grid")
    run = run if longdoc is None else dataclasses.replace(run, longdoc=longdoc)
    factories.bake_latency(store, run, factories.make_latency_facts(p50_ms=1.0, grid=grid))
    return run


def page(store: Store, *runs: Run) -> str:
    return write_report([sweep_of(*map(cell, runs), name="long_cost")], store, store.root.parent / "page").read_text()


def test_seconds_tokens_memory_and_exponents_stand_on_the_page(store: Store) -> None:
    linear = bake(store, points(lambda tokens: 0.5 * tokens), longdoc=WINDOWS)
    square = bake(store, points(lambda tokens: 1e-3 * tokens**2, memory=False), model="bilstm")
    found = page(store, linear, square)
    block = found.split("### Cost against length: ")[1].split("\n## ")[0]
    (heading, rest) = block.split("\n", 1)
    assert heading == "reviews, one document at a time on the CPU with 1 thread, session 5e5510a0"
    rows = [[text.strip() for text in line.strip("|").split("|")] for line in rest.splitlines() if line.startswith("| ")]
    (curved, grown) = [row for row in rows if row[-2] in ("linear", "faster than linear")]
    assert (grown[0], grown[1], grown[4]) == ("pretrained (minilm-l6)", "windows-256-64 mean_logits", "untrained")
    assert grown[5:] == ["1.00", "1.00", "32,768", "linear", "10.0"]
    assert (curved[0], curved[5:]) == ("bilstm", ["2.00", "2.00", "32,768", "faster than linear", "–"])
    (longest,) = [row for row in rows if row[4] == "32,768" and row[0] == "pretrained (minilm-l6)"]
    assert longest[5:] == ["16.4 (8.19 to 32.8)", "65,536", "628", "5"]
    assert len([row for row in rows if row[-1] == "5"]) == 2 * len(TOKENS)
    answer = found.split("## The answer")[1].split("\n## ")[0]
    assert (
        "**reviews, one document at a time on the CPU with 1 thread: what a document of 32,768 tokens takes, read whole.** "
        "pretrained (minilm-l6) · windows-256-64 mean_logits: 16.4 s and 628 MB, growing linearly (exponent 1.00); "
        "bilstm · full: 1,074 s, growing faster than linear (exponent 2.00)."
    ) in answer
    assert "own test documents" not in found
    assert "at least 5 timed calls a length" in rest
    assert "up to 1.1 is called linear here" in rest
    assert "Latency against length" not in found
    assert {path.name for path in (store.root.parent / "page" / "figures").iterdir()} == {
        "long-seconds-reviews-cpu-1-single-5e5510a0.svg",
        "long-memory-reviews-cpu-1-single-5e5510a0.svg",
    }


@pytest.mark.parametrize(
    ("exponent", "word"), [(0.8, "linear"), (1.0999, "linear"), (1.1001, "faster than linear"), (2.0, "faster than linear")]
)
def test_linear_is_an_exponent_of_at_most_1_1(store: Store, exponent: float, word: str) -> None:
    run = bake(store, points(lambda tokens: tokens**exponent))
    record = store.load(run.run_id)
    assert record is not None
    (session,) = sessions([record], candidates([run]))
    (growth,) = growths(session)
    assert growth.whole is not None
    assert (growth.whole.exponent, growth.whole.lengths) == (pytest.approx(exponent), 7)
    assert growth.word == word


def test_both_ranges_have_their_own_exponent(store: Store) -> None:
    """A fixed cost flattens the start: 1 ms up to 4,096 tokens, then in step with the length."""
    run = bake(store, points(lambda tokens: max(1.0, tokens / 4096)))
    record = store.load(run.run_id)
    assert record is not None
    (growth,) = growths(sessions([record], candidates([run]))[0])
    assert growth.long is not None
    assert growth.whole is not None
    assert (growth.long.first_tokens, growth.long.last_tokens, growth.long.exponent) == (4096, 32768, pytest.approx(1.0))
    # x = -3 … 3 doublings about the middle, y = 0, 0, 0, 0, 1, 2, 3 doublings: Σxy / Σx² = (1 + 4 + 9) / 28
    assert (growth.whole.first_tokens, growth.whole.exponent) == (512, pytest.approx(0.5))
    assert math.isclose(growth.long.ms(8192), 0.002)


def test_a_length_that_is_not_read_has_its_reason_and_no_law_is_fitted_to_few(store: Store) -> None:
    extended = LongDoc(strategy="extended", max_tokens=4096, attention_window=256)
    found = page(store, bake(store, points(lambda tokens: float(tokens) if tokens <= 4096 else None), longdoc=extended))
    assert "- pretrained (minilm-l6), 8,192, 16,384 and 32,768 tokens: longdoc=extended-256-4096 reads 4096 tokens of a document." in found
    (row,) = [line for line in found.splitlines() if line.startswith("| pretrained (minilm-l6) |") and "linear" in line]
    assert [text.strip() for text in row.strip("|").split("|")][5:] == ["1.00", "4,096", "linear", "10.0"]


def test_a_session_without_long_documents_has_no_such_block(store: Store) -> None:
    run = factories.make_latency_run()
    factories.bake_latency(store, run, factories.make_latency_facts(p50_ms=1.0))
    assert "Cost against length" not in page(store, run)
