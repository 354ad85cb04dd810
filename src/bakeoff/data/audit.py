"""What is wrong with a dataset, told before a label or a GPU-hour is spent. Messages never quote a document."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from bakeoff.data import text_signs
from bakeoff.data.dataset import Prepared
from bakeoff.data.text_signs import Tokenised

MIN_CLASS_ROWS = 10
"""Fewer pool rows are too few to learn a class, fewer test rows too few to judge it."""
MAX_CLASS_RATIO = 3
PERCENTILES = {"p50": 50, "p90": 90, "p95": 95, "p99": 99, "max": 100}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One sign of trouble; `count` is rows, classes for `small_class` and `small_test_class`, texts for `conflicting_labels`."""

    code: str
    count: int
    message: str


@dataclass(frozen=True, kw_only=True)
class ClassBalance:
    """How many rows one class has."""

    name: str
    pool: int
    test: int


@dataclass(frozen=True, kw_only=True)
class Overview:
    """A dataset at a glance."""

    n_pool: int
    n_test: int
    primary_metric: Literal["accuracy", "macro_f1"]
    classes: tuple[ClassBalance, ...]
    length_tokens: dict[str, float] | None
    """Percentiles of document lengths in a model's own tokens; null where nothing was tokenised."""
    max_tokens: int | None
    truncated_fraction: float | None
    """Share of documents longer than `max_tokens`; null where nothing was tokenised."""
    findings: tuple[Finding, ...]


def audit(
    prepared: Prepared, *, lengths: np.ndarray | None = None, max_tokens: int | None = None, tokenised: Tokenised | None = None
) -> tuple[Finding, ...]:
    """Every finding about a dataset, the rows left out of its pool included.

    `lengths` are tokens a document, shape (n,), against a limit of `max_tokens`; `tokenised` is how a checkpoint reads some rows.
    """
    whole = [text for part in (prepared.pool, prepared.test, prepared.dropped) for text in part.whole_texts]
    signs = itertools.chain(_signs(prepared, whole, lengths, max_tokens), text_signs.signs(whole, tokenised))
    beside_the_point = text_signs.OF_PREPARING if prepared.generated else frozenset()
    return tuple(
        Finding(code=code, count=int(count), message=message)
        for code, count, message in signs
        if count > 0 and code not in beside_the_point
    )


def overview(
    prepared: Prepared, *, lengths: np.ndarray | None = None, max_tokens: int | None = None, tokenised: Tokenised | None = None
) -> Overview:
    """Class balance, lengths and findings; the arguments are those of `audit`."""
    pool, test = _class_sizes(prepared)
    return Overview(
        n_pool=len(prepared.pool),
        n_test=len(prepared.test),
        primary_metric=prepared.primary_metric,
        classes=tuple(
            ClassBalance(name=name, pool=a, test=b) for name, a, b in zip(prepared.classes, pool.tolist(), test.tolist(), strict=True)
        ),
        length_tokens=None if lengths is None else length_percentiles(lengths),
        max_tokens=max_tokens,
        truncated_fraction=None if lengths is None else truncated_fraction(lengths, max_tokens),
        findings=audit(prepared, lengths=lengths, max_tokens=max_tokens, tokenised=tokenised),
    )


def length_percentiles(lengths: np.ndarray) -> dict[str, float]:
    """p50, p90, p95, p99 and max of `lengths`, shape (n,): the smallest length that so many per cent do not exceed."""
    if len(lengths) == 0:
        return {}
    return {name: float(np.percentile(lengths, percent, method="inverted_cdf")) for name, percent in PERCENTILES.items()}


def truncated_fraction(lengths: np.ndarray, max_tokens: int | None) -> float:
    """Share of `lengths`, shape (n,), above `max_tokens`; 0 without a limit."""
    return 0.0 if max_tokens is None or len(lengths) == 0 else float(np.mean(np.asarray(lengths) > max_tokens))


def as_plain(overview: Overview) -> dict[str, Any]:
    """An overview as plain JSON values."""
    return asdict(overview)


def render(overview: Overview) -> str:
    """An overview as plain text: a table of classes, lengths, then one finding a line."""
    width = max(len("class"), *(len(one.name) for one in overview.classes))
    lines = [f"{overview.n_pool:,} rows to train on, {overview.n_test:,} to test; metric {overview.primary_metric}"]
    lines += ["", f"{'class':<{width}}  {'pool':>7}  {'share':>6}  {'test':>7}  {'share':>6}"]
    for one in overview.classes:
        shares = one.pool / max(1, overview.n_pool), one.test / max(1, overview.n_test)
        lines.append(f"{one.name:<{width}}  {one.pool:>7,}  {shares[0]:>6.1%}  {one.test:>7,}  {shares[1]:>6.1%}")
    if overview.length_tokens:
        lines += ["", "length in tokens: " + ", ".join(f"{name} {value:,.0f}" for name, value in overview.length_tokens.items())]
        if overview.max_tokens is not None:
            lines.append(f"longer than {overview.max_tokens:,} tokens: {overview.truncated_fraction:.1%}")
    lines += ["", "findings:" if overview.findings else "findings: none"]
    lines += [f"  {finding.code}: {finding.message}" for finding in overview.findings]
    return "\n".join(lines) + "\n"


