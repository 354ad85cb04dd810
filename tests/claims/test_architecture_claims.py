"""What claims about architectures make of made Runs: it holds, it does not, it is open, something is missing."""

import dataclasses
import math
from pathlib import Path

import made_bench
import numpy as np
import pytest
from made_bench import MadeBench

import factories
from bakeoff import record as records
from bakeoff import spec
from bakeoff.claims.claim import Answer, Baked, NotMeasured
from bakeoff.claims.learning import distilled_again, encoder_decoder, needle, positions, post_pre_norm

# encoder-decoder


def both_ways(folder: Path, encoder: int, decoder: int, *, draws: int = 5) -> MadeBench:
    store, scratch = made_bench.store(folder), factories.MODELS["scratch"]
    models = {"scratch": scratch, "decoder": dataclasses.replace(scratch, name="decoder", causal=True, pooling="last")}
    right = {"scratch": encoder, "decoder": decoder}
    runs = [(name, factories.make_run(model=model, labels=1000, seed=seed)) for name, model in models.items() for seed in range(draws)]
    return MadeBench({"encoder_decoder": [made_bench.scored(store, run, right[name]) for name, run in runs]})


@pytest.mark.parametrize(("encoder", "decoder", "verdict"), [(650, 600, "holds"), (600, 650, "does not hold"), (602, 601, "inconclusive")])
def test_an_encoder_is_held_against_a_decoder(tmp_path: Path, encoder: int, decoder: int, verdict: str) -> None:
    answer = encoder_decoder.CLAIM.measure(both_ways(tmp_path, encoder, decoder))
    assert (answer.verdict, answer.figure, answer.unit) == (
        verdict,
        pytest.approx((encoder - decoder) / 10),
        "points, encoder minus decoder",
    )
    assert (
        answer.seen
        == f"The transformer that reads both ways has {encoder / 10:.1f}% right, the one that reads forwards {decoder / 10:.1f}%."
    )
    assert answer.detectable is not None
    assert len(answer.run_ids) == 10


def test_a_missing_decoder_is_named(tmp_path: Path) -> None:
    made = both_ways(tmp_path, 600, 600)
    made.sweeps = {"encoder_decoder": made.sweeps["encoder_decoder"][:5]}
    with pytest.raises(NotMeasured, match="no score of decoder"):
        encoder_decoder.CLAIM.measure(made)


# distilled-again


def layers(folder: Path, six: int, three: int, *, ratio: float) -> MadeBench:
    store, pretrained = made_bench.store(folder), factories.MODELS["pretrained"]
    models = {"pretrained": pretrained, "distilled": dataclasses.replace(pretrained, name="distilled", keep_layers=(1, 3, 5))}
    right = {"pretrained": six, "distilled": three}
    runs = [(name, factories.make_run(model=model, labels=1000, seed=seed)) for name, model in models.items() for seed in range(5)]
    ms = {"pretrained": ratio, "distilled": 1.0}
    return MadeBench(
        {
            "distilled_again": [made_bench.scored(store, run, right[name]) for name, run in runs],
            "distilled_again_latency": [made_bench.timed(store, model, ms=ms[name]) for name, model in models.items()],
        }
    )


@pytest.mark.parametrize(
    ("six", "three", "ratio", "verdict"),
    [
        (770, 775, 1.9, "holds"),
        (770, 740, 1.9, "does not hold"),
        (770, 768, 1.9, "holds"),
        (770, 762, 1.9, "inconclusive"),
        (770, 775, 1.2, "does not hold"),
    ],
)
def test_half_the_layers_are_held_against_a_point_and_sixty_percent(
    tmp_path: Path, six: int, three: int, ratio: float, verdict: str
) -> None:
    answer = distilled_again.CLAIM.measure(layers(tmp_path, six, three, ratio=ratio))
    too_slow = ratio < 1.4  # then it is the time that decides, and is shown
    assert (answer.verdict, answer.unit) == (verdict, "×" if too_slow else "points lost")
    assert answer.figure == pytest.approx(ratio if too_slow else (six - three) / 10)
    lost = f"{'gains' if three > six else 'loses'} {abs(six - three) / 10:.1f} points"
    assert answer.seen.startswith(f"Against the six layers that taught it, an encoder of three {lost} (")
    assert f"{ratio:.2f} times" in answer.seen
    assert [row["layers"] for row in answer.rows] == [6, 3]
    assert [note.split(":")[0] for note in answer.notes] == [
        "Three layers are within a point of six",
        "Six layers take 1.4 to 2.2 times as long as three",
    ]


