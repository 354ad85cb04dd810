"""`bakeoff data`: what a dataset holds, and what is wrong with it."""

import csv
import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from bakeoff.config import Composer, quoted
from bakeoff.data import audit, checkpoint, file_size, longdoc, text_signs
from bakeoff.data.dataset import Rows, prepare
from bakeoff.data.tokens import CheckpointTokeniser, Document
from bakeoff.errors import BakeoffError, ConfigError, DataError
from bakeoff.spec import BudgetZero, Frozen, Neural, Run

OPTIONS = {
    "encoding": "encoding",
    "text_pair": "text-pair",
    "text": "text",
    "label": "label",
    "group": "group",
    "time": "time",
    "test_path": "test",
}
"""Settings of a dataset that this command has an option for."""


def data(
    target: str,
    options: Mapping[str, str],
    *,
    model: str,
    format: Literal["table", "json"],
    test_rows: Path | None = None,
    suspects: int | None = None,
    out: Path | None = None,
) -> str:
    """The audit of a dataset as text or JSON; `options` are settings of the dataset, such as text and label.

    With `test_rows`, the test rows are also written to that file, and standard error says so; with `suspects`, so many pool
    rows whose labels are likely wrong are written to `out`. Raises DataError for data that cannot be read and for a file
    that exists, ConfigError for an option that the dataset does not have.
    """
    if out is not None and suspects is None:
        raise ConfigError(f"--out {out} names the file of --suspects: add --suspects 50, for example")
    dataset = [f"dataset={target}"]
    if (path := Path(target).expanduser()).exists() or path.suffix:
        dataset = [f"dataset={'folder' if path.is_dir() else 'csv'}", f"dataset.path={quoted(str(path))}"]
    settings = [*dataset, *(f"dataset.{key}={quoted(value)}" for key, value in options.items()), f"model={model}"]
    try:
        run = compose(settings)
        if (note := file_size.notice(run.dataset)) is not None:
            print(note, file=sys.stderr)
        prepared = prepare(run.dataset)
    except BakeoffError as error:
        raise type(error)(in_options(str(error))) from None
    if suspects is not None:
        from bakeoff.commands.suspects import write

        write(out or Path(f"{run.dataset.name}-suspects.csv"), settings[:-1], prepared, suspects)
    if test_rows is not None:
        write_test_rows(test_rows, prepared.test)
        question = [*settings[:-1], "model=predictions", f"model.path={quoted(str(test_rows))}", "budget.labels=0"]
        print(
            f"{len(prepared.test):,} test rows are in {test_rows}: add a column label, and score it with "
            f"{shlex.join(['bakeoff', 'run', *map(unquoted, question)])}",
            file=sys.stderr,
        )
    lengths = lengths_tokens(run, (*prepared.pool.documents, *prepared.test.documents))
    read = text_signs.tokenised(run.model, prepared.test)
    found = audit.overview(prepared, lengths=lengths, max_tokens=run.longdoc.max_tokens, tokenised=read)
    if format == "json":
        return json.dumps({"dataset": run.dataset.name, "fingerprint": run.dataset.fingerprint, **audit.as_plain(found)}, indent=2)
    since = "" if prepared.newest_from is None else f"test rows are the newest, from {prepared.newest_from[-2]} on\n"
    head = f"{run.dataset.name} ({run.dataset.fingerprint[:12]}), lengths in the tokens of {run.model.name}\n"
    return f"{head}{since}{audit.render(found)}".rstrip()


def compose(settings: Sequence[str]) -> Run:
    """The Run of these settings, which spends no label where its model reads none. Raises what `Composer.job` raises."""
    composer = Composer()
    config = composer.compose(settings)
    if config.model.get("kind") in {each.kind for each in get_args(BudgetZero)}:
        config.budget.labels = 0
    return composer.from_hydra(config).run


def write_test_rows(file: Path, rows: Rows) -> None:
    """A CSV file of row_id and text(s), for whoever answers elsewhere; labels stay here."""
    columns = ("row_id", "text") if rows.pairs is None else ("row_id", "text", "text_pair")
    parts = (rows.row_ids, rows.texts) if rows.pairs is None else (rows.row_ids, rows.texts, rows.pairs)
    try:
        with open(file, "x", newline="", encoding="utf-8") as handle:
            writer = csv.writer(handle, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*parts, strict=True))
    except FileExistsError:
        raise DataError(f"--test-rows {file} exists already and may hold answers: name a new file") from None
    except OSError as error:
        raise DataError(f"--test-rows {file} cannot be written ({type(error).__name__}): name a file in a folder that exists") from None


def unquoted(override: str) -> str:
    """An override as a person would write it, without quotes that Hydra can do without."""
    return re.sub(r"='([\w./-]+)'$", r"=\1", override)


def lengths_tokens(run: Run, documents: tuple[Document, ...]) -> np.ndarray:
    """Whole lengths in the model's own tokens, shape (documents,): word-pieces where it has a checkpoint, otherwise words."""
    if isinstance(run.model, Neural | Frozen | BudgetZero) and run.model.checkpoint is not None:
        tokeniser = CheckpointTokeniser(checkpoint.resolve(run.model.checkpoint, run.model.revision))
        return longdoc.read(documents, tokeniser, run.longdoc).lengths_tokens
    return longdoc.count_words(documents)


def in_options(message: str) -> str:
    """A message about settings, in the options of this command."""
    for setting, option in OPTIONS.items():
        message = message.replace(f"dataset.{setting}=", f"--{option} ").replace(f"dataset.{setting}", f"--{option}")
    return message