def _signs(prepared: Prepared, whole: Sequence[str], lengths: np.ndarray | None, max_tokens: int | None) -> Iterator[tuple[str, int, str]]:
    """Code, count and message of everything looked for, counts of 0 included; `whole` are the texts of pool, test and dropped rows."""
    parts = (prepared.pool, prepared.test, prepared.dropped)
    texts = [" ".join(text.casefold().split()) for text in whole]
    labels = np.concatenate([part.labels for part in parts])
    clusters = np.concatenate([part.clusters for part in parts])
    pool, test = _class_sizes(prepared)

    empty = texts.count("")
    yield "empty_texts", empty, f"{_rows(empty)} without a text (or with white space only)"

    exact = len(texts) - len(set(texts))
    yield "exact_duplicates", exact, f"{_rows(exact)} repeat the text of another row (case and white space aside)"

    near = len(texts) - len(np.unique(clusters)) - exact
    yield "near_duplicates", near, f"{_rows(near)} more repeat another row almost word for word (word Jaccard of at least 0.8)"

    classes_of: defaultdict[str, set[int]] = defaultdict(set)
    for text, label in zip(texts, labels.tolist(), strict=True):
        classes_of[text].add(label)
    conflicting = sum(len(found) > 1 for found in classes_of.values())
    rows = sum(count for text, count in Counter(texts).items() if len(classes_of[text]) > 1)
    yield (
        "conflicting_labels",
        conflicting,
        f"{conflicting:,} texts stand under two or more labels ({_rows(rows)}), so no classifier is right on all",
    )

    alone = np.flatnonzero(np.bincount(labels, minlength=len(prepared.classes)) == 1)
    yield (
        "single_row_class",
        len(alone),
        f"{_listed(prepared, alone)} one row, which is learned from or tested, never both: label more, or merge it with another class",
    )

    small = np.flatnonzero(pool < MIN_CLASS_ROWS)
    yield "small_class", len(small), f"{_classes(prepared, small, pool)} under {MIN_CLASS_ROWS} rows to learn from"

    untested = np.flatnonzero(test < MIN_CLASS_ROWS)
    yield "small_test_class", len(untested), f"{_classes(prepared, untested, test)} under {MIN_CLASS_ROWS} test rows, too few to judge"

    imbalanced = int(pool.max()) if pool.max() > MAX_CLASS_RATIO * pool.min() else 0
    smallest, largest = (f"{prepared.classes[i]} with {pool[i]:,}" for i in (int(pool.argmin()), int(pool.argmax())))
    yield "imbalance", imbalanced, f"classes differ in size ({smallest} rows, {largest}), so accuracy alone flatters"

    contaminated = int(prepared.contaminated.sum())
    yield (
        "contaminated_test",
        contaminated,
        f"{contaminated:,} test rows have a near-duplicate (or their group) in the pool; quality is also reported without them",
    )

    why = "near-duplicates of test rows" + (", or of their group" if prepared.newest_from and prepared.pool.groups else "")
    yield "left_out", prepared.left_out, f"{_rows(prepared.left_out)} left out of the pool as {why}"

    if lengths is not None and max_tokens is not None:
        truncated = int(np.sum(np.asarray(lengths) > max_tokens))
        share = truncated_fraction(lengths, max_tokens)
        yield "truncated", truncated, f"{truncated:,} of {len(lengths):,} documents ({share:.1%}) are longer than {max_tokens:,} tokens"


def _class_sizes(prepared: Prepared) -> tuple[np.ndarray, np.ndarray]:
    count = len(prepared.classes)
    return np.bincount(prepared.pool.labels, minlength=count), np.bincount(prepared.test.labels, minlength=count)


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"


def _classes(prepared: Prepared, which: np.ndarray, sizes: np.ndarray) -> str:
    smallest = sorted(which.tolist(), key=lambda i: (sizes[i], i))[:3]
    shown = ", ".join(f"{prepared.classes[i]} with {sizes[i]}" for i in smallest)
    return f"{len(which)} classes ({shown}{', …' if len(which) > 3 else ''}) have"


def _listed(prepared: Prepared, which: np.ndarray) -> str:
    """`the class x has`, `2 classes (x, y) have`, at most three by name."""
    names = [prepared.classes[i] for i in which[:3]]
    if len(which) == 1:
        return f"the class {names[0]} has"
    return f"{len(which)} classes ({', '.join(names)}{', …' if len(which) > 3 else ''}) have"
