"""Columns that one file shares with the one before it are taken from there, and only then."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from bakeoff.report import saved_answers

ROWS = [f"row-{i:03d}" for i in range(40)]


def write(path: Path, rows: list[str], labels: list[int], predicted: list[int], groups: list[int] | None, parts: int) -> None:
    columns = {"row_id": pa.array(rows, pa.string()), "label": pa.array(labels, pa.int32()), "predicted": pa.array(predicted, pa.int32())}
    if groups is not None:
        columns["group"] = pa.array(groups, pa.int32())
    parquet.write_table(pa.table(columns), path, compression="zstd", row_group_size=-(-len(rows) // parts))


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("seed", range(20))
def test_a_file_read_after_another_is_what_it_is_alone(tmp_path: Path, seed: int, parts: int) -> None:
    random, known = np.random.default_rng(seed), None
    rows, labels, groups = ROWS, [0] * 40, [7] * 40
    for place in range(8):
        change = random.integers(0, 5)
        if change == 0:
            rows = random.permutation(ROWS).tolist()
        if change == 1:
            labels = random.integers(0, 2, 40).tolist()
        if change == 2:
            groups = random.integers(0, 3, 40).tolist()
        predicted = random.integers(0, 2, 40).tolist() if random.random() < 0.7 else labels
        path = tmp_path / f"{place}.parquet"
        write(path, rows, labels, predicted, None if change == 3 else groups, parts)
        known, alone = saved_answers._read(path, known), saved_answers._read(path, None)
        order = np.argsort(rows)
        assert known.rows.sorted.tolist() == ROWS
        for found in (known, alone):
            assert found.labels.tolist() == np.array(labels)[order].tolist()
            assert found.predicted.tolist() == np.array(predicted)[order].tolist()
        if change == 3:
            assert known.groups is None
        else:
            numbered = np.unique(np.array(groups)[order], return_inverse=True)[1]
            assert known.groups is not None
            assert known.groups.tolist() == numbered.tolist()


def test_rows_that_are_the_same_bytes_are_the_same_arrays(tmp_path: Path) -> None:
    for name, predicted in (("a", [0] * 40), ("b", [1] * 40)):
        write(tmp_path / name, ROWS, [0, 1] * 20, predicted, None, 1)
    first = saved_answers._read(tmp_path / "a", None)
    second = saved_answers._read(tmp_path / "b", first)
    assert second.rows is first.rows
    assert second.labels is first.labels
    assert second.predicted.tolist() == [1] * 40
