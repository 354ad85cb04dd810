"""Claim train-speed: ratios of made Runs, draw by draw."""

from pathlib import Path

import made_bench
import pytest
from made_bench import MadeBench

import factories
from bakeoff.claims.claim import Answer, Baked, NotMeasured
from bakeoff.claims.cost import train_speed

ATTENTION, RECURRENT = "train_speed", "train_speed_bilstm"
LOSSES = {50: 0.9, 100: 0.5, 200: 0.4}


def baked(folder: Path, model: str, draw: int, *, rate: float, seconds: float, losses: dict[int, float], count: int = 1000) -> Baked:
    store = made_bench.store(folder)
    facts = made_bench.training(tokens_per_second=rate, seconds=seconds, steps=200, epochs=4.0)
    run = factories.make_run(model=model, labels=1000, seed=draw)
    one = made_bench.scored(store, run, 800, training=facts, size=made_bench.size(beside_words=count))
    return made_bench.history(one, validation=losses)


def measure(
    folder: Path,
    *,
    rates: tuple[float, float],
    seconds: tuple[float, float],
    losses: dict[int, float] = LOSSES,
    counts: tuple[int, int] = (1000, 980),
) -> Answer:
    """`rates` and so on of the transformer and of the BiLSTM; draws differ by a few per cent, together."""
    made = {}
    for draw in range(5):
        for i, (sweep, model) in enumerate(((ATTENTION, "scratch"), (RECURRENT, "bilstm"))):
            wobble = 1 + draw / 100
            one = baked(folder, model, draw, rate=rates[i] * wobble, seconds=seconds[i] / wobble, losses=losses, count=counts[i])
            made[sweep, f"seed={draw}"] = [one]
    return train_speed.CLAIM.measure(MadeBench({}, by_override=made))


def test_faster_in_tokens_and_sooner_at_the_target_holds(tmp_path: Path) -> None:
    answer = measure(tmp_path, rates=(3000.0, 1000.0), seconds=(10.0, 40.0))
    assert (answer.verdict, answer.figure) == ("holds", pytest.approx(3.0))
    assert "takes 4.00 times (4.00 to 4.00) as long to a validation loss of 0.5." in answer.seen
    transformer, bilstm = answer.rows
    assert (transformer["parameters_beside_words"], bilstm["parameters_beside_words"]) == (1000, 980)
    assert transformer["draws_at_target"] == 5
    assert len(answer.run_ids) == 10


def test_slower_does_not_hold(tmp_path: Path) -> None:
    assert measure(tmp_path, rates=(900.0, 1000.0), seconds=(50.0, 40.0)).verdict == "does not hold"
    assert measure(tmp_path / "b", rates=(3000.0, 1000.0), seconds=(50.0, 40.0)).verdict == "does not hold"


def test_a_target_that_is_never_reached_leaves_it_open(tmp_path: Path) -> None:
    answer = measure(tmp_path, rates=(3000.0, 1000.0), seconds=(10.0, 40.0), losses={100: 0.8})
    assert answer.verdict == "inconclusive"
    assert "In 0 of 5 draws both came to a validation loss of 0.5, so that seconds to it are not compared" in answer.seen
    assert answer.rows[0]["seconds_to_target"] is None


def test_a_target_that_one_draw_misses_leaves_it_open(tmp_path: Path) -> None:
    """The transformer is ten times as fast where it comes to the target, and in one draw it does not come to it."""
    made = {}
    for draw in range(5):
        for sweep, model, rate, seconds in ((ATTENTION, "scratch", 3000.0, 4.0), (RECURRENT, "bilstm", 1000.0, 40.0)):
            losses = {100: 0.8} if (model, draw) == ("scratch", 4) else LOSSES
            made[sweep, f"seed={draw}"] = [baked(tmp_path, model, draw, rate=rate, seconds=seconds, losses=losses)]
    answer = train_speed.CLAIM.measure(MadeBench({}, by_override=made))
    assert answer.verdict == "inconclusive"
    assert "In 4 of 5 draws" in answer.seen


def test_the_curve_is_in_seconds_of_training(tmp_path: Path) -> None:
    curve = train_speed.read_curve(baked(tmp_path, "scratch", 0, rate=1.0, seconds=20.0, losses=LOSSES))
    assert curve == train_speed.Curve(seconds=(5.0, 10.0, 20.0), losses=(0.9, 0.5, 0.4))
    assert curve.reached_seconds == 10.0


def test_models_of_other_sizes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match="do not match within 5%"):
        measure(tmp_path, rates=(3000.0, 1000.0), seconds=(10.0, 40.0), counts=(1000, 940))


def test_the_full_form_is_the_same_at_other_sizes(tmp_path: Path) -> None:
    made = MadeBench({}, size="full")
    with pytest.raises(NotMeasured):
        train_speed.CLAIM.measure(made)
    assert made.asked == [(ATTENTION, "seed=0", *train_speed.LARGE[ATTENTION])]
