"""Texts spoiled on purpose: their rows stay the rows of the raw texts."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bakeoff import spec
from bakeoff.config import Composer
from bakeoff.data.dataset import prepare
from bakeoff.data.rewrites import rewrite
from bakeoff.spec import identity

Make = Callable[..., spec.Dataset]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("none", "It isn't BAD, at  all!"),
        ("strip_punctuation", "It isnt BAD at  all"),
        ("split_characters", "I t i s n ' t B A D , a t a l l !"),
        ("lower_case", "it isn't bad, at  all!"),
    ],
)
def test_what_is_done_to_a_text(how: str, expected: str) -> None:
    assert rewrite(["It isn't BAD, at  all!", ""], how) == [expected, ""]  # type: ignore[arg-type]


def table(folder: Path, *, pairs: bool = False) -> Path:
    path = folder / "rows.csv"
    names = [f"{a}{b}{a}" for a in "abcdefgh" for b in "klmnopqr"]
    lines = [f'"Text, of {name}!",{"ab"[i % 2]}' + (f',"Second: {name}?"' if pairs else "") for i, name in enumerate(names)]
    path.write_text("\n".join(["text,label" + (",second" if pairs else ""), *lines]))
    return path


def test_rows_keep_their_ids_and_their_split(make_dataset: Make, tmp_path: Path) -> None:
    path = table(tmp_path)
    raw, stripped = (prepare(make_dataset(path=path, rewrite=how)) for how in ("none", "strip_punctuation"))
    for a, b in ((raw.pool, stripped.pool), (raw.test, stripped.test)):
        assert a.row_ids == b.row_ids
        assert np.array_equal(a.labels, b.labels)
        assert np.array_equal(a.clusters, b.clusters)
        assert b.texts == tuple(text.replace(",", "").replace("!", "") for text in a.texts)
        assert a.texts != b.texts
    again = prepare(make_dataset(path=path, rewrite="strip_punctuation"))  # from the cache
    assert (again.pool.texts, again.test.texts) == (stripped.pool.texts, stripped.test.texts)
    assert prepare(make_dataset(path=path)).pool.texts == raw.pool.texts


def test_both_texts_of_a_pair_are_rewritten(make_dataset: Make, tmp_path: Path) -> None:
    prepared = prepare(make_dataset(path=table(tmp_path, pairs=True), text_pair="second", rewrite="strip_punctuation"))
    assert not any(mark in text for text in prepared.pool.all_texts for mark in ",.:?!")


def test_the_field_is_neutral_and_names_the_data(make_dataset: Make, tmp_path: Path) -> None:
    path = table(tmp_path)
    assert "rewrite" not in identity(make_dataset(path=path))
    assert identity(make_dataset(path=path, rewrite="lower_case"))["rewrite"] == "lower_case"
    names = [Composer().job(["dataset=movie", f"dataset.rewrite={how}"]).run.dataset.name for how in ("none", "split_characters")]
    assert names == ["movie", "movie_split_characters"]
