"""Under a table of scores: what a file of answers states of time and money, and whose probabilities mean little."""

from bakeoff.record import Stated
from bakeoff.report import words
from bakeoff.report.summary import Standing, Table
from bakeoff.spec import ZeroShot


def table_notes(table: Table, *, currency: str | None) -> list[str]:
    """A sentence a candidate that needs one; `currency` is that of the prices, null where none are given."""
    notes = []
    for standing in table.scored:
        model, label = standing.candidate.run.model, standing.candidate.label
        if (stated := _stated(standing, currency)) is not None:
            notes.append(f"{label} states in its file, and nobody measured here: {stated}.")
        if isinstance(model, ZeroShot) and model.method == "similarity":
            notes.append(
                f"The probabilities of {label} are similarities at a fixed scale and not calibrated: its log loss and ECE say little."
            )
    return notes


def _stated(standing: Standing, currency: str | None) -> str | None:
    """What the first Run of a candidate states; its other seeds hold the same file."""
    stated = next((record.stated for record in standing.records if record.stated is not None), None)
    if stated is None:
        return None
    n = standing.records[0].data.n_test
    return "; ".join(part for part in (_time(stated, n), _money(stated, n, currency)) if part is not None)


def _time(stated: Stated, n_test: int) -> str | None:
    if stated.p50_ms is None:
        return None
    of = "" if stated.n_timed == n_test else f" (of {stated.n_timed:,} rows)"
    return (
        f"{words.three_digits(stated.p50_ms)} ms a document at the median, {words.three_digits(stated.p95_ms)} at the 95th percentile{of}"
    )


def _money(stated: Stated, n_test: int, currency: str | None) -> str | None:
    if stated.price_per_document is None:
        return None
    of = "" if stated.n_priced == n_test else f" (of {stated.n_priced:,} rows)"
    unit = "in the currency of the prices" if currency is None else currency
    return f"{words.three_digits(1_000_000 * stated.price_per_document)} {unit} a million documents{of}"
