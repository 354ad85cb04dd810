"""Memory and seconds of one document by its length, for each way to read a whole one, each in a fresh process on one thread.

    python benchmarks/long_documents.py [windows] [extended] [bilstm] [--tokens=512,4096,32768,50000]

windows and extended are the starter checkpoint at longdoc=windows and longdoc=extended, bilstm reads the whole document at
once; all with untrained weights, on generated documents, from raw text to label. Linux only, which tells a process's peak.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

READINGS = {
    "windows": ["model=pretrained", "longdoc=windows"],
    "extended": ["model=pretrained", "longdoc=extended"],
    "bilstm": ["model=bilstm", "longdoc=full"],
}
TOKENS = (512, 4096, 32768, 50_000)
COMPARED_TOKENS = (4096, 50_000)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one document took."""

    tokens: int
    seconds: float
    peak_mb: float
    """The most that the process held meanwhile, above what it held with the model loaded and a short document answered."""


def measure(reading: str, lengths_tokens: list[int]) -> list[Cost]:
    """Answer one document of each length, shortest first, in this process."""
    from bakeoff.config import Composer
    from bakeoff.data import dataset
    from bakeoff.probes.engines import build_pipeline
    from bakeoff.probes.grid import documents_of

    most = [f"longdoc.max_tokens={max(lengths_tokens)}"] if reading == "extended" else []
    run = Composer().job(["dataset=movie", "probe=latency", *READINGS[reading], *most]).run
    prepared = dataset.prepare(run.dataset)
    pipeline = build_pipeline(run, prepared, classes=prepared.classes, weights_folder=None)
    texts = prepared.test.texts[:2000]
    documents = {tokens: documents_of(tokens, 1, texts, pipeline.lengths_tokens) for tokens in sorted(lengths_tokens)}
    pipeline.label(texts[:1])
    loaded, costs = _held_mb("VmRSS"), []
    for tokens, document in documents.items():
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # proc(5): the peak becomes what is held now
        started = time.perf_counter()
        pipeline.label(document)
        seconds = time.perf_counter() - started
        costs.append(Cost(tokens=tokens, seconds=seconds, peak_mb=_held_mb("VmHWM") - loaded))
    return costs


def in_fresh_process(reading: str, lengths_tokens: list[int]) -> list[Cost]:
    """`measure` in a process whose memory holds nothing else."""
    code = "import json, sys, long_documents as own; own.tell(sys.argv[1], json.loads(sys.argv[2]))"
    given_back_at_once = {"MALLOC_MMAP_THRESHOLD_": str(2**17)}  # else glibc keeps freed tensors, how many by chance
    environment = os.environ | given_back_at_once | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", code, reading, json.dumps(lengths_tokens)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return [Cost(**each) for each in json.loads(done.stdout.splitlines()[-1])]


def tell(reading: str, lengths_tokens: list[int]) -> None:
    """Print what `measure` finds as a line of JSON."""
    print(json.dumps([asdict(cost) for cost in measure(reading, lengths_tokens)]))


def _held_mb(name: str) -> float:
    """A line of /proc/self/status: VmRSS is what the process holds now, VmHWM the most since its peak was reset."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def main(arguments: list[str]) -> None:
    """Print a line a reading and length, and how many times as much memory 50,000 tokens take as 4,096."""
    given = [text.removeprefix("--tokens=") for text in arguments if text.startswith("--tokens=")]
    lengths_tokens = [int(tokens) for tokens in given[0].split(",")] if given else list(TOKENS)
    for reading in [text for text in arguments if text in READINGS] or READINGS:
        costs = {cost.tokens: cost for cost in in_fresh_process(reading, lengths_tokens)}
        for cost in costs.values():
            print(f"{reading:9} {cost.tokens:6,} tokens: {cost.seconds:8.2f} s, {cost.peak_mb:7.0f} MB above the loaded model", flush=True)
        if all(tokens in costs for tokens in COMPARED_TOKENS):
            few, many = (costs[tokens].peak_mb for tokens in COMPARED_TOKENS)
            print(f"{reading:9} {COMPARED_TOKENS[1]:,} over {COMPARED_TOKENS[0]:,} tokens: {many / few:.2f} times the memory", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
