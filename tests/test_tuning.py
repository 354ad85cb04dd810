"""Which recipes are tried, in which order, and which one wins."""

import dataclasses
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import factories
from bakeoff import tuning
from bakeoff.errors import ConfigError, UnknownSetting
from bakeoff.spec import Quality, identity
from bakeoff.sweep import Cell, Sweep
from bakeoff.tuning import Trial, choose, entries, recipes, size, take_space

SPACE = {"model.a": (2, 1, 3), "model.b": (True, False)}


def model(**tune: Any) -> dict[str, Any]:
    return {"kind": "bilstm", "dropout": 0.3, "training": {"epochs": 15, "learning_rate": 1e-3}, "tune": tune}


# The space.


def test_a_space_is_taken_out_of_the_model_and_starts_with_the_default() -> None:
    plain = model(**{"training.epochs": [8, 15, 30], "dropout": [0.1]})
    assert take_space(plain) == {"model.training.epochs": (15, 8, 30), "model.dropout": (0.3, 0.1)}
    assert "tune" not in plain
    assert take_space(plain) == {}
    assert take_space(model(**{"training.epochs": None, "dropout": [0.5]})) == {"model.dropout": (0.3, 0.5)}
    assert take_space({"kind": "majority", "tune": None}) == take_space("no model") == {}


@pytest.mark.parametrize(
    ("tune", "kind", "message"),
    [
        ({"training.epoch": [1]}, UnknownSetting, "model.tune.training.epoch is not a setting; did you mean training.epochs?"),
        ({"epochs": [1]}, UnknownSetting, "model.tune.epochs is not a setting; did you mean training.epochs?"),
        ({"dropout": 0.1}, ConfigError, "model.tune.dropout=0.1 should be a list of values"),
        ({"dropout": []}, ConfigError, "model.tune.dropout=[] should be a list of values"),
    ],
)
def test_a_space_that_makes_no_sense_is_one_sentence(tune: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        take_space(model(**tune))
    assert (type(caught.value), str(caught.value)) == (kind, message)
    with pytest.raises(ConfigError, match=r"^model\.tune=7 should map a setting to a list of values"):
        take_space({"kind": "bilstm", "tune": 7})


# The draw.


def test_the_default_is_tried_first_and_every_recipe_once() -> None:
    drawn = list(recipes(SPACE, seed=0))
    assert drawn[0] == {"model.a": 2, "model.b": True}
    assert size(SPACE) == len(drawn) == 6
    every = {tuple(recipe.items()) for recipe in drawn}
    assert every == set(itertools.product((("model.a", 1), ("model.a", 2), ("model.a", 3)), (("model.b", True), ("model.b", False))))


def test_the_draw_is_of_its_seed_and_stays() -> None:
    assert list(recipes(SPACE, seed=0)) == list(recipes(SPACE, seed=0))
    assert [(recipe["model.a"], recipe["model.b"]) for recipe in recipes(SPACE, seed=0)] == GOLDEN
    orders = {str([*recipes(SPACE, seed=seed)]) for seed in range(20)}
    assert len(orders) > 10


GOLDEN = [(2, True), (2, False), (3, True), (3, False), (1, True), (1, False)]
"""The order of seed 0, pinned: trials that were recorded stay the first ones."""


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**31))
def test_the_draw_is_without_replacement_whatever_the_space(a: int, b: int, seed: int) -> None:
    space = {"model.x": tuple(range(a)), "model.y": tuple(f"v{i}" for i in range(b))}
    drawn = [tuple(recipe.values()) for recipe in recipes(space, seed=seed)]
    assert drawn[0] == (0, "v0")
    assert len(drawn) == len(set(drawn)) == size(space) == a * b


def test_each_recipe_comes_second_about_equally_often() -> None:
    seconds = [tuple(list(recipes(SPACE, seed=seed))[1].values()) for seed in range(1000)]
    counts = [seconds.count(each) for each in set(seconds)]
    assert len(counts) == 5
    assert 150 < min(counts) <= max(counts) < 250  # 200 expected, standard deviation 12.6


# The choice.


def trial(name: int, score: float | None, log_loss: float | None = 0.5) -> Trial:
    return Trial(recipe={"model.a": name}, run=factories.make_run(), score=score, log_loss=log_loss if score is not None else None)


