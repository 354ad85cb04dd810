"""Quality by length of document, the share that was read, and the length that predictions carry."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff import record as records
from bakeoff.data.answers import write_predictions
from bakeoff.data.dataset import Prepared, Rows
from bakeoff.probes import quality, slices
from bakeoff.record import LENGTH_SLICES

CLASSES = ("a", "b")
REPORTS = Path(__file__).parents[2] / "reports"


def answered(
    lengths: list[int], read: list[int] | None, *, right: list[bool] | None = None, marked: list[int] | None = None
) -> slices.Answered:
    labels = np.arange(len(lengths) if lengths else 4) % 2
    hits = np.ones(len(labels), dtype=bool) if right is None else np.asarray(right)
    probabilities = np.where((np.arange(2) == labels[:, None]) == hits[:, None], 0.9, 0.1).astype(np.float32)
    contaminated = np.isin(np.arange(len(labels)), marked or [])
    return slices.Answered(
        labels=labels,
        probabilities=probabilities,
        contaminated=contaminated,
        lengths_tokens=np.asarray(lengths, dtype=np.int64),
        read_tokens=None if read is None else np.asarray(read, dtype=np.int64),
    )


def score(of: slices.Answered) -> dict[str, records.SplitQuality]:
    return slices.score(of, CLASSES, fit_labels=np.asarray([0, 1, 1]))


def test_documents_fall_into_slices_by_their_whole_length() -> None:
    scores = score(answered([3, 512, 513, 1024, 1025, 2048, 2049, 90_000], None, right=[True, False, True, True, True, True, False, False]))
    assert list(scores) == ["test", "test_to_512", "test_513_to_1024", "test_1025_to_2048", "test_over_2048"]
    assert {name: (each.n, each.accuracy) for name, each in scores.items()} == {
        "test": (8, 5 / 8),
        "test_to_512": (2, 0.5),
        "test_513_to_1024": (2, 1.0),
        "test_1025_to_2048": (2, 1.0),
        "test_over_2048": (2, 0.0),
    }
    assert {each.read_fraction for each in scores.values()} == {None}
    assert {each.majority_baseline for each in scores.values()} == {0.5}


def test_only_slices_with_rows_stand_and_none_where_nothing_is_tokenised() -> None:
    assert list(score(answered([600, 700, 5000], None))) == ["test", "test_513_to_1024", "test_over_2048"]
    assert list(score(answered([], None))) == ["test"]
    assert next(iter(score(answered([], [])).values())).read_fraction is None


def test_the_share_that_was_read_is_of_tokens_and_not_of_documents() -> None:
    scores = score(answered([100, 400, 1000, 3000], [100, 256, 256, 256]))
    assert {name: each.read_fraction for name, each in scores.items()} == {
        "test": 868 / 4500,
        "test_to_512": 356 / 500,
        "test_513_to_1024": 0.256,
        "test_over_2048": 256 / 3000,
    }


def test_rows_without_contaminated_ones_are_scored_beside_the_slices() -> None:
    scores = score(answered([10, 10, 10, 3000], [10, 10, 10, 300], right=[False, True, True, True], marked=[0]))
    assert {name: (each.n, each.accuracy) for name, each in scores.items()} == {
        "test": (4, 0.75),
        "test_uncontaminated": (3, 1.0),
        "test_to_512": (3, 2 / 3),
        "test_over_2048": (1, 1.0),
    }
    assert scores["test_uncontaminated"].read_fraction == 320 / 3020
    assert "test_uncontaminated" not in score(answered([10, 10], None, marked=[0, 1]))


def test_a_slice_is_scored_as_its_rows_alone_would_be() -> None:
    whole = answered([10, 20, 600, 700, 800], None, right=[True, False, True, True, False])
    alone = quality.score(whole.labels[2:], whole.probabilities[2:], CLASSES, fit_labels=np.asarray([0, 1, 1]))
    assert score(whole)["test_513_to_1024"] == alone


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=60))
def test_slices_share_out_every_row(lengths: list[int]) -> None:
    masks = slices.by_length(np.asarray(lengths, dtype=np.int64))
    assert set(masks) <= set(LENGTH_SLICES)
    assert np.stack(list(masks.values())).sum(axis=0).tolist() == [1] * len(lengths)
    for name, mask in masks.items():
        least, most = LENGTH_SLICES[name]
        assert all(least <= length <= (most or length) for length in np.asarray(lengths)[mask].tolist())


def test_the_mean_of_tokens_is_null_where_they_are_not_known() -> None:
    assert slices.mean_tokens(np.asarray([10, 20])) == 15.0
    assert slices.mean_tokens(None) is None
    assert slices.mean_tokens(np.zeros(0, dtype=np.int64)) is None


@pytest.fixture
def prepared() -> Prepared:
    rows = Rows(row_ids=("1-0", "2-0", "3-0"), texts=("x", "y", "z"), labels=np.asarray([0, 1, 0]), groups=None, clusters=np.arange(3))
    return Prepared(
        classes=CLASSES, pool=rows, test=rows, contaminated=np.zeros(3, dtype=bool), dropped=rows.take([]), primary_metric="accuracy"
    )


@pytest.mark.parametrize("lengths", [None, [], [7, 80, 4096]])
def test_predictions_carry_each_documents_length(tmp_path: Path, prepared: Prepared, lengths: list[int] | None) -> None:
    probabilities = np.full((3, 2), 0.5, dtype=np.float32)
    given_lengths = None if lengths is None else np.asarray(lengths, dtype=np.int64)
    write_predictions(tmp_path / "p.parquet", prepared, probabilities, lengths_tokens=given_lengths)
    table = parquet.read_table(tmp_path / "p.parquet")
    assert str(table.schema.field("length_tokens").type) == "int32"
    assert table["length_tokens"].to_pylist() == (lengths or [None, None, None])


def committed() -> list[Path]:
    return sorted(REPORTS.glob("*/records/*/record.json"))


def test_records_from_before_have_no_slices_and_still_load() -> None:
    found = [records.from_json(file.read_text()) for file in committed()]
    assert found
    for record in found:
        assert record.quality.keys() <= {"test", "test_uncontaminated", "validation", *LENGTH_SLICES}
        plain = json.loads(record.to_json())
        again = records.from_json(json.dumps(plain))
        assert (again.data, again.quality) == (record.data, record.quality)


def test_a_record_without_the_new_fields_reads_as_unknown() -> None:
    plain = json.loads(committed()[0].read_text())
    for name in ("read_fraction", "processed_tokens_mean", "visible_fraction"):
        plain["data"].pop(name, None)
    for each in plain["quality"].values():
        each.pop("read_fraction", None)
    data = records.from_json(json.dumps(plain)).data
    assert (data.read_fraction, data.processed_tokens_mean, data.visible_fraction) == (None, None, None)
