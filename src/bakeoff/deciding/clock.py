"""The time that a decision may take: what of it is left, what still fits, and when a Run must end."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

SPARE = 1.15
"""A Run fits where so many times its estimate is left: one that is stopped half-way was time for nothing."""
FIRST_REPORT_SECONDS = 12.0
"""What writing a page takes, until one was written."""
REPORT_SPARE = 1.3
STOP_SECONDS = 4.0
"""How long a Run that is asked to end may take to do so."""


@dataclass(kw_only=True)
class Clock:
    """A stopwatch over this call alone: a decision that is taken up again has its time anew."""

    budget_seconds: float
    now: Callable[[], float] = time.monotonic
    began: float | None = None
    """When it began; now, unless the command had begun before."""
    _report_seconds: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.began is None:
            self.began = self.now()

    @property
    def spent_seconds(self) -> float:
        """Since it began."""
        assert self.began is not None
        return self.now() - self.began

    @property
    def report_seconds(self) -> float:
        """What is kept back for the last page."""
        if self._report_seconds is None:
            return min(FIRST_REPORT_SECONDS, self.budget_seconds / 10)
        return REPORT_SPARE * self._report_seconds

    @property
    def left_seconds(self) -> float:
        """For Runs: what is left besides the last page."""
        return self.budget_seconds - self.spent_seconds - self.report_seconds

    @property
    def limit_seconds(self) -> float:
        """How long a Run that starts now may take before it is stopped."""
        return max(1.0, self.left_seconds - STOP_SECONDS)

    def fits(self, seconds: float) -> bool:
        """Whether a Run of this estimate, started now, would very likely end in time."""
        return SPARE * seconds <= self.limit_seconds and self.left_seconds > 1.0

    def has_reported(self, seconds: float) -> None:
        """Note what a page took."""
        self._report_seconds = max(seconds, self._report_seconds or 0.0)