def test_six_layers_that_another_claim_timed_are_compared_all_the_same(tmp_path: Path) -> None:
    """The claim inference-cost times the six layers too, in a session of its own; what is recorded is not timed again."""
    made = layers(tmp_path, 770, 775, ratio=1.9)
    store = made_bench.store(tmp_path / "latency")
    pretrained = factories.MODELS["pretrained"]
    models = {"one": (pretrained, 20.0), "two": (dataclasses.replace(pretrained, name="distilled", keep_layers=(1, 3, 5)), 11.0)}
    timed = [
        made_bench.timed(store, model, ms=1.0, ratio=ratio, ratio_interval=records.Interval(low=ratio, high=ratio), session_id=session)
        for session, (model, ratio) in models.items()
    ]
    answer = distilled_again.CLAIM.measure(MadeBench({**made.sweeps, "distilled_again_latency": timed}))
    assert answer.verdict == "holds"
    assert "1.82 times (1.82 to 1.82) as fast" in answer.seen
    assert "compared through it" in answer.notes[-1]


# post-pre-norm


def stacks(folder: Path, trained: dict[tuple[int, str], int], *, of: int = 10) -> MadeBench:
    """So many of each cell end at a loss that trains, one of the others diverges, and the rest stays at a coin's loss."""
    store, made = made_bench.store(folder), []
    for (depth, norm), hits in trained.items():
        model = dataclasses.replace(factories.MODELS["scratch"], layers=depth, norm=norm)
        for seed in range(of):
            run = factories.make_run(model=model, labels=300, seed=seed)
            facts = made_bench.training(steps=20, epochs=4.0)
            changes = {"status": "diverged", "quality": {}} if seed == hits else {}
            one = made_bench.scored(store, run, 500, training=facts, **changes)
            made.append(made_bench.history(one, train=[0.69] * 15 + [0.1 if seed < hits else 0.69] * 5))
    return MadeBench({"post_pre_norm": made})


def norms(folder: Path, before: int, after: int) -> Answer:
    trained = {(12, "before"): 10, (12, "after"): 10, (24, "before"): before, (24, "after"): after}
    return post_pre_norm.CLAIM.measure(stacks(folder, trained))


@pytest.mark.parametrize(
    ("before", "after", "verdict"), [(10, 2, "holds"), (2, 10, "does not hold"), (10, 10, "inconclusive"), (9, 8, "inconclusive")]
)
def test_shares_that_train_are_compared_by_an_exact_test(tmp_path: Path, before: int, after: int, verdict: str) -> None:
    answer = norms(tmp_path, before, after)
    assert (answer.verdict, answer.figure) == (verdict, pytest.approx(10 * (before - after)))
    assert f"of 24 blocks {before} of 10 train with the norm before and {after} of 10 after" in answer.seen
    assert len(answer.run_ids) == 40
    assert [row["train"] for row in answer.rows] == [10, 10, before, after]


def test_a_run_trains_below_the_loss_of_the_accuracy_that_the_rule_asks_for(tmp_path: Path) -> None:
    assert post_pre_norm.loss_that_trains(0.5) == pytest.approx(0.5623351)
    assert post_pre_norm.loss_that_trains(0.5) < -math.log(0.5)
    run = factories.make_run(model="scratch", labels=300)
    one = made_bench.scored(made_bench.store(tmp_path), run, 500, training=made_bench.training(steps=6, epochs=2.0))
    for last, expected in ((0.5, True), (0.6, False)):
        assert post_pre_norm.trains(made_bench.history(one, train=[0.0, 0.0, 0.0, last, last, last])) is expected


def test_a_missing_stack_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match="24 blocks with the norm before, 24 blocks with the norm after"):
        post_pre_norm.CLAIM.measure(stacks(tmp_path, {(12, "before"): 10, (12, "after"): 10}, of=2))


# needle

GENERATED = spec.Needle(length_tokens=32, distance_tokens=1, train_rows=5000, test_rows=1000, seed=0)
COUNTS = {"needle": 25_538, "needle_lstm": 25_218, "needle_bilstm": 25_706, "needle_head": 25_538, "needle_windows": 25_538}


