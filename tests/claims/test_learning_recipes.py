"""learning-rate, recipe and masked-lm-helps on made Runs: what holds, what does not, what stays open, and what is missing."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from learning_bench import Cell, bench, half_width_points, over_draws

import factories
from bakeoff import spec
from bakeoff.claims.claim import Answer, Interval, NotMeasured
from bakeoff.claims.learning import learning_rate, masked_lm_helps, recipe

NONE = 100 * (1 - 0.025**0.001)
"""Half the interval of a difference that no row of 1,000 shows."""


def trained(model: str, **changes: Any) -> spec.Model:
    """A model of `factories` with other fields of its training."""
    base = factories.MODELS[model]
    assert isinstance(base, spec.Neural)
    return dataclasses.replace(base, training=dataclasses.replace(base.training, **changes))


# learning-rate

SCRATCH = {2e-5: 480, 5e-4: 640, 1e-3: 630}
TUNED = {2e-5: 780, 1e-4: 780, 1e-3: 600}


def rates(folder: Path, tuned: dict[float, int | None], scratch: dict[float, int | None], *, best: tuple[float, float]) -> Answer:
    """The answer where the lowest validation losses are at the rates `best`, of the fine-tuned model and from scratch."""
    cells, losses = list[Cell](), {}
    for model, by_rate, lowest in (("pretrained", tuned, best[0]), ("scratch", scratch, best[1])):
        for rate, right in by_rate.items():
            made = over_draws(trained(model, learning_rate=rate), 1000, right, right, right)
            losses |= {run.run_id: 0.4 if rate == lowest else 0.6 for run, _ in made}
            cells += made
    return learning_rate.measure(bench(folder, {"learning_rate": cells}, validation_loss=losses))


def test_rate_holds_where_all_three_parts_do(tmp_path: Path) -> None:
    answer = rates(tmp_path, {**TUNED}, {**SCRATCH}, best=(1e-4, 5e-4))
    assert answer.verdict == "holds"
    assert answer.figure == pytest.approx(-4.0)
    assert answer.interval == Interval(low=pytest.approx(-4 - half_width_points(40)), high=pytest.approx(-4 + half_width_points(40)))
    assert answer.seen == (
        "pretrained scores 78.0% at 2e-05, 78.0% at 0.0001, its best rate by validation loss and 60.0% at 0.001; scratch scores 48.0% at "
        "2e-05, 64.0% at 0.0005, its best rate by validation loss, where the largest class has 50.0%."
    )
    (lines,) = answer.pictures
    assert [(series.label, series.x) for series in lines.series] == [("pretrained", (2e-5, 1e-4, 1e-3)), ("scratch", (2e-5, 5e-4, 1e-3))]
    assert lines.log_x


def test_the_best_rate_is_that_of_the_validation_rows(tmp_path: Path) -> None:
    answer = rates(tmp_path, {**TUNED}, {**SCRATCH}, best=(2e-5, 1e-3))
    assert answer.figure == pytest.approx(60.0 - 63.0)


@pytest.mark.parametrize(
    ("tuned", "scratch", "fails"),
    [
        ({**TUNED, 1e-4: 850}, SCRATCH, "2e-05 is within a point of the best rate of pretrained"),
        ({**TUNED, 1e-3: 700}, SCRATCH, "0.001 destroys pretrained"),
        (TUNED, {**SCRATCH, 2e-5: 620}, "scratch at 2e-05 is near chance"),
    ],
    ids=["other rate", "not destroyed", "learns"],
)
def test_rate_does_not_hold_where_one_part_does_not(
    tmp_path: Path, tuned: dict[float, int | None], scratch: dict[float, int | None], fails: str
) -> None:
    answer = rates(tmp_path, tuned, scratch, best=(1e-4, 5e-4))
    assert answer.verdict == "does not hold"
    (note,) = [note for note in answer.notes if ": does not hold" in note]
    shown = f"{answer.figure:.1f}{'' if answer.unit.startswith('%') else ' '}{answer.unit}"
    assert note.startswith(f"{fails}: does not hold ({shown}, ")  # what decides is what is shown


def test_rate_stays_open_where_the_destroyed_model_equals_scratch(tmp_path: Path) -> None:
    answer = rates(tmp_path, {**TUNED, 1e-3: 640}, {**SCRATCH}, best=(1e-4, 5e-4))
    assert (answer.verdict, answer.figure) == ("inconclusive", 0.0)
    assert answer.interval == Interval(low=pytest.approx(-NONE), high=pytest.approx(NONE))
    assert answer.detectable is not None
    assert answer.detectable > NONE


def test_a_rate_at_which_every_run_diverged_is_chance(tmp_path: Path) -> None:
    answer = rates(tmp_path, {**TUNED, 1e-3: None}, {**SCRATCH}, best=(1e-4, 5e-4))
    assert (answer.verdict, "3 Runs diverged; they are counted as always answering the largest class." in answer.notes) == ("holds", True)
    (row,) = [row for row in answer.rows if row["diverged"]]
    assert (row["model"], row["learning rate"], row["accuracy, %"]) == ("pretrained", 1e-3, 50.0)


def test_a_rate_that_diverged_is_not_the_best_one(tmp_path: Path) -> None:
    """Before it diverged its validation loss was the lowest of all."""
    answer = rates(tmp_path, {**TUNED}, {**SCRATCH, 5e-4: None}, best=(1e-4, 5e-4))
    assert answer.figure == pytest.approx(60.0 - 48.0)


def test_rate_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match="scratch at a learning rate of 2e-05 is not recorded"):
        rates(tmp_path, {**TUNED}, {5e-4: 640}, best=(1e-4, 5e-4))


def test_rate_small_form_takes_fewer_rates(tmp_path: Path) -> None:
    small = bench(tmp_path, {}, size="small")
    with pytest.raises(NotMeasured):
        learning_rate.measure(small)
    assert small.asked == ["learning_rate model.training.learning_rate=2e-5,1e-4,5e-4,1e-3"]


# recipe


def without(
    folder: Path,
    right: Mapping[str, int | None],
    *,
    draws: Mapping[str, Sequence[int]] = MappingProxyType({}),
    labels: Sequence[int] = (1000,),
    **changes: Any,
) -> Answer:
    """The answer where the whole recipe is right on 780 rows, and on `right` rows without a part; None where that diverged."""

    def over(model: spec.Model, *rights: int | None) -> list[Cell]:
        return [cell for n in labels for cell in over_draws(model, n, *rights)]

    cells = {"recipe": over(trained("pretrained"), *[780] * 5)}
    for part, ways in recipe.REMOVED.items():
        for instead, overrides in ways.items():
            values = {text.split("=")[0].rpartition(".")[2]: float(text.split("=")[1]) for text in overrides}
            typed = {name: int(value) if name in ("epochs", "min_steps") else value for name, value in values.items()}
            n = right.get(instead, right.get(part, 700))
            cells[" ".join(("recipe", *overrides))] = over(trained("pretrained", **typed), *draws.get(instead, [n] * 5))
    return recipe.measure(bench(folder, cells, **changes))


def test_recipe_holds_where_each_part_costs_more_than_a_point(tmp_path: Path) -> None:
    answer = without(tmp_path, {"weight decay": 750, "four times as long": 780})
    assert answer.verdict == "holds"
    assert answer.figure == pytest.approx(3.0)
    assert answer.interval == Interval(low=pytest.approx(3 - half_width_points(30)), high=pytest.approx(3 + half_width_points(30)))
    assert answer.unit == "points lost without weight decay"
    assert "without weight decay the encoder loses 3.0 points (1." in answer.seen
    assert "training a quarter as long the encoder loses 8.0 points" in answer.seen
    assert [(row["removed"], row["instead"], row["loss, points"]) for row in answer.rows] == [
        ("warm-up", "none", 8.0),
        ("weight decay", "none", 3.0),
        ("clipping", "none", 8.0),
        ("2 to 4 epochs", "a quarter as long", 8.0),
        ("2 to 4 epochs", "four times as long", 0.0),
    ]


def test_recipe_does_not_hold_where_a_part_costs_nothing(tmp_path: Path) -> None:
    answer = without(tmp_path, {"clipping": 780, "weight decay": 768}, labels=(100, 1000))
    assert (answer.verdict, answer.figure) == ("does not hold", 0.0)
    assert answer.notes == (
        "warm-up: removing it costs more than a point.",
        "weight decay: whether removing it costs a point is not settled.",
        "clipping: removing it costs at most a point.",
        "2 to 4 epochs: removing it costs more than a point.",
    )


def test_recipe_never_says_by_half_of_its_rule_that_a_part_does_not_matter(tmp_path: Path) -> None:
    answer = without(tmp_path, {"clipping": 780}, labels=(100,))
    assert (answer.verdict, answer.figure, answer.unit) == ("inconclusive", 0.0, "points lost without clipping")
    assert answer.notes[-1] == "With 1,000 labels it was not measured in this form, so no part can be said not to matter."


def test_recipe_counts_a_part_without_which_every_run_diverges(tmp_path: Path) -> None:
    answer = without(tmp_path, {"warm-up": None})
    assert answer.verdict == "holds"
    (row,) = [row for row in answer.rows if row["removed"] == "warm-up"]
    assert (row["diverged"], row["without, %"], row["loss, points"]) == (5, 50.0, 28.0)


def test_a_gain_is_called_one(tmp_path: Path) -> None:
    assert "without clipping the encoder gains 2.0 points" in without(tmp_path, {"clipping": 800}).seen


def test_recipe_stays_open_around_a_point(tmp_path: Path) -> None:
    answer = without(tmp_path, {"weight decay": 768})
    assert (answer.verdict, answer.figure) == ("inconclusive", pytest.approx(1.2))
    assert answer.detectable is not None
    assert answer.detectable > half_width_points(12)


def test_recipe_shows_a_way_that_decided(tmp_path: Path) -> None:
    """Four times the steps lose most on average, by one draw alone; what costs more than a point for sure is a quarter of them."""
    answer = without(tmp_path, {"a quarter as long": 750}, draws={"four times as long": (780, 780, 780, 780, 580)})
    assert (answer.verdict, answer.unit) == ("holds", "points lost without 2 to 4 epochs")
    assert "training a quarter as long the encoder loses 3.0 points" in answer.seen
    assert answer.interval is not None
    assert answer.interval.low > 1.0


def test_recipe_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match=r"recipe model\.training\.warmup_fraction=0\.0 failed"):
        recipe.measure(bench(tmp_path, {"recipe": over_draws("pretrained", 1000, 780)}))
    small = bench(tmp_path, {}, size="small")
    with pytest.raises(NotMeasured):
        recipe.measure(small)
    assert small.asked == ["recipe budget.labels=100"]


# masked-lm-helps


def helped(folder: Path, few: tuple[int, int], many: tuple[int, int]) -> Answer:
    """The answer where scratch is right on so many rows without and with the start, with 100 and with 1,000 labels."""
    plain, started = factories.MODELS["scratch"], dataclasses.replace(factories.MODELS["scratch"], dropout=0.3)
    both = [
        [cell for labels, n in ((100, few[side]), (1000, many[side])) for cell in over_draws(model, labels, *[n] * 5)]
        for side, model in enumerate((plain, started))
    ]
    return masked_lm_helps.measure(bench(folder, {"masked_lm_helps model.start=null": both[0], "masked_lm_helps": both[1]}))


def test_masked_lm_holds_where_it_helps_at_both_budgets(tmp_path: Path) -> None:
    answer = helped(tmp_path, (520, 550), (600, 680))
    assert answer.verdict == "holds"
    assert answer.figure == pytest.approx(3.0)
    assert answer.interval == Interval(low=pytest.approx(3 - half_width_points(30)), high=pytest.approx(3 + half_width_points(30)))
    assert answer.seen.startswith("With 100 labels masked-LM pretraining takes the scratch transformer from 52.0% to 55.0%: +3.0 points (")
    assert [(row["labels"], row["unlabelled texts"], row["gain, points"]) for row in answer.rows] == [(100, 7900, 3.0), (1000, 7000, 8.0)]


def test_masked_lm_does_not_hold_where_it_hurts_at_one(tmp_path: Path) -> None:
    answer = helped(tmp_path, (520, 500), (600, 680))
    assert (answer.verdict, answer.figure) == ("does not hold", pytest.approx(-2.0))


def test_masked_lm_stays_open_where_nothing_changes(tmp_path: Path) -> None:
    answer = helped(tmp_path, (520, 520), (600, 680))
    assert (answer.verdict, answer.figure) == ("inconclusive", 0.0)
    assert answer.detectable is not None


def test_masked_lm_small_form_says_what_it_left_out(tmp_path: Path) -> None:
    small = ["masked_lm_helps budget.labels=1000", "masked_lm_helps budget.labels=1000 model.start=null"]
    started = dataclasses.replace(factories.MODELS["scratch"], dropout=0.3)
    cells = {small[0]: over_draws(started, 1000, 680, 680, 680), small[1]: over_draws("scratch", 1000, 600, 600, 600)}
    answer = masked_lm_helps.measure(bench(tmp_path, cells, size="small"))
    assert (answer.verdict, answer.notes[1:]) == ("holds", ("With 100 labels it was not measured in this form.",))
    with pytest.raises(NotMeasured, match="not recorded both with and without"):
        masked_lm_helps.measure(bench(tmp_path, {small[0]: [], small[1]: cells[small[1]]}, size="small"))
