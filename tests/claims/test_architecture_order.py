"""The generated texts of which order alone decides the label; and the sweep files of these claims."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from bakeoff import config
from bakeoff.claims import order_task
from bakeoff.claims.claim import Claim
from bakeoff.claims.cost import distilled, inference_cost, quadratic, sequential_steps, single_digit_ms, train_speed
from bakeoff.claims.learning import distilled_again, encoder_decoder, needle, positions, post_pre_norm

SWEEPS = Path(__file__).parents[2] / "sweeps" / "claims"
CELLS = {
    "distilled_again": 10,
    "distilled_again_latency": 2,
    "distilled_bert_base": 5,
    "distilled_distilbert": 5,
    "encoder_decoder": 10,
    "encoder_sizes": 3,
    "needle": 30,
    "needle_bilstm": 30,
    "needle_head": 30,
    "needle_lstm": 30,
    "needle_windows": 30,
    "positions": 15,
    "positions_learned": 5,
    "post_pre_norm": 40,
    "single_digit_ms": 15,
    "single_digit_ms_encoder": 5,
    "single_digit_ms_int8": 5,
    "single_digit_ms_latency": 3,
    "train_speed": 5,
    "train_speed_bilstm": 5,
}
CLAIMS: tuple[Claim, ...] = tuple(
    module.CLAIM
    for module in (
        *(sequential_steps, train_speed, quadratic, inference_cost, single_digit_ms, distilled),
        *(distilled_again, encoder_decoder, needle, positions, post_pre_norm),
    )
)


def read(path: Path) -> list[tuple[list[str], str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return [(row["text"].split(" "), row["label"]) for row in csv.DictReader(file)]


def test_the_word_that_comes_first_is_the_label_and_nothing_else_tells() -> None:
    written = order_task.write(length_tokens=16, train_rows=400, test_rows=100)
    for rows, lengths in ((read(written.train), {16}), (read(written.test), {16, 64})):
        assert {len(words) for words, _ in rows} == lengths
        for words, label in rows:
            places = {word: words.index(word) for word in order_task.FIRST}
            assert [words.count(word) for word in order_task.FIRST] == [1, 1]
            assert label == min(places, key=places.__getitem__)
        assert len(set(Counter(label for _, label in rows).values())) == 1
    assert Counter(len(words) for words, _ in read(written.test)) == {16: 100, 64: 100}


def test_the_same_numbers_give_the_same_bytes() -> None:
    first = order_task.write(length_tokens=16, train_rows=40, test_rows=10)
    before = first.train.read_bytes(), first.test.read_bytes()
    again = order_task.write(length_tokens=16, train_rows=40, test_rows=10)
    assert (again, (again.train.read_bytes(), again.test.read_bytes())) == (first, before)


@pytest.mark.slow
@pytest.mark.parametrize("name", CELLS)
def test_each_sweep_file_composes(name: str) -> None:
    sweep = config.load_sweep(SWEEPS / f"{name}.yaml")
    assert (len(sweep.runs), sweep.name) == (CELLS[name], name)
    assert all(cell.run is not None for cell in sweep.cells)


def test_claims_name_the_sweeps_that_are_there() -> None:
    named = {sweep for claim in CLAIMS for sweep in claim.sweeps}
    assert named == set(CELLS)
    assert all((SWEEPS / f"{name}.yaml").is_file() for name in named)


def test_the_small_forms_of_needle_are_of_matching_sizes() -> None:
    def attention(width: int, layers: int, inner: int) -> int:
        block = 4 * width**2 + 4 * width + 2 * width * inner + inner + width + 4 * width
        return layers * block + 2 * width + 2 * width + 2

    def lstm(embedding: int, hidden: int, *, ways: int) -> int:
        return ways * 4 * hidden * (embedding + hidden + 2) + 2 * ways * hidden + 2

    assert (attention(32, 2, 128), lstm(32, 64, ways=1), lstm(32, 42, ways=2)) == (25_538, 25_218, 25_706)
    assert (attention(128, 2, 512), lstm(128, 256, ways=1), lstm(128, 167, ways=2)) == (397_058, 395_778, 397_462)


def test_a_path_is_quoted_as_hydra_reads_it() -> None:
    (override,) = config.parse([f"dataset.path={order_task._quoted(Path('/a b/it' + chr(39) + 's,{x}.csv'))}"])
    assert override.value() == "/a b/it's,{x}.csv"


def test_small_overrides_compose_on_generated_texts() -> None:
    written = order_task.write(length_tokens=16, train_rows=4000, test_rows=100)
    overrides = [*positions.SMALL, *positions.ORDER, *written.overrides]
    sweep = config.load_sweep(SWEEPS / "positions_learned.yaml", overrides)
    assert [run.budget.labels for run in sweep.runs] == [3000] * 5
    assert sweep.runs[0].dataset.name == "order"
    assert sweep.runs[0].dataset.split == "official"
    small = config.load_sweep(SWEEPS / "needle_lstm.yaml", [*needle.SMALL, *needle.SMALL_OF["needle_lstm"]])
    assert len(small.runs) == 15
