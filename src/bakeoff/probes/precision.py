"""How much faster this machine multiplies in bfloat16 than in float32."""

from dataclasses import dataclass

import torch

from bakeoff.probes.cost import matmul_peak_gflops

WORTH_IT = 1.2
"""Products must be so many times faster before the rest of a step, which stays in float32, is likely to leave a gain."""
_SECONDS = 0.3
_WIDTHS = {"cpu": (512,), "cuda": (4096,)}
"""Products small enough that a processor without instructions for bfloat16 is through in a second."""


@dataclass(frozen=True, kw_only=True)
class Speeds:
    """Rates of square matrix products on one device, in thousand million operations a second."""

    device: str
    float32_gflops: float
    bfloat16_gflops: float

    @property
    def ratio(self) -> float:
        """How many times as fast bfloat16 is."""
        return self.bfloat16_gflops / self.float32_gflops

    @property
    def sentence(self) -> str:
        """What was measured, and what follows from it."""
        rates = (
            f"{self.device}: {self.float32_gflops:.0f} GFLOP/s in float32, {self.bfloat16_gflops:.0f} in bfloat16 ({self.ratio:.1f} times)"
        )
        if self.ratio < WORTH_IT:
            return f"{rates}; leave model.precision=float32"
        but = "; a BiLSTM is rather slower in it" if self.device == "cpu" else ""
        return f"{rates}; model.precision=bfloat16 should be faster for transformers{but}"


def measure(device: str) -> Speeds:
    """Time products in both precisions on one CPU thread, or on the first GPU, which takes about a second."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # as Runs have unless probe.threads says otherwise
    try:
        rates = [
            matmul_peak_gflops(device=device, precision=precision, seconds=_SECONDS, widths=_WIDTHS[device])
            for precision in ("float32", "bfloat16")
        ]
    finally:
        torch.set_num_threads(before)
    return Speeds(device=device, float32_gflops=rates[0], bfloat16_gflops=rates[1])


def devices() -> list[str]:
    """Where products can be timed here."""
    return ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
