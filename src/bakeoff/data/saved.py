"""The tokeniser of a saved model."""

import json
from pathlib import Path

from bakeoff.data.tokens import CheckpointTokeniser, WordVocabulary


def read_tokeniser(folder: Path, *, words_in: str) -> CheckpointTokeniser | WordVocabulary:
    """What turned texts into ids for the model in `folder`: the words listed in its file `words_in`, or a checkpoint's tokeniser."""
    words = folder / words_in
    if words.exists():
        return WordVocabulary(words=tuple(json.loads(words.read_text(encoding="utf-8"))))
    return CheckpointTokeniser(folder)
