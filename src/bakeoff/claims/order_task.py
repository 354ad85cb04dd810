"""Generated texts whose label is which of two words comes first, so that order decides and nothing else does.

Each text holds both words once among filler. A reader that knows no order is at chance exactly.
"""

import csv
import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bakeoff.cache import cache_root

FIRST = ("red", "blue")
_WORDS = """
the of and to in that it was he for on with as his at by had her from not they this have are which all their there one
were when who would more no if out so what up some into than them only new time other could these two may then
"""
_FILLER = tuple(_WORDS.split())
_SEED = 0
_LONGER = 4


@dataclass(frozen=True, kw_only=True)
class Written:
    """Where the texts stand."""

    train: Path
    test: Path
    """Half of its texts are as long as those of `train`, and half four times as long."""

    @property
    def overrides(self) -> tuple[str, ...]:
        """What makes a sweep read them."""
        return (
            "dataset=csv",
            f"dataset.path={_quoted(self.train)}",
            f"dataset.test_path={_quoted(self.test)}",
            "dataset.text=text",
            "dataset.label=label",
            "dataset.name=order",
            "dataset.family=order",
            "dataset.redistributable=true",
        )


def write(*, length_tokens: int, train_rows: int, test_rows: int) -> Written:
    """Write the tables, the same bytes for the same numbers, into the cache; `test_rows` of each length."""
    random = np.random.default_rng([_SEED, length_tokens])
    folder = cache_root() / "claims"
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"order_{length_tokens}_{train_rows}_{test_rows}"
    train = _table([_row(random, length_tokens, number) for number in range(train_rows)])
    lengths = [length_tokens] * test_rows + [_LONGER * length_tokens] * test_rows
    test = _table([_row(random, length, number) for number, length in enumerate(lengths)])
    return Written(train=_put(folder / f"{stem}_train.csv", train), test=_put(folder / f"{stem}_test.csv", test))


def _row(random: np.random.Generator, length_tokens: int, number: int) -> tuple[str, str]:
    """A text and its label; labels take turns."""
    words = [_FILLER[i] for i in random.integers(len(_FILLER), size=length_tokens)]
    first, second = sorted(random.choice(length_tokens, size=2, replace=False))
    label, other = FIRST[number % 2], FIRST[1 - number % 2]
    words[first], words[second] = label, other
    return " ".join(words), label


def _table(rows: list[tuple[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([("text", "label"), *rows])
    return text.getvalue()


def _put(path: Path, text: str) -> Path:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
    return path


def _quoted(path: Path) -> str:
    """As Hydra takes it whatever characters it has."""
    return "'" + str(path).replace("\\", "\\\\").replace("'", "\\'") + "'"
