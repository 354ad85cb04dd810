"""Our blocks with other people's weights: PyTorch's encoder layer, Hugging Face's BERT and GPT-2 layers; positions by hand."""

import math
from typing import Literal

import pytest
import torch
from torch import nn
from torch.nn import functional
from transformers import BertConfig, GPT2Config
from transformers.models.bert.modeling_bert import BertLayer
from transformers.models.gpt2.modeling_gpt2 import GPT2Block

from bakeoff.models.transformer import Block, LearnedPositions, SinusoidalPositions, TransformerEncoder

WIDTH, HEADS, INNER = 12, 3, 20
PADDING = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])
WAYS = ("before", "after")


def states() -> torch.Tensor:
    return torch.randn(2, 6, WIDTH, generator=torch.Generator().manual_seed(1)).requires_grad_(True)


def stirred(module: nn.Module) -> nn.Module:
    """Weights that are no special case: norms are not the identity, biases are not zero."""
    torch.manual_seed(2)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return module.eval()


def give(linear: nn.Linear | nn.LayerNorm, weight: torch.Tensor, bias: torch.Tensor) -> None:
    assert linear.weight.shape == weight.shape
    linear.weight.data.copy_(weight)
    linear.bias.data.copy_(bias)


def assert_equal(
    ours: Block, theirs: nn.Module, found: torch.Tensor, expected: torch.Tensor, one: torch.Tensor, other: torch.Tensor
) -> None:
    """Forward and gradients, at real tokens."""
    real = ~PADDING
    assert (found - expected)[real].abs().max() < 1e-5
    found[real].square().sum().backward()
    expected[real].square().sum().backward()
    assert (one.grad - other.grad).abs().max() < 1e-5 * max(1.0, float(other.grad.abs().max()))
    # the order of the parameters differs, the sum of their squared gradients does not
    norms = [sum(float(p.grad.square().sum()) for p in module.parameters()) for module in (ours, theirs)]
    assert norms[0] == pytest.approx(norms[1], rel=1e-5)


@pytest.mark.parametrize("norm", WAYS)
def test_a_block_equals_pytorchs_encoder_layer(norm: Literal["before", "after"]) -> None:
    theirs = stirred(
        nn.TransformerEncoderLayer(
            WIDTH, HEADS, INNER, dropout=0.0, activation=functional.gelu, batch_first=True, norm_first=norm == "before"
        )
    ).train()  # evaluation would take another path through PyTorch's layer, without gradients
    ours = Block(WIDTH, HEADS, INNER, norm=norm)
    give(ours.attention.inward, theirs.self_attn.in_proj_weight, theirs.self_attn.in_proj_bias)
    for mine, its in [
        (ours.attention.outward, theirs.self_attn.out_proj),
        (ours.feed_forward.out, theirs.linear1),
        (ours.feed_forward.back, theirs.linear2),
        (ours.attention_norm, theirs.norm1),
        (ours.feed_forward_norm, theirs.norm2),
    ]:
        give(mine, its.weight, its.bias)
    one, other = states(), states()
    assert_equal(ours, theirs, ours(one, PADDING), theirs(other, src_key_padding_mask=PADDING), one, other)


def test_a_block_equals_berts_layer() -> None:
    config = BertConfig(
        hidden_size=WIDTH,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        hidden_act="gelu",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        layer_norm_eps=1e-5,
    )
    config._attn_implementation = "eager"
    theirs = stirred(BertLayer(config))
    ours = Block(WIDTH, HEADS, INNER, norm="after")
    own = theirs.attention.self
    give(
        ours.attention.inward,
        torch.cat([own.query.weight, own.key.weight, own.value.weight]),
        torch.cat([own.query.bias, own.key.bias, own.value.bias]),
    )
    for mine, its in [
        (ours.attention.outward, theirs.attention.output.dense),
        (ours.attention_norm, theirs.attention.output.LayerNorm),
        (ours.feed_forward.out, theirs.intermediate.dense),
        (ours.feed_forward.back, theirs.output.dense),
        (ours.feed_forward_norm, theirs.output.LayerNorm),
    ]:
        give(mine, its.weight, its.bias)
    one, other = states(), states()
    blocked = torch.zeros(2, 1, 1, 6).masked_fill(PADDING[:, None, None, :], float("-inf"))
    assert_equal(ours, theirs, ours(one, PADDING), first(theirs(other, attention_mask=blocked)), one, other)


