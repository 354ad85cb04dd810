"""Word n-grams weighted by TF-IDF, then logistic regression: what scikit-learn computes, in numpy alone."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from bakeoff.data.tokens import Document
from bakeoff.models.linear import SECOND
from bakeoff.shipping.parts.classifier import Probabilities

BLOCK_CELLS = 1_000_000
"""About how many products of a weight and a coefficient are in memory at a time."""
_TOKEN = re.compile(r"\b\w+\b|[^\w\s]")


class TextReading(Protocol):
    """What of a document is read."""

    def text(self, document: Document) -> Document:
        """The part that is read."""
        ...


class Tfidf:
    """Answers in float64, as it was fitted; a text without known words gets what the intercepts say."""

    def __init__(self, folder: Path, settings: dict[str, Any], reading: TextReading) -> None:
        arrays, vocabulary = load_file(folder / "model.safetensors"), folder / "vocabulary.json"
        self.columns: dict[str, int] = json.loads(vocabulary.read_text(encoding="utf-8")) if vocabulary.exists() else {}
        self.coefficients = np.ascontiguousarray(arrays["coefficients"].T)  # (features, classes)
        self.intercepts, self.idf = arrays["intercepts"], arrays.get("idf")
        self.ngram_max, self.sublinear_tf = settings["model"]["ngram_max"], settings["model"]["sublinear_tf"]
        self.reading = reading

    def probabilities(self, documents: Sequence[Document], *, batch_size: int) -> Probabilities:
        """Shape (documents, classes); a class without a label has probability 0."""
        found = np.tile(self.intercepts, (len(documents), 1))
        if self.idf is not None:
            columns, counts = self._known_grams(documents)
            for start, end in self._blocks(counts):
                first, last = int(counts[:start].sum()), int(counts[:end].sum())
                self._add_scores(found[start:end], columns[first:last], counts[start:end])
        exponents = np.exp(found - found.max(axis=1, keepdims=True))
        return np.asarray((exponents / exponents.sum(axis=1, keepdims=True)).astype(np.float32))

    def _known_grams(self, documents: Sequence[Document]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The columns of all n-grams in the vocabulary, document by document; and how many each document has, (documents,)."""
        column_of, flat, counts = self.columns.get, list[int](), list[int]()
        for document in documents:
            columns = [column for column in map(column_of, self._grams(self.reading.text(document))) if column is not None]
            flat += columns
            counts.append(len(columns))
        return np.asarray(flat, dtype=np.int64), np.asarray(counts, dtype=np.int64)

    def _grams(self, document: Document) -> list[str]:
        """Of a pair, those of the second text are marked, and none spans both."""
        if not isinstance(document, str):
            return [*self._grams(document[0]), *(SECOND + gram for gram in self._grams(document[1]))]
        words: list[str] = _TOKEN.findall(document.lower())
        grams = list(words)
        for n in range(2, self.ngram_max + 1):
            grams += map(" ".join, zip(*(words[skipped:] for skipped in range(n)), strict=False))
        return grams

    def _blocks(self, counts: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
        """Runs of documents whose products fit into memory, and at least one of them."""
        blocks, start, cells, classes = [], 0, 0, len(self.intercepts)
        for row, count in enumerate(counts.tolist()):
            if cells and cells + count * classes > BLOCK_CELLS:
                blocks.append((start, row))
                start, cells = row, 0
            cells += count * classes
        return [*blocks, (start, len(counts))]

    def _add_scores(self, found: npt.NDArray[np.float64], columns: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> None:
        """Add to `found` (documents, classes) what the n-grams of each document say."""
        if not len(columns):
            return
        assert self.idf is not None
        features = len(self.idf)
        cells, times = np.unique(np.repeat(np.arange(len(counts)), counts) * features + columns, return_counts=True)
        rows, columns = cells // features, cells % features
        weights = (1 + np.log(times) if self.sublinear_tf else times) * self.idf[columns]
        weights /= np.sqrt(np.bincount(rows, weights=weights**2, minlength=len(counts)))[rows]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        found[rows[starts]] += np.add.reduceat(weights[:, None] * self.coefficients[columns], starts)
