"""Longformer's attention by blocks: what `transformers` answers, and its slopes."""

import copy
import pickle
from collections.abc import Callable

import pytest
import torch
from torch import nn
from transformers import BertConfig, LongformerConfig, LongformerModel

from bakeoff.models import banded, encoders

WINDOW = 8


def published(dropout: float = 0.0) -> nn.Module:
    torch.manual_seed(0)
    config = LongformerConfig(
        vocab_size=100,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        attention_window=[WINDOW, WINDOW],
        max_position_embeddings=300,
        pad_token_id=0,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=dropout,
    )
    return LongformerModel(config, add_pooling_layer=False).eval()


@pytest.fixture(autouse=True)
def several_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(banded, "TOKENS_AT_ONCE", 3 * WINDOW // 2)


def asked(tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Three documents, the second of half the tokens."""
    ids = torch.randint(1, 100, (3, tokens), generator=torch.Generator().manual_seed(tokens))
    mask = torch.ones(3, tokens, dtype=torch.bool)
    mask[1, tokens // 2 + 1 :] = False
    return ids.masked_fill(~mask, 0), mask


@pytest.mark.parametrize("tokens", [1, 2, 5, 8, 9, 30, 64, 200])
def test_states_and_slopes_are_those_of_transformers(tokens: int) -> None:
    theirs = published()
    ours = banded.by_blocks(copy.deepcopy(theirs))
    ids, mask = asked(tokens)
    expected, found = (encoders.states(encoder, ids, mask) for encoder in (theirs, ours))
    torch.testing.assert_close(found[mask], expected[mask], rtol=0, atol=2e-6)
    for states in (expected, found):
        (states[mask] * torch.arange(32)).sum().backward()
    slopes = dict(ours.named_parameters())
    for name, parameter in theirs.named_parameters():
        if parameter.grad is not None:
            torch.testing.assert_close(slopes[name].grad, parameter.grad, rtol=1e-4, atol=1e-3, msg=name)


def test_a_text_is_read_alike_alone_and_beside_a_longer_one() -> None:
    encoder = banded.by_blocks(published())
    ids, mask = asked(100)
    alone = encoders.states(encoder, ids[1:2, :51], mask[1:2, :51])
    torch.testing.assert_close(encoders.states(encoder, ids, mask)[1:2, :51], alone, rtol=0, atol=2e-6)


def test_other_tokens_that_attend_to_all_are_left_to_transformers() -> None:
    theirs = published()
    ours = banded.by_blocks(copy.deepcopy(theirs))
    ids, mask = asked(30)
    everywhere = torch.zeros_like(ids)
    everywhere[:, [0, 7]] = 1
    inputs = {"input_ids": ids, "attention_mask": mask.long(), "global_attention_mask": everywhere}
    assert torch.equal(ours(**inputs).last_hidden_state[mask], theirs(**inputs).last_hidden_state[mask])
    assert torch.equal(ours(ids, mask.long(), everywhere).last_hidden_state[mask], theirs(**inputs).last_hidden_state[mask])
    inputs["global_attention_mask"] = torch.zeros_like(ids)
    assert torch.equal(ours(**inputs).last_hidden_state[mask], theirs(**inputs).last_hidden_state[mask])


def test_more_than_the_last_states_is_left_to_transformers() -> None:
    encoder = banded.by_blocks(published())
    ids, mask = asked(30)
    inputs = encoders.inputs_of(encoder, ids, mask)
    last = encoder(**inputs).last_hidden_state
    every = encoder(**inputs, output_hidden_states=True).hidden_states
    encoder.config.output_hidden_states = True
    assert len(every) == len(encoder(**inputs).hidden_states) == 3
    torch.testing.assert_close(every[-1][mask], last[mask], rtol=0, atol=2e-6)


def test_a_layer_is_called_as_a_module_whose_hooks_see_what_it_returns() -> None:
    encoder = banded.by_blocks(published())
    seen: list[torch.Tensor] = []
    for layer in encoder.encoder.layer:
        layer.register_forward_hook(lambda module, given, answer: seen.append(answer[0]))
    ids, mask = asked(30)
    last = encoders.states(encoder, ids, mask)
    assert [states.shape for states in seen] == [(3, 32, 32)] * 2
    assert torch.equal(seen[-1][:, :30], last)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda encoder: pickle.loads(pickle.dumps(encoder))])
def test_a_copy_reads_with_weights_of_its_own(again: Callable[[nn.Module], nn.Module]) -> None:
    encoder = banded.by_blocks(published())
    other = again(encoder)
    ids, mask = asked(30)
    before = encoders.states(encoder, ids, mask)
    assert torch.equal(encoders.states(other, ids, mask), before)
    for parameter in encoder.parameters():
        nn.init.zeros_(parameter)
    assert torch.equal(encoders.states(other, ids, mask), before)


def test_dropout_drops_weights_in_training_alone() -> None:
    encoder = banded.by_blocks(published(dropout=0.5))
    ids, mask = asked(30)
    first, second = (encoders.states(encoder, ids, mask) for _ in range(2))
    assert torch.equal(first, second)
    encoder.train()
    first, second = (encoders.states(encoder, ids, mask) for _ in range(2))
    assert not torch.allclose(first[mask], second[mask])


def test_every_encoder_that_is_made_reads_by_blocks() -> None:
    made = encoders.fresh(published().config)
    assert made.forward.func is banded.read_by_blocks
    assert "forward" not in vars(encoders.fresh(BertConfig(vocab_size=9, hidden_size=12, num_hidden_layers=1, intermediate_size=8)))
    assert dict(made.state_dict()).keys() == dict(published().state_dict()).keys()
