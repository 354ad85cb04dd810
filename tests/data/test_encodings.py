import pytest

from bakeoff.data.encodings import decode, likely
from bakeoff.errors import DataError

TEXT = "café — naïve “quotes”, 100 €\n"


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_auto_recognises_unicode(codec: str) -> None:
    assert decode(TEXT.encode(codec), encoding="auto", name="f.csv") == TEXT


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_auto_recognises_utf_16_with_its_mark(codec: str) -> None:
    assert decode(("\ufeff" + TEXT).encode(codec), encoding="auto", name="f.csv") == TEXT


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "windows-1252"])
def test_explicit(codec: str) -> None:
    assert decode(TEXT.encode(codec), encoding=codec, name="f.csv") == TEXT


def test_an_explicit_encoding_drops_the_mark() -> None:
    assert decode(TEXT.encode("utf-8-sig"), encoding="utf-8", name="f.csv") == TEXT


def test_other_bytes_name_the_likely_encoding_and_the_option() -> None:
    with pytest.raises(DataError) as raised:
        decode(TEXT.encode("cp1252"), encoding="auto", name="f.csv")
    assert str(raised.value) == "f.csv is not UTF-8 and is likely cp1252: pass dataset.encoding=cp1252, or save the file as UTF-8"


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("Señor, ¿qué tal? Mañana voy a la playa con José y María.", "cp1252"),
        ("Это обычный русский текст, в котором мало заглавных букв.", "cp1251"),
        ("Это обычный русский текст, в котором мало заглавных букв.", "koi8_r"),
        ("これは普通の日本語の文章です。", "shift_jis"),
        ("これは普通の日本語の文章です。", "euc_jp"),
        ("这是一段普通的中文文字,用来测试。", "gb18030"),
    ],
)
def test_likely(text: str, codec: str) -> None:
    assert likely(text.encode(codec)) == codec


@pytest.mark.parametrize("codec", ["latin-1", "iso-8859-1", "iso-8859-15"])
def test_latin_1_that_yields_control_characters_is_refused(codec: str) -> None:
    with pytest.raises(DataError, match=rf"dataset.encoding={codec} and is likely cp1252: pass dataset.encoding=cp1252$"):
        decode(TEXT.encode("cp1252"), encoding=codec, name="f.csv")


def test_latin_1_is_taken_where_it_can_be_right() -> None:
    assert decode("café".encode("latin-1"), encoding="latin-1", name="f.csv") == "café"
    assert decode(b"plain", encoding="latin-1", name="f.csv") == "plain"


@pytest.mark.parametrize("codec", ["cp1252", "latin-1"])
def test_utf_8_read_as_western_is_refused(codec: str) -> None:
    with pytest.raises(DataError, match=rf"f.csv is utf-8, so dataset.encoding={codec} would garble it: leave dataset.encoding=auto"):
        decode("café".encode(), encoding=codec, name="f.csv")


@pytest.mark.parametrize("codec", ["utf-8", "ascii", "utf-16"])
def test_an_explicit_encoding_that_does_not_fit_is_refused(codec: str) -> None:
    with pytest.raises(
        DataError, match=rf"cannot be read with dataset.encoding={codec} and is likely cp1252: pass dataset.encoding=cp1252"
    ):
        decode(TEXT.encode("cp1252") + b"x" * (len(TEXT) % 2 + 1), encoding=codec, name="f.csv")


@pytest.mark.parametrize(
    ("name", "advice"), [("cp-1252", "did you mean"), ("utf9", "did you mean"), ("base64", "no text encoding"), ("qqqqqqqq", "use auto")]
)
def test_unknown_encodings(name: str, advice: str) -> None:
    with pytest.raises(DataError, match=rf"dataset.encoding={name} is no text encoding.*") as raised:
        decode(b"text", encoding=name, name="f.csv")
    assert advice in str(raised.value)


def test_damaged_utf_16_is_told() -> None:
    with pytest.raises(DataError, match=r"f.csv starts as utf-16 but is damaged further on"):
        decode(TEXT.encode("utf-16") + b"\x00", encoding="auto", name="f.csv")


@pytest.mark.parametrize("magic", [b"PK\x03\x04", b"\x1f\x8b", b"PAR1", b"%PDF"])
def test_files_that_are_no_text(magic: bytes) -> None:
    advice = "let its name end in .parquet" if magic == b"PAR1" else "save it as CSV, TSV or JSON lines first"
    with pytest.raises(DataError, match=rf"^f.csv is .* not text: {advice}$"):
        decode(magic + b"rest", encoding="auto", name="f.csv")


def test_nul_characters_in_utf_8_are_no_utf_16() -> None:
    assert decode(b"a\x00b, and a longer text around it\n" * 3, encoding="auto", name="f.csv").startswith("a\x00b")
