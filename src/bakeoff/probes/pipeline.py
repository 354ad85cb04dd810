"""Raw text to label, as a served model does it: tokenise, read (window), forward, pool."""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from bakeoff import record, spec
from bakeoff.data import longdoc
from bakeoff.data.batches import LongestFirst, pad
from bakeoff.data.tokens import Document
from bakeoff.models import encoders, windows
from bakeoff.models.linear import TfidfClassifier
from bakeoff.models.loading import Linear
from bakeoff.probes.weights import Neural

Probabilities = npt.NDArray[np.float32]
Forward = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Ids (batch, longest) and lengths (batch,), both on the CPU, to logits (batch, classes) on any device."""

PREDICTION_BATCH = 64


@dataclass(frozen=True)
class StageTimes:
    """One call, stage by stage."""

    tokenise_ns: int
    window_ns: int
    forward_ns: int
    pool_ns: int


@dataclass(frozen=True, kw_only=True)
class Stopwatch:
    """How time is told on a device: `mark` a moment, and read the time between two marks once `synchronise` returned."""

    mark: Callable[[], Any]
    elapsed_ns: Callable[[Any, Any], int]
    synchronise: Callable[[], None]


@dataclass(frozen=True, kw_only=True)
class Stages:
    """The four steps of one kind of model; each takes what the one before gives, the first takes raw texts, or pairs of them."""

    tokenise: Callable[[Sequence[Document]], Any]
    window: Callable[[Any], Any]
    forward: Callable[[Any], Any]
    pool: Callable[[Any], Probabilities]
    """Probabilities (texts, classes) in the memory of the CPU."""
    lengths_tokens: Callable[[Sequence[Document]], npt.NDArray[np.int64]]
    tokens_processed: Callable[[int], int]
    """How many tokens pass through the model for a document of so many, special tokens included in both."""


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """One served candidate in one process."""

    stages: Stages
    stopwatch: Stopwatch
    n_classes: int
    size: record.Size
    """`bytes` are the weights in memory."""
    disk_bytes: int
    """The weights in a file."""
    agreement: record.Agreement | None = None
    """With the eager engine on some test documents; None for the eager engine itself."""
    checking_seconds: float = 0.0
    """Spent while it was built on what serving does not do: counting tokens, exporting, comparing with eager answers."""
    notes: tuple[str, ...] = ()
    """What a reader of its numbers should know, a sentence each."""

    def label(self, texts: Sequence[Document]) -> npt.NDArray[np.int64]:
        """Class indices, shape (texts,), of texts that are one batch. The answer has left the device when this returns."""
        return np.asarray(self._answer(texts).argmax(axis=1))

    def timed(self, texts: Sequence[Document]) -> StageTimes:
        """What `label` does with at least one text, each stage timed as the device sees it."""
        stages, mark = self.stages, self.stopwatch.mark
        self.stopwatch.synchronise()
        start = mark()
        content = stages.tokenise(texts)
        tokenised = mark()
        batch = stages.window(content)
        windowed = mark()
        scores = stages.forward(batch)
        forwarded = mark()
        stages.pool(scores).argmax(axis=1)
        pooled = mark()
        self.stopwatch.synchronise()
        marks = (start, tokenised, windowed, forwarded, pooled)
        return StageTimes(*(self.stopwatch.elapsed_ns(a, b) for a, b in itertools.pairwise(marks)))

    def probabilities(self, texts: Sequence[Document]) -> Probabilities:
        """Shape (texts, classes) of any number of texts, in batches of like length and of no more tokens than memory holds."""
        answers = np.zeros((len(texts), self.n_classes), dtype=np.float32)
        read = np.asarray([self.tokens_processed(tokens) for tokens in self.lengths_tokens(texts).tolist()], dtype=np.int64)
        for rows in LongestFirst(read, PREDICTION_BATCH):
            answers[rows] = self._answer([texts[row] for row in rows])
        return answers

    def lengths_tokens(self, texts: Sequence[Document]) -> npt.NDArray[np.int64]:
        """Whole lengths in the model's own tokens, special ones included, shape (texts,)."""
        return self.stages.lengths_tokens(texts)

    def tokens_processed(self, tokens: int) -> int:
        """How many tokens pass through the model for a document of so many, special tokens included in both."""
        return self.stages.tokens_processed(tokens)

    def _answer(self, texts: Sequence[Document]) -> Probabilities:
        stages = self.stages
        if not texts:
            return np.zeros((0, self.n_classes), dtype=np.float32)
        return stages.pool(stages.forward(stages.window(stages.tokenise(texts))))


def neural_stages(candidate: Neural, reading: spec.LongDoc, forward: Forward) -> Stages:
    """An encoder or a BiLSTM over any engine's forward pass; the cache of tokens is left out."""
    tokeniser, padded_to = candidate.tokeniser, encoders.padded_to(candidate.classifier)

    def window(content: Any) -> tuple[torch.Tensor, torch.Tensor]:
        return pad(longdoc.frame(content, tokeniser, reading).ids, tokeniser.pad_id)

    def pool(logits: torch.Tensor) -> Probabilities:
        with torch.inference_mode():
            probabilities: Probabilities = logits.float().softmax(dim=-1).cpu().numpy()
        return probabilities

    return Stages(
        tokenise=lambda texts: longdoc.content(texts, tokeniser, reading, now=True),
        window=window,
        forward=lambda batch: forward(*batch),
        pool=pool,
        lengths_tokens=lambda texts: longdoc.read(texts, tokeniser, reading).lengths_tokens,
        tokens_processed=lambda tokens: int(
            windows.processed_tokens(np.asarray([_kept(tokens, reading)]), reading, tokeniser, padded_to=padded_to)[0]
        ),
    )


def linear_stages(classifier: Linear, reading: spec.LongDoc) -> Stages:
    """TF-IDF or the majority class: words are found and cut in one go, so that there is no window stage to speak of."""
    if isinstance(classifier, TfidfClassifier):
        return Stages(
            tokenise=lambda texts: classifier.features([longdoc.read_words(text, reading) for text in texts]),
            window=lambda features: features,
            forward=classifier.scores,
            pool=classifier.probabilities,
            lengths_tokens=longdoc.count_words,
            tokens_processed=lambda tokens: _kept(tokens, reading),
        )
    return Stages(
        tokenise=lambda texts: texts,
        window=lambda texts: texts,
        forward=classifier.predict,
        pool=lambda probabilities: probabilities,
        lengths_tokens=longdoc.count_words,
        tokens_processed=lambda tokens: _kept(tokens, reading),
    )


def _kept(tokens: int, reading: spec.LongDoc) -> int:
    """How many tokens of a document of so many are read."""
    return tokens if reading.max_tokens is None else min(tokens, reading.max_tokens)


def stopwatch(device: str) -> Stopwatch:
    """A CPU's clock; a GPU's events, which stand in the queue among its kernels and so time those, not their launch."""
    if device == "cpu":
        return Stopwatch(mark=time.perf_counter_ns, elapsed_ns=lambda a, b: b - a, synchronise=lambda: None)

    def mark() -> Any:
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    return Stopwatch(mark=mark, elapsed_ns=lambda a, b: round(a.elapsed_time(b) * 1e6), synchronise=torch.cuda.synchronize)
