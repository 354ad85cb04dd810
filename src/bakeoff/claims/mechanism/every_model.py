"""Every neural model of the product at toy size, each way that it pools or reads windows, for what must hold of all of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, get_args

import torch
from torch import nn

from bakeoff.claims.mechanism import toys
from bakeoff.models import encoders, sizes
from bakeoff.models.bilstm import BiLstmClassifier
from bakeoff.models.pretrained import FrozenClassifier, PretrainedClassifier
from bakeoff.models.scratch import ScratchClassifier
from bakeoff.models.zero_shot import EntailmentClassifier, OffTheShelfClassifier, SimilarityClassifier
from bakeoff.readings import Pool
from bakeoff.spec import EncoderSize, Frozen, LongDoc, Pretrained

FAMILIES = ("bert", "distilbert", "roberta", "modernbert", "big_bird", "longformer")
MOST_TOKENS = 512
CLASSES = 3
STIRRED = 0.1
"""Standard deviation of what is added to every weight, so that no number of a model is a special case and whatever leaks shows."""
PREFIX, SUFFIX = 3, 4
"""Tokens that frame every document; its words come behind them, from FIRST_WORD."""
FIRST_WORD = 5

_ENCODER_VOCABULARY = 100
"""Enough for the numbers that every family gives its special tokens."""
_POOLS = ("cls", "mean", "max")
_FEATURE_POOLS: tuple[Pool, ...] = ("mean_embeddings", "max_embeddings")
"""Of windows, those that need no training, which are left to a frozen encoder."""
_ENCODER: dict[str, Any] = {
    "name": "encoder",
    "default_longdoc": LongDoc(strategy="head", max_tokens=MOST_TOKENS),
    "checkpoint": "toy",
    "revision": None,
    "checkpoint_fingerprint": "architecture:toy",
    "precision": "float32",
}


@dataclass(frozen=True, kw_only=True)
class Framing:
    """What stands around a document, as a tokeniser says it."""

    pad_id: int = 0
    prefix: tuple[int, ...] = (PREFIX,)
    suffix: tuple[int, ...] = (SUFFIX,)


@dataclass(frozen=True, kw_only=True)
class Toy:
    """One model: a module (ids, lengths) → logits, in evaluation mode."""

    kind: str
    """As `spec` names it."""
    name: str
    module: nn.Module
    pad_id: int = 0


def every() -> Iterator[Toy]:
    """One after the other, each with its own weights, which are the same each time."""
    for kind, name, build, pad_id in _builders():
        with toys.seeded(0):
            module = build()
            with torch.no_grad():
                for parameter in module.parameters():
                    parameter.add_(STIRRED * torch.randn_like(parameter))
            if isinstance(module, SimilarityClassifier):
                module.describe(
                    torch.tensor([[PREFIX, word, SUFFIX] for word in range(FIRST_WORD, FIRST_WORD + CLASSES)]), torch.full((CLASSES,), 3)
                )
        yield Toy(kind=kind, name=name, module=module.eval(), pad_id=pad_id)


_Builder = tuple[str, str, Callable[[], nn.Module], int]


def _builders() -> Iterator[_Builder]:
    yield from _ours()
    for family in FAMILIES:
        for pool in _POOLS:
            yield "pretrained", f"{family}, {pool}", partial(_pretrained, family, pooling=pool), _pad_id(family)
    yield "pretrained", "bert, every second layer", partial(_pretrained, "bert", layers=4, keep_layers=(0, 2)), 0
    for family in ("bert", "roberta"):
        yield "pretrained", f"{family}, extended", partial(_pretrained, family, longdoc=_EXTENDED), _pad_id(family)
    for pool in _POOLS:
        yield "frozen", f"bert, {pool}", partial(_frozen, pooling=pool), 0
    for windowed in get_args(Pool):
        yield "pretrained", f"bert, windows {windowed}", partial(_pretrained, "bert", longdoc=_windows(windowed)), 0
    for windowed in _FEATURE_POOLS:
        yield "frozen", f"bert, windows {windowed}", partial(_frozen, longdoc=_windows(windowed)), 0
    yield "zero_shot", "similarity", _similarity, 0
    yield "zero_shot", "entailment", _entailment, 0
    yield "off_the_shelf", "bert", _off_the_shelf, 0


def _ours() -> Iterator[_Builder]:
    for pool, directions in product(("max", "mean", "last", "attention"), ("both", "forward")):
        yield "bilstm", f"{directions}, {pool}", partial(_bilstm, pooling=pool, directions=directions), 0
    for positions, norm in product(("none", "sinusoidal", "learned", "rotary"), ("before", "after")):
        yield "scratch", f"{positions}, norm {norm}", partial(_scratch, positions=positions, norm=norm), 0
    for pool in ("cls", "max", "last"):
        yield "scratch", f"rotary, {pool}", partial(_scratch, positions="rotary", pooling=pool), 0
    for pool in ("mean", "max", "last"):
        yield "scratch", f"decoder, {pool}", partial(_scratch, causal=True, pooling=pool), 0
    for pool in get_args(Pool):
        yield "bilstm", f"windows {pool}", partial(_bilstm, longdoc=_windows(pool)), 0
        yield "scratch", f"windows {pool}", partial(_scratch, longdoc=_windows(pool)), 0


def _windows(pool: Pool) -> LongDoc:
    return LongDoc(strategy="windows", max_tokens=None, window_tokens=64, overlap_tokens=8, pool=pool, trained_windows=8)


_EXTENDED = LongDoc(strategy="extended", max_tokens=2 * MOST_TOKENS, attention_window=64)


def _bilstm(*, longdoc: LongDoc | None = None, **changes: Any) -> nn.Module:
    spec = toys.bilstm(**changes)
    return BiLstmClassifier(spec, vocabulary_size=toys.VOCABULARY, n_classes=CLASSES, pad_id=0, longdoc=longdoc, frame=Framing())


def _scratch(*, longdoc: LongDoc | None = None, **changes: Any) -> nn.Module:
    spec = toys.scratch(**changes, max_positions=MOST_TOKENS if changes.get("positions") == "learned" else None)
    return ScratchClassifier(spec, vocabulary_size=toys.VOCABULARY, n_classes=CLASSES, pad_id=0, longdoc=longdoc, frame=Framing())


def _config(family: str, *, layers: int = 2) -> Any:
    numbers = {"width": 16, "heads": 2, "feed_forward": 32, "vocabulary": _ENCODER_VOCABULARY, "positions": MOST_TOKENS}
    return sizes.config_of(EncoderSize(family=family, layers=layers, **numbers))  # type: ignore[arg-type]


def _pad_id(family: str) -> int:
    return int(_config(family).pad_token_id or 0)


def _pretrained(family: str, *, layers: int = 2, longdoc: LongDoc | None = None, **changes: Any) -> nn.Module:
    spec = Pretrained(**(_ENCODER | {"pooling": "mean", "training": toys.scratch().training} | changes))
    frame = Framing(pad_id=_pad_id(family))
    return PretrainedClassifier(spec, config=_config(family, layers=layers), n_classes=CLASSES, longdoc=longdoc, frame=frame)


def _frozen(*, longdoc: LongDoc | None = None, **changes: Any) -> nn.Module:
    spec = Frozen(**(_ENCODER | {"pooling": "mean", "normalise": True, "c_grid": (1.0,), "cv_folds": 2} | changes))
    return FrozenClassifier(spec, config=_config("bert"), n_classes=CLASSES, longdoc=longdoc, frame=Framing())


def _similarity() -> nn.Module:
    return SimilarityClassifier(encoders.fresh(_config("bert")), n_classes=CLASSES)


def _entailment() -> nn.Module:
    tails = [(SUFFIX, *range(FIRST_WORD, FIRST_WORD + words), SUFFIX) for words in range(1, CLASSES + 1)]
    types = [(0, *[1] * (len(tail) - 1)) for tail in tails]
    return EntailmentClassifier(_judge(), entailment=0, tails=tails, types=types, suffix_tokens=1, max_tokens=None, pad_id=0)


def _off_the_shelf() -> nn.Module:
    return OffTheShelfClassifier(_judge(), outputs=tuple((label,) for label in range(CLASSES)))


def _judge() -> nn.Module:
    """A BERT with a classification head of its own labels, as a checkpoint brings it along."""
    from transformers import AutoModelForSequenceClassification

    config = _config("bert")
    config.num_labels = CLASSES
    return AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-any-return]
