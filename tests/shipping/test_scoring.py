"""A stream of rows becomes a stream of lines, in the same order, of which no spreadsheet makes a formula."""

import io
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from bakeoff.errors import DataError
from bakeoff.shipping.parts.classifier import Classifier
from bakeoff.shipping.parts.neural import longest_first, padded
from bakeoff.shipping.scoring import Tally, escaped, score
from bakeoff.shipping.stream import Chunk


class ByLength:
    """Knows long texts from short ones."""

    def probabilities(self, documents: Sequence[object], *, batch_size: int) -> np.ndarray:
        long = np.asarray([len(str(document)) > 2 for document in documents], dtype=np.float32)
        return np.stack([0.75 - 0.5 * long, 0.25 + 0.5 * long], axis=1)


CLASSIFIER = Classifier({"classes": ["short", "=long"], "pairs": False}, ByLength())


def test_lines_have_row_label_and_probability() -> None:
    out, tally, moves = io.StringIO(), Tally(), []
    chunks = [Chunk(documents=["a", "abc"]), Chunk(documents=["abcd"])]
    score(chunks, CLASSIFIER, out, batch_size=2, id_column=None, tally=tally, moved=lambda: moves.append(tally.rows))
    assert out.getvalue() == "row,label,probability\n1,short,0.750000\n2,'=long,0.750000\n3,'=long,0.750000\n"
    assert moves == [2, 3]


@pytest.mark.parametrize(("column", "header"), [("ticket", "ticket"), ("label", "id"), ("+x", "'+x")])
def test_an_id_is_copied(column: str, header: str) -> None:
    out = io.StringIO()
    score([Chunk(documents=["a"], ids=["=1+1"])], CLASSIFIER, out, batch_size=2, id_column=column, tally=Tally())
    assert out.getvalue() == f"{header},row,label,probability\n'=1+1,1,short,0.750000\n"


def test_what_was_scored_before_a_bad_line_is_written() -> None:
    def chunks() -> Iterator[Chunk]:
        yield Chunk(documents=["a"])
        raise DataError("line 3")

    out, tally = io.StringIO(), Tally()
    with pytest.raises(DataError, match="line 3"):
        score(chunks(), CLASSIFIER, out, batch_size=2, id_column=None, tally=tally)
    assert (out.getvalue().count("\n"), tally.rows) == (2, 1)


@pytest.mark.parametrize(
    ("cell", "safe"),
    [("a", "a"), ("-5", "-5"), ("+1.5e3", "+1.5e3"), ("-5+cmd", "'-5+cmd"), ("@x", "'@x"), ("\tx", "'\tx"), ("=1", "'=1"), ("", "")],
)
def test_a_formula_is_quoted_and_a_number_is_not(cell: str, safe: str) -> None:
    assert escaped(cell) == safe


@given(lengths=some.lists(some.integers(0, 400_000), min_size=1, max_size=40), batch_size=some.integers(1, 8))
def test_every_document_is_in_one_batch_and_batches_fit(lengths: list[int], batch_size: int) -> None:
    batches = list(longest_first(np.asarray(lengths), batch_size))
    assert sorted(row for batch in batches for row in batch.tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) <= batch_size
        assert len(batch) == 1 or max(lengths[row] for row in batch) * len(batch) <= 131_072


def test_padding_stands_at_the_end() -> None:
    ids, lengths = padded([np.asarray([5, 6], dtype=np.int32), np.asarray([], dtype=np.int32), np.asarray([7], dtype=np.int32)], 9)
    assert ids.tolist() == [[5, 6], [9, 9], [7, 9]]
    assert lengths.tolist() == [2, 0, 1]


@pytest.mark.parametrize(("pairs", "documents"), [(False, "a text"), (False, [("a", "b")]), (True, ["a", "b"]), (True, "ab")])
def test_a_text_where_pairs_are_read_is_no_answer(pairs: bool, documents: Sequence[str]) -> None:
    with pytest.raises(TypeError, match=r"give a list of pairs \(text, second text\)" if pairs else "give a list of texts"):
        Classifier({"classes": ["a", "b"], "pairs": pairs}, ByLength()).predict(documents)
