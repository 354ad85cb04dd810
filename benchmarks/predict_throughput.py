"""`bakeoff predict` on a large file: rows a second and memory as it goes, against the offline throughput of the latency probe.

python benchmarks/predict_throughput.py FOLDER TEXTS.csv COLUMN [--rows 1000000] [--threads 1] [--offline RUN_ID]

FOLDER is what `bakeoff export` wrote. The texts of a file are repeated to so many rows. `--offline` names a latency Run of
the same model (`bakeoff run … probe=latency probe.scenario=offline`), with which the throughput is compared.
"""

import argparse
import csv
import itertools
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from bakeoff.store import Store, default_root

EVERY_SECONDS = 0.5


def write(source: Path, column: str, rows: int, target: Path) -> None:
    """A file of one column, whose texts are those of `source` over and over."""
    with open(source, newline="", encoding="utf-8") as given, open(target, "w", newline="", encoding="utf-8") as file:
        texts = [row[column] for row in csv.DictReader(given)]
        writer = csv.writer(file)
        writer.writerow(["text"])
        writer.writerows([text] for text in itertools.islice(itertools.cycle(texts), rows))


def watch(command: list[str]) -> tuple[float, float, list[float]]:
    """Wall seconds and CPU seconds of a process, and the memory that it held every half second, in MB."""
    started, held = time.perf_counter(), []
    process = psutil.Popen(command, stdout=subprocess.DEVNULL)
    cpu = 0.0
    while process.poll() is None:
        try:
            with process.oneshot():
                held.append(process.memory_info().rss / 1e6)
                cpu = sum(process.cpu_times()[:2])
        except psutil.NoSuchProcess:
            break
        time.sleep(EVERY_SECONDS)
    if process.wait():
        sys.exit("bakeoff predict failed")
    return time.perf_counter() - started, cpu, held


def main() -> None:
    """Print throughput, memory by quarter, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("column")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--offline", metavar="RUN_ID")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        seconds = {}
        for rows in (1, asked.rows):  # what loading takes is in both
            file = Path(scratch) / f"{rows}.csv"
            write(asked.texts, asked.column, rows, file)
            predict = [sys.executable, "-m", "bakeoff.cli", "predict", str(asked.folder), str(file), "--text", "text"]
            wall, cpu, held = watch([*predict, "--threads", str(asked.threads)])
            seconds[rows] = wall
        spent = seconds[asked.rows] - seconds[1]
        print(f"{asked.rows:,} rows in {spent:.1f} s beyond loading ({seconds[1]:.1f} s): {asked.rows / spent:,.0f} rows a second")
        print(f"CPU time {cpu:.1f} s, loading included: {asked.rows / cpu:,.0f} rows a CPU second")
        quarters = [max(held[i * len(held) // 4 : (i + 1) * len(held) // 4], default=0.0) for i in range(4)]
        print("most memory by quarter of the time: " + ", ".join(f"{each:,.0f} MB" for each in quarters))
    if asked.offline:
        record = Store(default_root()).load(asked.offline)
        if record is None or record.latency is None or record.latency.throughput_per_second is None:
            sys.exit(f"{asked.offline} is no recorded latency Run with a throughput")
        offline, batch = record.latency.throughput_per_second, record.latency.batch_size
        print(f"offline throughput of the probe: {offline:,.0f} a second, {batch} at a time; ratio {asked.rows / spent / offline:.2f}")


if __name__ == "__main__":
    main()
