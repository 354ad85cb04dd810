"""Rows come some at a time, and a line that cannot be read is told behind those before it."""

from pathlib import Path

import pytest

from bakeoff.errors import DataError
from bakeoff.shipping.stream import Chunk, Columns, chunks

TEXT = Columns(text="text")


def read(path: Path, columns: Columns = TEXT, *, rows: int = 2, encoding: str = "auto") -> list[Chunk]:
    with open(path, "rb") as handle:
        return list(chunks(handle, path, columns, rows=rows, encoding=encoding))


def failing(path: Path, columns: Columns = TEXT, *, encoding: str = "auto") -> tuple[list[object], str]:
    """The documents before a mistake, and the mistake."""
    found: list[object] = []
    with open(path, "rb") as handle:
        try:
            for chunk in chunks(handle, path, columns, rows=2, encoding=encoding):
                found += chunk.documents
        except DataError as mistake:
            return found, str(mistake)
    pytest.fail("nothing was refused")


def put(tmp_path: Path, content: str | bytes, name: str = "rows.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_csv_file_comes_in_chunks_in_its_order(tmp_path: Path) -> None:
    path = put(tmp_path, 'id,text,label\n7,a,x\n8,"b, and\r\nc",y\n\n9,NA,x\n')
    found = read(path, Columns(text="text", id="id", label="label"))
    assert [chunk.documents for chunk in found] == [["a", "b, and\nc"], ["NA"]]
    assert [chunk.ids for chunk in found] == [["7", "8"], ["9"]]
    assert [chunk.labels for chunk in found] == [["x", "y"], ["x"]]


def test_pairs_are_read_as_pairs(tmp_path: Path) -> None:
    path = put(tmp_path, "b\ta\n2\t1\n", "rows.tsv")
    assert read(path, Columns(text="a", text_pair="b"))[0].documents == [("1", "2")]


def test_json_lines_come_in_chunks(tmp_path: Path) -> None:
    path = put(tmp_path, '{"text": "a\\u2028b", "id": 3}\n\n{"text": "\\ud83d", "id": "x"}\n', "rows.jsonl")
    found = read(path, Columns(text="text", id="id"))
    assert (found[0].documents, found[0].ids) == (["a\u2028b", "\ufffd"], ["3", "x"])


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_files_are_told_by_their_mark(codec: str, tmp_path: Path) -> None:
    assert read(put(tmp_path, "text\nnaïve\n".encode(codec)))[0].documents == ["naïve"]


def test_another_encoding_is_named(tmp_path: Path) -> None:
    path = put(tmp_path, "text\nplain\nnaïve\n".encode("cp1252"))
    assert read(path, encoding="cp1252")[0].documents == ["plain", "naïve"]
    assert "rows.csv is not utf-8 behind line" in failing(path)[1]
    assert failing(path, encoding="cp12522")[1] == "--encoding cp12522 is no text encoding: did you mean cp1252?"


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be", "UTF-32-LE"])
def test_a_mark_is_no_part_of_the_first_column_where_its_encoding_is_named(codec: str, tmp_path: Path) -> None:
    assert read(put(tmp_path, "\ufefftext\nnaïve\n".encode(codec)), encoding=codec)[0].documents == ["naïve"]


def test_an_encoding_that_would_garble_is_refused_as_it_is_for_datasets(tmp_path: Path) -> None:
    path = put(tmp_path, ("text\n" + "naïve\n" * 20_000).encode())
    said = failing(path, encoding="latin-1")[1]
    assert said == "rows.csv is utf-8, so --encoding latin-1 would garble it: leave --encoding auto"


def test_ids_are_written_as_their_file_writes_them(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        '{"text": "a", "id": "007"}\n{"text": "b", "id": true}\n{"text": "c", "id": null}\n{"text": "d", "id": 12345678901234567890}\n',
        "rows.jsonl",
    )
    assert read(path, Columns(text="text", id="id"), rows=9)[0].ids == ["007", "true", "", "12345678901234567890"]


def test_both_texts_of_a_pair_count_for_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.shipping.stream.CHUNK_CHARACTERS", 5)
    path = put(tmp_path, "a,b\n1,22222\n1,2\n1,2\n")
    assert [len(chunk.documents) for chunk in read(path, Columns(text="a", text_pair="b"), rows=9)] == [1, 2]


@pytest.mark.parametrize(
    ("content", "before", "said"),
    [
        ("text,b\none,1\ntwo,2\nthree,3\nfour\n", ["one", "two", "three"], "rows.csv has 1 cells in line 5 but 2 in its header"),
        ("text,b\none,1\ntwo,2,3\n", ["one"], "rows.csv has 3 cells in line 3 but 2 in its header"),
        ('text,b\none,1\n"two"x,2\n', ["one"], "rows.csv has a broken quote at line 3"),
        ("txt,b\none,1\n", [], "--text text is no column of rows.csv; did you mean txt? There are b, txt"),
        ("text,text\none,1\n", [], "--text text names 2 columns of rows.csv"),
        ("", [], "rows.csv is empty"),
    ],
)
def test_a_bad_line_is_told_by_its_number_behind_the_rows_before_it(content: str, before: list[str], said: str, tmp_path: Path) -> None:
    assert failing(put(tmp_path, content))[0] == before
    assert failing(put(tmp_path, content))[1].startswith(said)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "rows.jsonl has no JSON object in line 2"),
        ("[1]", "rows.jsonl has no JSON object in line 2"),
        ('{"txt": "b"}', "--text text is missing in line 2 of rows.jsonl; did you mean txt? There are txt"),
        ('{"text": null}', "--text text is no text in line 2 of rows.jsonl"),
    ],
)
def test_a_bad_object_is_told_by_its_line(line: str, said: str, tmp_path: Path) -> None:
    before, told = failing(put(tmp_path, f'{{"text": "a"}}\n{line}\n', "rows.jsonl"))
    assert before == ["a"]
    assert told.startswith(said)


def test_no_text_stands_in_an_error(tmp_path: Path) -> None:
    secret = "the secret of the customer"
    for content, name in (
        (f'text\n"{secret}"x\n', "rows.csv"),
        (f'{{"text": "{secret}"\n', "rows.jsonl"),
        (f"{secret}\n{secret}\n", "rows.csv"),
    ):
        assert secret not in failing(put(tmp_path, content, name))[1]


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"PK\x03\x04rest", "rows.csv", "rows.csv is a zip archive or a spreadsheet"),
        (b"PAR1rest", "rows.csv", "rows.csv is Parquet"),
        (b"text\na\n", "rows.txt", "rows.txt should end in .csv, .tsv, .jsonl, .ndjson"),
        ("text\nabc\n".encode("utf-16-le"), "rows.csv", "rows.csv is not UTF-8 and is likely utf-16-le: pass --encoding utf-16-le"),
    ],
)
def test_what_is_no_table_is_refused(content: bytes, name: str, said: str, tmp_path: Path) -> None:
    assert failing(put(tmp_path, content, name))[1].startswith(said)
