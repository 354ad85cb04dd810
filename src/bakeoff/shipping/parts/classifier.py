"""What a shipped model is to whoever calls it."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bakeoff.data.tokens import Document

Probabilities = npt.NDArray[np.float32]


class Model(Protocol):
    """What answers documents, whatever it is made of."""

    def probabilities(self, documents: Sequence[Document], *, batch_size: int) -> Probabilities:
        """Shape (documents, classes)."""
        ...


class Classifier:
    """Texts, or pairs of texts, to labels."""

    def __init__(self, settings: dict[str, Any], model: Model) -> None:
        self.classes: list[str] = settings["classes"]
        self.pairs: bool = settings["pairs"]
        self.model = model

    def predict(self, documents: Sequence[Document], *, batch_size: int = 64) -> list[str]:
        """The likeliest label of each document."""
        return [self.classes[number] for number in self.probabilities(documents, batch_size=batch_size).argmax(axis=1)]

    def probabilities(self, documents: Sequence[Document], *, batch_size: int = 64) -> Probabilities:
        """Shape (documents, classes), in the order of `self.classes`. Raises TypeError for what is not one text, or pair, a document."""
        if isinstance(documents, str) or any(isinstance(document, str) == self.pairs for document in documents):
            raise TypeError(f"give a list of {'pairs (text, second text)' if self.pairs else 'texts'}")
        return self.model.probabilities(documents, batch_size=batch_size)
