"""`bakeoff data`: what a dataset holds, and what is wrong with it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np

from bakeoff.config import Composer, quoted
from bakeoff.data import audit, checkpoint, longdoc
from bakeoff.data.dataset import prepare
from bakeoff.data.tokens import CheckpointTokeniser, split_words
from bakeoff.errors import BakeoffError
from bakeoff.spec import Pretrained, Run

OPTIONS = {"encoding": "encoding", "text": "text", "label": "label", "group": "group", "test_path": "test"}
"""Settings of a dataset that this command has an option for."""


def data(target: str, options: Mapping[str, str], *, model: str, format: Literal["table", "json"]) -> str:
    """The audit of a dataset as text or JSON; `options` are settings of the dataset, such as text and label.

    Raises DataError for data that cannot be read, ConfigError for an option that the dataset does not have.
    """
    dataset = [f"dataset={target}"]
    if (path := Path(target).expanduser()).exists() or path.suffix:
        dataset = [f"dataset={'folder' if path.is_dir() else 'csv'}", f"dataset.path={quoted(str(path))}"]
    settings = [*dataset, *(f"dataset.{key}={quoted(value)}" for key, value in options.items()), f"model={model}"]
    try:
        run = Composer().job(settings).run
        prepared = prepare(run.dataset)
    except BakeoffError as error:
        raise type(error)(in_options(str(error))) from None
    lengths = lengths_tokens(run, (*prepared.pool.texts, *prepared.test.texts))
    found = audit.overview(prepared, lengths=lengths, max_tokens=run.longdoc.max_tokens)
    if format == "json":
        return json.dumps({"dataset": run.dataset.name, "fingerprint": run.dataset.fingerprint, **audit.as_plain(found)}, indent=2)
    return f"{run.dataset.name} ({run.dataset.fingerprint[:12]}), lengths in the tokens of {run.model.name}\n{audit.render(found)}".rstrip()


def lengths_tokens(run: Run, texts: tuple[str, ...]) -> np.ndarray:
    """Whole lengths in the model's own tokens, shape (texts,)."""
    if isinstance(run.model, Pretrained):
        tokeniser = CheckpointTokeniser(checkpoint.resolve(run.model.checkpoint, run.model.revision))
        return longdoc.read(texts, tokeniser, run.longdoc).lengths_tokens
    return np.asarray([len(split_words(text)) for text in texts], dtype=np.int64)


def in_options(message: str) -> str:
    """A message about settings, in the options of this command."""
    for setting, option in OPTIONS.items():
        message = message.replace(f"dataset.{setting}=", f"--{option} ").replace(f"dataset.{setting}", f"--{option}")
    return message
