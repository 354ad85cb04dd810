"""What a process of a session is made of: the dataset, the model behind its engine, and what is recorded of it.

A fresh process imports this module, so it loads nothing heavy by itself.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.data.dataset import Prepared, prepare
from bakeoff.probes.serving import Kit
from bakeoff.record import Agreement, Size
from bakeoff.spec import Latency, Run


@dataclass(frozen=True, kw_only=True)
class Served:
    """What a served model tells about itself."""

    size: Size
    """`bytes` are the weights in memory."""
    flops: float | None
    """Of a document of median length."""
    peak_gflops: float | None
    """The device's matrix-product peak at this Run's precision and threads; None where flops are."""
    agreement: Agreement | None
    """With the eager engine, on some test documents; None for the eager engine itself."""
    notes: tuple[str, ...]


def prepare_dataset(run: Run) -> Prepared:
    """The Run's dataset."""
    return prepare(run.dataset)


def build(run: Run, prepared: Prepared, weights: Path | None) -> Any:
    """The Run's pipeline. Raises NotApplicable for an engine that is not installed or cannot take the model."""
    from bakeoff.probes.engines import build_pipeline

    return build_pipeline(run, prepared, classes=prepared.classes, weights_folder=weights)


def describe(run: Run, pipeline: Any) -> Served:
    """What is recorded of a pipeline besides its times."""
    assert isinstance(run.probe, Latency)
    flops, precision = pipeline.size.flops_per_document, getattr(run.model, "precision", None)
    return Served(
        size=pipeline.size,
        flops=flops,
        peak_gflops=None if flops is None or precision is None else _peak_gflops(run.probe.device, precision),
        agreement=pipeline.agreement,
        notes=pipeline.notes,
    )


@functools.cache
def _peak_gflops(device: str, precision: Any) -> float:
    from bakeoff.probes.cost import matmul_peak_gflops

    return round(matmul_peak_gflops(device=device, precision=precision), 1)


KIT = Kit(prepare=prepare_dataset, build=build, describe=describe)
