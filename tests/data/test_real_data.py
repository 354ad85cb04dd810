"""Facts about real files, where they are beside this checkout."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bakeoff import spec
from bakeoff.data import audit, sources
from bakeoff.data.budget import spend
from bakeoff.data.dataset import prepare
from bakeoff.errors import DataError

Make = Callable[..., spec.Dataset]


def counts(findings: tuple[audit.Finding, ...]) -> dict[str, int]:
    return {finding.code: finding.count for finding in findings}


def test_banking77(make_dataset: Make, shared: Path) -> None:
    folder = shared / "banking77"
    prepared = prepare(make_dataset(path=folder / "train.csv", test_path=folder / "test.csv", label="category"))
    assert (len(prepared.pool), len(prepared.test), len(prepared.classes), prepared.primary_metric) == (10_003, 3_080, 77, "macro_f1")
    sizes = np.bincount(prepared.pool.labels)
    assert (sizes.min(), sizes.max()) == (35, 187)
    assert sum("\n" in text for text in prepared.pool.texts + prepared.test.texts) >= 1
    spent = spend(prepared.pool, spec.Budget(labels=1000, draw=0, order="stratified", unlabelled="none"), validation=True)
    assert len(spent.fit) + len(spent.validation) == 1000
    assert 150 < len(spent.validation) < 250
    drawn = np.bincount(prepared.pool.labels[np.concatenate([spent.fit, spent.validation])], minlength=77)
    assert np.abs(drawn - 1000 * sizes / 10_003).max() < 1


def test_mr_polarity(make_dataset: Make, shared: Path) -> None:
    folder = shared / "mr_polarity"
    prepared = prepare(make_dataset(path=folder / "train.csv", test_path=folder / "test.csv"))
    assert (len(prepared.pool), len(prepared.test), prepared.classes, prepared.primary_metric) == (7_108, 3_554, ("neg", "pos"), "accuracy")


def test_movie_reviews(make_dataset: Make, shared: Path) -> None:
    prepared = prepare(make_dataset(path=shared / "movie_reviews", format="folder"))
    assert len(prepared.pool) + len(prepared.test) + prepared.left_out == 2_000
    assert 350 < len(prepared.test) < 450
    assert prepared.classes == ("neg", "pos")


def test_novel_chapters(make_dataset: Make, shared: Path) -> None:
    folder = shared / "novel_chapters"
    prepared = prepare(make_dataset(path=folder / "train.jsonl", test_path=folder / "test.jsonl", format="jsonl", group="book"))
    assert (len(prepared.pool), len(prepared.test), len(prepared.classes), int(prepared.contaminated.sum())) == (279, 160, 8, 0)
    for fold in (0, 1):
        try:
            prepared = prepare(make_dataset(path=folder / "train.jsonl", format="jsonl", group="book", fold=fold))
        except DataError as error:  # few books: a fold can be without any
            assert "leaves no test rows" in str(error)  # noqa: PT017
        else:
            assert not set(prepared.pool.groups or ()) & set(prepared.test.groups or ())


def test_sms_spam(make_dataset: Make, shared: Path) -> None:
    path = shared / "sms_spam" / "spam.csv"
    prepared = prepare(make_dataset(path=path, text="v2", label="v1", encoding="cp1252"))
    assert len(prepared.pool) + len(prepared.test) + prepared.left_out == 5_572
    assert counts(audit.audit(prepared))["exact_duplicates"] == 415
    assert prepared.primary_metric == "macro_f1"
    raw = sources.read(make_dataset(path=path, text="v2", label="v1", encoding="cp1252"))["pool"]
    assert Counter(raw.labels) == {"ham": 4_825, "spam": 747}
    assert sum("£" in text for text in raw.texts) > 100


def test_sms_spam_without_its_encoding(make_dataset: Make, shared: Path) -> None:
    path = shared / "sms_spam" / "spam.csv"
    with pytest.raises(DataError) as raised:
        prepare(make_dataset(path=path, text="v2", label="v1"))
    assert str(raised.value) == "spam.csv is not UTF-8 and is likely cp1252: pass dataset.encoding=cp1252, or save the file as UTF-8"
    with pytest.raises(DataError, match=r"likely cp1252"):
        prepare(make_dataset(path=path, text="v2", label="v1", encoding="latin-1"))


@pytest.mark.slow
def test_starter_datasets(make_dataset: Make) -> None:
    movie = prepare(make_dataset(asset="movie", format="movie", split="held_out_rows", held_out_rows=2000))
    assert (len(movie.pool), len(movie.test), movie.left_out, movie.primary_metric) == (8_568, 2_000, 0, "accuracy")
    together = np.bincount(np.concatenate([movie.pool.labels, movie.test.labels]))
    assert dict(zip(movie.classes, together.tolist(), strict=True)) == {"negative": 5_326, "positive": 5_242}
    sizes = {"newsgroups": (11_293, 7_528, 20), "reuters8": (5_485, 2_189, 8), "reuters52": (6_532, 2_568, 52)}
    for name, expected in sizes.items():
        found = prepare(make_dataset(asset=name, format="orange", split="official"))
        assert (len(found.pool), len(found.test), len(found.classes)) == expected
    books = prepare(make_dataset(asset="books", format="orange"))
    assert (len(books.pool) + len(books.test) + books.left_out, books.classes) == (140, ("adult", "children"))
