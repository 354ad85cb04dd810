"""What shipping a contender costs in all, at given prices: its labels, fitting it once, and a million predictions."""

from collections.abc import Mapping
from dataclasses import dataclass

from bakeoff.record import Record
from bakeoff.report.choice import Contender, Field
from bakeoff.report.costs import MILLION, Prices

_HOUR_SECONDS = 3600


@dataclass(frozen=True, kw_only=True)
class Total:
    """Money by part, in the currency of the prices; null is not known."""

    labels: float
    training: float | None
    million_predictions: float | None
    """One document after the other, at the throughput of the timed session."""

    @property
    def total(self) -> float | None:
        """All three; null while one is not known."""
        if self.training is None or self.million_predictions is None:
            return None
        return self.labels + self.training + self.million_predictions


def totals(field: Field, records: Mapping[str, Record], *, price_per_label: float, prices: Prices) -> dict[str, Total]:
    """Contender key → its total; `records` by run id."""
    return {each.key: _total(each, field, records, price_per_label, prices) for each in field.contenders}


def _total(contender: Contender, field: Field, records: Mapping[str, Record], price_per_label: float, prices: Prices) -> Total:
    fitted = next((records[run_id] for run_id in contender.run_ids if run_id in records), None)
    timed = records.get(contender.timed.run_id) if contender.timed is not None else None
    speed = timed.latency.throughput_per_second if timed is not None and timed.latency is not None else None
    training = None
    if fitted is not None and contender.train_seconds is not None and contender.candidate.kind != "predictions":
        hour = prices.hour(device=fitted.machine.device, threads=fitted.run.probe.threads)
        training = contender.train_seconds / _HOUR_SECONDS * hour
    predictions = None
    if speed and contender.timed is not None:
        predictions = MILLION / speed / _HOUR_SECONDS * prices.hour(device=contender.timed.device, threads=contender.timed.threads)
    return Total(
        labels=price_per_label * field.n_labels if contender.reads_labels else 0.0,
        training=training,
        million_predictions=predictions,
    )
