"""Answers of made-up claims, with every kind of value that one may hold."""

import dataclasses
import math
from typing import Any

from bakeoff.claims.claim import Answer, Interval, Verdict
from bakeoff.claims.pictures import Heatmap, Lines, Series
from bakeoff.claims.stored import Stored

LINES = Lines(
    title="Time against <length> & more",
    x_label="length, tokens",
    y_label="ms",
    series=(
        Series(label="lstm", x=(64, 128, 256), y=(1.0, 2.0, 4.1), low=(0.9, 1.8, 3.9), high=(1.1, 2.2, 4.4)),
        Series(label="attention", x=(64, 128, 256), y=(0.5, math.nan, 1.5)),
    ),
    log_x=True,
    log_y=True,
)
MATRIX = Heatmap(title="Attention", rows=("the", "dog"), columns=("the", "dog"), values=((0.25, 0.75), (1.0, 0.0)))
RICH = Answer(
    verdict="does not hold",
    figure=1.25,
    unit="×",
    interval=Interval(low=0.5, high=math.inf),
    seen="The LSTM took 1.25 times as long",
    dataset="movie",
    rows=(
        {"model": "lstm | wide", "p50_ms": 1.5, "parameters": 1234567, "fits": True, "gone": None},
        {"model": "<b>attention</b>", "p50_ms": 1.1e-7, "parameters": 8, "fits": False, "gone": None},
    ),
    run_ids=("0123456789ab", "ba9876543210"),
    detectable=0.2,
    pictures=(LINES, MATRIX),
    notes=("Generated texts.", "A second *note*."),
)


def stored(name: str = "quadratic", verdict: Verdict = "does not hold", **changes: Any) -> Stored:
    """A stored answer; changes of fields of `Stored`."""
    plain = Stored(
        name=name,
        statement=f"Attention costs more than n | d in {name}",
        kind="cost",
        rule="The interval lies within [1, 2].",
        size="small",
        machine="A processor, 2 CPUs, 8 GB, no GPU",
        measured_at="2025-03-01T10:00:00Z",
        seconds=12.3,
        commit="0123456789abcdef0123456789abcdef01234567",
        dirty=False,
        answer=dataclasses.replace(RICH, verdict=verdict),
    )
    return dataclasses.replace(plain, **changes)
