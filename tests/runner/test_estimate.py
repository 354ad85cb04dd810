"""How long Runs take, from records of others; worked examples."""

import dataclasses

import pytest
import toys

from bakeoff.record import Record
from bakeoff.runner.estimate import Estimates, estimate_seconds, rough_seconds, time_left_seconds, training_tokens
from bakeoff.spec import Run


def record(run: Run, *, seconds: int, learning: float) -> Record:
    made = toys.make_record(run, seconds=seconds)
    return dataclasses.replace(made, training=dataclasses.replace(made.training, seconds=learning))


def on_other_data(run: Run) -> Run:
    return dataclasses.replace(run, dataset=dataclasses.replace(run.dataset, fingerprint="e" * 64))


def wider(run: Run) -> Run:
    return dataclasses.replace(run, model=dataclasses.replace(run.model, hidden_dim=99))  # type: ignore[call-arg]


def test_other_seeds_of_a_question_come_first() -> None:
    records = [record(toys.make_run(seed, model="bilstm"), seconds=taken, learning=1.0) for seed, taken in ((0, 10), (1, 20), (2, 90))]
    records.append(record(toys.make_run(model="bilstm", labels=1000), seconds=1000, learning=900.0))
    assert estimate_seconds(toys.make_run(3, model="bilstm"), records) == 20.0


def test_a_larger_budget_takes_its_share_of_learning_and_the_rest_as_it_is() -> None:
    small, large = (toys.make_run(model="bilstm", labels=labels) for labels in (100, 1000))
    assert (training_tokens(small), training_tokens(large)) == (300 * 256, 3000 * 256)
    estimates = Estimates([record(small, seconds=10, learning=4.0)])
    assert estimates.seconds(large) == pytest.approx(6 + 10 * 4)


def test_the_most_alike_are_asked_first() -> None:
    run = toys.make_run(model="bilstm", labels=1000)
    small = toys.make_run(model="bilstm")
    by_likeness = [
        record(small, seconds=10, learning=10.0),
        record(on_other_data(small), seconds=20, learning=20.0),
        record(wider(small), seconds=30, learning=30.0),
        record(wider(on_other_data(small)), seconds=40, learning=40.0),
    ]
    assert [Estimates(by_likeness[i:]).seconds(run) for i in range(4)] == pytest.approx([100.0, 200.0, 300.0, 400.0])


def test_models_without_steps_take_what_their_like_took() -> None:
    records = [record(toys.make_run(model="tfidf", labels=labels), seconds=taken, learning=0.5) for labels, taken in ((100, 2), (300, 4))]
    assert estimate_seconds(toys.make_run(model="tfidf", labels=1000), records) == 3.0


def test_nothing_alike_gives_no_estimate() -> None:
    records = [record(toys.make_run(model="bilstm"), seconds=10, learning=4.0), record(toys.make_latency_run(), seconds=9, learning=0.0)]
    assert estimate_seconds(toys.make_run(model="pretrained"), records) is None
    assert estimate_seconds(toys.make_latency_run(), records) is None
    assert rough_seconds(toys.make_run(model="pretrained")) > rough_seconds(toys.make_run(model="bilstm"))


def test_a_clock_of_whole_seconds_makes_no_time_negative() -> None:
    short = record(toys.make_run(model="bilstm"), seconds=0, learning=0.4)
    assert estimate_seconds(toys.make_run(model="bilstm", labels=1000), [short]) == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("seconds", "slots", "expected"), [([], 2, 0.0), ([5, 4, 3, 2], 1, 14.0), ([5, 4, 3, 2], 2, 7.0), ([1, 1, 8], 2, 9.0)]
)
def test_the_time_left_with_slots(seconds: list[float], slots: int, expected: float) -> None:
    assert time_left_seconds(seconds, slots) == expected
