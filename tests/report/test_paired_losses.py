"""Losses over folds, McNemar, and the score of a winner."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

import contenders
from bakeoff.report import pairs, stats
from bakeoff.report.winner import winners
from contenders import answers, contender, wrong_on


def in_folds(name: str, wrong: list[int]) -> contenders.Contender:
    """Five folds of 40 rows, of which this many are wrong for each of two seeds."""
    folds = tuple(answers(wrong_on(range(40 - n, 40), seeds=2, of=40), first_row=40 * i) for i, n in enumerate(wrong))
    return contender(name, folds, pool_share=0.25)


def test_folds_pool_their_answers_and_their_variance_is_corrected() -> None:
    found = pairs.score(in_folds("a", [4, 8, 6, 10, 2]), "accuracy")
    # Folds score .9, .8, .85, .75, .95: variance .00625, and SE² = (1/5 + 1/4) · .00625.
    half = scipy_stats.t.ppf(0.975, 4) * math.sqrt(0.45 * 0.00625)
    assert (found.mean, found.degrees, found.rows, found.seeds) == (pytest.approx(0.85), 4, 200, 2)
    assert (found.low, found.high) == pytest.approx((0.85 - half, 0.85 + half))
    assert found.standard_error == pytest.approx(math.sqrt(0.45 * 0.00625))


def test_losses_over_folds_are_those_of_each_fold() -> None:
    a, b = in_folds("a", [4, 8, 6, 10, 2]), in_folds("b", [6, 8, 10, 10, 6])
    found = pairs.loss(a, b, "accuracy")
    assert found is not None
    apart = np.array([0.05, 0.0, 0.1, 0.0, 0.1])
    assert found.mean == pytest.approx(0.05)
    assert found.standard_error == pytest.approx(math.sqrt(0.45 * apart.var(ddof=1)))
    assert pairs.loss(a, contender("one fold", wrong_on([])), "accuracy") is None


def test_macro_f1_over_folds_is_of_the_pooled_answers() -> None:
    generator = np.random.default_rng(0)
    labels, right = generator.integers(0, 2, (3, 50)), generator.random((3, 2, 50)) < 0.8
    folds = tuple(answers(right[i], labels=labels[i], first_row=50 * i) for i in range(3))
    found = pairs.score(contender("a", folds, pool_share=0.5), "macro_f1")
    pooled = answers(np.concatenate(right, axis=1), labels=np.concatenate(labels))
    assert found.mean == pytest.approx(pooled.scores("macro_f1").mean())


def test_one_test_set_is_what_stats_says() -> None:
    a, b = (contender(name, np.random.default_rng(i).random((3, 80)) < 0.8) for i, name in enumerate("ab"))
    assert pairs.score(a, "accuracy") == stats.estimate(a.folds[0], "accuracy")
    assert pairs.loss(a, b, "macro_f1") == stats.difference(a.folds[0], b.folds[0], "macro_f1")


def test_mcnemar_is_the_exact_binomial_test() -> None:
    first, second = answers(wrong_on(range(3), seeds=1, of=50)), answers(wrong_on(range(2, 14), seeds=1, of=50))
    found = pairs.mcnemar(first, second)
    assert (found.only_first, found.only_second) == (11, 2)
    assert found.p == pytest.approx(scipy_stats.binomtest(2, 13).pvalue)
    with pytest.raises(ValueError, match="give one seed of each"):
        pairs.mcnemar(answers(wrong_on([])), second)


def test_a_winner_by_luck_is_worth_what_the_others_are() -> None:
    """Twenty coin throwers: the best of them looks several points better than it is."""
    generator = np.random.default_rng(3)
    field = [contender(f"c{i:02d}", generator.random((1, 400)) < 0.5) for i in range(20)]
    best = max(pairs.score(each, "accuracy").mean for each in field)
    found = winners(field, "accuracy")
    assert best > 0.53
    assert found.corrected < best - 0.015
    assert sum(found.wins.values()) == pytest.approx(1.0)
    assert max(found.wins.values()) < 0.8


def test_ties_share_the_wins_and_a_clear_winner_keeps_its_score() -> None:
    same = [contender(name, wrong_on(range(90, 100), of=100)) for name in "ab"]
    assert winners(same, "accuracy").wins == {"a": 0.5, "b": 0.5}
    clear = winners([same[0], contender("c", wrong_on(range(100), of=100))], "accuracy")
    assert clear.wins == {"a": 1.0, "c": 0.0}
    assert clear.corrected == pytest.approx(0.9, abs=0.01)


def test_the_rows_left_out_are_what_a_winner_is_scored_on() -> None:
    one = contender("a", wrong_on(range(30), of=100))
    weights = np.concatenate(list(stats.resampling_weights(100)))
    expected = np.mean([1 - (row[:30] == 0).sum() / (row == 0).sum() for row in weights])
    assert winners([one], "accuracy").corrected == pytest.approx(expected)
    by_f1 = winners([one, contender("b", wrong_on(range(60), of=100))], "macro_f1")
    assert by_f1.wins["a"] > 0.99
