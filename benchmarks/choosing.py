"""How often the rule of `bakeoff choose` ships a model that is worse than it may be, and how often intervals hold the truth.

Simulated studies with known truths go through the product's own rule and intervals. A test row has a difficulty that all
models share, one of its own for each model, and one for each seed; a seed has a skill. Whatever the shares, a model is
right on `truth` of all rows, over all seeds. Skills are drawn for each model by itself, the hard case: models that learn
from one draw share much of its luck, and pairing takes that off.

    python benchmarks/choosing.py [--studies 2000] [--coverage-studies 1000] [--rows 1000]
"""

import argparse
import time
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from bakeoff.report import pairs, stats
from bakeoff.report.candidates import Candidate
from bakeoff.report.choose import Contender, Counts, Feasibility, Judged, Limits, Timed, rule
from bakeoff.report.stats import Answers
from bakeoff.spec import Run

SHARED, OWN, SINGLE = 0.5, 0.2, 0.3
"""What of a row's difficulty all models share, what each model has for itself, and what each of its seeds has; they add up to 1."""
SEED_SDS = (0.005, 0.01, 0.02)
SEEDS = (3, 5, 10)


def answers_of(generator: np.random.Generator, truths: Sequence[float], *, seeds: int, rows: int, seed_sd: float) -> NDArray[np.bool_]:
    """Whether each of C models is right, shape [C, seeds, rows]; `seed_sd` is the standard deviation of accuracy between seeds."""
    skill = ndtri(np.array(truths)[:, None] + seed_sd * generator.standard_normal((len(truths), seeds)))
    shared = generator.standard_normal(rows, dtype=np.float32)
    own = generator.standard_normal((len(truths), 1, rows), dtype=np.float32)
    single = generator.standard_normal((len(truths), seeds, rows), dtype=np.float32)
    found: NDArray[np.bool_] = SHARED**0.5 * shared + OWN**0.5 * own + SINGLE**0.5 * single < skill[:, :, None]
    return found


def contender(correct: NDArray[np.bool_], *, name: str, p50_ms: float) -> Contender:
    """A contender that is right on these rows, shape [seeds, rows], as fast as told."""
    seeds, rows = correct.shape
    answers = Answers(
        row_ids=np.arange(rows),
        labels=np.ones(rows, np.int64),
        predicted=correct.astype(np.int64),
        seeds=tuple((seed, seed) for seed in range(seeds)),
    )
    timed = Timed(
        run_id="",
        session_id="",
        machine="",
        device="cpu",
        threads=1,
        engine="eager",
        p50_ms=p50_ms,
        p95_ms=2 * p50_ms,
        low_ms=1.9 * p50_ms,
        high_ms=2.1 * p50_ms,
        contended=False,
        tokens=None,
    )
    return Contender(
        key=name,
        label=name,
        candidate=Candidate(key=name, name=name, label=name, run=cast(Run, None)),
        engine="eager",
        folds=(answers,),
        reads_labels=True,
        counts=Counts(scored=seeds, collapsed=0, diverged=0, failed=0),
        run_ids=(),
        timed=timed,
        bytes=None,
        flops=None,
        timing_command=None,
    )


def recommended(correct: NDArray[np.bool_], *, margin_points: float = 1.0) -> int:
    """Which of C models, cheapest first, the rule recommends; `correct` has shape [C, seeds, rows]."""
    judged = []
    for i, each in enumerate(correct):
        one = contender(each, name=f"{i:02d}", p50_ms=i + 1.0)
        estimate = pairs.score(one, "accuracy")
        judged.append(Judged(contender=one, estimate=estimate, accuracy=estimate, feasibility=Feasibility(status="feasible")))
    found = rule(judged, Limits(margin_points=margin_points), metric="accuracy").recommended
    assert found is not None
    return int(found.contender.key)


def share_wrong(
    *, competitors: int, studies: int, seed_sd: float, seeds: int = 3, rows: int = 1000, worse: float = 0.03, best: float = 0.83
) -> float:
    """In what share of studies the cheapest is recommended, though it is truly this much worse than all the others, which are alike."""
    generator = np.random.default_rng([competitors, round(1e4 * seed_sd)])
    truths = [best - worse] + [best] * (competitors - 1)
    wrong = 0
    for _ in range(studies):
        wrong += recommended(answers_of(generator, truths, seeds=seeds, rows=rows, seed_sd=seed_sd)) == 0
    return wrong / studies


def coverage(*, seeds: int, seed_sd: float, studies: int, rows: int = 1000, truth: float = 0.8) -> float:
    """In what share of studies the 95% interval of a model's accuracy holds the truth."""
    generator = np.random.default_rng([seeds, round(1e4 * seed_sd)])
    held = 0
    for _ in range(studies):
        correct = answers_of(generator, [truth], seeds=seeds, rows=rows, seed_sd=seed_sd)[0]
        found = stats.estimate(contender(correct, name="", p50_ms=1.0).folds[0], "accuracy")
        held += found.low <= truth <= found.high
    return held / studies


def difference_coverage(*, seeds: int, seed_sd: float, studies: int, rows: int = 1000, truth: float = 0.8) -> float:
    """The same for the paired difference of two models that are truly 3 points apart."""
    generator = np.random.default_rng([seeds, round(1e4 * seed_sd), 1])
    held = 0
    for _ in range(studies):
        correct = answers_of(generator, [truth + 0.03, truth], seeds=seeds, rows=rows, seed_sd=seed_sd)
        found = stats.difference(*(contender(each, name="", p50_ms=1.0).folds[0] for each in correct), "accuracy")
        assert found is not None
        held += found.low <= 0.03 <= found.high
    return held / studies


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--coverage-studies", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=1000)
    asked = parser.parse_args()
    started = time.perf_counter()
    print(
        f"The cheapest, truly 3 points worse, recommended in % of {asked.studies:,} studies of {asked.rows:,} rows and 3 seeds (at most 5):"
    )
    for competitors in (2, 12):
        shares = [share_wrong(competitors=competitors, studies=asked.studies, seed_sd=sd, rows=asked.rows) for sd in SEED_SDS]
        cells = ", ".join(f"{100 * share:.1f} at seed SD {100 * sd:g}" for share, sd in zip(shares, SEED_SDS, strict=True))
        print(f"  {competitors:>2} competitors: {cells}", flush=True)
    print(f"95% intervals that hold the truth, % of {asked.coverage_studies:,} studies (at least 92); then those of paired differences:")
    for seeds in SEEDS:
        for name, measure in (("score", coverage), ("difference", difference_coverage)):
            shares = [measure(seeds=seeds, seed_sd=sd, studies=asked.coverage_studies, rows=asked.rows) for sd in SEED_SDS]
            cells = ", ".join(f"{100 * share:.1f} at seed SD {100 * sd:g}" for share, sd in zip(shares, SEED_SDS, strict=True))
            print(f"  {seeds:>2} seeds, {name:<10}: {cells}", flush=True)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
