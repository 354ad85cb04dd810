"""Attention equals PyTorch's own, fused or not; padding, causality and distance are what they should be."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from bakeoff.models.attention import MultiHeadAttention, Rotary, attend, attend_and_show, visible_keys

PADDING = torch.tensor([[False] * 7, [False] * 4 + [True] * 3, [False] + [True] * 6])
"""Three documents of 7, 4 and 1 tokens."""


def states(*, longest: int = 7, width: int = 12, batch: int = 3, seed: int = 0) -> torch.Tensor:
    return torch.randn(batch, longest, width, generator=torch.Generator().manual_seed(seed)).requires_grad_(True)


def twin_of(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    """PyTorch's own with the same weights."""
    twin = nn.MultiheadAttention(ours.outward.in_features, ours.heads, batch_first=True)
    twin.in_proj_weight.data.copy_(ours.inward.weight)
    twin.in_proj_bias.data.copy_(ours.inward.bias)
    twin.out_proj.load_state_dict(ours.outward.state_dict())
    return twin


@pytest.mark.parametrize("mask", [None, PADDING])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("fused", [False, True])
def test_it_equals_pytorchs_multi_head_attention_forward_and_backward(mask: torch.Tensor | None, causal: bool, fused: bool) -> None:
    torch.manual_seed(0)
    ours = MultiHeadAttention(12, 3, causal=causal)
    ours.fused = fused
    twin = twin_of(ours)
    one, other = states(), states()
    blocked = torch.ones(7, 7, dtype=torch.bool).triu(1) if causal else None
    expected, weights = twin(other, other, other, key_padding_mask=mask, attn_mask=blocked, average_attn_weights=False)
    found = ours(one, mask)
    real = torch.ones(3, 7, dtype=torch.bool) if mask is None else ~mask
    assert (found - expected)[real].abs().max() < 1e-6
    assert (ours.show(one, mask)[1] - weights).abs().max() < 1e-6
    found[real].square().sum().backward()
    expected[real].square().sum().backward()
    assert (one.grad - other.grad).abs().max() < 1e-5
    assert (ours.inward.weight.grad - twin.in_proj_weight.grad).abs().max() < 1e-5
    assert (ours.inward.bias.grad - twin.in_proj_bias.grad).abs().max() < 1e-5
    assert (ours.outward.weight.grad - twin.out_proj.weight.grad).abs().max() < 1e-5


def test_scaled_dot_products_by_hand() -> None:
    queries = torch.tensor([[[[1.0, 0.0, 0.0, 0.0]]]])
    keys = torch.tensor([[[[2 * math.log(3), 5.0, 5.0, 5.0], [0.0, 9.0, 9.0, 9.0]]]])  # scores log 3 and 0 after division by √4
    values = torch.tensor([[[[4.0, 0.0, 0.0, 0.0], [0.0, 8.0, 0.0, 0.0]]]])
    found, weights = attend_and_show(queries, keys, values, visible=None)
    assert weights[0, 0, 0].tolist() == pytest.approx([0.75, 0.25])
    assert found[0, 0, 0].tolist() == pytest.approx([3.0, 2.0, 0.0, 0.0])
    assert attend(queries, keys, values, visible=None)[0, 0, 0].tolist() == pytest.approx([3.0, 2.0, 0.0, 0.0])


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=4),
    st.booleans(),
    st.booleans(),
    st.integers(0, 5),
)
def test_fused_and_unfused_are_one_for_any_padding(lengths: list[int], causal: bool, rotary: bool, seed: int) -> None:
    torch.manual_seed(seed)
    ours = MultiHeadAttention(8, 2, causal=causal, rotary=rotary)
    mask = torch.arange(9) >= torch.tensor(lengths)[:, None]
    one, other = states(longest=9, width=8, batch=len(lengths), seed=seed), states(longest=9, width=8, batch=len(lengths), seed=seed)
    fused, (unfused, weights) = ours(one, mask), ours.show(other, mask)
    assert fused.isfinite().all()
    told = ~mask if causal else torch.ones_like(mask)  # what a causal padding token becomes means nothing
    assert (fused - unfused)[told].abs().max() < 1e-6 if told.any() else causal
    assert (weights.sum(dim=-1) - 1).abs().max() < 1e-6
    for row, length in enumerate(lengths):
        assert length == 0 or weights[row, :, :, length:].sum() == 0
    fused[told].square().sum().backward()
    unfused[told].square().sum().backward()
    assert one.grad.isfinite().all()
    assert (one.grad - other.grad).abs().max() < 1e-4


