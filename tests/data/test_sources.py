import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff import spec
from bakeoff.data import labels, sources
from bakeoff.data.sources import RawRows
from bakeoff.errors import DataError

Make = Callable[..., spec.Dataset]
ROWS = [("plain", "a"), ("with, comma", "b"), ('say "hi"', "a"), ("two\nlines", "b"), ("NA", "a"), ("null", "b"), ("None", "a"), ("", "b")]


def table(rows: list[tuple[str, ...]], *, separator: str = ",", end: str = "\n") -> str:
    quoted = [separator.join('"' + cell.replace('"', '""').replace("\n", end) + '"' for cell in row) for row in [("text", "label"), *rows]]
    return end.join(quoted) + end


def read(make: Make, path: Path, content: str | bytes, **fields: object) -> RawRows:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return sources.read(make(path=path, **fields))["pool"]


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_same_rows_whatever_the_encoding_and_line_ends(make_dataset: Make, tmp_path: Path, codec: str, end: str) -> None:
    rows = [*ROWS, ("café “€”", "a")]
    found = read(make_dataset, tmp_path / "f.csv", table(rows, end=end).encode(codec))
    assert list(zip(found.texts, found.labels, strict=True)) == rows
    assert found.groups is None


def test_the_same_rows_in_every_format(make_dataset: Make, tmp_path: Path) -> None:
    as_csv = read(make_dataset, tmp_path / "f.csv", table(ROWS))
    as_tsv = read(make_dataset, tmp_path / "f.tsv", table(ROWS, separator="\t"), format="tsv")
    lines = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in ROWS)
    as_json = read(make_dataset, tmp_path / "f.jsonl", lines, format="jsonl")
    for i, (text, label) in enumerate(ROWS):
        (tmp_path / "folder" / label).mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / label / f"{i}.txt").write_text(text)
    folder = sources.read(make_dataset(path=tmp_path / "folder", format="folder"))["pool"]
    assert as_csv == as_tsv == as_json
    assert as_csv.texts == tuple(text for text, _ in ROWS)
    assert sorted(zip(folder.texts, folder.labels, strict=True)) == sorted(ROWS)


