"""Typing errors: one keyboard edit in a share of a text's words, the same ones whenever the seed is the same."""

import random
import re

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_WORD = re.compile(r"[A-Za-z]{2,}")


def _neighbours() -> dict[str, str]:
    """Letter → the letters that touch its key; each row stands half a key to the right of the one above."""
    at = {letter: (row, column) for row, letters in enumerate(_ROWS) for column, letter in enumerate(letters)}
    touching = {(0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0)}
    return {
        letter: "".join(other for other, (r, c) in at.items() if (r - row, c - column) in touching) for letter, (row, column) in at.items()
    }


NEIGHBOURS = _neighbours()


def mistype(text: str, *, share: float, seed: int) -> str:
    """The text with a keyboard edit in about `share` of its words, each chosen with that probability.

    Words are runs of two or more letters. With one seed, the words that are edited at a share are edited alike at every
    larger one.
    """
    chance = random.Random(f"{seed}|{text}")

    def typed(found: re.Match[str]) -> str:
        drawn, own = chance.random(), random.Random(chance.random())
        return edit(found[0], own) if drawn < share else found[0]

    return _WORD.sub(typed, text)


def edit(word: str, chance: random.Random) -> str:
    """A word of letters with one of four slips: a neighbouring key, a letter left out, two swapped, or one typed twice."""
    slip = chance.choice(("neighbour", "drop", "swap", "double"))
    at = chance.randrange(len(word))
    if slip == "neighbour":
        key = chance.choice(NEIGHBOURS[word[at].lower()])
        return word[:at] + (key.upper() if word[at].isupper() else key) + word[at + 1 :]
    if slip == "drop":
        return word[:at] + word[at + 1 :]
    swappable = [i for i in range(len(word) - 1) if word[i] != word[i + 1]]
    if slip == "swap" and swappable:
        at = chance.choice(swappable)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[: at + 1] + word[at:]
