import dataclasses

import pytest

import factories
from bakeoff.deciding.estimates import Estimates, Pace, Sizes, Took, right_share
from bakeoff.deciding.offers import Offer
from bakeoff.spec import Neural

SIZES = Sizes(pool=1000, test=200)
PACES = {
    ("tfidf", None): Pace(seconds_per_fit_row=0.002, seconds_per_answer=0.01),
    ("frozen", None): Pace(seconds_per_fit_row=0.05, seconds_per_answer=0.04),
    ("bilstm", None): Pace(seconds_per_step=0.1, seconds_per_answer=0.005),
    ("pretrained", None): Pace(seconds_per_step=0.5, seconds_per_answer=0.02),
}


def estimates(**changes: object) -> Estimates:
    return Estimates(sizes=SIZES, paces=PACES, fixed_seconds=3.0, **changes)  # type: ignore[arg-type]


def test_a_model_without_steps_takes_its_rows() -> None:
    assert estimates().seconds(Offer(model="tfidf"), factories.make_run(model="tfidf", labels="all")) == 3.0 + 1000 * 0.002 + 200 * 0.01
    assert estimates().seconds(Offer(model="majority"), factories.make_run(model="majority", labels="all")) == 3.0


def test_a_model_with_steps_takes_them_by_its_recipe() -> None:
    run = factories.make_run(model="pretrained", labels="all")
    assert isinstance(run.model, Neural)
    recipe = dataclasses.replace(run.model.training, batch_size=16, epochs=4, min_steps=150)
    run = dataclasses.replace(run, model=dataclasses.replace(run.model, training=recipe))
    # 800 rows to fit are 50 steps an epoch; 200 rows validate after each of 4 epochs and once more, and 200 are tested
    assert estimates().seconds(Offer(model="pretrained"), run) == pytest.approx(3.0 + 200 * 0.5 + (200 + 5 * 200) * 0.02)
    few = dataclasses.replace(run, budget=dataclasses.replace(run.budget, labels=100))
    # 7 steps an epoch, so 22 epochs for at least 150 steps; nobody validates
    assert estimates().seconds(Offer(model="pretrained", labels=100), few) == pytest.approx(3.0 + 154 * 0.5 + 200 * 0.02)


def test_finished_runs_of_the_same_model_correct_what_steps_say() -> None:
    found = estimates()
    run = factories.make_run(model="tfidf", labels="all")
    found.note(Took(offer=Offer(model="tfidf", labels=500), estimated_seconds=9.0, said_seconds=4.0, seconds=6.0))
    assert found.seconds(Offer(model="tfidf"), run) == pytest.approx(1.5 * 7.0)
    found.note(Took(offer=Offer(model="tfidf", seed=1), estimated_seconds=7.0, said_seconds=7.0, seconds=9.0))
    found.note(Took(offer=Offer(model="tfidf", seed=2), estimated_seconds=7.0, said_seconds=7.0, seconds=11.0))
    assert found.seconds(Offer(model="tfidf", seed=3), run) == 10.0
    assert found.seconds(Offer(model="frozen"), factories.make_run(model="frozen", labels="all")) == 3.0 + 50.0 + 8.0


def test_a_short_run_that_took_far_longer_than_said_does_not_multiply_long_ones() -> None:
    found = estimates()
    found.note(Took(offer=Offer(model="tfidf", labels=500), estimated_seconds=100.0, said_seconds=100.0, seconds=100.0))
    found.note(Took(offer=Offer(model="tfidf", labels=250), estimated_seconds=0.5, said_seconds=0.5, seconds=50.0))
    half = found.seconds(Offer(model="tfidf"), factories.make_run(model="tfidf", labels="all"))
    assert half == pytest.approx((150 / 100.5) * 7.0)


def test_features_are_computed_by_the_first_draw_of_the_whole_pool() -> None:
    found, frozen = estimates(), Offer(model="frozen")
    run = factories.make_run(model="frozen", labels="all")
    found.note(Took(offer=frozen, estimated_seconds=61.0, said_seconds=found.by_steps(run, frozen), seconds=122.0))
    later = Offer(model="frozen", seed=1)
    assert found.seconds(later, run) == pytest.approx(2 * (3.0 + 1000 * 0.01))  # the regression alone, twice as slow as said
    found.note(Took(offer=later, estimated_seconds=26.0, said_seconds=found.by_steps(run, later), seconds=30.0))
    assert found.seconds(Offer(model="frozen", seed=2), run) == 30.0
    half, fewer = Offer(model="frozen", labels=500), factories.make_run(model="frozen", labels=500)
    # its own labelled rows are read, the test rows were
    assert found.by_steps(fewer, half) == pytest.approx(3.0 + 500 * 0.05)


def test_runs_of_an_earlier_call_count_though_nobody_estimated_them() -> None:
    found = estimates()
    found.note(Took(offer=Offer(model="tfidf"), estimated_seconds=None, said_seconds=6.0, seconds=12.0))
    assert found.seconds(Offer(model="tfidf", seed=1), factories.make_run(model="tfidf", labels="all", seed=1)) == 12.0
    half = found.seconds(Offer(model="tfidf", labels=500), factories.make_run(model="tfidf", labels=500))
    assert half == pytest.approx(2 * (3.0 + 500 * 0.002 + 2.0))
    assert right_share(found.took) is None


def test_right_is_within_a_factor_of_one_and_a_half() -> None:
    took = [
        Took(offer=Offer(model="a"), estimated_seconds=10.0, said_seconds=10.0, seconds=seconds) for seconds in (6.6, 6.7, 10.0, 15.0, 15.1)
    ]
    assert right_share(took) == 3 / 5


def test_another_reading_takes_its_models_time_as_often_as_it_reads_more() -> None:
    found = estimates(longer={("frozen", "head_512"): 2.0})
    run = factories.make_run(model="frozen", labels="all")
    assert found.seconds(Offer(model="frozen", reading="head_512"), run) == pytest.approx(3.0 + 2 * (1000 * 0.05 + 200 * 0.04))
    assert found.seconds(Offer(model="frozen", reading="head_tail"), run) == pytest.approx(3.0 + 1000 * 0.05 + 200 * 0.04)
