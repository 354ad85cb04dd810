"""Longformer's layers (Beltagy et al., 2020) a few blocks of tokens at a time, so that what one holds stays small.

`transformers` writes the scores of a whole document to memory several times a layer, and once a mask of every two tokens, so
that it takes longer than in proportion to a document's length. Here a block of queries reads the keys of three blocks, and
that of the first token, through PyTorch's fused attention, and goes on through the feed-forward layer. Weights, their names
and, but for rounding, the answers are those of `transformers`.
"""

from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.functional import dropout, pad, scaled_dot_product_attention

TOKENS_AT_ONCE = 1024
"""How many go through a layer together, in whole blocks of half a window."""


def by_blocks(encoder: nn.Module) -> nn.Module:
    """An encoder that reads by blocks from now on where it is a Longformer; others stay as they are."""
    if type(encoder).__name__ == "LongformerModel":  # named, since its import takes seconds
        encoder.forward = partial(read_by_blocks, encoder)  # unlike a method's, its copies and pickles are right
        for module in encoder.modules():
            if type(module).__name__ == "LongformerLayer":
                module.forward = partial(pass_by_blocks, module)
    return encoder


def read_by_blocks(
    encoder: Any,
    input_ids: torch.Tensor | None = None,
    attention_mask: torch.Tensor | None = None,
    global_attention_mask: torch.Tensor | None = None,
    token_type_ids: torch.Tensor | None = None,
    *others: Any,
    **asked: Any,
) -> Any:
    """The `forward` of a LongformerModel where of each document (batch, tokens) the first token alone attends to all.

    In other cases, and where more than the last states is asked for, `transformers` computes it.
    """
    config = encoder.config
    more = bool(others or asked) or config.output_hidden_states or config.output_attentions or not config.return_dict
    if more or input_ids is None or attention_mask is None or not _first_alone(attention_mask, global_attention_mask):
        given = (input_ids, attention_mask, global_attention_mask, token_type_ids, *others)
        return type(encoder).forward(encoder, *given, **asked)
    from transformers.modeling_outputs import BaseModelOutputWithPooling

    tokens, window = input_ids.shape[1], config.attention_window
    missing = (0, -tokens % (window if isinstance(window, int) else max(window)))
    ids = pad(input_ids, missing, value=config.pad_token_id)
    kinds = torch.zeros_like(ids) if token_type_ids is None else pad(token_type_ids, missing)
    masked = pad(attention_mask, missing) == 0
    states = encoder.embeddings(input_ids=ids, token_type_ids=kinds)
    for layer in encoder.encoder.layer:
        (states,) = layer(states, masked=masked)
    states = states[:, :tokens]
    return BaseModelOutputWithPooling(last_hidden_state=states, pooler_output=None if encoder.pooler is None else encoder.pooler(states))


def _first_alone(mask: torch.Tensor, everywhere: torch.Tensor | None) -> bool:
    if everywhere is None:
        return False
    return bool((mask[:, 0] * everywhere[:, 0]).all()) and int(everywhere.count_nonzero()) == len(everywhere)


def pass_by_blocks(layer: Any, hidden_states: torch.Tensor, *given: Any, masked: torch.Tensor | None = None, **asked: Any) -> Any:
    """The `forward` of a LongformerLayer: `through` where `read_by_blocks` calls it, and else what `transformers` computes."""
    if masked is None:
        return type(layer).forward(layer, hidden_states, *given, **asked)
    return (through(layer, hidden_states, masked),)


