"""A document read window by window: cut into windows that overlap, each read by the model, all pooled to one answer."""

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bakeoff.errors import NotApplicable
from bakeoff.models.pooling import AttentionPooling, mask_of, over_time
from bakeoff.models.transformer import TransformerEncoder
from bakeoff.spec import LongDoc

Features = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Ids (windows, longest) and lengths (windows,) to one state a window, (windows, width)."""
Head = Callable[[torch.Tensor], torch.Tensor]
"""States (…, width) to logits (…, classes)."""

CHUNK_WINDOWS = 32
"""Windows that a model reads at once, however many there are, so that memory does not grow with a document."""
CHUNK_TOKENS = 131_072
"""Most tokens that it reads at once: longer windows are read fewer at a time."""
LAYERS, HEADS = 2, 8
"""Of the transformer over windows: the layers of Pappagari et al. (2019), and at most so many heads."""


class Frame(Protocol):
    """The special tokens that stand around what a model reads, and what fills a short row up; every tokeniser is one."""

    @property
    def pad_id(self) -> int: ...
    @property
    def prefix(self) -> tuple[int, ...]: ...
    @property
    def suffix(self) -> tuple[int, ...]: ...


@dataclass(frozen=True, kw_only=True)
class Windows:
    """The windows of all documents of a batch, one after the other; none is there to fill up."""

    ids: torch.Tensor
    """Shape (windows, longest), each between special tokens, where the documents' ids are."""
    lengths: torch.Tensor
    """Shape (windows,), on the CPU as all below."""
    document: torch.Tensor
    """Shape (windows,): whose window it is, counted from 0, in ascending order."""
    number: torch.Tensor
    """Shape (windows,): which of its document's windows it is, counted from 0."""


