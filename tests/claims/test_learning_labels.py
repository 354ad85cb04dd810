"""labels-1000, crossover and zero-shot-first on made Runs: what holds, what does not, what stays open, and what is missing."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning_bench import ROWS, T_ROWS, Cell, bench, half_width_points, over_draws

from bakeoff.claims.claim import Answer, Interval, NotMeasured
from bakeoff.claims.learning import crossover, labels_1000, zero_shot_first

LEADER = over_draws("pretrained", 1000, 780, 780, 780, 780, 780)


def equivalents(folder: Path, *cells: Sequence[Cell]) -> Answer:
    """The answer of labels-1000 where the leader scores 78% with 1,000 labels in each of five draws."""
    return labels_1000.measure(bench(folder, {"labels_1000": [*LEADER, *(cell for group in cells for cell in group)]}))


def tfidf_to(*right: int) -> list[Cell]:
    """TF-IDF with 70% at 1,000 labels in every draw, and these right rows at 3,000."""
    return [*over_draws("tfidf", 1000, *[700] * len(right)), *over_draws("tfidf", 3000, *right)]


def test_labels_holds_where_every_model_that_was_not_pretrained_needs_twice_as_many(tmp_path: Path) -> None:
    tfidf = [*over_draws("tfidf", 3000, *[700] * 5), *over_draws("tfidf", "all", *[790] * 5)]
    answer = equivalents(tmp_path, tfidf)
    needs = 3 * (8 / 3) ** (80 / 90)
    assert answer.verdict == "holds"
    assert answer.figure == pytest.approx(needs)
    assert answer.interval == Interval(low=pytest.approx(needs), high=pytest.approx(needs))
    assert answer.unit == "× as many labels"
    assert answer.seen.startswith(f"For the 78.0% that pretrained reaches with 1,000 labels tfidf needs {1000 * needs:,.0f} (")
    assert len(answer.run_ids) == 15


def test_labels_carries_nothing_on_beyond_the_largest_budget(tmp_path: Path) -> None:
    bilstm = [*over_draws("bilstm", 1000, *[600] * 5), *over_draws("bilstm", 3000, *[650] * 5)]
    answer = equivalents(tmp_path, bilstm)
    assert (answer.verdict, answer.figure, answer.unit) == ("holds", 3.0, "× as many labels, and more")
    assert answer.interval == Interval(low=3.0, high=math.inf)
    assert "bilstm needs > 3,000; the rule is judged by bilstm." in answer.seen
    assert answer.rows[0]["from"] == "> 3,000"


def test_labels_does_not_hold_against_one_model_that_needs_fewer(tmp_path: Path) -> None:
    bilstm = [*over_draws("bilstm", 1000, *[600] * 5), *over_draws("bilstm", 3000, *[650] * 5)]
    answer = equivalents(tmp_path, bilstm, tfidf_to(*[860] * 5))
    assert answer.verdict == "does not hold"
    assert answer.figure == pytest.approx(math.sqrt(3))
    assert answer.seen.endswith("bilstm needs > 3,000, tfidf needs 1,732 (1,732 to 1,732); the rule is judged by tfidf.")
    assert {row["model"]: row["more than twice as many"] for row in answer.rows} == {"bilstm": "holds", "tfidf": "does not hold"}


def test_labels_at_the_smallest_budget_already(tmp_path: Path) -> None:
    answer = equivalents(tmp_path, [*over_draws("tfidf", 1000, *[790] * 5), *over_draws("tfidf", 3000, *[800] * 5)])
    assert (answer.verdict, answer.figure, answer.interval) == ("does not hold", 1.0, Interval(low=0.0, high=1.0))
    assert answer.unit == "× as many labels, or fewer"


def test_labels_stays_open_where_draws_lie_on_both_sides(tmp_path: Path) -> None:
    answer = equivalents(tmp_path, tfidf_to(860, 800, 780, 860, 800))
    low, middle, high = (3**share for share in (0.5, 0.8, 1.0))
    assert answer.verdict == "inconclusive"
    assert answer.figure == pytest.approx(middle)
    assert answer.interval == Interval(low=pytest.approx(low), high=pytest.approx(high))
    assert answer.detectable == pytest.approx(2 * middle / low)
    assert "93.8% coverage" in answer.notes[0]


def test_labels_stays_open_where_the_largest_budget_is_below_twice_as_many(tmp_path: Path) -> None:
    answer = equivalents(tmp_path, [*over_draws("tfidf", 100, *[550] * 5), *over_draws("tfidf", 1000, *[650] * 5)])
    assert (answer.verdict, answer.interval) == ("inconclusive", Interval(low=1.0, high=math.inf))


def test_labels_shows_pretrained_models_without_judging_them(tmp_path: Path) -> None:
    frozen = [*over_draws("frozen", 100, *[780] * 5), *over_draws("frozen", 1000, *[790] * 5)]
    answer = equivalents(tmp_path, tfidf_to(*[700] * 5), frozen, over_draws("zero_shot", 0, 600))
    assert answer.verdict == "holds"
    assert {row["model"]: row["more than twice as many"] for row in answer.rows} == {
        "tfidf": "holds",
        "frozen": "not asked: pretrained itself",
    }
    assert "zero_shot reads no label and scores 60.0%." in answer.notes
    (lines,) = answer.pictures
    assert [series.label for series in lines.series] == ["frozen", "pretrained", "tfidf", "tfidf needs > 3,000"]
    assert (lines.log_x, lines.series[-1].x, lines.series[-1].y) == (True, (1000.0, 3000.0), (78.0, 78.0))


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (tfidf_to(*[700] * 5), "pretrained with 1,000 labels is not recorded"),
        ([*LEADER, *over_draws("tfidf", 1000, *[700] * 5)], "recorded with two budgets of labels"),
        ([*LEADER, *over_draws("frozen", 100, 700), *over_draws("frozen", 1000, 700)], "no model that was not pretrained"),
    ],
    ids=["leader", "curve", "rival"],
)
def test_labels_says_what_is_missing(tmp_path: Path, cells: list[Cell], reason: str) -> None:
    with pytest.raises(NotMeasured, match=reason):
        labels_1000.measure(bench(tmp_path, {"labels_1000": cells}))


def test_labels_small_form_asks_for_what_the_rule_needs(tmp_path: Path) -> None:
    asked = {" ".join(("labels_1000", *overrides)): list[Cell]() for overrides in labels_1000.SMALL}
    asked["labels_1000 model=pretrained budget.labels=100,1000"] = LEADER
    asked["labels_1000 model=tfidf budget.labels=100,300,1000,3000,all"] = tfidf_to(*[700] * 5)
    small = bench(tmp_path, asked, size="small")
    assert labels_1000.measure(small).verdict == "holds"
    assert small.asked == list(asked)


# crossover


def lead(folder: Path, *cells: Sequence[Cell], **changes: Any) -> Answer:
    return crossover.measure(bench(folder, {"crossover": [cell for group in cells for cell in group]}, **changes))


def pair(labels: Any, leader: int, tfidf: int, bilstm: int = 500) -> list[Cell]:
    """Three draws of each at one budget."""
    return [
        cell for model, n in (("pretrained", leader), ("tfidf", tfidf), ("bilstm", bilstm)) for cell in over_draws(model, labels, n, n, n)
    ]


def test_crossover_holds_where_the_lead_shrinks_and_is_still_there(tmp_path: Path) -> None:
    answer = lead(tmp_path, pair(1000, 780, 650), pair(3000, 800, 720, bilstm=730))
    by_row = np.concatenate([-np.ones(80), np.ones(20), np.zeros(900)])
    half = 100 * T_ROWS * float(np.sqrt(by_row.var(ddof=1) / ROWS))
    assert answer.verdict == "holds"
    assert answer.figure == pytest.approx(-6.0)
    assert answer.interval == Interval(low=pytest.approx(-6 - half), high=pytest.approx(-6 + half))
    assert (
        "with 1,000 pretrained leads tfidf by 13.0 points, with 3,000 it leads bilstm by 7.0 points (5.4 to 8.6), a change of −6.0"
        in answer.seen
    )
    assert [row["best not pretrained"] for row in answer.rows] == ["tfidf", "bilstm"]
    assert [row["lead, points"] for row in answer.rows] == [13.0, 7.0]
    shrinks, ahead, _, untested = answer.notes
    assert shrinks.startswith("The lead shrinks from 1,000 to 3,000 labels: holds (−6.0 points of lead")
    assert ahead.startswith("pretrained leads with 3,000 labels: holds (7.0 points of lead")
    assert untested == "What happens at 50,000 or 1,000,000 labels cannot be tested here: the pool has 8,000 rows, and 3,000 were used."


def test_crossover_does_not_hold_where_the_lead_grows_or_is_gone(tmp_path: Path) -> None:
    assert lead(tmp_path / "grows", pair(1000, 780, 700), pair(3000, 850, 700)).verdict == "does not hold"
    assert lead(tmp_path / "gone", pair(1000, 780, 700), pair(3000, 800, 850)).verdict == "does not hold"


def test_crossover_stays_open_where_the_lead_hardly_changes(tmp_path: Path) -> None:
    answer = lead(tmp_path, pair(1000, 780, 700), pair(3000, 800, 725))
    assert answer.verdict == "inconclusive"
    assert answer.figure == pytest.approx(-0.5)
    assert answer.detectable is not None
    assert answer.detectable > 0.5


def test_crossover_asks_of_a_million_labels_that_the_lead_is_gone(tmp_path: Path) -> None:
    few = (pair(1000, 780, 650), pair(3000, 800, 700))
    gone = lead(tmp_path / "gone", *few, pair(1_000_000, 900, 900))
    assert gone.verdict == "holds"
    assert not [note for note in gone.notes if "cannot be tested here" in note]
    left = lead(tmp_path / "left", *few, pair(1_000_000, 900, 850))
    assert (left.verdict, left.figure, left.unit) == ("does not hold", pytest.approx(5.0), "points of lead with 1,000,000 labels")


@pytest.mark.parametrize("cells", [pair(1000, 780, 650), over_draws("pretrained", 1000, 780)], ids=["one budget", "no rival"])
def test_crossover_says_what_is_missing(tmp_path: Path, cells: list[Cell]) -> None:
    with pytest.raises(NotMeasured, match="are not recorded with 1,000 labels and with more"):
        lead(tmp_path, cells)


def test_crossover_small_form_stops_at_3000(tmp_path: Path) -> None:
    small = bench(tmp_path, {"crossover budget.labels=1000,3000": [*pair(1000, 780, 650), *pair(3000, 800, 720)]}, size="small")
    assert crossover.measure(small).verdict == "holds"


# zero-shot-first


def first(folder: Path, zero_shot: int, **changes: Any) -> Answer:
    taught = [*over_draws("tfidf", 1000, 650, 650, 650), *over_draws("pretrained", 1000, 780, 780, 780)]
    cells = {"zero_shot_first": over_draws("zero_shot", 0, zero_shot), "labels_1000 budget.labels=1000": taught}
    return zero_shot_first.measure(bench(folder, cells, **changes))


def test_zero_shot_holds_within_a_point(tmp_path: Path) -> None:
    answer = first(tmp_path, 780)
    assert (answer.verdict, answer.figure) == ("holds", 0.0)
    assert answer.interval == Interval(low=pytest.approx(-100 * (1 - 0.025**0.001)), high=pytest.approx(100 * (1 - 0.025**0.001)))


def test_zero_shot_does_not_hold_far_below(tmp_path: Path) -> None:
    answer = first(tmp_path, 600)
    assert answer.verdict == "does not hold"
    assert answer.figure == pytest.approx(18.0)
    assert answer.interval == Interval(low=pytest.approx(18 - half_width_points(180)), high=pytest.approx(18 + half_width_points(180)))
    assert answer.seen.startswith("zero_shot scores 60.0% without a label, pretrained 78.0% with 1,000, and so leads it by 18.0 points (")
    assert [(row["model"], row["labels"], row["below the best, points"]) for row in answer.rows] == [
        ("zero_shot", 0, 18.0),
        ("tfidf", 1000, 13.0),
        ("pretrained", 1000, None),
    ]


def test_zero_shot_stays_open_around_a_point(tmp_path: Path) -> None:
    answer = first(tmp_path, 772)
    assert (answer.verdict, answer.figure) == ("inconclusive", pytest.approx(0.8))


def test_zero_shot_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match="are not both recorded"):
        zero_shot_first.measure(bench(tmp_path, {"zero_shot_first": [], "labels_1000 budget.labels=1000": LEADER}))
    with pytest.raises(NotMeasured, match="zero_shot_first failed"):
        zero_shot_first.measure(bench(tmp_path, {}))
