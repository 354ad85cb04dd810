"""Long documents as tables: the readers, and the paired differences between them."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from bakeoff.report import stats, words
from bakeoff.report.blocks import ABSENT, Grid, grid
from bakeoff.report.longdoc_pairs import Pair
from bakeoff.report.longdoc_readers import SLICES, Reader, Slice, Study
from bakeoff.report.longdoc_words import points_with_interval

HOW = (
    "Every model beside itself with another way to read. The share of text is what was read of all test documents together; a slice "
    "holds the documents that are this long in the model's own tokens, with their number in brackets; seconds are the time to predict "
    "the test set in batches, divided by its documents, on whatever else the machine did; tokenising is left out for models that read "
    "tokens, save where select ranks sentences, which counts: a page of latency measures better."
)
IDEAL = (
    "The ideal reader sees one look at a time, a window or else all that is read: it is right about the documents that show both "
    "telling words in one look, and at chance about the others. Windows pooled together can tell some more."
)
DETECTABLE = (
    "The smallest detectable difference is the true one that a two-sided 5% test would find in 80% of repeats with as many rows and "
    "seeds. What was picked as the best of several on these very documents looks a little better than it is."
)


def readers_grid(study: Study) -> Grid:
    """A line a reader, best first."""
    readers = study.readers
    metric = words.METRIC_NAMES[study.metric]
    columns = [
        ("model", [reader.candidate.name for reader in readers]),
        ("reading", [reader.reading.label for reader in readers]),
        *_folds_and_seeds(readers),
        ("text read %", [_share(reader) for reader in readers]),
        ("tokens a document", [_tokens(reader) for reader in readers]),
        (f"{metric} %", [f"{words.percent(reader.overall.mean)} ({words.span(reader.overall)})" for reader in readers]),
        *([("ideal reader %", [_ideal(reader) for reader in readers])] if study.dataset.needle is not None else []),
        *((f"{part.title} tokens %", [_on(reader, part) for reader in readers]) for part in SLICES),
        ("predicting, s a document", [words.three_digits(seconds_a_document(reader)) for reader in readers]),
        ("training s", [_mean(r.training.seconds for r in reader.records) for reader in readers]),
        ("peak memory MB", [_mean(r.training.peak_memory_mb for r in reader.records) for reader in readers]),
    ]
    return grid(
        f"Ways to read: {study.title}",
        columns,
        texts=("model", "reading"),
        runs=[tuple(record.run_id for record in reader.records) for reader in readers],
    )


def pairs_grid(study: Study, pairs: Sequence[Pair]) -> Grid:
    """A line a paired difference."""
    columns = [
        ("this", [each.first.candidate.name for each in pairs]),
        ("read", [each.first.reading.label for each in pairs]),
        ("minus that", [each.second.candidate.name for each in pairs]),
        ("read as", [each.second.reading.label for each in pairs]),
        ("documents", ["all" if each.part is None else f"{each.part.title} tokens" for each in pairs]),
        ("points", [points_with_interval(each) for each in pairs]),
        ("n", [f"{each.difference.rows:,}" for each in pairs]),
        ("groups", [ABSENT if each.difference.groups is None else f"{each.difference.groups:,}" for each in pairs]),
        ("seeds", [str(each.difference.seeds) for each in pairs]),
        ("smallest detectable", [f"{100 * stats.smallest_detectable(each.difference):.1f}" for each in pairs]),
    ]
    runs = [tuple(record.run_id for side in (each.first, each.second) for record in side.records) for each in pairs]
    return grid(f"Paired differences: {study.title}", columns, texts=("this", "read", "minus that", "read as", "documents"), runs=runs)


def seconds_a_document(reader: Reader) -> float | None:
    """Seconds to predict a test document, the mean over Runs; None where one does not know."""
    return reader.mean(
        None if record.training.predict_seconds is None else record.training.predict_seconds / record.data.n_test
        for record in reader.records
    )


def _folds_and_seeds(readers: Sequence[Reader]) -> list[tuple[str, list[str]]]:
    folds = [("folds", [str(len(reader.answers)) for reader in readers])] if any(len(reader.answers) > 1 for reader in readers) else []
    return [*folds, ("seeds", [str(reader.overall.seeds) for reader in readers])]


def _share(reader: Reader) -> str:
    share = reader.mean(record.data.read_fraction for record in reader.records)
    return ABSENT if share is None else words.percent(share)


def _ideal(reader: Reader) -> str:
    """The accuracy that a reader which shows so many documents in one look allows."""
    visible = reader.mean(record.data.visible_fraction for record in reader.records)
    return ABSENT if visible is None else words.percent((1 + visible) / 2)


def _tokens(reader: Reader) -> str:
    tokens = reader.mean(record.data.processed_tokens_mean for record in reader.records)
    return ABSENT if tokens is None else f"{tokens:,.0f}"


def _on(reader: Reader, part: Slice) -> str:
    found = reader.on(part)
    return ABSENT if found is None else f"{words.percent(found.mean)} (n {found.rows:,})"


def _mean(values: Iterable[float]) -> str:
    return f"{fmean(values):,.1f}"
