"""The exact figures of the mechanism claims, by the functions that the claims themselves call."""

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from bakeoff.claims.claim import Answer, Claim
from bakeoff.claims.mechanism import (
    ffn_share,
    heads_for_free,
    learned_limit,
    masked_lm,
    path_length,
    permutation,
    sinusoid_shift,
    sqrt_dk,
    toys,
    worked_example,
)
from bakeoff.data.tokens import split_words

EXACT: list[Claim] = [
    worked_example.CLAIM,
    heads_for_free.CLAIM,
    permutation.CLAIM,
    sinusoid_shift.CLAIM,
    learned_limit.CLAIM,
    masked_lm.CLAIM,
    ffn_share.CLAIM,
]


class Silent:
    """A bench for claims that bake nothing."""

    size = "small"

    def say(self, line: str) -> None:
        """Nothing reads it."""


@pytest.mark.parametrize("claim", EXACT, ids=lambda claim: claim.name)
def test_an_exact_claim_holds_and_says_what_it_saw(claim: Claim) -> None:
    answer: Answer = claim.measure(Silent())  # type: ignore[arg-type]
    assert answer.verdict == "holds"
    assert answer.figure is not None
    assert answer.interval is None
    assert answer.seen.endswith(".")
    assert all(row.keys() == answer.rows[0].keys() for row in answer.rows)


def test_the_worked_example_has_the_numbers_calculated_by_hand() -> None:
    found = worked_example.attended()
    assert [round(number, 3) for number in found.scores[0].tolist()] == [0.707, 0.0, 0.707]
    assert [round(number, 3) for number in found.scores[2].tolist()] == [0.707, 0.707, 1.414]
    assert [round(number, 3) for number in found.weights[0].tolist()] == [0.401, 0.198, 0.401]
    assert [round(number, 3) for number in found.outputs[0].tolist()] == [0.802, 0.797]
    assert torch.allclose(found.fused, found.outputs, rtol=0, atol=1e-12)


def test_a_number_is_as_printed_to_its_last_digit() -> None:
    assert toys.as_printed(0.40111, "0.401")
    assert not toys.as_printed(0.40161, "0.401")
    assert toys.as_printed(1.1253e-7, "1.1e-7")
    assert not toys.as_printed(1.2e-7, "1.1e-7")


def test_dot_products_spread_as_the_root_of_their_width() -> None:
    assert sqrt_dk.spread(64) == pytest.approx(8.0, abs=0.05)
    assert sqrt_dk.spread(512) == pytest.approx(22.63, abs=0.15)
    assert sqrt_dk.spread(4, pairs=400_000) == pytest.approx(2.0, rel=0.01)


def test_softmax_and_its_gradient_are_those_of_the_formula() -> None:
    assert [round(weight, 3) for weight in sqrt_dk.softmax((1.0, 2.0, 3.0)).tolist()] == [0.090, 0.245, 0.665]
    large = sqrt_dk.softmax((8.0, 16.0, 24.0)).tolist()
    assert [f"{weight:.1e}" for weight in large[:2]] == ["1.1e-07", "3.4e-04"]
    assert round(large[2], 4) == 0.9997
    weights = sqrt_dk.softmax((1.0, 2.0, 3.0))
    by_formula = torch.diag(weights) - torch.outer(weights, weights)
    assert sqrt_dk.gradient((1.0, 2.0, 3.0)) == pytest.approx(float(by_formula.norm()), rel=1e-12)
    assert sqrt_dk.gradient((8.0, 16.0, 24.0)) == pytest.approx(6.7e-4, rel=0.01)


@pytest.mark.parametrize("heads", [1, 2, 8, 64, 512])
def test_heads_cost_no_arithmetic_and_no_parameters(heads: int) -> None:
    found = heads_for_free.cost(heads, tokens=8)
    assert found.flops == 8 * 8 * 512**2 + 4 * 8**2 * 512
    assert found.parameters == 4 * 512**2 + 4 * 512
    assert found.softmax_elements == heads * 8**2


def test_every_divisor_of_512_is_a_number_of_heads() -> None:
    assert heads_for_free.HEADS == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def test_shuffled_words_shuffle_the_outputs_of_attention_without_positions_alone() -> None:
    order = ("man", "bites", "dog")
    assert permutation.change(permutation.encoder(), order) < 1e-12
    for positions in ("sinusoidal", "learned", "rotary"):
        assert permutation.change(permutation.encoder(positions), order) > 0.01
    assert permutation.change(permutation.recurrent(), order) > 0.01
    assert permutation.change(permutation.recurrent(), permutation.WORDS) == 0.0


