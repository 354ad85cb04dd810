"""LongDoc: how a document longer than the model's window is read.

`spec` passes the names on, so the rest of the code says `spec.LongDoc`.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from bakeoff.identity import hashed, neutral

Strategy = Literal["full", "head", "tail", "head_tail", "middle", "select", "windows", "extended"]
Pool = Literal["mean_logits", "max_logits", "mean_embeddings", "max_embeddings", "attention", "lstm", "transformer"]

CUTS = ("head", "tail", "head_tail", "middle", "select")
"""The strategies that leave tokens out before a model reads."""
_OWN = {
    "head_share": ("head_tail",),
    "rank": ("select",),
    "window_tokens": ("windows",),
    "overlap_tokens": ("windows",),
    "pool": ("windows",),
    "trained_windows": ("windows",),
    "attention_window": ("extended",),
}
"""Field → the strategies to which it means something, and which then need it."""


@dataclass(frozen=True, kw_only=True)
class LongDoc:
    """How a document longer than the model's window is read, and how many tokens of it at most."""

    recipe: ClassVar[int] = 1
    strategy: Strategy = hashed()
    max_tokens: int | None = hashed()
    """Tokens read a document, the model's special tokens included; null is no limit. With windows it counts the document's
    own tokens once, however often they are read."""
    head_share: float | None = neutral(None)
    """Of `head_tail`: the share of the tokens that come from the start."""
    rank: Literal["tfidf", "textrank"] | None = neutral(None)
    """Of `select`: what ranks the sentences."""
    window_tokens: int | None = neutral(None)
    """Of `windows`: tokens a window, the model's special tokens included."""
    overlap_tokens: int | None = neutral(None)
    """Of `windows`: tokens that a window shares with the one before it."""
    pool: Pool | None = neutral(None)
    """Of `windows`: how the windows of a document become one answer."""
    trained_windows: int | None = neutral(None)
    """Of `windows`: the most windows a step through which a gradient flows; the others are read without one."""
    attention_window: int | None = neutral(None)
    """Of `extended`: tokens that each token attends to, half of them on either side; the first token attends to all."""

    def __post_init__(self) -> None:
        for name, strategies in _OWN.items():
            given, means = getattr(self, name), self.strategy in strategies
            if means and given is None:
                raise ValueError(f"longdoc.{name} is missing: longdoc={self.strategy} needs it")
            if given is not None and not means:
                raise ValueError(f"longdoc.{name}={given} means nothing to longdoc={self.strategy}: it is for {strategies[0]}")
        if self.strategy == "full" and self.max_tokens is not None:
            raise ValueError(f"longdoc.max_tokens={self.max_tokens} needs longdoc=head: full reads the whole document")
        if self.strategy in (*CUTS, "extended") and self.max_tokens is None:
            raise ValueError(f"longdoc.max_tokens is missing: longdoc={self.strategy} needs it")
        if self.max_tokens is not None and self.max_tokens < 3:
            raise ValueError(f"longdoc.max_tokens={self.max_tokens} should be at least 3 (one token between two special ones)")
        if self.head_share is not None and not 0 < self.head_share < 1:
            raise ValueError(f"longdoc.head_share={self.head_share} should be between 0 and 1: use longdoc=head or longdoc=tail")
        if self.window_tokens is not None and self.overlap_tokens is not None:
            if self.window_tokens < 3:
                raise ValueError(f"longdoc.window_tokens={self.window_tokens} should be at least 3 (one token between two special ones)")
            if not 0 <= self.overlap_tokens < self.window_tokens - 2:
                raise ValueError(
                    f"longdoc.overlap_tokens={self.overlap_tokens} should be from 0 to {self.window_tokens - 3}, so that each window of "
                    f"longdoc.window_tokens={self.window_tokens} reads on beside two special tokens"
                )
        if self.trained_windows is not None and self.trained_windows < 1:
            raise ValueError(f"longdoc.trained_windows={self.trained_windows} should be at least 1")
        if self.attention_window is not None and (self.attention_window < 2 or self.attention_window % 2):
            raise ValueError(f"longdoc.attention_window={self.attention_window} should be an even number of at least 2")

    @property
    def label(self) -> str:
        """Short name for tables: `full`, `head-256`, `windows-256-64 mean_logits`."""
        if self.strategy == "windows":
            most = "" if self.max_tokens is None else f" of {self.max_tokens}"
            return f"windows-{self.window_tokens}-{self.overlap_tokens} {self.pool}{most}"
        own = {"select": self.rank, "extended": self.attention_window}.get(self.strategy)
        words = [self.strategy, *([] if own is None else [str(own)]), *([] if self.max_tokens is None else [str(self.max_tokens)])]
        if self.head_share not in (None, 0.5):
            words.append(f"{self.head_share:g}")
        return "-".join(words)