@pytest.mark.parametrize(
    ("trials", "winner"),
    [
        ([trial(0, 0.7), trial(1, 0.8), trial(2, 0.75)], 1),
        ([trial(0, 0.8, 0.6), trial(1, 0.8, 0.5)], 1),  # equal scores: the lower log loss
        ([trial(0, 0.8, 0.5), trial(1, 0.8, 0.5)], 0),  # all equal: the earlier trial, so the default
        ([trial(0, None), trial(1, 0.1)], 1),
        ([trial(0, None), trial(1, None)], None),
        ([], None),
    ],
)
def test_the_best_validation_score_wins(trials: list[Trial], winner: int | None) -> None:
    chosen = choose(trials)
    assert (None if chosen is None else chosen.recipe["model.a"]) == winner


def test_a_trial_is_judged_by_the_metric_of_its_dataset() -> None:
    labels, predicted = factories.make_predictions(accuracy=0.7)
    validation = dataclasses.replace(factories.split_quality(labels, predicted), accuracy=0.7, macro_f1=0.4, log_loss=0.9)
    for metric, judged, expected in (("accuracy", "macro_f1", 0.7), ("macro_f1", "accuracy", 0.4), ("auto", "macro_f1", 0.4)):
        run = tuning.as_trial(factories.make_run(dataset=factories.make_dataset(metric=metric)))
        record = factories.make_record(run, labels, predicted, quality={"validation": validation})
        record = dataclasses.replace(record, data=dataclasses.replace(record.data, primary_metric=judged))
        found = tuning.tried({}, run, record)
        assert (found.score, found.log_loss) == (expected, 0.9)
    assert tuning.tried({}, run, None).score is None
    assert tuning.tried({}, run, dataclasses.replace(record, quality={})).score is None


def test_a_trial_is_another_question_with_the_same_recipe() -> None:
    run = factories.make_run(model="bilstm", labels=1000)
    asked = tuning.as_trial(run)
    assert (asked.is_trial, run.is_trial) == (True, False)
    assert asked.run_id != run.run_id
    assert identity(asked.model) == identity(run.model)
    assert dataclasses.replace(asked, probe=Quality(threads=1)) == run
    assert asked.title == "reviews · bilstm · full · on validation rows · 1000 labels · seed 0"


# The entries of a sweep.


def cell(model: str, labels: int, seed: int, *more: str, reason: str | None = None) -> Cell:
    overrides = (f"model={model}", f"budget.labels={labels}", f"seed={seed}", *more)
    return Cell(overrides=overrides, run=None if reason else factories.make_run(model=model, labels=labels, seed=seed), reason=reason)


def test_seeds_are_tuned_together_on_the_lowest_and_budgets_apart() -> None:
    cells = [cell(model, labels, seed) for model in ("tfidf", "bilstm") for labels in (300, 1000) for seed in (3, 1, 2)]
    found = entries(Sweep(name="labels", description="", path="labels.yaml", cells=tuple(cells)))
    assert [entry.name for entry in found] == [
        "labels-reviews-tfidf-300",
        "labels-reviews-tfidf-1000",
        "labels-reviews-bilstm-300",
        "labels-reviews-bilstm-1000",
    ]
    assert all(len(entry.cells) == 3 and entry.first.run is not None and entry.first.run.seed == 1 for entry in found)


def test_an_entry_is_named_for_what_tells_it_apart() -> None:
    one = entries(Sweep(name="own", description="", path="own.yaml", cells=(cell("tfidf", 300, 0), cell("tfidf", 300, 1))))
    assert [entry.name for entry in one] == ["own-reviews-tfidf-300"]
    cells = tuple(cell("tfidf", 300, 0, f"model.c_grid={grid}") for grid in ("[1, 2]", "[3]"))
    assert [entry.name for entry in entries(Sweep(name="own", description="", path="", cells=cells))] == [
        "own-reviews-tfidf-300-1_2",
        "own-reviews-tfidf-300-3",
    ]


def test_an_entry_whose_cells_are_all_refused_says_why() -> None:
    cells = (cell("tfidf", 9, 0, reason="too many"), cell("tfidf", 9, 1, reason="too many"))
    (entry,) = entries(Sweep(name="own", description="", path="", cells=cells))
    assert (entry.first.run, entry.first.reason) == (None, "too many")
