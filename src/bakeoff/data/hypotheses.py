"""Classes in words, and how a checkpoint puts such a sentence behind a text."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.data import labels
from bakeoff.errors import DataError
from bakeoff.spec import ZeroShot


@dataclass(frozen=True, kw_only=True)
class Tail:
    """What follows a text's tokens when a sentence is its pair: separators, the sentence, the end."""

    ids: tuple[int, ...]
    types: tuple[int, ...]
    """Segment numbers of the ids; those of the text before them are 0."""


def sentences(model: ZeroShot, classes: Sequence[str]) -> tuple[str, ...]:
    """Each class in the template's words. One without a description is described by its name, `_` and `.` as spaces.

    Raises DataError for the description of a class that does not exist.
    """
    for name in model.descriptions:
        if name not in classes:
            raise DataError(f"model.descriptions.{name} describes a class that the data does not have; {labels.nearest(name, classes)}")
    found = []
    for name in classes:
        described = model.descriptions.get(name, "").strip() or " ".join(name.replace("_", " ").replace(".", " ").split())
        found.append(model.template.replace("{}", described))
    return tuple(found)


def tails(folder: Path, hypotheses: Sequence[str], *, prefix: Sequence[int], max_tokens: int | None) -> tuple[Tail, ...]:
    """The tail of each hypothesis, from the checkpoint's own way to write a pair; `prefix` opens a single text.

    Raises DataError for a tokeniser that knows no pairs, and where `max_tokens` a pair leave no room for a text.
    """
    from transformers import AutoTokenizer

    backend = AutoTokenizer.from_pretrained(str(folder)).backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    found = []
    for hypothesis in hypotheses:
        pair = backend.encode("a", hypothesis)
        parts = pair.sequence_ids
        first, end = parts.index(0), len(parts) - parts[::-1].index(0)
        if pair.ids[:first] != list(prefix) or 1 not in parts or parts[end] is not None or any(pair.type_ids[:end]):
            raise DataError(f"model.checkpoint={folder.name} has a tokeniser that writes no pairs of texts, which entailment needs")
        found.append(Tail(ids=tuple(pair.ids[end:]), types=tuple(pair.type_ids[end:])))
    longest = max(len(tail.ids) for tail in found)
    if max_tokens is not None and longest + 2 > max_tokens:
        raise DataError(
            f"longdoc.max_tokens={max_tokens} leaves no room for a text beside a class in words ({longest} tokens): "
            "shorten model.template and the descriptions"
        )
    return tuple(found)
