"""Dataset and Budget: where texts with labels come from, and how many labels may be spent.

`spec` passes the names on, so the rest of the code says `spec.Dataset`.
"""

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

from bakeoff.identity import display, hashed, neutral

FOLDS = 5
TABLES = ("csv", "tsv", "jsonl", "parquet", "hub")
"""Formats whose rows have named columns."""


@dataclass(frozen=True, kw_only=True)
class Needle:
    """Generated documents in which two tokens, `distance_tokens` apart, decide the label by whether they agree.

    All else is filler that says nothing, so a reader that does not see both tokens is at chance.
    """

    recipe: ClassVar[int] = 1
    length_tokens: int = hashed()
    """Words of each document, every one a single token to word vocabularies and common word-piece ones."""
    distance_tokens: int = hashed()
    """Positions from the first telling token to the second."""
    train_rows: int = hashed()
    test_rows: int = hashed()
    seed: int = hashed()

    def __post_init__(self) -> None:
        if not 1 <= self.distance_tokens < self.length_tokens:
            raise ValueError(
                f"dataset.needle.distance_tokens={self.distance_tokens} should be from 1 to below "
                f"dataset.needle.length_tokens={self.length_tokens}"
            )
        if self.train_rows < 2 or self.test_rows < 1:
            raise ValueError("dataset.needle.train_rows should be at least 2, and dataset.needle.test_rows at least 1")
        if self.seed < 0:
            raise ValueError(f"dataset.needle.seed={self.seed} should be 0 or more")


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Texts with labels at a pinned revision, split into a train pool and a test set."""

    recipe: ClassVar[int] = 1
    name: str = display()
    description: str = display()
    family: str = display()
    """Datasets made of the same texts share a family; one is never independent evidence beside another."""
    redistributable: bool = display()
    """Whether texts may appear on pages and in Weights & Biases."""
    metric: Literal["auto", "accuracy", "macro_f1"] = display()
    """The primary metric; auto is accuracy up to a class ratio of 3:1, otherwise macro-F1."""
    asset: str | None = display()
    path: str | None = display()
    test_path: str | None = display()
    format: Literal["csv", "tsv", "jsonl", "parquet", "folder", "orange", "movie", "hub", "needle"] = hashed()
    fingerprint: str = hashed()
    """SHA-256 of the bytes behind the texts; `config` fills it in."""
    text: str | None = hashed()
    label: str | None = hashed()
    group: str | None = hashed()
    encoding: str = hashed()
    label_map: dict[str, str] = hashed()
    split: Literal["official", "fold", "held_out_rows", "newest"] = hashed()
    fold: int | None = hashed()
    held_out_rows: int | None = hashed()
    text_pair: str | None = neutral(None)
    """Column of the second text of a pair; null where a row is one text."""
    label_descriptions: dict[str, str] = display({})
    """Class → what it means in words, for models that read no label; they carry it in their own identity."""
    hub: str | None = display(None)
    """Name on the data hub; its revision and the rest below are in `fingerprint`."""
    hub_config: str | None = display(None)
    hub_pool: str | None = display(None)
    """Name of the split that is the train pool."""
    hub_test: str | None = display(None)
    revision: str | None = display(None)
    """Commit on the hub, 40 hex digits."""
    fold_column: str | None = neutral(None)
    """Column with each row's fold as a whole number from 0, where the data brings its own folds."""
    fold_pattern: str | None = neutral(None)
    """The same of a folder of files: a regular expression with one group, which finds the fold in a file's name."""
    group_pattern: str | None = neutral(None)
    """A regular expression with one group that finds each row's group in a file's name."""
    needle: Needle | None = neutral(None)
    """What is generated when the format is needle."""
    rewrite: Literal["none", "strip_punctuation", "split_characters", "lower_case"] = neutral("none")
    """What is done to all texts on purpose, to measure what it costs; rows keep the ids and the split of their raw texts."""
    time: str | None = neutral(None)
    """Column of dates, moments or numbers that says which rows are the newest."""
    newest_share: float | None = neutral(None)
    """Share of the rows that are test rows for being the newest; rows of one time stay together."""
    newest_from: tuple[str, ...] | None = neutral(None)
    """The same pinned, for data that grows: rows are test rows from the first of these times on, pool rows again from the
    second, test rows from the third, and so forth."""

    def __post_init__(self) -> None:
        if self.asset is not None:
            for name in ("path", "test_path", "text", "label", "group"):
                if getattr(self, name) is not None:
                    raise ValueError(f"dataset.{name} means nothing to the starter dataset {self.asset}: use dataset=csv or dataset=folder")
        if self.format == "folder" and (self.text or self.label):
            raise ValueError("dataset.text and dataset.label mean nothing to dataset=folder, whose labels are the names of its folders")
        if self.text_pair is not None and (self.format not in TABLES or self.text_pair == self.text):
            raise ValueError(
                f"dataset.text_pair={self.text_pair} should name a second column of a table, but dataset.text={self.text} "
                f"and dataset.format={self.format}"
            )
        if (self.format == "hub") != (self.hub is not None) or (self.hub is not None and (self.path or self.asset or not self.hub_pool)):
            raise ValueError(
                f"dataset.hub={self.hub} goes with dataset.format=hub and dataset.hub_pool, the split to train on, and without dataset.path"
            )
        needs_columns = self.format in TABLES
        if needs_columns and not (self.text and self.label):
            missing = "text" if not self.text else "label"
            raise ValueError(f"dataset.{missing} is empty: name the column that holds the {missing}")
        self._check_patterns()
        self._check_time()
        if self.split == "fold" and (self.fold is None or self.fold < 0 or (not self.brings_folds and self.fold >= FOLDS)):
            most = "up" if self.brings_folds else f"to {FOLDS - 1}"
            raise ValueError(f"dataset.fold={self.fold} should be a number from 0 {most} when dataset.split=fold")
        if self.split != "fold" and self.fold is not None:
            raise ValueError(f"dataset.fold={self.fold} needs dataset.split=fold, but dataset.split={self.split}")
        if self.split == "held_out_rows" and (self.held_out_rows is None or self.held_out_rows < 1):
            raise ValueError(f"dataset.held_out_rows={self.held_out_rows} should be at least 1 when dataset.split=held_out_rows")
        if self.split != "held_out_rows" and self.held_out_rows is not None:
            raise ValueError(
                f"dataset.held_out_rows={self.held_out_rows} needs dataset.split=held_out_rows, but dataset.split={self.split}"
            )
        given, key = (self.test_path, "test_path=FILE") if self.hub is None else (self.hub_test, "hub_test=SPLIT")
        if self.split == "official" and self.asset is None and self.needle is None and given is None:
            raise ValueError(f"dataset.split=official needs dataset.{key} with the official test rows")
        if self.split != "official" and given is not None:
            raise ValueError(f"dataset.{key.partition('=')[0]} needs dataset.split=official, but dataset.split={self.split}")

    @property
    def brings_folds(self) -> bool:
        """Whether the data says which fold a row is in, by a column or by its file's name."""
        return self.fold_column is not None or self.fold_pattern is not None

    def _check_time(self) -> None:
        if (self.split == "newest") != (self.time is not None):
            raise ValueError(f"dataset.time={self.time} goes with dataset.split=newest, but dataset.split={self.split}")
        pinned, share = self.newest_from, self.newest_share
        if self.time is None:
            if pinned is not None or share is not None:
                raise ValueError("dataset.newest_share and dataset.newest_from need dataset.time, the column that says what is newest")
            return
        if self.format not in TABLES:
            raise ValueError(f"dataset.time={self.time} should name a column of a table, but dataset.format={self.format}")
        if (pinned is None) == (share is None):
            raise ValueError(f"dataset.newest_share={share} and dataset.newest_from={pinned}: set one of the two, the other is null")
        if share is not None and not 0 < share < 1:
            raise ValueError(f"dataset.newest_share={share} should be between 0 and 1, for example 0.2")
        if pinned is not None and not pinned:
            raise ValueError("dataset.newest_from is empty: name the time from which rows are test rows")

    def _check_patterns(self) -> None:
        if (self.format == "needle") != (self.needle is not None):
            raise ValueError("dataset.needle goes with dataset.format=needle: use dataset=needle")
        if self.needle is not None and (self.split != "official" or self.path or self.test_path or self.group):
            raise ValueError("dataset=needle makes its own pool and test rows: leave dataset.split=official, without a path or a group")
        for name, left in (("text", None), ("label", None), ("encoding", "utf-8")) if self.needle is not None else ():
            if (value := getattr(self, name)) != left:
                raise ValueError(f"dataset.{name}={value} means nothing to dataset=needle, which reads no file: leave it out")
        if self.brings_folds and (self.test_path or self.hub_test):
            key = "hub_test" if self.hub_test else "test_path"
            raise ValueError(f"dataset.{key} means nothing to data with folds of its own, which hold the test rows: leave one of them out")
        if self.brings_folds and self.split != "fold":
            raise ValueError(f"dataset.fold_column and dataset.fold_pattern need dataset.split=fold, but dataset.split={self.split}")
        if self.fold_column is not None and self.format not in TABLES:
            raise ValueError(
                f"dataset.fold_column={self.fold_column} should name a column of a table: dataset.fold_pattern is for file names"
            )
        for name in ("fold_pattern", "group_pattern"):
            pattern = getattr(self, name)
            if pattern is None:
                continue
            if self.format != "folder":
                raise ValueError(f"dataset.{name}={pattern} reads the names of files, so it needs dataset=folder")
            try:
                groups = re.compile(pattern).groups
            except re.error as error:
                raise ValueError(f"dataset.{name}={pattern} is no regular expression ({error})") from None
            if groups != 1:
                raise ValueError(f"dataset.{name}={pattern} should hold one group in brackets, the part of a file's name that counts")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How many labels may be spent, validation included, and which draw of them."""

    recipe: ClassVar[int] = 1
    labels: int | Literal["all"] = hashed()
    draw: int = hashed()
    order: Literal["stratified", "random"] = hashed()
    unlabelled: Literal["none", "pool", "file"] = hashed()
    """What unlabelled text may feed vocabulary, IDF, masked-LM and distillation: nothing, the unlabelled rest of the train
    pool, or the lines of `unlabelled_path`."""
    unlabelled_path: str | None = display(None)
    unlabelled_fingerprint: str | None = neutral(None)

    def __post_init__(self) -> None:
        if isinstance(self.labels, int) and self.labels < 0:
            raise ValueError(f"budget.labels={self.labels} should be 0 or more, or all")
        if (self.unlabelled == "file") != (self.unlabelled_path is not None):
            raise ValueError(f"budget.unlabelled_path={self.unlabelled_path} goes with budget.unlabelled=file: set both or neither")
