"""Files to rows: tables, a folder per class, the formats of the starter datasets; the hub; and what is generated.

Errors name rows by number (in a table the header is row 1) and never quote a document.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff import spec
from bakeoff.data import assets, hub, labels, needle, splits, tables
from bakeoff.data.encodings import decode
from bakeoff.data.newlines import newlines
from bakeoff.data.times import Kind, Moment, kind_of_column
from bakeoff.data.times import parse as parse_times
from bakeoff.errors import DataError
from bakeoff.labelled import TABLES


@dataclass(frozen=True, kw_only=True)
class RawRows:
    """Rows as a source holds them; its tuples are parallel, and `labels` are class names."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    groups: tuple[str, ...] | None
    pairs: tuple[str, ...] | None = None
    """The second text of each row, where a row is a pair of texts."""
    folds: tuple[int, ...] | None = None
    """The fold of each row, where the data brings its own."""
    times: tuple[Moment, ...] | None = None
    """When each row was written, where a column says so."""
    time_kind: Kind | None = None
    """How it says so."""
    numbers: tuple[int, ...] = field(default=(), compare=False)
    """Where each row stands in its file, as errors count."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """One row before its label is a class; `where` is its row or line number."""

    where: int
    text: str
    label: object
    group: object = None
    pair: str = ""
    fold: object = None
    time: object = None


@dataclass(frozen=True, kw_only=True)
class _Source:
    """Where rows are; `place` is what errors call it."""

    cells: Iterator[_Cell]
    place: str


def read(dataset: spec.Dataset) -> dict[str, RawRows]:
    """The rows of `pool`, and of `test` when the split is official.

    Raises DataError when files, columns, encoding, labels or folds are not what the configuration says.
    """
    sources = _sources(dataset)
    parts = {role: _labelled(source) for role, source in sources.items()}
    names = labels.rename((label for cells in parts.values() for _, label in cells), dataset.label_map)
    labels.check(names[label] for cells in parts.values() for _, label in cells)
    rows = {
        role: RawRows(
            texts=tuple(_clean(cell.text) for cell, _ in cells),
            labels=tuple(names[label] for _, label in cells),
            groups=_groups(dataset, cells) if dataset.group or dataset.group_pattern else None,
            pairs=tuple(_clean(cell.pair) for cell, _ in cells) if dataset.text_pair else None,
            folds=_folds(dataset, cells, sources[role].place) if dataset.brings_folds else None,
            times=_times(dataset, cells, sources[role].place) if dataset.time else None,
            time_kind=kind_of_column([cells[0][0].time]) if dataset.time else None,
            numbers=tuple(cell.where for cell, _ in cells),
        )
        for role, cells in parts.items()
    }
    classes = sorted(set(rows["pool"].labels))
    if len(classes) < 2:
        raise DataError(f"{sources['pool'].place} has one class only ({classes[0]}): a classifier needs rows of two or more")
    return rows


def paths(dataset: spec.Dataset) -> dict[str, Path]:
    """Where the files of `pool` and, for an official split, `test` are; starter assets are fetched when missing."""
    if dataset.asset is not None:
        files = assets.fetch_dataset(dataset.asset)
        if dataset.split == "official" and "test" not in files:
            raise DataError(f"dataset.asset={dataset.asset} has no official test rows: use dataset.split=fold or held_out_rows")
    elif dataset.path is not None:
        files = {"pool": Path(dataset.path).expanduser()}
        if dataset.test_path is not None:
            files["test"] = Path(dataset.test_path).expanduser()
    else:
        raise DataError("dataset.path is empty: pass dataset.path=FILE, or a folder with one folder a class")
    return {role: path for role, path in files.items() if role == "pool" or dataset.split == "official"}


def _sources(dataset: spec.Dataset) -> dict[str, _Source]:
    if dataset.needle is not None:
        made = needle.generate(dataset.needle)
        cells = {role: (_Cell(number, row.text, row.label) for number, row in enumerate(rows, start=1)) for role, rows in made.items()}
        return {role: _Source(cells=found, place="dataset=needle") for role, found in cells.items()}
    if dataset.hub is not None:
        return _hub_splits(dataset)
    return {role: _Source(cells=_of_file(dataset, path), place=_place(dataset, path)) for role, path in paths(dataset).items()}


def _hub_splits(dataset: spec.Dataset) -> dict[str, _Source]:
    found = hub.load(dataset)
    named = {role: (found[name], f"{dataset.hub} ({name})") for role, name in hub.splits(dataset).items()}
    return {role: _Source(cells=_of_hub(dataset, split, place), place=place) for role, (split, place) in named.items()}


def _labelled(source: _Source) -> list[tuple[_Cell, str]]:
    """Every row of a source with its canonical label."""
    cells, place = list(source.cells), source.place
    if not cells:
        raise DataError(f"{place} has no rows: give a file with at least one labelled text of each class")
    found = [(cell, labels.canonical(cell.label)) for cell in cells]
    missing = [cell.where for cell, label in found if label is None]
    if missing:
        raise DataError(f"{place} has no label in {len(missing)} rows, the first is row {missing[0]}: label them or leave them out")
    return [(cell, label) for cell, label in found if label is not None]


def _of_hub(dataset: spec.Dataset, split: Any, place: str) -> Iterator[_Cell]:
    """Rows by their number from 1."""
    for number, values in enumerate(hub.rows(split, _columns(dataset), place), start=1):
        yield _cell(number, values, dataset, f"row {number} of {place}")


def _of_file(dataset: spec.Dataset, path: Path) -> Iterator[_Cell]:
    place = _place(dataset, path)
    if not path.exists():
        raise DataError(f"{place} does not exist: check dataset.path and dataset.test_path")
    if path.is_dir() != (dataset.format == "folder"):
        advice = "is a folder: use dataset.format=folder" if path.is_dir() else "is a file: use dataset.format=csv, tsv, jsonl or parquet"
        raise DataError(f"{place} {advice}")
    if dataset.group and dataset.format not in TABLES:
        raise DataError(f"dataset.group={dataset.group} needs a table with that column, but dataset.format={dataset.format}")
    yield from _READERS[dataset.format](dataset, path, place)


def _table(dataset: spec.Dataset, path: Path, place: str) -> Iterator[_Cell]:
    for row in tables.rows(path, dataset.format, columns=_columns(dataset), encoding=dataset.encoding, place=place):
        yield _cell(row.number, row.cells, dataset, row.place)


def _folders(dataset: spec.Dataset, path: Path, place: str) -> Iterator[_Cell]:
    """One folder a class, one document a file; hidden files and folders are no documents."""
    files = sorted(file for file in path.glob("[!.]*/[!.]*") if file.is_file())
    for number, file in enumerate(files, start=1):
        group, fold = splits.group_in_name(dataset, file.name), splits.fold_in_name(dataset, file.name)
        text = newlines(decode(file.read_bytes(), encoding=dataset.encoding, name=f"{place}/{file.parent.name}/{file.name}"))
        yield _Cell(number, text, file.parent.name, group=group, fold=fold)


def _orange(dataset: spec.Dataset, path: Path, place: str) -> Iterator[_Cell]:
    """Three header lines, then `class<TAB>text`; quotes are part of the text. Blank rows are skipped."""
    lines = newlines(decode(path.read_bytes(), encoding=dataset.encoding, name=place)).split("\n")
    if len(lines) < 3 or not lines[2].startswith("class\t"):
        raise DataError(f"{place} has no Orange header of three lines with the class first: use dataset.format=tsv")
    for number, line in enumerate(lines[3:], start=4):
        if not line.strip():
            continue
        label, tab, text = line.partition("\t")
        if not tab:
            raise DataError(f"{place} has no tab in row {number}: write class, tab, text")
        yield _Cell(number, text, label)


def _movie(dataset: spec.Dataset, path: Path, place: str) -> Iterator[_Cell]:
    """`id<TAB>mean rating<TAB>text` in UTF-8 (by its bytes), CRLF; the label is the sign of the rating, zeros are dropped."""
    for number, line in enumerate(newlines(decode(path.read_bytes(), encoding=dataset.encoding, name=place)).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            _, mean, text = line.split("\t", 2)
            rating = float(mean)
        except ValueError:
            raise DataError(f"{place} has no id, rating and text in row {number}: separate the three by tabs") from None
        if rating:
            yield _Cell(number, text, "positive" if rating > 0 else "negative")


_READERS: dict[str, Callable[[spec.Dataset, Path, str], Iterator[_Cell]]] = {
    "csv": _table,
    "tsv": _table,
    "jsonl": _table,
    "parquet": _table,
    "folder": _folders,
    "orange": _orange,
    "movie": _movie,
}


def _columns(dataset: spec.Dataset) -> dict[str, Any]:
    keys = ("text", "label", "group", "text_pair", "fold_column", "time")
    return {key: name for key in keys if (name := getattr(dataset, key))}


def _cell(where: int, values: Mapping[str, Any], dataset: spec.Dataset, place: str) -> _Cell:
    """A row of typed values, by setting; only a string is a text, so that a null or a number is never read as a document."""
    for key in ("text", "text_pair"):
        value = values.get(key, "")
        if not isinstance(value, str):
            kind = "null" if value is None else type(value).__name__
            raise DataError(f'dataset.{key}={getattr(dataset, key)} is {kind} in {place}: it should be a text ("" where there is none)')
    second, others = values.get("text_pair", ""), (values.get("group"), values.get("fold_column"), values.get("time"))
    return _Cell(where, values["text"], values["label"], others[0], second, *others[1:])


def _groups(dataset: spec.Dataset, cells: list[tuple[_Cell, str]]) -> tuple[str, ...]:
    found = [labels.canonical(cell.group) for cell, _ in cells]
    missing = [cell.where for (cell, _), group in zip(cells, found, strict=True) if group is None]
    if missing:
        raise DataError(f"dataset.group={dataset.group} is empty in {len(missing)} rows, the first is row {missing[0]}: fill it in")
    return tuple(group for group in found if group is not None)


def _folds(dataset: spec.Dataset, cells: list[tuple[_Cell, str]], place: str) -> tuple[int, ...]:
    found = [splits.fold_number(labels.canonical(cell.fold)) for cell, _ in cells]
    odd = [cell.where for (cell, _), fold in zip(cells, found, strict=True) if fold is None]
    if odd:
        raise DataError(
            f"dataset.fold_column={dataset.fold_column} is no whole number from 0 in {len(odd)} rows of {place}, the first is row "
            f"{odd[0]}: write the number of each row's fold there"
        )
    return tuple(fold for fold in found if fold is not None)


def _times(dataset: spec.Dataset, cells: list[tuple[_Cell, str]], place: str) -> tuple[Moment, ...]:
    assert dataset.time is not None
    return parse_times([cell.time for cell, _ in cells], [cell.where for cell, _ in cells], name=dataset.time, place=place)


def _clean(text: str) -> str:
    """Line ends as \\n; half a surrogate pair, which no encoder takes, becomes the replacement character."""
    text = newlines(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _place(dataset: spec.Dataset, path: Path) -> str:
    """What errors call a file: the asset's name, or the last part of the user's path."""
    return f"{dataset.asset} ({path.name})" if dataset.asset is not None else path.name