def test_texts_longer_than_csv_s_own_limit(make_dataset: Make, tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    assert len(read(make_dataset, tmp_path / "f.csv", table([("x" * 200_000, "a"), ("y", "b")])).texts[0]) == 200_000
    assert csv.field_size_limit() == limit


def test_line_separators_inside_json_are_text(make_dataset: Make, tmp_path: Path) -> None:
    lines = '{"text": "a\u2028b\\r\\nc", "label": "x"}\r\n\r\n{"text": "\\ud800", "label": "y"}'
    assert read(make_dataset, tmp_path / "f.jsonl", lines, format="jsonl").texts == ("a\u2028b\nc", "\ufffd")


def test_hidden_files_are_no_documents(make_dataset: Make, tmp_path: Path) -> None:
    for name in ("a/1.txt", "b/2.md", ".git/config", "a/.DS_Store"):
        (tmp_path / "f" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "f" / name).write_text(name)
    found = sources.read(make_dataset(path=tmp_path / "f", format="folder"))["pool"]
    assert dict(zip(found.texts, found.labels, strict=True)) == {"a/1.txt": "a", "b/2.md": "b"}


def test_an_official_test_file_and_groups(make_dataset: Make, tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,label,book\nt1,a,1\nt2,b,2.0\n")
    (tmp_path / "test.csv").write_text("book,label,text\n3,b,t3\n")
    found = sources.read(make_dataset(path=tmp_path / "train.csv", test_path=tmp_path / "test.csv", group="book"))
    assert found == {
        "pool": RawRows(texts=("t1", "t2"), labels=("a", "b"), groups=("1", "2")),
        "test": RawRows(texts=("t3",), labels=("b",), groups=("3",)),
    }


def test_orange_is_split_plainly(make_dataset: Make, tmp_path: Path) -> None:
    content = 'Category\tText\nd\tstring\nclass\t\n\t\na\t"quoted" text\nb\ttab\tstays\n\n'
    found = read(make_dataset, tmp_path / "f.tab", content, format="orange")
    assert (found.texts, found.labels) == (('"quoted" text', "tab\tstays"), ("a", "b"))


def test_movie_takes_the_sign_and_drops_zeros(make_dataset: Make, tmp_path: Path) -> None:
    content = "1\t2.5\tgood\r\n2\t-0.1\tbad\r\n3\t0.0\tneither\r\n4\t1e-3\ta\tb"
    found = read(make_dataset, tmp_path / "f.txt", content, format="movie")
    assert (found.texts, found.labels) == (("good", "bad", "a\tb"), ("positive", "negative", "positive"))


UGLY = "v1,v2,,,\nham,a,,,\nspam,b, spilled,,\nham,c\n"


def test_unnamed_columns_are_no_concern(make_dataset: Make, tmp_path: Path) -> None:
    assert read(make_dataset, tmp_path / "f.csv", UGLY, text="v2", label="v1").texts == ("a", "b", "c")


@pytest.mark.parametrize(
    ("content", "fields", "message"),
    [
        ("", {}, "f.csv is empty: give a file with a header and rows"),
        ("text,label\n", {}, "f.csv has no rows: give a file with at least one labelled text of each class"),
        ("text,label\nx,a\n\ny,a\n", {}, "f.csv has one class only (a): a classifier needs rows of two or more"),
        (UGLY, {"text": "v3", "label": "v1"}, "dataset.text=v3 is no column of f.csv; did you mean v2? There are v1, v2"),
        ("a CANARY,pos\nb,neg", {"text": "text", "label": "label"}, "dataset.text=text is no column of f.csv; there are pos, column 1"),
        (
            "CANARY" * 4 + ",a b\nb,neg",
            {"text": "text", "label": "l"},
            "dataset.text=text is no column of f.csv; there are column 1, column 2",
        ),
        (UGLY, {"text": "v2", "label": "kind"}, "dataset.label=kind is no column of f.csv; there are v1, v2"),
        (UGLY, {"text": "v2", "label": "v1", "group": "g"}, "dataset.group=g is no column of f.csv; there are v1, v2"),
        ("text,label,label\nx,a,b\n", {}, "dataset.label=label names 2 columns of f.csv: give each column its own name"),
        ("text,label\nx,a\ny\n", {}, "f.csv has 1 cells in row 3 but 2 in its header: quote texts that hold a separator"),
        ("text,label\nx, y,a\n", {}, "f.csv has 3 cells in row 2 but 2 in its header: quote texts that hold a separator"),
        ('text,label\nx,a\n"y,b\n', {}, 'f.csv has a broken quote in row 3: close each quoted text and write a quote inside one as ""'),
        ('text,label\n"x" y,a\n', {}, 'f.csv has a broken quote in row 2: close each quoted text and write a quote inside one as ""'),
        ("text,label\nx,a\ny, \nz,\n", {}, "f.csv has no label in 2 rows, the first is row 3: label them or leave them out"),
        ("text,label,g\nx,a,1\ny,b,\n", {"group": "g"}, "dataset.group=g is empty in 1 rows, the first is row 3: fill it in"),
        ("text,label\nx,a\n", {"format": "folder"}, "f.csv is a file: use dataset.format=csv, tsv, jsonl or parquet"),
        (
            "text,label\nx,a\n",
            {"format": "orange"},
            "f.csv has no Orange header of three lines with the class first: use dataset.format=tsv",
        ),
        ("1\tgood\n", {"format": "movie"}, "f.csv has no id, rating and text in row 1: separate the three by tabs"),
        ("A\tB\nd\ts\nclass\t\nx\n", {"format": "orange"}, "f.csv has no tab in row 4: write class, tab, text"),
    ],
)
def test_one_sentence_for_a_bad_table(make_dataset: Make, tmp_path: Path, content: str, fields: dict[str, object], message: str) -> None:
    with pytest.raises(DataError) as raised:
        read(make_dataset, tmp_path / "f.csv", content, **fields)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{CANARY", "f.jsonl is not valid JSON in line 2: write one object a line"),
        ('["CANARY"]', "f.jsonl has no JSON object in line 2: write one object a line"),
        ('{"text": "CANARY"}', "dataset.label=label is missing in line 2 of f.jsonl; there are text"),
        ('{"txt": "CANARY", "label": "b"}', "dataset.text=text is missing in line 2 of f.jsonl; did you mean txt? There are label, txt"),
        ('{"text": null, "label": "b"}', 'dataset.text=text is null in line 2 of f.jsonl: it should be a text ("" where there is none)'),
        ('{"text": 7, "label": "b"}', 'dataset.text=text is int in line 2 of f.jsonl: it should be a text ("" where there is none)'),
        ('{"text": "CANARY", "label": null}', "f.jsonl has no label in 1 rows, the first is row 2: label them or leave them out"),
        ('{"text": "CANARY", "label": NaN}', "f.jsonl has no label in 1 rows, the first is row 2: label them or leave them out"),
    ],
)
def test_json_errors_name_the_line_and_never_the_text(make_dataset: Make, tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError) as raised:
        read(make_dataset, tmp_path / "f.jsonl", '{"text": "x", "label": "a"}\n' + line, format="jsonl")
    assert str(raised.value) == message


def test_paths_that_are_wrong(make_dataset: Make, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^gone.csv does not exist: check dataset.path and dataset.test_path$"):
        sources.read(make_dataset(path=tmp_path / "gone.csv", fingerprint="0"))
    with pytest.raises(DataError, match=r"is a folder: use dataset.format=folder$"):
        sources.read(make_dataset(path=tmp_path, fingerprint="0"))
    with pytest.raises(DataError, match=r"^dataset.path is empty: pass dataset.path=FILE"):
        sources.read(make_dataset(fingerprint="0"))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.txt").write_text("x")
    with pytest.raises(DataError, match=r"^dataset.group=g needs a table with that column, but dataset.format=folder$"):
        sources.read(make_dataset(path=tmp_path, format="folder", group="g"))


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ([1, 2, 3], ("1", "2", "3")),
        (["1", "2", "3"], ("1", "2", "3")),
        ([1.0, 2.0, 3.0], ("1", "2", "3")),
        (["1.0", " 2", "3.00"], ("1", "2", "3")),
        ([2, 4, "4.0"], ("2", "4")),
        ([True, False], ("False", "True")),
        (["true", "FALSE", "True"], ("False", "True")),
        ([10, 9, -1], ("-1", "9", "10")),
        (["b", "a", " a "], ("a", "b")),
        (["007", "7", "1.10", "1.1"], ("007", "1.1", "1.10", "7")),
        (["NA", "null", "None", "nan"], ("NA", "None", "nan", "null")),
    ],
)
def test_canonical_labels(values: list[object], classes: tuple[str, ...]) -> None:
    for order in (values, values[::-1]):
        names = [labels.canonical(value) or "missing" for value in order]
        found = labels.in_order(names)
        assert set(found) == set(classes)
        if classes[0] != "007":
            assert found == classes


