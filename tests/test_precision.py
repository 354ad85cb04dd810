"""Where bfloat16 would be faster: what is measured, and what is said of it."""

import dataclasses
import time
from pathlib import Path

import pytest
import torch

import factories
from bakeoff.commands import precision
from bakeoff.probes.precision import Speeds, devices, measure


@pytest.mark.parametrize(
    ("device", "rates", "sentence"),
    [
        (
            "cpu",
            (190, 430),
            "cpu: 190 GFLOP/s in float32, 430 in bfloat16 (2.3 times); model.precision=bfloat16 should be faster for transformers; "
            "a BiLSTM is rather slower in it",
        ),
        (
            "cuda",
            (50_000, 600_000),
            "cuda: 50000 GFLOP/s in float32, 600000 in bfloat16 (12.0 times); model.precision=bfloat16 should be faster for transformers",
        ),
        ("cpu", (175, 11), "cpu: 175 GFLOP/s in float32, 11 in bfloat16 (0.1 times); leave model.precision=float32"),
        ("cpu", (100, 119), "cpu: 100 GFLOP/s in float32, 119 in bfloat16 (1.2 times); leave model.precision=float32"),
    ],
)
def test_what_the_doctor_says_of_a_measurement(device: str, rates: tuple[float, float], sentence: str) -> None:
    assert Speeds(device=device, float32_gflops=rates[0], bfloat16_gflops=rates[1]).sentence == sentence


def test_a_measurement_is_short_and_leaves_the_thread_count_as_it_was() -> None:
    torch.set_num_threads(2)
    began = time.process_time()
    found = measure("cpu")
    assert time.process_time() - began < 10
    assert found.float32_gflops > 0
    assert found.bfloat16_gflops > 0
    assert torch.get_num_threads() == 2
    assert devices()[0] == "cpu"
    torch.set_num_threads(1)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("flags : fpu avx512f avx512_bf16 wbnoinvd", True),
        ("flags : amx_bf16 amx_tile", True),
        ("Features : fp asimd bf16 i8mm", True),
        ("flags : fpu avx2 avx512f", False),
        ("model name : abf16x", False),
    ],
)
def test_what_a_processor_lists(tmp_path: Path, text: str, known: bool) -> None:
    (tmp_path / "cpuinfo").write_text(text + "\n")
    assert precision.has_instructions(tmp_path / "cpuinfo") is known
    assert not precision.has_instructions(tmp_path / "none")


def test_a_plan_is_told_which_of_its_models_may_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "visible_gpus", lambda: 0)
    monkeypatch.setattr(precision, "has_instructions", lambda cpuinfo: True)
    runs = [factories.make_run(model=kind) for kind in ("tfidf", "bilstm", "pretrained", "pretrained")]
    assert precision.advice(runs) == (
        "this machine has instructions for bfloat16, so model.precision=bfloat16 may be faster for pretrained "
        "(another question, with records of its own); `bakeoff doctor` measures it"
    )
    assert precision.advice(runs[:2]) is None
    rough = dataclasses.replace(runs[2], model=dataclasses.replace(runs[2].model, precision="bfloat16"))
    assert precision.advice([rough]) is None
    monkeypatch.setattr(precision, "has_instructions", lambda cpuinfo: False)
    assert precision.advice(runs) is None
    monkeypatch.setattr(precision, "visible_gpus", lambda: 1)
    assert precision.advice(runs) == (
        "`bakeoff doctor` measures whether this machine's GPU is faster with model.precision=bfloat16, which pretrained would take "
        "(another question, with records of its own)"
    )
