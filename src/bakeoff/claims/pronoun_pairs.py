"""Sentences in which *it* means one noun or the other, as a later adjective has it; each adjective has a stand-in of like meaning."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PronounPair:
    """A sentence of two nouns that ends in an adjective."""

    stem: str
    """With `{first}` and `{second}`; the adjective and a full stop follow."""
    first: str
    second: str
    for_first: tuple[str, str]
    """Two adjectives that make *it* the first noun; one for the other is a neutral swap."""
    for_second: tuple[str, str]

    def sentence(self, adjective: str) -> str:
        """The sentence with this adjective."""
        return f"{self.stem.format(first=self.first, second=self.second)} {adjective}."


def _pair(stem: str, first: str, second: str, for_first: tuple[str, str], for_second: tuple[str, str]) -> PronounPair:
    whole = f"The {{first}} {stem} the {{second}} because it was too"
    return PronounPair(stem=whole, first=first, second=second, for_first=for_first, for_second=for_second)


ARTICLE = _pair("did not cross", "animal", "street", ("tired", "weak"), ("wide", "busy"))
"""The article's own, as illustration; it selects nothing and tests nothing."""

PAIRS = (
    _pair("did not fit into", "trophy", "suitcase", ("big", "tall"), ("small", "narrow")),
    _pair("did not catch", "cat", "bird", ("slow", "lazy"), ("fast", "quick")),
    _pair("could not chew", "dog", "bone", ("old", "weak"), ("hard", "thick")),
    _pair("did not jump over", "horse", "fence", ("tired", "scared"), ("high", "tall")),
    _pair("could not pass under", "boat", "bridge", ("tall", "big"), ("low", "narrow")),
    _pair("could not enter", "truck", "tunnel", ("large", "wide"), ("low", "narrow")),
    _pair("could not lift", "robot", "box", ("weak", "old"), ("heavy", "large")),
    _pair("left", "bird", "nest", ("hungry", "bored"), ("crowded", "dirty")),
    _pair("did not cross", "wolf", "river", ("tired", "scared"), ("deep", "wide")),
    _pair("did not reach", "fox", "fruit", ("short", "weak"), ("high", "distant")),
    _pair("did not eat", "cow", "grass", ("sick", "sleepy"), ("dry", "tough")),
    _pair("did not enter", "mouse", "hole", ("fat", "scared"), ("narrow", "dark")),
    _pair("did not climb", "bear", "tree", ("fat", "lazy"), ("tall", "thin")),
    _pair("could not enter", "ship", "harbor", ("big", "large"), ("shallow", "crowded")),
    _pair("could not use", "car", "road", ("slow", "old"), ("steep", "rough")),
    _pair("did not attack", "lion", "elephant", ("tired", "weak"), ("strong", "large")),
    _pair("did not fill", "plant", "pot", ("young", "small"), ("large", "wide")),
    _pair("did not reach", "ladder", "roof", ("short", "small"), ("high", "steep")),
    _pair("did not fit into", "bed", "room", ("long", "wide"), ("small", "narrow")),
    _pair("did not hang on", "picture", "wall", ("heavy", "large"), ("weak", "rough")),
    _pair("could not cut", "knife", "bread", ("dull", "blunt"), ("hard", "dry")),
    _pair("did not fit into", "bottle", "bag", ("tall", "large"), ("small", "full")),
    _pair("avoided", "rabbit", "forest", ("scared", "weak"), ("dark", "dense")),
    _pair("did not swallow", "snake", "egg", ("young", "sick"), ("large", "hard")),
    _pair("did not climb", "goat", "hill", ("tired", "old"), ("steep", "high")),
    _pair("did not carry", "donkey", "load", ("weak", "stubborn"), ("heavy", "large")),
    _pair("could not land on", "plane", "runway", ("heavy", "fast"), ("short", "wet")),
    _pair("did not pass through", "ball", "window", ("big", "large"), ("small", "narrow")),
)