def cut(
    ids: torch.Tensor,
    lengths: torch.Tensor,
    *,
    prefix: tuple[int, ...],
    suffix: tuple[int, ...],
    window_tokens: int,
    overlap_tokens: int,
    pad_id: int,
) -> Windows:
    """Windows of at most `window_tokens`, special tokens included, of `ids` (documents, longest) with `lengths` (documents,).

    Documents stand between `prefix` and `suffix`, and so does each window. A window begins with the last `overlap_tokens` of the
    one before it; the last one ends where its document does, and may be shorter. An empty document is one window.
    """
    content = (lengths.cpu() - len(prefix) - len(suffix)).clamp(min=0)
    room = window_tokens - len(prefix) - len(suffix)
    counts = 1 + -(-(content - room).clamp(min=0) // (room - overlap_tokens))
    document = torch.repeat_interleave(torch.arange(len(counts)), counts)
    number = torch.arange(len(document)) - (counts.cumsum(0) - counts)[document]
    starts = number * (room - overlap_tokens)
    sizes = (content[document] - starts).clamp(max=room)
    longest = int(sizes.max())
    places = torch.arange(longest)
    found = torch.full((len(document), max(1, len(prefix) + longest + len(suffix))), pad_id, dtype=ids.dtype)
    found[:, : len(prefix)] = torch.tensor(prefix, dtype=ids.dtype)
    found = found.to(ids.device)
    if longest:
        sources = (len(prefix) + starts[:, None] + places).clamp(max=ids.shape[1] - 1)
        read = ids[document[:, None].to(ids.device), sources.to(ids.device)]
        found[:, len(prefix) : len(prefix) + longest] = read.masked_fill(~mask_of(sizes, read), pad_id)
    rows, ends = torch.arange(len(document), device=ids.device), (len(prefix) + sizes).to(ids.device)
    for place, special in enumerate(suffix):
        found[rows, ends + place] = special
    return Windows(ids=found, lengths=sizes + len(prefix) + len(suffix), document=document, number=number)


def processed_tokens(
    read_tokens: npt.NDArray[np.int64], longdoc: LongDoc, frame: Frame, *, padded_to: int | None = None
) -> npt.NDArray[np.int64]:
    """How many tokens pass through the model for each document alone, shape (documents,).

    With windows, overlaps count each time and special tokens too. A model that pads whatever it reads to whole multiples of
    `padded_to` tokens, as `encoders.padded_to` says, computes the padding as well. `read_tokens`, shape (documents,), are those
    that are read of each document, special tokens included.
    """
    window, overlap, block = longdoc.window_tokens, longdoc.overlap_tokens, padded_to or 1
    if window is None or overlap is None:
        return read_tokens if padded_to is None else -(-read_tokens // block) * block
    n_special = len(frame.prefix) + len(frame.suffix)
    content, room = np.maximum(read_tokens - n_special, 0), window - n_special
    further = -(-np.maximum(content - room, 0) // (room - overlap))
    last = content - further * (room - overlap) + n_special
    total: npt.NDArray[np.int64] = further * (-(-window // block) * block) + -(-last // block) * block
    return total


def at_once(window_tokens: int) -> int:
    """How many windows of so many tokens a model reads at once."""
    return max(1, min(CHUNK_WINDOWS, CHUNK_TOKENS // window_tokens))


def spread(document: torch.Tensor, most: int) -> torch.Tensor:
    """At most `most` rows of `document` (windows,), drawn at random: one of each document first, then a second of each, and so on."""
    drawn = torch.randperm(len(document))
    together = drawn[document[drawn].argsort(stable=True)]
    counts = torch.bincount(document)
    turn = torch.empty_like(drawn)
    turn[together] = torch.arange(len(document)) - (counts.cumsum(0) - counts)[document[together]]
    return drawn[turn[drawn].argsort(stable=True)][:most]


def reader_of(longdoc: LongDoc | None, *, width: int, frame: Frame | None) -> "WindowReader | None":
    """What reads documents by windows where `longdoc` says so; None for every other reading. Raises NotApplicable as WindowReader."""
    if longdoc is None or longdoc.strategy != "windows":
        return None
    assert frame is not None, "windows are cut between a tokeniser's special tokens"
    return WindowReader(longdoc, width=width, frame=frame)


class WindowReader(nn.Module):
    """From whole documents to their answers, by the states that a model gives their windows.

    Pooled by a mean or a maximum of logits or of states, by attention (Yang et al., 2016), by the last state of an LSTM over
    windows (RoBERT) or by the mean of what a transformer over windows makes of them (ToBERT; both Pappagari et al., 2019).
    """

    def __init__(self, longdoc: LongDoc, *, width: int, frame: Frame) -> None:
        """`width` is that of a window's state. Raises NotApplicable where special tokens and overlap leave a window nothing new."""
        super().__init__()
        assert longdoc.window_tokens is not None, "LongDoc refuses windows without it, and without what follows"
        assert longdoc.overlap_tokens is not None
        assert longdoc.pool is not None
        assert longdoc.trained_windows is not None
        self.window_tokens, self.overlap_tokens = longdoc.window_tokens, longdoc.overlap_tokens
        self.pool, self.trained_windows = longdoc.pool, longdoc.trained_windows
        self.step_rows: tuple[int, int] | None = None
        self.prefix, self.suffix, self.pad_id = tuple(frame.prefix), tuple(frame.suffix), frame.pad_id
        n_special = len(self.prefix) + len(self.suffix)
        if self.window_tokens - n_special <= self.overlap_tokens:
            raise NotApplicable(
                f"longdoc.overlap_tokens={self.overlap_tokens} leaves a window of longdoc.window_tokens={self.window_tokens} nothing new "
                f"to read beside {n_special} special tokens: set it below {self.window_tokens - n_special}"
            )
        self.attention = AttentionPooling(width) if self.pool == "attention" else None
        self.lstm = nn.LSTM(width, width, batch_first=True) if self.pool == "lstm" else None
        self.transformer: TransformerEncoder | None = None
        if self.pool == "transformer":
            heads = math.gcd(width, HEADS)
            self.transformer = TransformerEncoder(
                width=width, layers=LAYERS, heads=heads, feed_forward=4 * width, positions="sinusoidal", norm="before"
            )

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor, *, features: Features, head: Head) -> torch.Tensor:
        """Logits (documents, classes) of whole documents: `ids` (documents, longest) with `lengths` (documents,).

        While training, a gradient flows through at most `longdoc.trained_windows` windows of the batch, drawn at random.
        """
        if self.pool in ("mean_logits", "max_logits"):
            windows = self._cut(ids, lengths)
            order, states = self._read(windows, features)
            answers, mask = _side_by_side(head(states).float(), windows, order)
            return over_time(answers, mask, how="mean" if self.pool == "mean_logits" else "max")
        return head(self.embeddings(ids, lengths, features=features))

    def embeddings(self, ids: torch.Tensor, lengths: torch.Tensor, *, features: Features) -> torch.Tensor:
        """One state a document, (documents, width), for pools of states."""
        windows = self._cut(ids, lengths)
        order, found = self._read(windows, features)
        states, mask = _side_by_side(found, windows, order)  # (documents, most windows, width)
        if self.attention is not None:
            attended: torch.Tensor = self.attention(states, mask)
            return attended
        if self.lstm is not None:
            return over_time(self.lstm(states)[0], mask, how="last")
        if self.transformer is not None:
            return over_time(self.transformer(states, ~mask), mask, how="mean")
        return over_time(states, mask, how="mean" if self.pool == "mean_embeddings" else "max")

    def _cut(self, ids: torch.Tensor, lengths: torch.Tensor) -> Windows:
        return cut(
            ids,
            lengths,
            prefix=self.prefix,
            suffix=self.suffix,
            window_tokens=self.window_tokens,
            overlap_tokens=self.overlap_tokens,
            pad_id=self.pad_id,
        )

    def _read(self, windows: Windows, features: Features) -> tuple[torch.Tensor, torch.Tensor]:
        """In which order windows were read, (windows,), and the state of each in float32, (windows, width)."""
        every = torch.arange(len(windows.lengths))
        learning = self.training and torch.is_grad_enabled()
        rows, of = self.step_rows or (1, 1)
        most = -(-self.trained_windows * rows // of)
        trained = spread(windows.document, most) if learning and len(every) > most else every
        left_out = torch.ones_like(every, dtype=torch.bool)
        left_out[trained] = False
        # The trained ones come first: autocast keeps the weights that it cast, and those it casts without a gradient have none.
        parts = list(_chunks(windows, trained, features))
        with torch.no_grad():
            parts += _chunks(windows, every[left_out], features)
        return torch.cat([order for order, _ in parts]), torch.cat([states for _, states in parts])


@contextlib.contextmanager
def part_of_step(module: nn.Module, *, rows: int, of: int) -> Iterator[None]:
    """While entered, what `module` reads are `rows` rows `of` those of a step, with their share of its trained windows."""
    readers = [part for part in module.modules() if isinstance(part, WindowReader)]
    for reader in readers:
        reader.step_rows = (rows, of)
    try:
        yield
    finally:
        for reader in readers:
            reader.step_rows = None


def _chunks(windows: Windows, rows: torch.Tensor, features: Features) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Some of `rows` at a time, longest first, and their states in float32."""
    ordered = rows[windows.lengths[rows].argsort(descending=True, stable=True)]
    for chunk in torch.split(ordered, at_once(max(1, int(windows.lengths.max())))):
        if len(chunk):
            lengths = windows.lengths[chunk]
            ids = windows.ids[chunk.to(windows.ids.device), : max(1, int(lengths.max()))]
            yield chunk, features(ids, lengths).float()


def _side_by_side(values: torch.Tensor, windows: Windows, order: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """`values` (windows, width), which stand in `order`, as (documents, most windows, width); and the mask, True at windows."""
    counts = torch.bincount(windows.document)
    placed = values.new_zeros((len(counts), int(counts.max()), values.shape[1]))
    placed[windows.document[order].to(values.device), windows.number[order].to(values.device)] = values
    return placed, mask_of(counts, placed)
