"""How a document longer than the model's window is read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bakeoff.data.tokens import Ids, Tokeniser
from bakeoff.spec import LongDoc


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Documents as a model reads them: ids with special tokens, and what was there to read."""

    ids: list[Ids]
    """One array of shape (tokens read,) a document."""
    lengths_tokens: npt.NDArray[np.int64]
    """Shape (documents,): whole lengths, special tokens included."""

    @property
    def truncated(self) -> npt.NDArray[np.bool_]:
        """Shape (documents,): whether tokens were left out."""
        return np.asarray([len(ids) for ids in self.ids]) < self.lengths_tokens


def read(texts: Sequence[str], tokeniser: Tokeniser, longdoc: LongDoc) -> Reading:
    """Tokenise raw texts and keep what the strategy reads; `longdoc.max_tokens` counts special tokens."""
    return frame(tokeniser.encode(texts), tokeniser, longdoc)


def frame(content: Sequence[Ids], tokeniser: Tokeniser, longdoc: LongDoc) -> Reading:
    """What the strategy reads of tokenised documents, between the special tokens that their tokeniser sets around them."""
    prefix = np.asarray(tokeniser.prefix, dtype=np.int32)
    suffix = np.asarray(tokeniser.suffix, dtype=np.int32)
    n_special = len(prefix) + len(suffix)
    room = None if longdoc.max_tokens is None else longdoc.max_tokens - n_special
    kept = [np.concatenate([prefix, ids[:room], suffix]) for ids in content]
    return Reading(ids=kept, lengths_tokens=np.asarray([len(ids) + n_special for ids in content], dtype=np.int64))
