"""The script for a machine with a GPU, run where there is none."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "gpu_check.sh"


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU: run benchmarks/gpu_check.sh")
def test_without_a_gpu_the_table_says_not_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHON", sys.executable)
    monkeypatch.chdir(tmp_path)
    done = subprocess.run([SCRIPT], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = [line.split("|") for line in done.stdout.splitlines()[2:]]
    figures = {line[1].strip(): line[2].strip() for line in lines}
    assert figures.pop("device") == "no GPU that torch sees"
    assert figures.pop("all of it").endswith(" s")
    assert figures == dict.fromkeys(("gpu tests", "matrix products, bfloat16", "latency session", "fine-tuning"), "not measured")
    assert not list(tmp_path.iterdir())
