"""Attention heads of an encoder: what each attends to, what each is worth, and what is left without some of them."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from bakeoff.claims.claim import NotMeasured
from bakeoff.data.batches import LongestFirst, pad
from bakeoff.data.tokens import Ids
from bakeoff.models import encoders
from bakeoff.report.stats import Floats

BATCH = 64
_OUTPUT = "attention.output.dense"
"""In BERT and its kin, the matrix behind the heads, which reads their results side by side."""


def with_weights(folder: Path) -> nn.Module:
    """The encoder of a checkpoint, in evaluation mode, such that `attention` can ask it for its weights.

    Fused attention never holds these, so it attends in plain steps. Raises ConfigError as `encoders.load`.
    """
    encoder: Any = encoders.load(folder)
    encoder.set_attn_implementation("eager")
    return encoder.eval()  # type: ignore[no-any-return]


def attention(encoder: nn.Module, ids: Ids) -> Floats:
    """Attention weights (layers, heads, from, to) of one text's `ids`, special tokens included; each row sums to 1."""
    row = torch.from_numpy(np.asarray(ids, dtype=np.int64))[None]
    with torch.inference_mode():
        found = encoder(**encoders.inputs_of(encoder, row, torch.ones_like(row, dtype=torch.bool)), output_attentions=True).attentions
    return np.asarray(torch.cat(found).double().numpy())


def shape_of(encoder: nn.Module) -> tuple[int, int]:
    """How many layers and heads a layer. Raises NotMeasured for an encoder whose heads cannot be told apart here."""
    layers, config = encoders.layers_of(encoder), cast(Any, encoder.config)
    if any(_OUTPUT not in dict(layer.named_modules()) for layer in layers):
        raise NotMeasured(f"heads can be taken out of BERT and its kin, and this is a {config.model_type} encoder")
    return len(layers), int(config.num_attention_heads)


@contextlib.contextmanager
def gated(encoder: nn.Module, gates: torch.Tensor) -> Iterator[None]:
    """Within, every head's result is multiplied by its gate: (layers, heads), or (batch, layers, heads) for each text its own.

    A gate of 0 is a head that is not there, since nothing but the matrix that is gated here reads it.
    """

    def gate(layer: int) -> Any:
        def hook(_: nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            of_layer = gates[..., layer, :]  # (heads,) or (batch, heads)
            if of_layer.dim() == 2:
                of_layer = of_layer[:, None]  # alike at every token
            heads = inputs[0].reshape(*inputs[0].shape[:-1], of_layer.shape[-1], -1)  # (batch, tokens, heads, width of a head)
            return ((heads * of_layer[..., None]).flatten(-2), *inputs[1:])

        return hook

    with contextlib.ExitStack() as stack:
        for number, layer in enumerate(encoders.layers_of(encoder)):
            stack.callback(layer.get_submodule(_OUTPUT).register_forward_pre_hook(gate(number)).remove)
        yield


def importance(classifier: nn.Module, ids: Sequence[Ids], labels: NDArray[np.int64], *, pad_id: int) -> Floats:
    """What each head is worth to `classifier` on these documents, (layers, heads), each layer of length 1.

    The mean over documents of how steeply the loss changes with the head's gate, |∂L/∂ξ|, divided within a layer by the square
    root of the sum of squares. Source: Michel, Levy and Neubig (2019), "Are sixteen heads really better than one?", NeurIPS 32.
    """
    encoder = classifier.get_submodule("encoder")
    total = torch.zeros(shape_of(encoder))
    for rows in LongestFirst(_lengths(ids), BATCH):
        gates = torch.ones(len(rows), *total.shape, requires_grad=True)
        with gated(encoder, gates):
            logits = classifier(*pad([ids[row] for row in rows], pad_id))
        loss = functional.cross_entropy(logits, torch.from_numpy(labels[np.asarray(rows)]), reduction="sum")
        (slopes,) = torch.autograd.grad(loss, gates)
        total += slopes.abs().sum(dim=0)
    worth = (total / max(1, len(ids))).double()
    return np.asarray((worth / worth.norm(dim=1, keepdim=True).clamp(min=1e-12)).numpy())


def answers(classifier: nn.Module, ids: Sequence[Ids], *, pad_id: int, removed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Class indices, shape (documents,), without the heads `removed`, which are numbered layer by layer."""
    encoder = classifier.get_submodule("encoder")
    layers, heads = shape_of(encoder)
    gates = torch.ones(layers * heads)
    gates[torch.from_numpy(removed)] = 0
    found = np.zeros(len(ids), dtype=np.int64)
    with torch.inference_mode(), gated(encoder, gates.view(layers, heads)):
        for rows in LongestFirst(_lengths(ids), BATCH):
            found[np.asarray(rows)] = classifier(*pad([ids[row] for row in rows], pad_id)).argmax(dim=1).numpy()
    return found


def _lengths(ids: Sequence[Ids]) -> NDArray[np.int64]:
    return np.asarray([len(each) for each in ids], dtype=np.int64)
