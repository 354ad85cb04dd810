"""What counts as a class: one canonical text a label, whatever the file type; several labels and numbers are refused."""

import difflib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from bakeoff.errors import DataError

_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:\.0+)?")
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_LIST = re.compile(r"\[.*\]|\{.*\}|\(.*,.*\)", re.DOTALL)
MAX_NUMERIC_CLASSES = 200
MAX_TEXTUAL_CLASSES, MAX_LABEL_CHARACTERS = 50, 40
"""More different labels than that, half of them longer than that, are documents and no classes."""
MIN_TAIL_CLASSES, MAX_TAIL_ROWS = 20, 4
"""So many different numbers, most of which so few rows have at most, are amounts and no classes."""
MIN_UNIQUE_LABELS = 10
"""From so many different labels on, more than one for every two rows is no column of classes."""
_CLASSES = "cut them into a few classes in a column of their own, or name each number with dataset.label_map"


def canonical(value: object) -> str | None:
    """The class name of a raw label: `1`, `"1"` and `1.0` are "1"; `true` and `"TRUE"` are "True"; None where it is missing.

    Outer spaces go; `007` and `1.10` stay as written, since codes and versions are names. A list or an
    object stays as its own text, which `check` refuses.
    """
    if isinstance(value, bool):
        return str(value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    text = str(value).strip()
    if whole := _WHOLE.fullmatch(text):
        return str(int(whole[1]))
    if text.lower() in ("true", "false"):
        return text.capitalize()
    return text or None


def rename(labels: Iterable[str], label_map: Mapping[str, str]) -> dict[str, str]:
    """Canonical label → class name, through `dataset.label_map`. Raises DataError for a mapped label that no row has."""
    labels = list(labels)
    _refuse_texts(labels)
    present = set(labels)
    names = {canonical(raw) or raw: name for raw, name in label_map.items()}
    for raw in names:
        if raw not in present:
            raise DataError(f"dataset.label_map.{raw} renames a label that no row has; {nearest(raw, present)}")
    return {label: names.get(label, label) for label in present}


def _refuse_texts(labels: list[str]) -> None:
    """Raise DataError, quoting nothing, when labels look like documents: many different ones, and long."""
    distinct = sorted(set(labels), key=len)
    if len(distinct) > max(MAX_TEXTUAL_CLASSES, len(labels) / 5) and len(distinct[len(distinct) // 2]) > MAX_LABEL_CHARACTERS:
        raise DataError(
            f"the label column holds {len(distinct)} different long texts in {len(labels)} rows: "
            "name the column of classes with dataset.label"
        )


def check(names: Iterable[str]) -> None:
    """Raise DataError when the class names of rows are several labels a row, numbers to predict, or hardly ever the same.

    Numbers are amounts where some have decimals, where there are over MAX_NUMERIC_CLASSES, or where they have a long tail.
    """
    rows_of = Counter(names)
    classes = set(rows_of)
    if any(_LIST.fullmatch(name) or _parts(name, classes) for name in classes):
        raise DataError("a label holds several classes at once (multi-label), which bakeoff does not do: give each row exactly one label")
    if all(_NUMBER.fullmatch(name) for name in classes):
        if any(not float(name).is_integer() for name in classes):
            raise DataError(f"the labels are numbers with decimals (a numeric target), which bakeoff does not do: {_CLASSES}")
        rare = sum(rows <= MAX_TAIL_ROWS for rows in rows_of.values())
        if len(classes) > MAX_NUMERIC_CLASSES or (len(classes) >= MIN_TAIL_CLASSES and rare * 2 > len(classes)):
            tail = f", {rare} of them in {MAX_TAIL_ROWS} rows or fewer" if rare else ""
            raise DataError(
                f"the labels are {len(classes)} different numbers{tail} (a numeric target), which bakeoff does not do: {_CLASSES}"
            )
    if len(classes) >= MIN_UNIQUE_LABELS and len(classes) * 2 > rows_of.total():
        raise DataError(
            f"the label column holds {len(classes)} different values in {rows_of.total()} rows, so it names no classes: "
            "name the column of classes with dataset.label"
        )


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """The sorted classes: by value when all are numbers, otherwise as text."""
    classes = set(names)
    if all(_NUMBER.fullmatch(name) for name in classes):
        return tuple(sorted(classes, key=lambda name: (float(name), name)))
    return tuple(sorted(classes))


def nearest(name: str, known: Iterable[str], *, also: Sequence[str] = ()) -> str:
    """ "did you mean …?", or what there is instead; `also` is told and never meant."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    told = [*known, *also]
    shown = ", ".join(told[:20]) + (", …" if len(told) > 20 else "")
    return f"did you mean {near[0]}? There are {shown}" if near else f"there are {shown}"


def _parts(name: str, classes: set[str]) -> bool:
    """Whether a label is other labels joined by a bar, a semicolon or a comma."""
    for mark in "|;,":
        parts = [canonical(part) for part in name.split(mark) if part.strip()]
        if len(parts) > 1 and all(part in classes and part != name for part in parts):
            return True
    return False
