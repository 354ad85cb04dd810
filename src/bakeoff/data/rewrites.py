"""Texts spoiled on purpose, to measure what a habit of preparing them costs."""

import re
from collections.abc import Sequence
from typing import Literal

Rewrite = Literal["none", "strip_punctuation", "split_characters", "lower_case"]
_MARK = re.compile(r"[^\w\s]")


def rewrite(texts: Sequence[str], how: Rewrite) -> list[str]:
    """The texts with their punctuation marks left out, with a space between all their characters, or in lower case."""
    if how == "strip_punctuation":
        return [_MARK.sub("", text) for text in texts]
    if how == "split_characters":
        return [" ".join("".join(text.split())) for text in texts]
    return [text.lower() for text in texts] if how == "lower_case" else list(texts)
