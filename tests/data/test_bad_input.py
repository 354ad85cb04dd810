"""What a first-time user gets wrong about a file: one clear sentence each, which quotes no document."""

import os
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from bakeoff import spec
from bakeoff.data import audit, dataset, file_size, sources
from bakeoff.data.dataset import prepare
from bakeoff.errors import DataError

Make = Callable[..., spec.Dataset]
HOW = "cut them into a few classes in a column of their own, or name each number with dataset.label_map"


def refusal(make: Make, path: Path, content: str, **fields: object) -> str:
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as raised:
        sources.read(make(path=path, **fields))
    assert "CANARY" not in str(raised.value)
    return str(raised.value)


def labelled(labels: list[object]) -> str:
    return "text,label\n" + "".join(f"CANARY {i},{label}\n" for i, label in enumerate(labels))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([i * i for i in range(30)], "the labels are 30 different numbers, 30 of them in 4 rows or fewer"),
        ([*[0] * 500, *[1] * 200, *range(2, 40)], "the labels are 40 different numbers, 38 of them in 4 rows or fewer"),
        ([i % 250 for i in range(2500)], "the labels are 250 different numbers"),
    ],
)
def test_numbers_with_a_long_tail_look_like_regression(make_dataset: Make, tmp_path: Path, labels: list[object], message: str) -> None:
    found = refusal(make_dataset, tmp_path / "f.csv", labelled(labels))
    assert found == f"{message} (a numeric target), which bakeoff does not do: {HOW}"


@pytest.mark.parametrize(
    "labels",
    [
        [i % 77 for i in range(77 * 10)],  # numbered intents
        [*[i % 12 for i in range(300)], 12, 13],  # stars, two of them rare
        [*[5] * 900, *[i % 19 for i in range(40)]],  # 19 numbers: too few to be amounts
    ],
)
def test_numbered_classes_are_classes(make_dataset: Make, tmp_path: Path, labels: list[object]) -> None:
    (tmp_path / "f.csv").write_text(labelled(labels))
    assert set(sources.read(make_dataset(path=tmp_path / "f.csv"))["pool"].labels) == set(map(str, labels))


