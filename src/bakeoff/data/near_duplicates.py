"""Near-duplicates: texts whose word sets have a Jaccard similarity of at least 0.8, found exactly.

All-pairs similarity by prefix, length and positional filters: Xiao, Wang, Lin, Yu, "Efficient Similarity
Joins for Near Duplicate Detection" (WWW 2008). The threshold is 4/5, so every bound is whole-number arithmetic.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

_URL = re.compile(r"(?:\b[a-z][a-z0-9+.-]{1,10}://|\bwww\.)\S+")
# Bounded repeats: an unbounded one is quadratic on a long run of letters without @.
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"\w+")


def mask(text: str) -> str:
    """A text case-folded, each address replaced by `url` or `email`, each run of digits by `0`, white space squeezed."""
    text = text.casefold()
    if "://" in text or "www." in text:
        text = _URL.sub("url", text)
    if "@" in text:
        text = _EMAIL.sub("email", text)
    return " ".join(_DIGITS.sub("0", text).split())


@dataclass(frozen=True, kw_only=True)
class NearDuplicates:
    """Which texts are near-duplicates of which.

    `bags` maps each text to its bag: texts with the same set of words share one (texts without a word only with
    their equals). `pairs` are the pairs of different bags that are near-duplicates, shape (n, 2).
    """

    bags: np.ndarray
    pairs: np.ndarray

    def clusters(self) -> np.ndarray:
        """Connected components: an int64 for each text, numbered by first appearance."""
        component = components(int(self.bags.max(initial=-1)) + 1, self.pairs)
        return by_first_appearance(component[self.bags].tolist())

    def touches(self, marked: np.ndarray) -> np.ndarray:
        """Which texts are equal to, or near-duplicates of, a text in the bool mask `marked` (those in it included)."""
        own = np.zeros(int(self.bags.max(initial=-1)) + 1, dtype=bool)
        own[self.bags[marked]] = True
        near = own.copy()
        near[self.pairs[own[self.pairs[:, 1]], 0]] = True
        near[self.pairs[own[self.pairs[:, 0]], 1]] = True
        return np.asarray(near[self.bags])


def find(masked: Sequence[str]) -> NearDuplicates:
    """The near-duplicates among masked texts."""
    known: dict[object, int] = {}
    words_of_bag: list[frozenset[str]] = []
    bags = np.empty(len(masked), dtype=np.int64)
    by_text: dict[str, int] = {}
    for i, text in enumerate(masked):
        bag = by_text.get(text)
        if bag is None:
            words = frozenset(_WORD.findall(text))
            bag = known.setdefault(words or text, len(words_of_bag))
            if bag == len(words_of_bag):
                words_of_bag.append(words)
            by_text[text] = bag
        bags[i] = bag
    pairs = np.fromiter((bag for pair in _similar(words_of_bag) for bag in pair), dtype=np.int64).reshape(-1, 2)
    return NearDuplicates(bags=bags, pairs=pairs)


def clusters(masked: Sequence[str]) -> np.ndarray:
    """A cluster number (int64) for each masked text; near-duplicates share one, and so do their near-duplicates."""
    return find(masked).clusters()


def components(count: int, pairs: np.ndarray) -> np.ndarray:
    """The smallest node (int64, shape (count,)) of each node's connected component; `pairs` are edges, shape (n, 2)."""
    smallest = np.arange(count, dtype=np.int64)
    while True:
        lower = smallest.copy()
        np.minimum.at(lower, pairs[:, 0], smallest[pairs[:, 1]])
        np.minimum.at(lower, pairs[:, 1], smallest[pairs[:, 0]])
        lower = lower[lower]  # jump along chains, so that long ones take few rounds
        if np.array_equal(lower, smallest):
            return smallest
        smallest = lower


def by_first_appearance(values: Iterable[object]) -> np.ndarray:
    """Numbers from 0 (int64) for values, in the order in which they first appear."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def _similar(bags: list[frozenset[str]]) -> Iterator[tuple[int, int]]:
    """Pairs of different non-empty word sets with 5·|a∩b| ≥ 4·|a∪b|."""
    counts = Counter(word for words in bags for word in words)
    rank = {word: i for i, (word, _) in enumerate(sorted(counts.items(), key=lambda item: (item[1], item[0])))}
    documents = sorted((sorted(rank[word] for word in words), i) for i, words in enumerate(bags) if words)
    documents.sort(key=lambda document: len(document[0]))
    word_sets = [frozenset(words) for words, _ in documents]
    postings: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for x, (words, bag) in enumerate(documents):
        size = len(words)
        shortest = -(-4 * size // 5)
        seen: set[int] = set()
        for i in range(size - shortest + 1):
            for y, j in postings.get(words[i], ()):
                other = len(word_sets[y])
                if other < shortest or y in seen:
                    continue
                seen.add(y)
                needed = -(-4 * (size + other) // 9)
                if min(size - i, other - j) >= needed and len(word_sets[x] & word_sets[y]) >= needed:
                    yield bag, documents[y][1]
        for i in range(size - -(-8 * size // 9) + 1):
            postings[words[i]].append((x, i))
