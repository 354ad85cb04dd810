"""long-documents on made Runs: competitive or not past the window, and what is missing."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from learning_bench import Cell, bench, over_draws

import factories
from bakeoff import record as records
from bakeoff import spec
from bakeoff.claims.claim import Answer, Interval, NotMeasured
from bakeoff.claims.learning import long_documents

LENGTHS = [100] * 600 + [700] * 300 + [3000] * 100
"""The last 400 rows are past the window."""
HEAD = spec.LongDoc(strategy="head", max_tokens=256)
TAIL = spec.LongDoc(strategy="tail", max_tokens=256)


WINDOWS = spec.LongDoc(strategy="windows", max_tokens=None, window_tokens=256, overlap_tokens=32, pool="mean_logits", trained_windows=8)
EXTENDED = spec.LongDoc(strategy="extended", max_tokens=4096, attention_window=512)


def read(folder: Path, bilstm: int, *, head: int = 800, tail: int = 900, every_way: bool = False) -> Answer:
    """The answer where these many rows, counted from the first, are right in each of three draws."""
    cells = [
        *over_draws("tfidf", 1000, *[950] * 3),
        *over_draws("bilstm", 1000, *[bilstm] * 3),
        *over_draws("frozen", 1000, *[head] * 3, longdoc=HEAD),
        *over_draws("frozen", 1000, *[tail] * 3, longdoc=TAIL),
        *(cell for way in (WINDOWS, EXTENDED) if every_way for cell in over_draws("pretrained", 1000, *[800] * 3, longdoc=way)),
    ]
    return long_documents.measure(bench(folder, {"long_documents_1000": cells}, lengths=LENGTHS))


def test_holds_where_the_bilstm_is_competitive(tmp_path: Path) -> None:
    answer = read(tmp_path, 900, every_way=True)
    most = 100 * (1 - 0.025 ** (1 / 400))
    assert (answer.verdict, answer.figure) == ("holds", 0.0)
    assert answer.interval == Interval(low=pytest.approx(-most), high=pytest.approx(most))
    assert answer.seen == (
        f"On the 400 test documents over 512 tokens bilstm on whole documents scores 75.0% and so loses 0.0 points (−{most:.1f} to "
        f"{most:.1f}) "
        "against the best reading of an encoder (frozen, tail-256), which scores 75.0%. TF-IDF on whole documents scores 87.5%."
    )


def test_it_cannot_hold_against_some_of_the_readings(tmp_path: Path) -> None:
    """A reading that was not baked may be better than the best of those that were."""
    assert read(tmp_path, 900).verdict == "inconclusive"


def test_does_not_hold_where_it_is_far_below_the_best_reading(tmp_path: Path) -> None:
    answer = read(tmp_path, 800)
    assert (answer.verdict, answer.figure) == ("does not hold", pytest.approx(25.0))
    tfidf, bilstm, head, tail = answer.rows
    assert (tfidf["all, %"], tfidf["over 512, %"]) == (95.0, 87.5)
    assert (bilstm["to 512, %"], bilstm["513–1,024, %"], bilstm["1,025–2,048, %"], bilstm["over 2,048, %"]) == (100.0, 66.7, None, 0.0)
    assert (head["over 512, %"], tail["over 512, %"], tail["training, s"], tail["answering, s"]) == (50.0, 75.0, 12.5, 1.0)
    (lines,) = answer.pictures
    assert lines.series[3].x == (100.0, 700.0, 3000.0)
    assert lines.series[3].y == (100.0, 100.0, 0.0)


def test_stays_open_around_two_points(tmp_path: Path) -> None:
    answer = read(tmp_path, 895)
    assert (answer.verdict, answer.figure) == ("inconclusive", pytest.approx(1.25))
    assert answer.detectable is not None


@pytest.mark.parametrize(("best_step", "told"), [(95, True), (80, False), (None, False)])
def test_says_where_the_bilstm_was_still_learning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, best_step: int | None, told: bool
) -> None:
    made = factories.make_record

    def make_record(*arguments: Any, **changes: Any) -> records.Record:
        record = made(*arguments, **changes)
        return dataclasses.replace(record, training=dataclasses.replace(record.training, best_step=best_step))

    monkeypatch.setattr(factories, "make_record", make_record)
    said = "In 3 of 3 Runs of bilstm the best step by validation loss is among the last tenth"
    assert any(note.startswith(said) for note in read(tmp_path, 800).notes) == told


def test_says_which_ways_were_not_baked(tmp_path: Path) -> None:
    notes = read(tmp_path, 900).notes
    assert notes[0] == "The best reading is the best of 2 on these very documents, which flatters it a little."
    assert [note for note in notes if "baked" in note] == [
        "No reading that would chunk and pool was baked in this form.",
        "No reading that would read a longer window was baked in this form.",
        "No fine-tuned encoder was baked in this form, and one may read better than a frozen one.",
    ]


@pytest.mark.parametrize(
    ("cells", "lengths", "reason"),
    [
        (over_draws("bilstm", 1000, 900), LENGTHS, "are not both recorded"),
        (over_draws("frozen", 1000, 900), LENGTHS, "are not both recorded"),
        ([*over_draws("frozen", 1000, 900), *over_draws("bilstm", 1000, 900)], None, "are not both recorded"),
        ([*over_draws("frozen", 1000, 900), *over_draws("bilstm", 1000, 900)], [100] * 1000, "no test document of reviews is longer"),
    ],
    ids=["no encoder", "no bilstm", "no lengths", "no long document"],
)
def test_says_what_is_missing(tmp_path: Path, cells: list[Cell], lengths: list[int] | None, reason: str) -> None:
    with pytest.raises(NotMeasured, match=reason):
        long_documents.measure(bench(tmp_path, {"long_documents_1000": cells}, lengths=lengths))