def test_a_block_equals_gpt2s() -> None:
    config = GPT2Config(
        n_embd=WIDTH, n_head=HEADS, n_inner=INNER, n_positions=16, resid_pdrop=0.0, attn_pdrop=0.0, activation_function="gelu_new"
    )
    config._attn_implementation = "eager"
    theirs = stirred(GPT2Block(config, layer_idx=0))
    ours = Block(WIDTH, HEADS, INNER, norm="before", causal=True, activation=nn.GELU(approximate="tanh"))
    for mine, its in [
        (ours.attention.inward, theirs.attn.c_attn),
        (ours.attention.outward, theirs.attn.c_proj),
        (ours.feed_forward.out, theirs.mlp.c_fc),
        (ours.feed_forward.back, theirs.mlp.c_proj),
    ]:
        give(mine, its.weight.T, its.bias)  # GPT-2 keeps its matrices turned
    give(ours.attention_norm, theirs.ln_1.weight, theirs.ln_1.bias)
    give(ours.feed_forward_norm, theirs.ln_2.weight, theirs.ln_2.bias)
    one, other = states(), states()
    causal = torch.ones(6, 6, dtype=torch.bool).triu(1) | PADDING[:, None, None, :]
    blocked = torch.zeros(causal.shape).masked_fill(causal, float("-inf"))
    assert_equal(ours, theirs, ours(one, PADDING), first(theirs(other, attention_mask=blocked)), one, other)


def first(output: object) -> torch.Tensor:
    """A layer of Hugging Face's gives states, or a tuple of them and more."""
    found = output[0] if isinstance(output, tuple) else output
    assert isinstance(found, torch.Tensor)
    return found


def test_sinusoidal_positions_by_hand() -> None:
    added = SinusoidalPositions()(torch.zeros(1, 3, 4))[0]
    assert added[0].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert added[1].tolist() == pytest.approx([math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)], abs=1e-6)
    assert added[2].tolist() == pytest.approx([math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)], abs=1e-6)
    assert SinusoidalPositions()(torch.zeros(1, 2, 3))[0, 1].tolist() == pytest.approx(
        [math.sin(1), math.cos(1), math.sin(10_000 ** (-2 / 3))], abs=1e-6
    )


def test_learned_positions_are_rows_of_a_table_that_ends() -> None:
    positions = LearnedPositions(3, 2)
    positions.table.weight.data.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert positions(torch.full((2, 2, 2), 10.0)).tolist() == [[[11.0, 12.0], [13.0, 14.0]]] * 2
    with pytest.raises(IndexError):
        positions(torch.zeros(1, 4, 2))


@pytest.mark.parametrize("norm", WAYS)
def test_a_stack_is_its_blocks_one_after_another(norm: Literal["before", "after"]) -> None:
    stack = stirred(TransformerEncoder(width=WIDTH, layers=2, heads=HEADS, feed_forward=INNER, norm=norm))
    given = states()
    expected = stack.blocks[1](stack.blocks[0](given, PADDING), PADDING)
    if norm == "before":
        expected = functional.layer_norm(expected, (WIDTH,), stack.last_norm.weight, stack.last_norm.bias)
    assert torch.equal(stack(given, PADDING), expected)


def test_without_positions_the_order_of_tokens_does_not_matter() -> None:
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    given = states()
    for positions in ("none", "rotary", "sinusoidal"):
        stack = stirred(TransformerEncoder(width=WIDTH, layers=2, heads=HEADS, feed_forward=INNER, positions=positions))
        moved = (stack(given[:, order]) - stack(given)[:, order]).abs().max()
        assert (moved < 1e-5) == (positions == "none"), positions
