"""A claim: a statement, the rule that judges it, and what measures it. Its answer is plain numbers, stored as JSON."""

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from bakeoff.claims.pictures import Picture
from bakeoff.record import Record
from bakeoff.spec import Run

Verdict = Literal["holds", "does not hold", "inconclusive", "cannot be tested here"]
Kind = Literal["mechanism", "cost", "learning"]
Size = Literal["small", "full"]
Cell = str | float | int | bool | None


@dataclass(frozen=True, kw_only=True)
class Interval:
    """The 95% interval of a figure."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one claim came to: judged by its rule, with everything that was seen."""

    verdict: Verdict
    figure: float | None
    """The one number that the rule judges; None where it was not measured."""
    unit: str
    """Of the figure, such as "×", "points" or ""."""
    interval: Interval | None
    """None where the figure is exact, or was not measured."""
    seen: str
    """One sentence: what was measured; for a claim that does not hold, what was seen instead."""
    dataset: str | None
    """Name of the data; None where it is generated or none."""
    rows: tuple[Mapping[str, Cell], ...] = ()
    """The table of what was measured; all rows have the same keys, the headings."""
    run_ids: tuple[str, ...] = ()
    detectable: float | None = None
    """The smallest difference, in `unit`, that this design could have seen; None of an inconclusive one where nothing could be told."""
    pictures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Baked:
    """A Run's record, and the folder that holds its predictions and, where they were asked for, its weights."""

    record: Record
    folder: Path


class Bench(Protocol):
    """What a claim is handed to measure with; the command builds it from the ordinary planner, store and probes."""

    @property
    def size(self) -> Size:
        """small: minutes on two CPU cores; full: for GPUs and the hub. The same code at other sizes."""
        ...

    def bake(self, sweep: str, *overrides: str, keep_weights: bool = False) -> tuple[Baked, ...]:
        """Every Run of `sweeps/claims/<sweep>.yaml` under these Hydra overrides, baked where it is not recorded yet.

        Cells that do not apply are left out. `keep_weights` also makes weights that are gone again.
        Raises NotMeasured when a Run failed or what it needs (the hub, a GPU, a file) is not here.
        """
        ...

    def texts(self, run: Run) -> Mapping[str, str]:
        """Row id → text of the test rows."""
        ...

    def predict(self, baked: Baked, texts: Sequence[str]) -> np.ndarray:
        """Probabilities of the Run's kept weights for other texts, float32, shape (texts, classes)."""
        ...

    def say(self, line: str) -> None:
        """Progress, on standard error."""
        ...


class NotMeasured(Exception):
    """A claim could not be measured; the message is one sentence that says what is missing and what to do."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of the argument."""

    name: str
    statement: str
    kind: Kind
    rule: str
    """When it holds, in words; the code of `measure` applies exactly this."""
    seconds: Mapping[Size, float]
    """About how long it takes from nothing: small on two CPU cores. A size that is not there has no such form."""
    measure: Callable[[Bench], Answer]
    sweeps: tuple[str, ...] = ()
    """Names of the files under `sweeps/claims/` that it bakes."""
    shared_seconds: Mapping[str, Mapping[Size, float]] = field(default_factory=dict)
    """Name of another claim → how much of `seconds` goes into Runs that this one bakes too, and that are baked once."""

    @property
    def how(self) -> str:
        """What is varied and what is measured: the docstring of its module past the first line, without what is set off or marked in it."""
        said = inspect.cleandoc(sys.modules[self.measure.__module__].__doc__ or "").split("\n\n")[1:]
        plain = " ".join(" ".join(part.split()) for part in said if not part.startswith(" "))
        return re.sub(r"\*([^*]+)\*|`([^`]+)`", r"\1\2", plain)
