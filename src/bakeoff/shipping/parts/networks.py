"""What executes a network: PyTorch or ONNX Runtime."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file
from torch import nn

Numbers = npt.NDArray[np.int64]


class TorchNetwork:
    """A module with the weights of `model.safetensors`, on the CPU."""

    def __init__(self, folder: Path, settings: dict[str, Any], threads: int, module: nn.Module) -> None:
        torch.set_num_threads(threads)
        torch.set_flush_denormal(True)  # denormal numbers can be ten times slower
        module.load_state_dict(load_file(folder / "model.safetensors"))
        self.module, self.bfloat16 = module.eval(), settings["model"]["precision"] == "bfloat16"

    def __call__(self, ids: Numbers, lengths: Numbers) -> npt.NDArray[np.float32]:
        """Logits (batch, classes) of ids (batch, longest) with lengths (batch,)."""
        precision = torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False) if self.bfloat16 else contextlib.nullcontext()
        with torch.inference_mode(), precision:
            logits: npt.NDArray[np.float32] = self.module(torch.from_numpy(ids), torch.from_numpy(lengths)).float().numpy()
        return logits


class OnnxNetwork:
    """The graph of `model.onnx`, weights included."""

    def __init__(self, folder: Path, settings: dict[str, Any], threads: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self.session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])

    def __call__(self, ids: Numbers, lengths: Numbers) -> npt.NDArray[np.float32]:
        """Logits (batch, classes) of ids (batch, longest) with lengths (batch,)."""
        logits: npt.NDArray[np.float32] = self.session.run(None, {"ids": ids, "lengths": lengths})[0]
        return logits