def test_labels_that_are_missing() -> None:
    assert [labels.canonical(value) for value in (None, "", "  ", float("nan"))] == [None] * 4


@pytest.mark.parametrize("values", [[1, 2, 1], ["1", "2", "1"], [1.0, 2.0, 1.0], ["1.0", 2, 1]])
def test_the_same_labels_in_json_and_csv(make_dataset: Make, tmp_path: Path, values: list[object]) -> None:
    lines = "".join(json.dumps({"text": f"t{i}", "label": value}) + "\n" for i, value in enumerate(values))
    as_json = read(make_dataset, tmp_path / "f.jsonl", lines, format="jsonl")
    as_csv = read(make_dataset, tmp_path / "f.csv", "text,label\n" + "".join(f"t{i},{value}\n" for i, value in enumerate(values)))
    assert as_json == as_csv
    assert as_json.labels == ("1", "2", "1")


def test_the_label_map_names_classes(make_dataset: Make, tmp_path: Path) -> None:
    content = "text,label\nx,0\ny,1.0\nz,2\n"
    assert read(make_dataset, tmp_path / "f.csv", content, label_map={"0": "bad", "1": "good"}).labels == ("bad", "good", "2")
    with pytest.raises(DataError, match=r"^dataset.label_map.3 renames a label that no row has; there are 0, 1, 2$"):
        read(make_dataset, tmp_path / "f.csv", content, label_map={"3": "good"})


MULTI = "a label holds several classes at once (multi-label), which bakeoff does not do: give each row exactly one label"


@pytest.mark.parametrize("values", [["['a', 'b']", "a"], ["a", "b", "a|b"], ["a", "b", "a;b"], ["a", "b", "b, a"], ["{'a': 1}", "b"]])
def test_several_labels_a_row_are_refused(make_dataset: Make, tmp_path: Path, values: list[str]) -> None:
    with pytest.raises(DataError) as raised:
        read(make_dataset, tmp_path / "f.csv", table([("x", value) for value in values]))
    assert str(raised.value) == MULTI


@pytest.mark.parametrize("value", [["a"], ["a", "b"], {"a": 1}])
def test_lists_in_json_are_refused(make_dataset: Make, tmp_path: Path, value: object) -> None:
    lines = "".join(json.dumps({"text": "x", "label": label}) + "\n" for label in ("a", value))
    with pytest.raises(DataError) as raised:
        read(make_dataset, tmp_path / "f.jsonl", lines, format="jsonl")
    assert str(raised.value) == MULTI


def test_a_label_with_a_comma_is_one_label_where_its_parts_are_none(make_dataset: Make, tmp_path: Path) -> None:
    assert read(make_dataset, tmp_path / "f.csv", table([("x", "toys, games"), ("y", "toys"), ("z", "a|b")])).labels[0] == "toys, games"


HOW = "cut them into a few classes in a column of their own, or name each number with dataset.label_map"


def test_numeric_targets_are_refused(make_dataset: Make, tmp_path: Path) -> None:
    def refusal(values: list[str]) -> str:
        with pytest.raises(DataError) as raised:
            read(make_dataset, tmp_path / "f.csv", table([("x", value) for value in values]))
        return str(raised.value)

    assert refusal(["1.5", "2"]) == f"the labels are numbers with decimals (a numeric target), which bakeoff does not do: {HOW}"
    many = [str(i) for i in range(201)] * 5
    assert refusal(many) == f"the labels are 201 different numbers (a numeric target), which bakeoff does not do: {HOW}"
    assert len(set(read(make_dataset, tmp_path / "f.csv", table([("x", str(i)) for i in range(200)] * 5)).labels)) == 200
    assert read(make_dataset, tmp_path / "f.csv", table([("x", "1.5"), ("y", "2")]), label_map={"1.5": "low"}).labels == ("low", "2")