def readers(folder: Path, right: dict[str, tuple[int, int]], counts: dict[str, int] = COUNTS) -> MadeBench:
    """Each sweep's right rows at distances 1 and 28; the head and the windows see nothing at 28."""
    store, sweeps = made_bench.store(folder), dict[str, list[Baked]]()
    scratch, lstm = factories.MODELS["scratch"], factories.MODELS["bilstm"]
    models: dict[str, spec.Model] = {
        "needle": scratch,
        "needle_lstm": dataclasses.replace(lstm, directions="forward", pooling="last"),
        "needle_bilstm": lstm,
        "needle_head": dataclasses.replace(scratch, dropout=0.2),
        "needle_windows": dataclasses.replace(scratch, dropout=0.3),
    }
    for sweep, model in models.items():
        for place, distance in enumerate((1, 28)):
            generated = dataclasses.replace(GENERATED, distance_tokens=distance)
            dataset = factories.make_dataset(
                name="needle",
                format="needle",
                path=None,
                fingerprint=f"{distance}",
                needle=generated,
                split="official",
                held_out_rows=None,
                text=None,
                label=None,
            )
            seen = 0.0 if distance == 28 and sweep in ("needle_head", "needle_windows") else 1.0
            for seed in range(5):
                run = factories.make_run(model=model, labels=4000, seed=seed, dataset=dataset)
                data, size = made_bench.data(visible_fraction=seen), made_bench.size(beside_words=counts[sweep])
                # Guesses of another draw are guesses of other rows.
                labels = np.arange(1000) % 2
                correct = np.random.default_rng([seed, distance]).permutation(1000) < right[sweep][place]
                one = made_bench.answered(store, run, labels, np.where(correct, labels, 1 - labels), data=data, size=size)
                sweeps.setdefault(sweep, []).append(one)
    return MadeBench(sweeps)


ALL_RIGHT = {
    "needle": (1000, 1000),
    "needle_lstm": (1000, 600),
    "needle_bilstm": (1000, 900),
    "needle_head": (1000, 500),
    "needle_windows": (1000, 500),
}


def test_attention_that_reaches_where_the_chain_fades_holds(tmp_path: Path) -> None:
    made = readers(tmp_path, ALL_RIGHT)
    answer = needle.CLAIM.measure(made)
    assert (answer.verdict, answer.figure, answer.dataset) == ("holds", pytest.approx(40.0), "needle")
    assert "28 of 32 tokens apart, attention has 100.0% right, the LSTM's last state 60.0%" in answer.seen
    rows = {(row["reader"], row["distance_tokens"]): row for row in answer.rows}
    assert len(rows) == len(answer.rows) == 10
    assert (rows["attention, head", 28]["both_in_sight"], rows["attention, head", 28]["ideal"]) == (0.0, 0.5)
    assert (rows["attention", 28]["both_in_sight"], rows["attention", 28]["ideal"]) == (1.0, 1.0)
    assert rows["LSTM, last state", 28]["parameters_beside_words"] == 25_218
    assert len(answer.run_ids) == 50
    assert made.asked[1] == ("needle_lstm", *needle.SMALL, *needle.SMALL_OF["needle_lstm"])
    (picture,) = answer.pictures
    assert [series.label for series in picture.series] == list(needle.READERS.values())


def test_a_chain_that_keeps_everything_leaves_nothing_to_gain(tmp_path: Path) -> None:
    answer = needle.CLAIM.measure(readers(tmp_path, ALL_RIGHT | {"needle_lstm": (1000, 1000)}))
    assert answer.verdict == "inconclusive"
    assert (answer.figure, answer.detectable is not None) == (0.0, True)
    better = needle.CLAIM.measure(readers(tmp_path / "b", ALL_RIGHT | {"needle": (1000, 550)}))
    assert (better.verdict, better.figure) == ("does not hold", pytest.approx(-5.0))


def test_a_reader_that_knows_what_it_cannot_see_refutes_the_claim(tmp_path: Path) -> None:
    assert needle.CLAIM.measure(readers(tmp_path, ALL_RIGHT | {"needle_head": (1000, 700)})).verdict == "does not hold"
    # Windows add up what each tells of its own word, by which three combinations of four can be right.
    assert needle.CLAIM.measure(readers(tmp_path / "windows", ALL_RIGHT | {"needle_windows": (1000, 750)})).verdict == "holds"


def test_sizes_that_do_not_match_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match="LSTM, last state 23,000"):
        needle.CLAIM.measure(readers(tmp_path, ALL_RIGHT, COUNTS | {"needle_lstm": 23_000}))


