"""ONNX Runtime: a module becomes a file, which is kept by the content of its weights, and the file becomes a forward pass."""

import contextlib
import hashlib
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bakeoff import spec
from bakeoff.cache import cache_root
from bakeoff.models.bilstm import BiLstmClassifier
from bakeoff.models.pretrained import FrozenClassifier, PretrainedClassifier
from bakeoff.probes import onnx_bilstm
from bakeoff.probes.pipeline import Forward
from bakeoff.probes.requirements import versions

# Raise it when the same weights would be exported differently.
_EXPORT_VERSION = 1
_EXAMPLE = ((2, 9), (9, 6))
"""Shape of the ids, and lengths, with which a module is traced; neither binds what it answers later."""


def exported(module: nn.Module, model: spec.Neural | spec.Frozen, *, int8: bool) -> Path:
    """The ONNX file of a module, with inputs `ids` (batch, longest) and `lengths` (batch,), from the cache where it is there."""
    folder = cache_root() / "onnx"
    key = _content_hash(module, model)
    plain, quantised = folder / f"{key}.onnx", folder / f"{key}.int8.onnx"
    if not plain.exists():
        _write(plain, lambda file: _export(module, file))
    if int8 and not quantised.exists():
        _write(quantised, lambda file: _quantise(plain, file))
    return quantised if int8 else plain


def forward(file: Path, *, threads: int, device: str) -> Forward:
    """An exported module in ONNX Runtime."""
    session = session_of(file, threads=threads, device=device)

    def run(ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(session.run(None, {"ids": ids.numpy(), "lengths": lengths.numpy()})[0])

    return run


def session_of(file: Path, *, threads: int, device: str) -> Any:
    """A session of so many threads, which sleep while there is nothing to compute."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    providers = ["CUDAExecutionProvider"] if device == "cuda" else ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(str(file), options, providers=providers)


def _export(module: nn.Module, file: Path) -> None:
    if isinstance(module, BiLstmClassifier):
        onnx_bilstm.write(module, file)
        return
    ids, lengths = torch.ones(_EXAMPLE[0], dtype=torch.int64), torch.tensor(_EXAMPLE[1])
    batch, longest = torch.export.Dim("batch"), torch.export.Dim("longest")
    with _quiet(), torch.inference_mode():
        program = torch.onnx.export(
            module.cpu(),
            (ids, lengths),
            dynamo=True,
            input_names=["ids", "lengths"],
            output_names=["logits"],
            dynamic_shapes={"ids": {0: batch, 1: longest}, "lengths": {0: batch}},
            verbose=False,
        )
    assert program is not None
    program.save(str(file), external_data=False)


def _quantise(plain: Path, file: Path) -> None:
    """Weights to int8, activations as they come (dynamically)."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with _quiet():
        quantize_dynamic(str(plain), str(file), weight_type=QuantType.QInt8)


def _write(file: Path, produce: Callable[[Path], None]) -> None:
    """A file whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.stem}.{os.getpid()}.onnx")
    try:
        produce(temporary)
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)


def _content_hash(module: nn.Module, model: spec.Neural | spec.Frozen) -> str:
    """24 hex digits over what the file depends on: weights, architecture, versions of the exporters."""
    encoder: Any = getattr(module, "encoder", None) if isinstance(module, PretrainedClassifier | FrozenClassifier) else None
    config = "" if encoder is None else encoder.config.to_json_string()
    digest = hashlib.sha256(f"{_EXPORT_VERSION} {spec.identity(model, part='architecture')} {config} {versions('onnx')}".encode())
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.contiguous().cpu().numpy().data)
    return digest.hexdigest()[:24]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The exporter and the quantiser give advice on every call."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