def through(layer: Any, states: torch.Tensor, masked: torch.Tensor) -> torch.Tensor:
    """What a LongformerLayer makes of states (batch, tokens, width), `tokens` in whole windows; `masked` is True at padding."""
    attention = layer.attention.self
    half = attention.one_sided_attn_window_size
    dropped = attention.dropout if attention.training else 0.0

    def heads(projection: nn.Module, some: torch.Tensor) -> torch.Tensor:
        """Shape (batch, heads, tokens, width of a head)."""
        found: torch.Tensor = projection(some)
        return found.view(*found.shape[:2], attention.num_heads, attention.head_dim).transpose(1, 2)

    key, value = heads(attention.key, states), heads(attention.value, states)
    parts, at_once = [], max(1, TOKENS_AT_ONCE // half) * half
    for start in range(0, states.shape[1], at_once):
        part = slice(start, start + at_once)
        query = heads(attention.query, states[:, part])
        found = nearby(query, key, value, ~masked, start=start, half=half, dropped=dropped).transpose(1, 2).flatten(2)
        if start == 0:
            found = torch.cat([of_all(attention, states, masked, dropped=dropped), found[:, 1:]], dim=1)
        attended = layer.attention.output(found.masked_fill(masked[:, part, None], 0.0), states[:, part])
        parts.append(layer.output(layer.intermediate(attended), attended))
    return torch.cat(parts, dim=1)


def nearby(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, readable: torch.Tensor, *, start: int, half: int, dropped: float
) -> torch.Tensor:
    """What the tokens from `start` on read of those within `half` a window, and of the first: (batch, heads, asking, width of a head).

    Shapes: `query` as what is returned, `asking` in whole blocks of `half` tokens; `key` and `value` (batch, heads, tokens,
    width of a head); `readable` (batch, tokens), False at padding.
    """
    batch, heads, asking, width = query.shape
    tokens, blocks = key.shape[2], asking // half
    begin, end = max(start - half, 0), min(start + asking + half, tokens)
    missing = (begin - (start - half), start + asking + half - end)  # beyond the document's start and end

    def around(states: torch.Tensor) -> torch.Tensor:
        """The first token and three blocks for each block, shape (batch · blocks, heads, 1 + 3 half, width of a head)."""
        beside = pad(states[:, :, begin:end], (0, 0, *missing)).unfold(2, 3 * half, half).transpose(3, 4)
        first = states[:, :, None, :1].expand(-1, -1, blocks, -1, -1)
        return torch.cat([first, beside], dim=3).transpose(1, 2).flatten(0, 1)

    ahead = torch.arange(3 * half, device=query.device) - half - torch.arange(half, device=query.device)[:, None]
    band = ahead.abs() <= half  # (half, 3 half)
    beside = readable[:, begin:end].clone()
    if begin == 0:
        beside[:, 0] = False  # it is read once, as the first
    beside = pad(beside, missing).unfold(1, 3 * half, half)  # (batch, blocks, 3 half)
    mask = pad(band & beside[:, :, None], (1, 0), value=True).flatten(0, 1)[:, None]
    queries = query.reshape(batch, heads, blocks, half, width).transpose(1, 2).flatten(0, 1)
    answer = scaled_dot_product_attention(queries, around(key), around(value), attn_mask=mask, dropout_p=dropped)
    return answer.view(batch, blocks, heads, half, width).transpose(1, 2).flatten(2, 3)


def of_all(attention: Any, states: torch.Tensor, masked: torch.Tensor, *, dropped: float) -> torch.Tensor:
    """What the first token reads of all, shape (batch, 1, width): its keys and values are projections of their own.

    One query asks, so its products with n projected keys are those of one projected query with n states; values alike.
    """
    n_heads, width = attention.num_heads, states.shape[2]
    query = attention.query_global(states[:, :1]).view(-1, n_heads, 1, attention.head_dim) / attention.head_dim**0.5
    of_keys, of_values = (each.weight.view(n_heads, -1, width) for each in (attention.key_global, attention.value_global))
    constant, added = (each.bias.view(n_heads, 1, -1) for each in (attention.key_global, attention.value_global))
    scores = (query @ of_keys)[:, :, 0] @ states.transpose(1, 2) + (query * constant).sum(-1)  # (batch, heads, tokens)
    weights = dropout(scores.masked_fill(masked[:, None], float("-inf")).softmax(-1), p=dropped, training=dropped > 0)
    read = (weights @ states)[:, :, None]  # (batch, heads, 1, width)
    found: torch.Tensor = read @ of_values.transpose(1, 2) + weights.sum(-1)[:, :, None, None] * added
    return found.transpose(1, 2).flatten(2)
