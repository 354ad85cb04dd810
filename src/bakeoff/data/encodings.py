"""Bytes to text: UTF-8 and UTF-16 are recognised, anything else must be named and is checked."""

import codecs
import difflib
import re
from encodings.aliases import aliases

from bakeoff.errors import DataError

_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NO_TEXT = ((b"PK\x03\x04", "a zip archive or a spreadsheet"), (b"\x1f\x8b", "compressed"), (b"PAR1", "Parquet"), (b"%PDF", "a PDF"))
# Western codecs decode any bytes, so the wrong one is silent; these are checked against what the bytes also are.
_WESTERN = ("cp1252", "iso8859-1", "iso8859-15", "mac-roman")
_C1 = re.compile("[\x80-\x9f]")


def decode(raw: bytes, *, encoding: str, name: str) -> str:
    """The text of a file's bytes, without a byte order mark.

    `encoding` is a codec name, or `auto` for UTF-8 and UTF-16 with or without a byte order mark.
    Raises DataError, with the likely encoding, for bytes that are not in `encoding`; `name` is what it calls the file.
    """
    for magic, what in _NO_TEXT:
        if raw.startswith(magic):
            advice = "let its name end in .parquet" if what == "Parquet" else "save it as CSV, TSV or JSON lines first"
            raise DataError(f"{name} is {what}, not text: {advice}")
    text = _decode_auto(raw, name) if encoding == "auto" else _decode_as(raw, encoding, name)
    return text.removeprefix("\ufeff")


def likely(raw: bytes) -> str:
    """The encoding that bytes are probably in; a hint for a person, never used to decode unasked."""
    marked = next((codec for bom, codec in _BOMS if raw.startswith(bom)), None)
    if marked or _decodes(raw, "utf-8"):
        return marked or "utf-8"
    if wide := _utf16_without_bom(raw):
        return wide
    in_runs = sum(map(len, re.findall(rb"[\x80-\xff]{3,}", raw)))
    if in_runs * 2 > len(re.findall(rb"[\x80-\xff]", raw)):  # an alphabet of its own, not a few accents
        for codec in ("shift_jis", "euc_jp", "gb18030", "euc_kr", "big5"):
            if _decodes(raw, codec) and (codec in ("gb18030", "euc_kr", "big5") or re.search("[\u3040-\u30ff]", raw.decode(codec))):
                return codec
        # KOI8-R and cp1251 swap the cases, and people write more small letters than capitals.
        small = {codec: sum(char.islower() for char in raw.decode(codec, "replace")) for codec in ("cp1251", "koi8_r")}
        return max(small, key=lambda codec: small[codec])
    return "cp1252" if _decodes(raw, "cp1252") else "mac_roman"


def _decode_auto(raw: bytes, name: str) -> str:
    codec = next((codec for bom, codec in _BOMS if raw.startswith(bom)), None) or _utf16_without_bom(raw) or "utf-8"
    try:
        return raw.decode(codec)
    except UnicodeDecodeError:
        pass
    guess = likely(raw)
    if guess == codec:
        raise DataError(f"{name} starts as {codec} but is damaged further on: save it again as UTF-8")
    raise DataError(f"{name} is not UTF-8 and is likely {guess}: pass dataset.encoding={guess}, or save the file as UTF-8")


def _decode_as(raw: bytes, encoding: str, name: str) -> str:
    try:
        codec = codecs.lookup(encoding).name
        text = raw.decode(codec)
    except LookupError:
        near = difflib.get_close_matches(encoding.lower().replace("-", "_"), sorted({"auto", *aliases, *aliases.values()}), n=1, cutoff=0.5)
        advice = f"did you mean {near[0]}?" if near else "use auto, or a name such as utf-8, utf-16 or cp1252"
        raise DataError(f"dataset.encoding={encoding} is no text encoding: {advice}") from None
    except (UnicodeError, ValueError):
        raise DataError(
            f"{name} cannot be read with dataset.encoding={encoding} and is likely {likely(raw)}: pass dataset.encoding={likely(raw)}"
        ) from None
    if codec in _WESTERN and not raw.isascii():
        real = likely(raw)
        if real.startswith("utf"):
            raise DataError(f"{name} is {real}, so dataset.encoding={encoding} would garble it: leave dataset.encoding=auto")
        if _C1.search(text):
            raise DataError(
                f"{name} has bytes that mean nothing in dataset.encoding={encoding} and is likely {real}: pass dataset.encoding={real}"
            )
    return text


def _decodes(raw: bytes, codec: str) -> bool:
    try:
        raw.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def _utf16_without_bom(raw: bytes) -> str | None:
    """Little- or big-endian UTF-16 by where the NUL bytes of its spaces, digits and line ends stand."""
    sample = raw[:65536]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    codec = "utf-16-le" if odd > even else "utf-16-be"
    enough = max(even, odd) * 20 >= len(sample) // 2 and max(even, odd) >= 10 * min(even, odd)
    return codec if max(even, odd) and enough and _decodes(raw, codec) else None
