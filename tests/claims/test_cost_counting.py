"""What is counted whatever the machine: products, chains, tensors, and the lengths at which formulas cross."""

import dataclasses

import pytest
import torch

import factories
from bakeoff import spec
from bakeoff.claims import operations
from bakeoff.claims.cost import quadratic, sequential_steps
from bakeoff.models.bilstm import Onward
from bakeoff.models.build import count_parameters
from bakeoff.probes import flops


def test_an_lstm_written_out_gives_the_states_of_the_products_own() -> None:
    torch.manual_seed(1)
    layer, inputs = Onward(7, 5).eval(), torch.randn(3, 11, 7)
    with torch.no_grad():
        expected = layer(inputs, torch.tensor([11, 11, 11]))
        assert torch.allclose(operations.write_out(layer.forwards, inputs), expected, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 9, 33])
def test_n_tokens_are_a_chain_of_n_products_and_16_n_d_squared_operations(n: int) -> None:
    counted = quadratic.count_lstm(n, 8)
    assert counted.chain == n
    assert counted.flops == 16 * n * 8**2 == quadratic.lstm_flops(n, 8)


@pytest.mark.parametrize("n", [1, 2, 9, 33])
def test_attention_is_a_chain_of_four_products_whatever_the_length(n: int) -> None:
    counted = quadratic.count_attention(n, 8, fused=False)
    assert counted.chain == 4  # projections, scores, their product with the values, output
    assert counted.flops == 4 * n**2 * 8 + 8 * n * 8**2 == quadratic.attention_flops(n, 8)


def test_the_chain_follows_what_depends_on_what() -> None:
    a = torch.ones(2, 2)

    def side_by_side() -> torch.Tensor:
        return (a @ a) + (a @ a) + (a @ a)

    def one_after_the_other() -> torch.Tensor:
        return ((a @ a) @ a)[:1] @ a

    assert (operations.count(side_by_side).chain, operations.count(one_after_the_other).chain) == (1, 3)
    assert operations.count(side_by_side).flops == operations.count(lambda: (a @ a, a @ a, a @ a)).flops == 3 * 2 * 2**3


def test_weights_are_held_unfused_and_not_fused() -> None:
    n, d = 100, 8
    assert quadratic.count_attention(n, d, fused=False).largest_tensor_bytes == 4 * n * n
    assert quadratic.count_attention(n, d, fused=True).largest_tensor_bytes == 4 * n * 3 * d  # queries, keys and values


@pytest.mark.parametrize("d", [1, 2, 16, 64])
def test_the_formulas_cross_at_one_two_and_four_widths(d: int) -> None:
    assert quadratic.crossing(quadratic.leading_attention, quadratic.leading_lstm, d) == d
    assert quadratic.crossing(quadratic.attention_flops, quadratic.lstm_flops, d) == 2 * d
    assert quadratic.crossing(quadratic.core, quadratic.lstm_flops, d) == 4 * d


@pytest.mark.parametrize(("n", "d"), [(1, 4), (50, 16), (300, 64)])
def test_the_formulas_are_those_by_which_records_count(n: int, d: int) -> None:
    bilstm = factories.MODELS["bilstm"]
    assert isinstance(bilstm, spec.BiLstm)
    forward = dataclasses.replace(bilstm, directions="forward", embedding_dim=d, hidden_dim=d)
    assert flops.of_bilstm(forward, tokens=n, n_classes=0) == quadratic.lstm_flops(n, d)
    size = spec.EncoderSize(family="bert", layers=1, width=d, heads=1, feed_forward=d, vocabulary=9, positions=512)
    feed_forward = 4 * n * d * d
    assert flops.of_encoder(size, tokens=n, n_classes=0) - feed_forward == quadratic.attention_flops(n, d)


def test_the_bricks_of_sequential_steps_have_as_many_parameters() -> None:
    counts = {"LSTM": count_parameters(sequential_steps.lstm()), "block": count_parameters(sequential_steps.block())}
    assert counts == {"LSTM": 132_096, "block": 132_480}
    assert abs(counts["LSTM"] - counts["block"]) < 0.05 * counts["LSTM"]


def test_the_chain_of_a_block_does_not_grow() -> None:
    followed = sequential_steps._followed()
    chains = {name: [operations.count(sequential_steps._forward(brick, n)).chain for n in (5, 40)] for name, brick in followed.items()}
    assert chains == {"LSTM": [5, 40], "attention": [6, 6]}
