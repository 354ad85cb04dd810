"""The claims about typing errors and nuance, on made answers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import text_bench

from bakeoff import spec
from bakeoff.claims.claim import NotMeasured
from bakeoff.claims.learning import nuance, typos
from bakeoff.store import Store

WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet")
ROWS = 400
TEXTS = [f"{WORDS[i % 10]} {WORDS[i // 10 % 10]} film story number{chr(97 + i // 100)}" for i in range(ROWS)]


def bench(folder: Path, right: text_bench.Answer, sweep: str, **changes: Any) -> text_bench.TextBench:
    cells: Mapping[str, list[spec.Run]] = {sweep: text_bench.runs("tfidf", "bilstm", "pretrained")}
    return text_bench.TextBench(**{"store": Store(folder), "cells": cells, "test_texts": TEXTS, "right": right} | changes)


@pytest.fixture(autouse=True)
def _labelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The labelled texts hold the words of the even rows' alphabet, so that unseen words grow with the row's words."""
    monkeypatch.setattr(typos, "fit_texts", lambda run: ("film story numbera numberb numberc numberd alpha bravo charlie delta echo",))


def unseen(text: str) -> int:
    return sum(word not in ("alpha", "bravo", "charlie", "delta", "echo") for word in text.split()[:2])


def test_typos_hold_where_the_bilstm_breaks(tmp_path: Path) -> None:
    intact = set(TEXTS)

    def right(run: spec.Run, text: str) -> bool:
        if run.model.name == "bilstm":
            return text in intact and unseen(text) < 2
        return True

    answer = typos.CLAIM.measure(bench(tmp_path, right, "typos"))
    assert answer.verdict == "holds"
    assert answer.figure is not None
    assert answer.interval is not None
    edited = np.array([typos.mistype(text, share=0.1, seed=0) != text for text in TEXTS])
    lost = np.array([unseen(text) < 2 for text in TEXTS]) & edited
    assert answer.figure == pytest.approx(100 * lost.mean())
    assert answer.interval.low < answer.figure < answer.interval.high
    rows = {(row["model"], row["test texts"]): row for row in answer.rows}
    assert len(rows) == 3 * (4 + 4) == len(answer.rows)
    assert rows["bilstm", "0% of words mistyped"]["accuracy, %"] == 75.0
    assert rows["bilstm", "10% of words mistyped"]["lost, points"] == round(100 * lost.mean(), 1)
    assert rows["pretrained", "20% of words mistyped"]["lost, points"] == 0.0
    assert rows["bilstm", "quarter 1 by unseen words"]["accuracy, %"] == 100.0
    assert rows["bilstm", "quarter 4 by unseen words"]["accuracy, %"] == 0.0
    assert [len(picture.series) for picture in answer.pictures if hasattr(picture, "series")] == [3, 3]
    assert len(answer.run_ids) == 9
    assert answer.notes[1].endswith("tfidf 50.0, bilstm 25.0, pretrained 50.0. One that is little above it has little to lose.")


def test_typos_do_not_hold_where_the_pretrained_model_breaks(tmp_path: Path) -> None:
    intact = set(TEXTS)
    answer = typos.CLAIM.measure(bench(tmp_path, lambda run, text: run.model.name != "pretrained" or text in intact, "typos"))
    assert answer.verdict == "does not hold"
    assert answer.figure is not None
    assert answer.figure < 0


def test_typos_are_inconclusive_where_both_answer_alike(tmp_path: Path) -> None:
    answer = typos.CLAIM.measure(bench(tmp_path, lambda run, text: True, "typos", size="small"))
    assert (answer.verdict, answer.figure) == ("inconclusive", 0.0)
    assert answer.detectable is not None
    assert answer.detectable > 0


def test_typos_where_unseen_words_decide_against_it(tmp_path: Path) -> None:
    intact = set(TEXTS)

    def right(run: spec.Run, text: str) -> bool:
        if run.model.name == "bilstm":
            return text in intact
        return run.model.name == "tfidf" or text not in intact or unseen(text) < 2

    answer = typos.CLAIM.measure(bench(tmp_path, right, "typos"))
    assert (answer.verdict, answer.figure, answer.unit) == ("does not hold", -100.0, "points of lead, from fewest to most unseen words")
    assert answer.interval is not None
    assert answer.interval.low <= -100.0 < answer.interval.high < 0
    assert answer.detectable is not None