@pytest.mark.parametrize("causal", [False, True])
def test_a_document_of_padding_alone_gives_finite_numbers_and_gradients(causal: bool) -> None:
    ours = MultiHeadAttention(12, 3, causal=causal)
    given_states = states(batch=2)
    found = ours(given_states, torch.tensor([[True] * 7, [False] * 7]))
    found.sum().backward()
    assert found.isfinite().all()
    assert given_states.grad.isfinite().all()


def test_no_weight_falls_on_padding_or_on_what_comes_later() -> None:
    ours = MultiHeadAttention(12, 3, causal=True)
    weights = ours.show(states(), PADDING)[1]
    assert weights.shape == (3, 3, 7, 7)
    assert weights[:, :, torch.ones(7, 7, dtype=torch.bool).triu(1)].abs().max() == 0
    assert weights[1, :, :, 4:].abs().max() == 0
    assert (weights[2, :, :, 0] - 1).abs().max() < 1e-6


def test_who_sees_whom_by_hand() -> None:
    assert visible_keys(3, key_padding_mask=None, causal=False) is None
    assert visible_keys(3, key_padding_mask=None, causal=True)[0, 0].tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
    padded = visible_keys(2, key_padding_mask=torch.tensor([[False, True], [True, True]]), causal=False)
    assert padded[:, 0, 0].tolist() == [[True, False], [True, True]]  # a document of padding alone sees everything


def test_a_causal_state_does_not_know_what_comes_later() -> None:
    ours = MultiHeadAttention(12, 3, causal=True, rotary=True)
    whole = states()
    assert (ours(whole)[:, :4] - ours(whole[:, :4])).abs().max() < 1e-6


@pytest.mark.parametrize("shift", [1, 5, 200])
def test_rotary_products_depend_on_the_distance_alone(shift: int) -> None:
    rotary = Rotary(8)
    query, key = torch.randn(2, 1, 1, 1, 8, generator=torch.Generator().manual_seed(0)).unbind(0)
    products = rotary(query.expand(1, 1, 300, 8)) @ rotary(key.expand(1, 1, 300, 8)).transpose(-2, -1)
    assert products[0, 0, 3, 10].item() == pytest.approx(products[0, 0, 3 + shift, 10 + shift].item(), abs=1e-4)
    assert abs(products[0, 0, 3, 10] - products[0, 0, 3, 11 + shift]).item() > 1e-3


def test_a_causal_model_of_long_documents_holds_no_table_of_who_sees_whom() -> None:
    """Of 20,000 tokens it would be 400 MB, and several of them."""
    ours = MultiHeadAttention(4, 1, causal=True)
    given_states = states(longest=20_000, width=4, batch=1)
    padding = torch.zeros(1, 20_000, dtype=torch.bool)
    padding[:, 19_000:] = True
    allocated: list[int] = []

    class Sizes(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found = func(*args, **(kwargs or {}))
            if isinstance(found, torch.Tensor):
                allocated.append(found.numel())
            return found

    with torch.no_grad(), Sizes():
        found = ours(given_states, padding)
    assert max(allocated) == 3 * 4 * 20_000  # queries, keys and values
    assert (found[:, :50] - ours(given_states[:, :50])).abs().max() < 1e-6


def test_rotary_by_hand() -> None:
    turned = Rotary(4)(torch.tensor([[1.0, 0.0, 0.0, 2.0]]).expand(1, 1, 3, 4))[0, 0]
    # numbers 0 and 2 turn by the position, numbers 1 and 3 by a hundredth of it
    assert turned[0].tolist() == [1.0, 0.0, 0.0, 2.0]
    assert turned[2].tolist() == pytest.approx([math.cos(2), -2 * math.sin(0.02), math.sin(2), 2 * math.cos(0.02)], abs=1e-6)


def test_rotary_keeps_lengths_and_precision() -> None:
    vectors = states(width=8)[:, None]
    assert (Rotary(8)(vectors).norm(dim=-1) - vectors.norm(dim=-1)).abs().max() < 1e-5
    assert Rotary(8)(vectors.bfloat16()).dtype == torch.bfloat16
    assert list(Rotary(8).state_dict()) == []
