"""What an answer takes besides time: size, arithmetic, and the device's own limit to hold it against."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bakeoff import record, spec
from bakeoff.data import checkpoint
from bakeoff.models import sizes
from bakeoff.models.build import count_parameters
from bakeoff.models.loading import Linear
from bakeoff.probes import flops
from bakeoff.probes.weights import Neural

_PEAK_WIDTHS = {"cpu": (512, 1024, 2048), "cuda": (4096, 8192)}
_DTYPES: dict[spec.Precision, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def size_of(run: spec.Run, candidate: Neural | Linear, *, lengths_tokens: npt.NDArray[np.int64], n_classes: int) -> record.Size:
    """How large a model is; `lengths_tokens`, shape (documents,), are whole lengths in its own tokens."""
    special = len(candidate.tokeniser.prefix) + len(candidate.tokeniser.suffix) if isinstance(candidate, Neural) else 0
    arithmetic = flops_per_document(run, lengths_tokens=lengths_tokens, n_classes=n_classes, n_special_tokens=special)
    if not isinstance(candidate, Neural):
        n = candidate.n_parameters
        return record.Size(parameters_total=n, parameters_trainable=n, parameters_embedding=0, bytes=8 * n, flops_per_document=arithmetic)
    return record.Size(
        parameters_total=count_parameters(candidate.classifier),
        parameters_trainable=count_parameters(candidate.classifier, trainable=True),
        parameters_embedding=count_parameters(candidate.classifier, embedding=True),
        bytes=weight_bytes(candidate.classifier),
        flops_per_document=arithmetic,
    )


def weight_bytes(module: nn.Module) -> int:
    """What the weights of a module take, in memory as on disk."""
    return sum(tensor.numel() * tensor.element_size() for tensor in module.state_dict().values())


def flops_per_document(run: spec.Run, *, lengths_tokens: npt.NDArray[np.int64], n_classes: int, n_special_tokens: int) -> float | None:
    """Operations for a document of median length, as far as it is read; None where no formula applies.

    `lengths_tokens`, shape (documents,), are whole lengths in the model's own tokens, of which `n_special_tokens` stand around
    each document and each window of it. Windows are counted each by itself.
    """
    one = _formula(run, n_classes)
    if one is None:
        return None
    most = run.longdoc.max_tokens
    read = lengths_tokens if most is None else np.minimum(lengths_tokens, most)
    return sum(map(one, flops.passes_tokens(int(np.median(read)), run.longdoc, n_special_tokens=n_special_tokens)))


def _formula(run: spec.Run, n_classes: int) -> Callable[[int], float] | None:
    """Operations for so many tokens that a model reads in one pass."""
    model = run.model
    if isinstance(model, spec.BiLstm):
        return lambda tokens: flops.of_bilstm(model, tokens=tokens, n_classes=n_classes)
    if isinstance(model, spec.Scratch):
        return lambda tokens: flops.of_scratch(model, tokens=tokens, n_classes=n_classes)
    if not isinstance(model, spec.Pretrained | spec.Frozen):
        return None
    size, window = encoder_size(model), run.longdoc.attention_window
    if size is None:
        return None
    if window is None:
        return lambda tokens: flops.of_encoder(size, tokens=tokens, n_classes=n_classes)
    extended = replace(size, family="longformer")
    return lambda tokens: flops.of_encoder(extended, tokens=tokens, n_classes=n_classes, window=window)


def encoder_size(model: spec.Pretrained | spec.Frozen) -> spec.EncoderSize | None:
    """The numbers of an encoder, as many layers as are kept: its own or its checkpoint's; None for a family without a formula."""
    own = model.size if isinstance(model, spec.Pretrained) else None
    size = own if own is not None else sizes.size_in(checkpoint.resolve(model.checkpoint, model.revision))
    if size is None or not isinstance(model, spec.Pretrained) or model.keep_layers is None:
        return size
    return replace(size, layers=len(model.keep_layers))


def matmul_peak_gflops(*, device: str, precision: spec.Precision, seconds: float = 1.0, widths: Sequence[int] | None = None) -> float:
    """The highest rate of square matrix products that this device reaches with the present thread count.

    The fastest of products of several `widths`, repeated for `seconds` in all, in thousand million operations a second.
    """
    rates: list[float] = []
    for width in widths or _PEAK_WIDTHS[device]:
        a, b = (torch.randn(width, width, device=device).to(_DTYPES[precision]) for _ in range(2))
        rates += _rates(a, b, seconds=seconds / len(widths or _PEAK_WIDTHS[device]))
    return max(rates)


def _rates(a: torch.Tensor, b: torch.Tensor, *, seconds: float) -> list[float]:
    """GFLOP/s of each product of `a` and `b`, both (width, width); the first ones, which warm up, are left out."""
    repeats = 10 if a.is_cuda else 1
    synchronise: Callable[[], None] = torch.cuda.synchronize if a.is_cuda else lambda: None
    rates: list[float] = []
    end = time.perf_counter() + seconds
    with torch.inference_mode():
        while len(rates) < 4 or time.perf_counter() < end:
            synchronise()
            started = time.perf_counter_ns()
            for _ in range(repeats):
                torch.mm(a, b)
            synchronise()
            rates.append(2 * len(a) ** 3 * repeats / (time.perf_counter_ns() - started))
    return rates[2:]