def test_an_accuracy_is_no_more_than_all(tmp_path: Path) -> None:
    answer = typos.CLAIM.measure(bench(tmp_path, lambda run, text: True, "typos", size="small"))
    ends = [end for picture in answer.pictures for series in picture.series for end in (*series.low, *series.high)]  # type: ignore[union-attr, misc]
    assert max(ends) == 100.0
    assert min(ends) == pytest.approx(100 * 0.025 ** (1 / 100))  # of a quarter of the rows


def test_typos_without_one_of_the_two(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match=r"^pretrained and bilstm are not both recorded, and the claim compares the two$"):
        typos.CLAIM.measure(bench(tmp_path, lambda run, text: True, "typos", cells={"typos": text_bench.runs("tfidf", "pretrained")}))
    cells = {"typos": [*text_bench.runs("bilstm", draws=2), *text_bench.runs("pretrained")]}
    with pytest.raises(NotMeasured, match=r"^pretrained and bilstm were not given the same draws: bake the same seeds$"):
        typos.CLAIM.measure(bench(tmp_path, lambda run, text: True, "typos", cells=cells))


def test_quartiles_are_equal_parts_lowest_first() -> None:
    parts = typos.quartiles(np.array([0.5, 0.0, 0.0, 0.9, 0.2, 0.2, 0.1]))
    assert [np.flatnonzero(part).tolist() for part in parts] == [[1, 2], [4, 6], [0, 5], [3]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the film was not good at all", True),
        ("It ISN'T bad", True),
        ("it isn’t bad", True),
        ("slow, but worth it", True),
        ("Although long, a joy", True),
        ("nothing happens", True),
        ("an absolute triumph", False),
        ("a knot of butter, northern and notable", False),
        ("", False),
    ],
)
def test_what_counts_as_nuance(text: str, expected: bool) -> None:
    assert nuance.has_nuance(text) is expected


def nuanced_texts() -> list[str]:
    return [f"a film number {i}" + (" but not bad" if i % 4 < 2 else "") for i in range(ROWS)]


def test_nuance_holds_where_the_lead_is_on_nuanced_texts(tmp_path: Path) -> None:
    def right(run: spec.Run, text: str) -> bool:
        return run.model.name == "pretrained" or " but " not in text or int(text.split()[3]) % 8 == 0

    answer = nuance.CLAIM.measure(bench(tmp_path, right, "nuance", test_texts=nuanced_texts()))
    assert answer.verdict == "holds"
    assert answer.figure == pytest.approx(75.0)
    assert answer.interval is not None
    assert 60 < answer.interval.low < 75 < answer.interval.high
    assert (
        "leads TF-IDF by 75.0 points on the 200 texts with a negator or a contrast word and leads it by 0.0 points on the other 200"
        in answer.seen
    )
    assert [row["with a negator or contrast word, %"] for row in answer.rows] == [25.0, 25.0, 100.0]
    assert [row["the rest, %"] for row in answer.rows] == [100.0] * 3
    assert answer.notes[2] == ("“the film was not good at all”, to pretrained: negative (100% sure on average; 3 of 3 draws).")


def test_nuance_does_not_hold_and_is_inconclusive(tmp_path: Path) -> None:
    def reverse(run: spec.Run, text: str) -> bool:
        return run.model.name == "pretrained" or " but " in text

    assert nuance.CLAIM.measure(bench(tmp_path, reverse, "nuance", test_texts=nuanced_texts())).verdict == "does not hold"

    def alike(run: spec.Run, text: str) -> bool:
        return run.model.name == "pretrained" or text == nuance.SENTENCE or int(text.split()[3]) % 3 == 0

    answer = nuance.CLAIM.measure(bench(tmp_path, alike, "nuance", test_texts=nuanced_texts()))
    assert answer.verdict == "inconclusive"
    assert answer.figure == pytest.approx(0, abs=1)
    assert answer.detectable is not None
    assert 10 < answer.detectable < 20


def test_nuance_needs_both_kinds_of_texts(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match=r"^0 of 400 test texts hold a negator or a contrast word: both kinds are needed$"):
        nuance.CLAIM.measure(bench(tmp_path, lambda run, text: True, "nuance"))
