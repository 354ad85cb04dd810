"""Hiding tokens for a model to guess: which ones, what stands in their place, and batches of both.

Masked language modelling as in Devlin et al. (2019), with new masks every time a document is seen (Liu et al., 2019).
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from bakeoff.data.batches import Batch, Documents
from bakeoff.data.tokens import EMPTY, PAD, UNKNOWN, CheckpointTokeniser, Ids, WordVocabulary
from bakeoff.errors import DataError

NOT_HIDDEN = -100
"""The target of a token that is not to be guessed."""
MASK_WORD = "[MASK]"
"""The last word of a vocabulary that can mask; no text holds it, since words are lower-cased and brackets are words of their own."""
MASKED, RANDOM = 0.8, 0.1
"""Shares of the hidden tokens that become the mask and another token; the rest stay as they are."""


@dataclass(frozen=True, kw_only=True)
class Hiding:
    """How tokens of one vocabulary are hidden."""

    fraction: float
    """Share of a document's ordinary tokens that are hidden."""
    mask_id: int
    special: npt.NDArray[np.bool_]
    """Shape (vocabulary,): the tokens that are never hidden and never stand in for another."""


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """Documents with hidden tokens. `ids` and `targets` have one shape; a target is the token that was hidden, else NOT_HIDDEN."""

    ids: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]


class MaskedDocuments(Documents):
    """Documents whose batches have hidden tokens, chosen anew each time, or once and for all if `fixed`.

    The labels of such a batch are its targets, shape (batch, longest).
    """

    def __init__(self, ids: Sequence[Ids], pad_id: int, hiding: Hiding, *, seed: int, fixed: bool) -> None:
        super().__init__(ids, np.zeros(len(ids), dtype=np.int64), pad_id)
        self.hiding, self.seed, self.fixed = hiding, seed, fixed
        self._random = np.random.default_rng(seed)

    def afresh(self) -> "MaskedDocuments":
        """The same documents, of which the same tokens will be hidden again."""
        return MaskedDocuments(self.ids, self.pad_id, self.hiding, seed=self.seed, fixed=self.fixed)

    def collate(self, rows: Sequence[int]) -> Batch:
        """Pad the documents of `rows` and hide some of their tokens."""
        batch = super().collate(rows)
        random = np.random.default_rng([self.seed, *rows]) if self.fixed else self._random
        hidden = hide(batch.ids.numpy(), batch.lengths.numpy(), self.hiding, random)
        return dataclasses.replace(batch, ids=torch.from_numpy(hidden.ids), labels=torch.from_numpy(hidden.targets))


def hide(ids: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], hiding: Hiding, random: np.random.Generator) -> Hidden:
    """Hide a share of the ordinary tokens of `ids` (documents, longest), of which `lengths` (documents,) are no padding.

    Of n ordinary tokens, n · fraction are hidden, rounded, and at least one where there is one. Each of them becomes the
    mask in 80% of cases and an ordinary token drawn evenly in 10%.
    """
    ordinary = (np.arange(ids.shape[1]) < lengths[:, None]) & ~hiding.special[ids]
    n_ordinary = ordinary.sum(axis=1, keepdims=True)
    n_hidden = np.where(n_ordinary, np.maximum(1, np.floor(n_ordinary * hiding.fraction + 0.5)), 0)
    keys = np.where(ordinary, random.random(ids.shape), np.inf)
    chosen = keys.argsort(axis=1).argsort(axis=1) < n_hidden  # the lowest keys of each document
    fate = random.random(ids.shape)
    stand_ins = np.flatnonzero(~hiding.special)[random.integers(int((~hiding.special).sum()), size=ids.shape)]
    replaced = np.where(fate < MASKED, hiding.mask_id, np.where(fate < MASKED + RANDOM, stand_ins, ids))
    return Hidden(ids=np.where(chosen, replaced, ids), targets=np.where(chosen, ids, NOT_HIDDEN))


def with_mask(vocabulary: WordVocabulary) -> WordVocabulary:
    """The vocabulary and a word for the mask, the last of its table."""
    return dataclasses.replace(vocabulary, words=(*vocabulary.words, MASK_WORD))


def hiding_of(tokeniser: CheckpointTokeniser | WordVocabulary, fraction: float) -> Hiding:
    """How tokens of this tokeniser are hidden. Raises DataError when it has no mask, or nothing that can be hidden."""
    if isinstance(tokeniser, WordVocabulary):
        size, mask_id, between = len(tokeniser), len(tokeniser) - 1, () if tokeniser.pair is None else tokeniser.pair.middle
        specials = [PAD, UNKNOWN, EMPTY, mask_id, *between]
        assert tokeniser.words[-1:] == (MASK_WORD,), "the vocabulary was made by with_mask"
    else:
        size, specials = len(tokeniser), list(tokeniser.special_ids)
        if tokeniser.mask_id is None:
            raise DataError("model.checkpoint has a tokeniser without a mask token, so nothing can be hidden: choose another checkpoint")
        mask_id = tokeniser.mask_id
    special = np.zeros(size, dtype=np.bool_)
    special[specials] = True
    if special.all():
        raise DataError("budget.labels and budget.unlabelled give no word to guess: give more text, or lower model.min_count")
    return Hiding(fraction=fraction, mask_id=mask_id, special=special)
