"""The steps behind gpu_check.sh, each a row of the table; `--device cpu` runs them at toy size, to test this script.

python benchmarks/gpu_check.py FOLDER [--device cuda|cpu]
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import bakery
from bakeoff import spec
from bakeoff.models import sizes
from bakeoff.probes import cost, flops

ROOT = Path(__file__).parents[1]
NOT_MEASURED = "not measured"
ROWS = {"cuda": 3_000, "cpu": 120}
WORDS = 125
"""Words a document; with one for the class and two special tokens, 128 tokens."""
TOKENS = WORDS + 3
ENCODERS = {
    "cuda": spec.EncoderSize(family="bert", layers=12, width=768, heads=12, feed_forward=3072, vocabulary=30522, positions=512),
    "cpu": spec.EncoderSize(family="bert", layers=1, width=32, heads=2, feed_forward=64, vocabulary=1000, positions=256),
}
TEST_SECONDS, RUN_SECONDS = 90, 120
"""Limits of a step, so that a check that hangs is a row and no lost hour."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table."""

    check: str
    figure: str
    worked: bool = True


def main() -> int:
    """Print the table; 0 where every check worked or there is no GPU."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    asked = parser.parse_args()
    started = time.perf_counter()
    rows = list(checks(asked.folder, asked.device))
    rows.append(Row(check="all of it", figure=f"{time.perf_counter() - started:.0f} s"))
    print(table(rows))
    return 0 if all(row.worked for row in rows) else 1


def checks(folder: Path, device: str) -> Iterator[Row]:
    """Every row, one after another; a failure is one and ends nothing."""
    if device == "cuda" and not torch.cuda.is_available():
        yield Row(check="device", figure="no GPU that torch sees")
        for name in ("gpu tests", "matrix products, bfloat16", "latency session", "fine-tuning"):
            yield Row(check=name, figure=NOT_MEASURED)
        return
    name = torch.cuda.get_device_name() if device == "cuda" else "the CPU, to test this script"
    yield Row(check="device", figure=f"{name}, torch {torch.__version__}")
    yield tests()
    peak = cost.matmul_peak_gflops(device=device, precision="bfloat16", seconds=2.0 if device == "cuda" else 0.1)
    yield Row(check="matrix products, bfloat16", figure=f"{peak / 1000:.4g} TFLOP/s")
    asked = questions(folder, device)
    yield latency(asked, device)
    yield fine_tuning(asked, device, peak)


def tests() -> Row:
    """The tests that need a GPU."""
    done = finish([sys.executable, "-m", "pytest", "-m", "gpu", "-q", "-p", "no:cacheprovider"], TEST_SECONDS)
    last = next((line for line in reversed(done.stdout.splitlines()) if " in " in line or "No module" in line), "no answer")
    return Row(check="gpu tests", figure=last.strip(" ="), worked=done.returncode in (0, 5))


def questions(folder: Path, device: str) -> list[str]:
    """Overrides that ask about generated texts and an encoder with random weights, since there is no network."""
    from transformers import AutoModel

    torch.manual_seed(0)
    data = bakery.write_csv(folder / "texts.csv", bakery.rows(ROWS[device], words=WORDS))
    encoder = bakery.checkpoint(folder / "encoder")
    AutoModel.from_config(sizes.config_of(ENCODERS[device])).save_pretrained(encoder)
    model = ["model=pretrained", bakery.checkpoint_override(encoder), "longdoc=head", f"longdoc.max_tokens={TOKENS}"]
    return [*bakery.on_table(data), *model]


def latency(asked: list[str], device: str) -> Row:
    """One session: the encoder and the reference in turns, from raw text to label."""
    record = bake([*asked, "probe=latency", f"probe.device={device}"])
    if isinstance(record, str):
        return Row(check="latency session", figure=record, worked=False)
    facts = record["latency"]
    ratio = facts["ratio_to_reference"]
    against = "no ratio" if ratio is None else f"{ratio:.3g}× the reference BiLSTM"
    p50, p95 = (f"{facts[key]:.3g} ms" if facts[key] is not None else NOT_MEASURED for key in ("p50_ms", "p95_ms"))
    contended = ", contended" if facts["contended"] else ""
    return Row(check="latency session", figure=f"{TOKENS} tokens: p50 {p50}, p95 {p95}, {against}{contended}")


def fine_tuning(asked: list[str], device: str, peak_gflops: float) -> Row:
    """Tokens a second of a whole Run's training, and the arithmetic of its matrix products as a share of the peak."""
    training = ["model.training.batch_size=64", "model.training.epochs=6", "model.training.min_steps=0"]
    record = bake([*asked, "model.precision=bfloat16", *training, f"machine.device={device}", "budget.labels=all"])
    if isinstance(record, str):
        return Row(check="fine-tuning", figure=record, worked=False)
    rate = record["training"]["tokens_per_second"]
    forward = flops.of_encoder(ENCODERS[device], tokens=TOKENS, n_classes=2) / TOKENS
    share = 3 * forward * rate / (peak_gflops * 1e9)  # backward is two products for each forward one
    return Row(check="fine-tuning", figure=f"{rate:,.0f} tokens/s in bfloat16, batch 64 × {TOKENS}: {share:.1%} of the measured peak")


def bake(overrides: list[str]) -> dict[str, Any] | str:
    """The record of one Run as plain values, or why there is none."""
    done = finish([sys.executable, "-m", "bakeoff.cli", "run", *overrides], RUN_SECONDS)
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        record: dict[str, Any] = json.loads(Path(lines[-1]).read_text(encoding="utf-8"))
        return record
    said = done.stderr.strip().splitlines()
    return f"exit code {done.returncode}: {said[-1] if said else 'nothing said'}"


def finish(command: list[str], seconds: float) -> "subprocess.CompletedProcess[str]":
    """A command's end; one that takes too long has exit code 124."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"not done after {seconds:.0f} s")


def table(rows: list[Row]) -> str:
    """Rows as a Markdown table."""
    lines = [f"| {row.check} | {row.figure} | {'' if row.worked else 'FAILED'} |" for row in rows]
    return "\n".join(["| check | figure | |", "|---|---|---|", *lines])


if __name__ == "__main__":
    sys.exit(main())