@pytest.mark.parametrize("offset", [1, 2, 21, 100, 777])
def test_one_matrix_shifts_every_position(offset: int) -> None:
    assert sinusoid_shift.error(offset, positions=1_000) < 1e-10
    matrix = sinusoid_shift.shift(sinusoid_shift.encoding(), offset)
    assert torch.allclose(matrix @ matrix.T, torch.eye(sinusoid_shift.WIDTH, dtype=torch.float64), atol=1e-12)


def test_frequencies_are_those_of_the_formula() -> None:
    expected = [10_000 ** (-2 * i / 128) for i in range(64)]
    assert sinusoid_shift.frequencies().tolist() == pytest.approx(expected, rel=1e-9)
    moves = sinusoid_shift.moves()
    assert moves[0].item() == pytest.approx(2 * math.sin(0.5), rel=1e-9)
    assert (moves.diff() < 0).all()


def test_a_table_of_positions_ends_at_its_length() -> None:
    assert learned_limit.refusal(64) is None
    assert "model.max_positions=64" in (learned_limit.refusal(65) or "")
    assert learned_limit.reads("learned", 64)
    assert not learned_limit.reads("learned", 65)
    assert learned_limit.reads("sinusoidal", 300)
    assert learned_limit.reads("rotary", 300)
    assert max(learned_limit.rotary_change(move) for move in (1, 64, 500)) < 1e-10
    assert learned_limit.rotary_apart() > 1e-4


def test_rotary_positions_that_turn_nothing_do_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned_limit, "Rotary", lambda width: torch.nn.Identity())
    assert learned_limit.rotary_change(7) == 0
    assert learned_limit.CLAIM.measure(Silent()).verdict == "does not hold"  # type: ignore[arg-type]


def test_masking_hides_15_per_cent_80_10_10_and_no_special() -> None:
    found = masked_lm.masked()
    assert found.specials_hidden == 0
    assert found.hidden == sum(found.fates.values())
    assert found.share == pytest.approx(0.15, abs=0.003)
    assert {fate: round(count / found.hidden, 2) for fate, count in found.fates.items()} == {"mask": 0.8, "another": 0.1, "itself": 0.1}
    assert max(abs(value) for value in masked_lm.errors_away(found).values()) < 4


def test_masking_that_takes_unknown_words_for_ordinary_ones_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    right = masked_lm.hiding_of

    def wrong(*given: Any) -> Any:
        hiding = right(*given)
        return dataclasses.replace(hiding, special=hiding.special & (np.arange(len(hiding.special)) != 1))

    monkeypatch.setattr(masked_lm, "hiding_of", wrong)
    assert masked_lm.masked(documents=400).specials_hidden > 10
    assert masked_lm.CLAIM.measure(Silent()).verdict == "does not hold"  # type: ignore[arg-type]


def test_a_changed_token_reaches_what_it_may_and_no_more() -> None:
    ahead = torch.ones(masked_lm.TOKENS, masked_lm.TOKENS).tril(-1).bool()
    causal, both = masked_lm.reach(causal=True), masked_lm.reach(causal=False)
    assert causal[ahead].max() < 1e-12
    assert causal[~ahead].min() > 1e-6
    assert both.min() > 1e-6
    guess = masked_lm.reach_of_guess()
    assert set(guess) == set(range(masked_lm.TOKENS)) - {masked_lm.HIDDEN}
    assert min(guess.values()) > 1e-6


def test_the_feed_forward_is_two_thirds_of_a_block() -> None:
    assert {ffn_share.share(width) for width in (8, 64, 512)} == {Fraction(2, 3)}


def test_layer_norm_does_not_see_the_batch_and_batch_norm_does() -> None:
    assert ffn_share.change(batch_norm=False) < 1e-12
    assert ffn_share.change(batch_norm=True) > 0.01


def test_the_sentence_has_its_words_21_tokens_apart() -> None:
    start, end = path_length.places()
    words = split_words(path_length.SENTENCE)
    assert (words[start], words[end], end - start) == ("report", "was", 21)
    assert path_length.hops(path_length.recurrent_edges(len(words)), start, end) == 21
    assert path_length.hops(path_length.attention_edges(len(words)), start, end) == 1


def test_the_shortest_path_is_the_distance_for_recurrence_and_one_for_attention() -> None:
    recurrent, attention = path_length.recurrent_edges(6), path_length.attention_edges(6)
    for start in range(6):
        for end in range(start + 1, 6):
            assert path_length.hops(recurrent, start, end) == end - start
            assert path_length.hops(attention, start, end) == 1


def test_places_that_nothing_joins_have_no_path() -> None:
    edges = np.zeros((3, 3), dtype=np.bool_)
    edges[0, 1] = True
    assert (path_length.hops(edges, 0, 1), path_length.hops(edges, 0, 2)) == (1, None)
