"""Documents of given lengths, made of the dataset's own words, for latency against length; and how much of them is timed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bakeoff.data.tokens import Document
from bakeoff.errors import NotApplicable
from bakeoff.probes.rules import Rules

LENGTHS_TOKENS = tuple(2**power for power in range(3, 13))
"""8 to 4,096, special tokens included."""
LONG_LENGTHS_TOKENS = tuple(2**power for power in range(9, 16))
"""512 to 32,768."""
GRID_SAMPLES = 100
"""Calls a length, of which only the median is asked."""
LONG_GRID_SAMPLES = 20
LONG_GRID_LEAST_SAMPLES = 5
"""Of lengths=long_grid, whose longest documents take seconds a call: the most calls a length, and those taken however long."""
_WORDS = 500


def lengths_of(lengths: str) -> tuple[int, ...]:
    """The lengths in tokens that a setting of `probe.lengths` generates; none for the dataset's own."""
    return {"grid": LENGTHS_TOKENS, "long_grid": LONG_LENGTHS_TOKENS}.get(lengths, ())


def grid_rules(rules: Rules, lengths: str = "grid") -> Rules:
    """What is enough for one length of a grid."""
    if lengths == "long_grid":
        least = min(LONG_GRID_LEAST_SAMPLES, rules.samples_p95)
        samples = min(LONG_GRID_SAMPLES, rules.samples_p95)
        return replace(
            rules,
            untimed_calls=1,
            staged=False,
            least_calls=1,
            least_rounds=least,
            samples_p50=least,
            samples_p95=samples,
            samples_p99=samples,
            samples_anyhow=least,
            seconds_per_model=rules.seconds_per_model / len(LONG_LENGTHS_TOKENS),
        )
    samples = min(GRID_SAMPLES, rules.samples_p95)
    return replace(
        rules,
        least_rounds=min(20, rules.least_rounds),
        samples_p95=samples,
        samples_p99=samples,
        seconds_per_model=rules.seconds_per_model / len(LENGTHS_TOKENS),
    )


def documents_of(
    tokens: int, count: int, texts: Sequence[Document], lengths_tokens: Callable[[Sequence[Document]], npt.NDArray[Any]]
) -> list[Document]:
    """`count` texts of exactly `tokens` tokens each, of words of `texts` that are one token to this model.

    `lengths_tokens` gives the lengths of texts, special tokens included. Raises NotApplicable where no word is one token,
    or where a text of such words has another length than the sum of its words.
    """
    plain = (text if isinstance(text, str) else " ".join(text) for text in texts)
    words = sorted({word for text in plain for word in text.split() if word.isascii() and word.isalpha()})
    rng = np.random.default_rng(tokens)
    words = [words[i] for i in rng.permutation(len(words))[: 4 * _WORDS]]
    lengths = np.asarray(lengths_tokens(words)) if words else np.empty(0, dtype=np.int64)
    doubled = np.asarray(lengths_tokens([f"{word} {word}" for word in words])) if words else lengths
    whole = [word for word, once, twice in zip(words, lengths, doubled, strict=True) if twice - once == 1][:_WORDS]
    if not whole:
        raise NotApplicable("probe.lengths=grid needs words that are one token each, and this dataset has none for this model")
    n_special = int(np.asarray(lengths_tokens(whole[:1]))[0]) - 1
    if tokens <= n_special:
        raise NotApplicable(f"{tokens} tokens leave no room for a word beside {n_special} special tokens")
    made: list[Document] = [" ".join(whole[i] for i in rng.integers(len(whole), size=tokens - n_special)) for _ in range(count)]
    if (np.asarray(lengths_tokens(made)) != tokens).any():
        raise NotApplicable(f"no text of {tokens} tokens could be made of this dataset's words")
    return made