def test_numbers_with_names_are_classes(make_dataset: Make, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text(labelled([*range(30)] * 2))
    names = {str(i): ("low" if i < 15 else "high") for i in range(30)}
    assert set(sources.read(make_dataset(path=tmp_path / "f.csv", label_map=names))["pool"].labels) == {"low", "high"}


def test_a_label_column_with_free_text(make_dataset: Make, tmp_path: Path) -> None:
    short = [f"CANARY{i}" for i in range(40)]
    assert refusal(make_dataset, tmp_path / "f.csv", labelled([*short, *short[:20]])) == (
        "the label column holds 40 different values in 60 rows, so it names no classes: name the column of classes with dataset.label"
    )
    long = [f"CANARY {'word ' * 20}{i}" for i in range(60)]
    assert refusal(make_dataset, tmp_path / "f.csv", labelled([*long])) == (
        "the label column holds 60 different long texts in 60 rows: name the column of classes with dataset.label"
    )
    (tmp_path / "f.csv").write_text(labelled([*short[:30], *short[:30]]))
    assert len(set(sources.read(make_dataset(path=tmp_path / "f.csv"))["pool"].labels)) == 30


HEADER = "text;label;note\nCANARY, one;a;x\nCANARY;b;y\n"


@pytest.mark.parametrize(
    ("content", "fields", "message"),
    [
        (HEADER, {}, "f.csv is separated by semicolons and not by commas: save it with commas, as CSV"),
        (HEADER, {"text": "body"}, "f.csv is separated by semicolons and not by commas: save it with commas, as CSV"),
        ('"text";"label"\n"CANARY";"b"\n', {}, "f.csv is separated by semicolons and not by commas: save it with commas, as CSV"),
        (HEADER.replace(";", "\t"), {}, "f.csv is separated by tabs and not by commas: use dataset.format=tsv"),
        (HEADER.replace(";", "|"), {}, "f.csv is separated by bars and not by commas: save it with commas, as CSV"),
        ("text,label\nCANARY,b\n", {"format": "tsv"}, "f.csv is separated by commas and not by tabs: use dataset.format=csv"),
        (
            '"a title, with commas";text;label\nx;y;z\n',
            {},
            "f.csv is separated by semicolons and not by commas: save it with commas, as CSV",
        ),
        ("text\nCANARY\n", {}, "dataset.label=label is no column of f.csv; there are text"),
        ("CANARY; a text,b\nx,y\n", {"label": "b"}, "dataset.text=text is no column of f.csv; there are b, column 1"),
    ],
)
def test_another_separator(make_dataset: Make, tmp_path: Path, content: str, fields: dict[str, object], message: str) -> None:
    assert refusal(make_dataset, tmp_path / "f.csv", content, **fields) == message


def test_a_column_may_hold_other_separators(make_dataset: Make, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("text,label,a;b\nx;y,a,1\ny|z,b,2\n")
    assert sources.read(make_dataset(path=tmp_path / "f.csv"))["pool"].texts == ("x;y", "y|z")


def test_a_class_with_one_row_is_told(make_dataset: Make, tmp_path: Path) -> None:
    rows = [(f"{'abcdefghij'[i % 10]} {'klmnopqrst'[i // 10]} {'uvwxyz'[i % 6]}", "ab"[i % 2]) for i in range(100)]
    (tmp_path / "f.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in [*rows, ("alone here now", "c")]))
    found = {each.code: each.message for each in audit.audit(prepare(make_dataset(path=tmp_path / "f.csv")))}
    assert found["single_row_class"] == (
        "the class c has one row, which is learned from or tested, never both: label more, or merge it with another class"
    )
    (tmp_path / "g.csv").write_text((tmp_path / "f.csv").read_text() + "alone there too,d\n")
    found = {each.code: each.message for each in audit.audit(prepare(make_dataset(path=tmp_path / "g.csv")))}
    assert found["single_row_class"].startswith("2 classes (c, d) have one row, ")


def test_a_file_above_the_free_memory_is_refused_before_it_is_read(
    make_dataset: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "big.csv"
    with open(path, "wb") as file:
        os.truncate(file.fileno(), 2_000_000_000)  # sparse: it takes no room
    found = make_dataset(path=path, fingerprint="0" * 64)
    with pytest.raises(DataError) as raised:
        file_size.refuse_too_large(found, available_bytes=16_000_000_000)
    assert str(raised.value) == (
        "big.csv has 2.0 GB, for which about 60 GB of memory are needed, and 16 GB are free: "
        "use a part of its rows, or a machine with more memory"
    )
    file_size.refuse_too_large(found, available_bytes=64_000_000_000)
    assert file_size.notice(found) == "big.csv has 2.0 GB: reading it takes about 60 GB of memory and 67 minutes, once"
    monkeypatch.setattr(dataset, "verify", lambda _: None)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 8_000_000_000}))
    monkeypatch.setattr(sources, "read", lambda _: pytest.fail("it was read"))
    with pytest.raises(DataError, match=r"^big.csv has 2.0 GB, for which about 60 GB of memory are needed, and 8 GB are free"):
        prepare(found)


def test_a_small_file_is_no_matter_of_memory(make_dataset: Make, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text(labelled(["a", "b"]))
    found = make_dataset(path=tmp_path / "f.csv")
    file_size.refuse_too_large(found, available_bytes=0)
    assert file_size.notice(found) is None


def test_a_file_that_changes_while_it_is_read(make_dataset: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.csv"
    path.write_text("text,label\n" + "".join(f"{'abcdefghij'[i % 10]} {'klmnopqrst'[i // 10]},{'ab'[i % 2]}\n" for i in range(100)))
    found, real = make_dataset(path=path), sources.read

    def read(asked: spec.Dataset) -> dict[str, sources.RawRows]:
        rows = real(asked)
        path.write_text(path.read_text() + "one more,a\n")
        return rows

    monkeypatch.setattr(sources, "read", read)
    with pytest.raises(DataError) as raised:
        prepare(found)
    message = "f.csv changed since this Run was composed (its fingerprint differs): compose the Run again to use the new bytes"
    assert str(raised.value) == message
    monkeypatch.setattr(sources, "read", real)
    with pytest.raises(DataError) as raised:
        prepare(found)
    assert str(raised.value) == message


@pytest.mark.parametrize(("codec", "text"), [("cp1252", "café “now”"), ("cp1251", "привет, как дела"), ("shift_jis", "こんにちは、世界")])
def test_another_encoding_is_guessed(make_dataset: Make, tmp_path: Path, codec: str, text: str) -> None:
    (tmp_path / "f.csv").write_bytes(f'text,label\n"{text}",a\nx,b\n'.encode(codec))
    with pytest.raises(DataError) as raised:
        sources.read(make_dataset(path=tmp_path / "f.csv"))
    assert str(raised.value) == f"f.csv is not UTF-8 and is likely {codec}: pass dataset.encoding={codec}, or save the file as UTF-8"
