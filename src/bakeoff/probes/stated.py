"""What a file of answers says of time and money, in few numbers."""

import numpy as np
import numpy.typing as npt

from bakeoff.data.predictions_file import FileAnswers
from bakeoff.record import Stated


def summarise(answers: FileAnswers) -> Stated | None:
    """Percentiles of the stated times (linear between rows) and the mean price; None for a file that states neither."""
    if not len(answers.milliseconds) and not len(answers.prices):
        return None
    return Stated(
        p50_ms=_percentile(answers.milliseconds, 50),
        p95_ms=_percentile(answers.milliseconds, 95),
        n_timed=len(answers.milliseconds),
        price_per_document=float(answers.prices.mean()) if len(answers.prices) else None,
        n_priced=len(answers.prices),
    )


def _percentile(values: npt.NDArray[np.float64], percent: float) -> float | None:
    return float(np.percentile(values, percent)) if len(values) else None
