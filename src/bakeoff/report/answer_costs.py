"""What shipping a contender costs in all, at given prices: its labels, fitting it once, and a million predictions."""

from collections.abc import Mapping
from dataclasses import dataclass

from bakeoff.record import Record
from bakeoff.report.choice import Contender, Field
from bakeoff.report.costs import Prices, fitting, million_predictions


@dataclass(frozen=True, kw_only=True)
class Total:
    """Money by part, in the currency of the prices; null is not known."""

    labels: float
    training: float | None
    million_predictions: float | None
    """One document after the other, at the throughput of the timed session; null where other processes disturbed it."""
    lacks_teacher: bool = False
    """Whether the training of the teacher of a student is left out, for nobody recorded it here."""

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
    fitted = [records[run_id] for run_id in contender.fitted_by if run_id in records]
    timed = records.get(contender.timed.run_id) if contender.timed is not None else None
    trained = fitting(fitted, records, prices) if fitted and contender.candidate.kind != "predictions" else None
    return Total(
        labels=price_per_label * field.n_labels if contender.reads_labels else 0.0,
        training=None if trained is None else trained.money,
        million_predictions=None if timed is None else million_predictions(timed, prices),
        lacks_teacher=trained is not None and trained.lacks_teacher,
    )
