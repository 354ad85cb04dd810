"""Text from strangers made plain: on one line, and without characters that reorder or hide what stands beside them."""

import re

# Control characters; marks, embeddings, overrides and isolates of writing direction; zero-width and interlinear characters.
_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
_SURROGATES = re.compile(r"[\ud800-\udfff\ufffe\uffff]")


def visible(text: str) -> str:
    """The text with each unseen character written out: `\\u202e`. Line ends and tabs stay."""
    return _SURROGATES.sub(_written, _UNSEEN.sub(_written, text))


def one_line(text: object) -> str:
    """Visible, with single blanks for all white space."""
    return visible(" ".join(str(text).split()))


def _written(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
