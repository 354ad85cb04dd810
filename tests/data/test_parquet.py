import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff import spec
from bakeoff.config import Composer
from bakeoff.data import sources
from bakeoff.data.dataset import prepare
from bakeoff.errors import DataError

Make = Callable[..., spec.Dataset]
COLUMNS: dict[str, Any] = {
    "id": [1, 2, 3],
    "body": ["plain", "", 'say "hi"\r\n'],
    "second": ["x", "y", "z"],
    "topic": [1.0, 2.0, 1.0],
    "customer": ["c", "d", "c"],
    "written": pa.array([datetime.datetime(2024, 3, day) for day in (1, 2, 3)], pa.timestamp("ns")),
}
NAMED = {"format": "parquet", "text": "body", "label": "topic"}


def write(path: Path, columns: dict[str, Any] | None = None) -> Path:
    pq.write_table(pa.table(columns or COLUMNS), path)
    return path


def test_rows_of_a_parquet_file(make_dataset: Make, tmp_path: Path) -> None:
    path = write(tmp_path / "f.parquet")
    fields = {**NAMED, "text_pair": "second", "group": "customer", "split": "newest", "time": "written", "newest_share": 0.3}
    found = sources.read(make_dataset(path=path, **fields))["pool"]
    assert found == sources.RawRows(
        texts=("plain", "", 'say "hi"\n'),
        labels=("1", "2", "1"),
        groups=("c", "d", "c"),
        pairs=("x", "y", "z"),
        times=tuple((1_709_251_200 + day * 86_400) * 10**6 for day in range(3)),
        time_kind="date",
    )
    assert found.numbers == (1, 2, 3)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_texts_of_any_string_type(make_dataset: Make, tmp_path: Path, kind: pa.DataType) -> None:
    path = write(tmp_path / "f.parquet", {"text": pa.array(["a", "b", "a"], kind), "label": pa.array(["x", "y", "x"], kind)})
    assert sources.read(make_dataset(path=path, format="parquet", text="text", label="label"))["pool"].texts == ("a", "b", "a")


def test_the_same_rows_as_csv(make_dataset: Make, tmp_path: Path) -> None:
    rows = [(f"word{chr(97 + i % 26)} {chr(97 + i // 26) * 5} {i}", "ab"[i % 2]) for i in range(300)]
    (tmp_path / "f.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    path = write(tmp_path / "f.parquet", {"text": [text for text, _ in rows], "label": [label for _, label in rows]})
    as_csv = prepare(make_dataset(path=tmp_path / "f.csv"))
    as_parquet = prepare(make_dataset(path=path, format="parquet", text="text", label="label"))
    assert as_csv.pool.row_ids == as_parquet.pool.row_ids
    assert as_csv.test.row_ids == as_parquet.test.row_ids


def test_the_ending_decides(tmp_path: Path) -> None:
    path = write(tmp_path / "f.parquet")
    overrides = ["dataset=csv", f"dataset.path={path}", "dataset.text=body", "dataset.label=topic", "dataset.time=written"]
    dataset = Composer().job(overrides).run.dataset
    assert (dataset.format, dataset.split, dataset.newest_share, dataset.fold) == ("parquet", "newest", 0.2, None)
    csv = Composer().job([*overrides[:-1], "dataset.format=csv"]).run.dataset
    with pytest.raises(DataError, match=r"^f.parquet is Parquet, not text: let its name end in .parquet$"):
        sources.read(csv)


@pytest.mark.parametrize(
    ("columns", "fields", "message"),
    [
        (
            COLUMNS,
            {"text": "boddy"},
            "dataset.text=boddy is no column of f.parquet; did you mean body? There are body, customer, id, second, topic, written",
        ),
        (COLUMNS, {"text": "id"}, 'dataset.text=id is int in row 1 of f.parquet: it should be a text ("" where there is none)'),
        (
            {"body": ["CANARY", None], "topic": ["a", "b"]},
            {},
            'dataset.text=body is null in row 2 of f.parquet: it should be a text ("" where there is none)',
        ),
        (
            {"body": [b"CANARY"], "topic": ["a"]},
            {},
            'dataset.text=body is bytes in row 1 of f.parquet: it should be a text ("" where there is none)',
        ),
        (
            {"body": ["CANARY", "x", "y"], "topic": ["a", None, "b"]},
            {},
            "f.parquet has no label in 1 rows, the first is row 2: label them or leave them out",
        ),
        (
            {"body": pa.array([], pa.string()), "topic": pa.array([], pa.string())},
            {},
            "f.parquet has no rows: give a file with at least one labelled text of each class",
        ),
        (
            {**COLUMNS, "written": pa.array([1, 2, 300_000_000_000], pa.timestamp("s"))},
            {"split": "newest", "time": "written", "newest_share": 0.2},
            "f.parquet holds a moment beyond the year 9999 behind row 0: correct it or leave its row out",
        ),
    ],
)
def test_one_sentence_for_a_bad_table(
    make_dataset: Make, tmp_path: Path, columns: dict[str, Any], fields: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError) as raised:
        sources.read(make_dataset(path=write(tmp_path / "f.parquet", columns), **{**NAMED, **fields}))
    assert str(raised.value) == message


def test_files_that_are_no_parquet(make_dataset: Make, tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    for content, message in (
        (b"", "f.parquet is empty: give a file with labelled rows"),
        (b"text,label\n", "f.parquet is no Parquet file that can be read: save it again, or set dataset.format to what it is"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError) as raised:
            sources.read(make_dataset(path=path, **NAMED))
        assert str(raised.value) == message
    table = pa.table([pa.array(["x"]), pa.array(["y"]), pa.array(["z"])], names=["body", "body", "topic"])
    pq.write_table(table, path)
    with pytest.raises(DataError, match=r"^dataset.text=body names 2 columns of f.parquet: give each column its own name$"):
        sources.read(make_dataset(path=path, **NAMED))
