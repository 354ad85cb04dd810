"""Several seeds on one draw of labels: scores are averaged within a draw, and draws are what counts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

import contenders
from bakeoff.report import pairs, stats
from bakeoff.report.choice import Contender, Limits
from bakeoff.report.choose import choose
from contenders import contender, wrong_on

SEEDS = ((0, 0), (0, 1), (1, 2), (2, 3))


def on_draws(name: str, wrong: list[int], seeds: tuple[tuple[int, int], ...] = SEEDS, **changes: object) -> Contender:
    """As many wrong rows of 1,000 for each seed."""
    right = np.concatenate([wrong_on(range(n), seeds=1) for n in wrong])
    return contender(name, (replace(contenders.answers(right), seeds=seeds),), **changes)


def test_seeds_are_averaged_within_a_draw_before_draws_vary() -> None:
    found = pairs.score(on_draws("a", [100, 120, 140, 150]), "accuracy")
    by_draw = np.array([0.89, 0.86, 0.85])
    assert (found.seeds, found.mean, found.sd) == (3, pytest.approx(by_draw.mean()), pytest.approx(by_draw.std(ddof=1)))
    assert found.seed_variance == pytest.approx(by_draw.var(ddof=1) / 3)
    by_row = np.mean([(~np.isin(np.arange(1000), range(n))) * w for n, w in ((100, 0.5), (120, 0.5), (140, 1), (150, 1))], axis=0) * 4 / 3
    assert found.row_variance == pytest.approx(by_row.var(ddof=1) / 1000)
    half = scipy_stats.t.ppf(0.975, found.degrees) * found.standard_error
    assert found.low == pytest.approx(found.mean - half)


def test_losses_are_averaged_within_a_draw_too() -> None:
    a, b = on_draws("a", [100, 120, 140, 150]), on_draws("b", [110, 150, 150, 150])
    found = pairs.loss(a, b, "accuracy")
    assert found is not None
    by_draw = np.array([0.02, 0.01, 0.0])
    assert (found.seeds, found.mean, found.seed_variance) == (3, pytest.approx(0.01), pytest.approx(by_draw.var(ddof=1) / 3))
    f1 = pairs.loss(a, b, "macro_f1")
    assert f1 is not None
    assert f1.seeds == 3


def test_a_draw_for_each_seed_is_the_plain_formula() -> None:
    a, b = (contender(name, wrong_on(range(n, n + 50)), p50_ms=1.0) for name, n in (("a", 0), ("b", 20)))
    assert pairs.score(a, "macro_f1") == stats.estimate(a.folds[0], "macro_f1")
    assert pairs.loss(a, b, "accuracy") == stats.difference(a.folds[0], b.folds[0], "accuracy")


def test_one_draw_with_five_seeds_gives_no_verdict() -> None:
    one_draw = tuple((0, seed) for seed in range(5))
    dear, cheap = (on_draws(name, [n] * 5, one_draw, p50_ms=ms) for name, n, ms in (("dear", 100, 9.0), ("cheap", 101, 1.0)))
    choice = choose(contenders.field(dear, cheap), Limits())
    assert (dear.seeds, dear.alone, choice.recommended) == (1, "one draw", None)
    assert choice.reason is not None
    assert choice.reason.startswith("dear, the best by its mean, has one draw, which says nothing of other draws of labels")
    assert choice.with_verdict("undecided")[0].why_undecided == "one draw"