def test_a_missing_reader_is_not_measured(tmp_path: Path) -> None:
    made = readers(tmp_path, ALL_RIGHT)
    made.sweeps = {name: baked for name, baked in made.sweeps.items() if name != "needle_windows"}
    with pytest.raises(NotMeasured, match="needle_windows is not here"):
        needle.CLAIM.measure(made)


# positions


def told(folder: Path, right: dict[str, tuple[int, int]], movie: dict[str, int]) -> MadeBench:
    """Right rows of the 500 at the trained length and of the 500 past it; and of 1,000 reviews."""
    store, order, reviews = made_bench.store(folder), list[Baked](), list[Baked]()
    dataset = factories.make_dataset(name="order", family="order", fingerprint="b" * 64)
    lengths = [16, 64] * 500
    labels = np.arange(1000) // 2 % 2
    for how, (trained, longer) in right.items():
        learned = 64 if how == "learned" else None
        model = dataclasses.replace(factories.MODELS["scratch"], positions=how, max_positions=learned)
        for seed in range(5):
            correct = np.arange(1000) // 2 < np.where(np.arange(1000) % 2 == 0, trained, longer)
            run = factories.make_run(model=model, labels=3000, seed=seed, dataset=dataset)
            order.append(made_bench.answered(store, run, labels, np.where(correct, labels, 1 - labels), lengths=lengths))
            reviews.append(made_bench.scored(store, factories.make_run(model=model, labels=1000, seed=seed), movie[how]))

    def of(baked: list[Baked], *, learned: bool) -> list[Baked]:
        return [one for one in baked if (one.record.run.model.positions == "learned") is learned]

    return MadeBench(
        {"positions": of(reviews, learned=False), "positions_learned": of(reviews, learned=True)},
        by_override={
            ("positions", "dataset=csv"): of(order, learned=False),
            ("positions_learned", "dataset=csv"): of(order, learned=True),
        },
    )


MOVIE = {"none": 600, "sinusoidal": 600, "learned": 600, "rotary": 600}


def test_all_who_are_told_beat_those_who_are_not(tmp_path: Path) -> None:
    right = {"none": (250, 250), "sinusoidal": (480, 400), "learned": (450, 260), "rotary": (500, 490)}
    answer = positions.CLAIM.measure(told(tmp_path, right, MOVIE))
    assert (answer.verdict, answer.figure, answer.dataset) == ("holds", pytest.approx(40.0), "order")
    assert "without positions 50.0% right at the trained length" in answer.seen
    assert "learned ones 90.0% (52.0% on texts four times as long)" in answer.seen
    rows = {(row["positions"], row["task"]): row["accuracy"] for row in answer.rows}
    assert rows["rotary", "order, four times as long"] == pytest.approx(0.98)
    assert rows["none", "movie"] == pytest.approx(0.6)
    assert len(answer.run_ids) == 40


def test_one_that_gains_nothing_does_not_hold(tmp_path: Path) -> None:
    right = {"none": (250, 250), "sinusoidal": (480, 400), "learned": (230, 230), "rotary": (500, 490)}
    answer = positions.CLAIM.measure(told(tmp_path, right, MOVIE))
    assert (answer.verdict, answer.figure) == ("does not hold", pytest.approx(-4.0))


def test_a_way_of_telling_that_is_missing_is_named(tmp_path: Path) -> None:
    made = told(tmp_path, dict.fromkeys(MOVIE, (250, 250)), MOVIE)
    made.by_override = {
        ("positions", "dataset=csv"): made.by_override["positions", "dataset=csv"],
        ("positions_learned", "dataset=csv"): [],
    }
    with pytest.raises(NotMeasured, match="no score with positions learned"):
        positions.CLAIM.measure(made)


def test_predictions_without_lengths_are_not_enough(tmp_path: Path) -> None:
    made = told(tmp_path, dict.fromkeys(MOVIE, (250, 250)), MOVIE)
    made.by_override = {}
    with pytest.raises(NotMeasured, match="no lengths"):
        positions.CLAIM.measure(made)


def test_records_of_the_made_needle_say_what_is_in_sight(tmp_path: Path) -> None:
    made = readers(tmp_path, ALL_RIGHT)
    assert isinstance(made.sweeps["needle"][0].record, records.Record)
    assert made.sweeps["needle_head"][-1].record.data.visible_fraction == 0.0
