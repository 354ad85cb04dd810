"""Signs that texts are not what a tokeniser expects, with exact counts, on made texts and on real ones."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import bakery
from bakeoff import fingerprint, spec
from bakeoff.data import audit, text_signs, vocabulary_fit
from bakeoff.data.dataset import Prepared, prepare
from bakeoff.data.text_signs import Tokenised
from bakeoff.data.tokens import CheckpointTokeniser

Make = Callable[..., spec.Dataset]
RAW = [f"It was, all in all, a Film number {i}." for i in range(40)]


def counts(texts: list[str], read: Tokenised | None = None) -> dict[str, int]:
    return {code: count for code, count, _ in text_signs.signs(texts, read) if count}


def read_as(texts: list[str], *, keeps_case: bool, pieces: int = 1, fits_weights: bool | None = True) -> Tokenised:
    words = np.full(len(texts), 4)
    return Tokenised(words=words, pieces=pieces * words, unknown=0 * words, keeps_case=keeps_case, fits_weights=fits_weights)


def test_raw_english_has_no_sign() -> None:
    assert counts(RAW, read_as(RAW, keeps_case=True)) == {}


def test_stripped_punctuation_is_a_sign_of_most_texts() -> None:
    bare = [f"it was all in all film number {i}" for i in range(40)]
    assert counts(bare) == {"stripped_punctuation": 40}
    assert counts(bare[:20] + RAW[:20]) == {"stripped_punctuation": 20}
    assert counts(bare[:19] + RAW[:21]) == {}  # less than half
    assert counts(bare[:19]) == {}  # too few to tell
    assert counts(["four words, no more"[:10].replace(",", "")] * 40) == {}  # too short to need a mark
    messages = {code: message for code, _, message in text_signs.signs(bare, None)}
    assert messages["stripped_punctuation"] == ("40 of 40 texts of 5 words or more hold no punctuation mark: give a checkpoint raw text")


def test_split_characters() -> None:
    split = [" ".join("a film, all in all") for _ in range(40)]
    assert counts(split) == {"split_characters": 40}


def test_case_is_a_sign_for_a_cased_checkpoint_alone() -> None:
    lower = [text.lower() for text in RAW]
    assert counts(lower) == {}
    assert counts(lower, read_as(lower, keeps_case=False)) == {}
    assert counts(lower, read_as(lower, keeps_case=True)) == {"lower_cased": 40}
    uncased_script = [f"これは、映画です {i}。" for i in range(40)]
    assert counts(uncased_script, read_as(uncased_script, keeps_case=True)) == {}


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("CafÃ© noir", True),
        ("cafÃ\u00a9", True),
        ("Â£5 a head", True),
        ("itâ€™s", True),
        ("itâ\u0080\u0099s", True),
        ("ï»¿first line", True),
        ("lost \ufffd for good", True),
        ("great ðŸ˜€", True),
        ("ÐŸÑ€Ð¸Ð²ÐµÑ‚", True),
        ("Î³ÎµÎ¹Î±", True),
        ("Привет, γεια 😀", False),
        ("KØB— 3×–4× ÎÏ", False),
        ("Café noir, £5, it’s", False),
        ("SÃO PAULO, Ângela, Ã", False),
        ("pâte, âge", False),
    ],
)
def test_mojibake(text: str, broken: bool) -> None:
    assert counts([text]) == ({"mojibake": 1} if broken else {})


def test_mojibake_is_what_wrong_decoding_makes() -> None:
    for letter in "éèüñçßåø“”’–…€":
        assert counts([f"a{letter}b".encode().decode("latin-1")]) == {"mojibake": 1}
        try:
            garbled = f"a{letter}b".encode().decode("cp1252")
        except UnicodeDecodeError:
            continue
        assert counts([garbled]) == {"mojibake": 1}


@pytest.mark.parametrize(
    ("text", "is_html"),
    [
        ("one<br />two", True),
        ("<p class='x'>one</p>", True),
        ("fish &amp; chips", True),
        ("it&#39;s", True),
        ("&#x2019;", True),
        ("a < b and c > d", False),
        ("x <3 y", False),
        ("AT&T; R&D", False),
        ("ham & eggs; more", False),
        ("<user@example.com>", False),
    ],
)
def test_html(text: str, is_html: bool) -> None:
    assert counts([text]) == ({"html": 1} if is_html else {})


def test_words_in_many_pieces() -> None:
    texts = ["one two"] * 4
    none, some = np.zeros(4, dtype=np.int64), np.array([2, 2, 3, 0])
    read = Tokenised(words=np.array([2, 2, 2, 0]), pieces=np.array([2, 5, 6, 0]), unknown=none, keeps_case=False, fits_weights=None)
    assert counts(texts, read) == {"broken_words": 1}  # exactly 2.5 is not more
    read = Tokenised(words=np.full(4, 6), pieces=np.array([2, 5, 6, 0]), unknown=some, keeps_case=False, fits_weights=None)
    assert counts(texts, read) == {"broken_words": 1}  # exactly half of them unknown is not most


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It was, all in all, fine.", 9),
        ("हिन्दी एक भाषा है", 4),
        ("cafe\u0301 noir", 2),
        ("我喜欢这部电影。", 8),
        ("映画を見ました", 5),
        ("", 0),
        ("\u0301", 0),
    ],
)
def test_words_of_other_scripts(text: str, words: int) -> None:
    assert text_signs._count_words(text) == words


def test_a_script_that_the_tokeniser_does_not_know(tmp_path: Path) -> None:
    folder = bakery.checkpoint(tmp_path / "toy")
    tokeniser = CheckpointTokeniser(folder)
    known = next(piece for piece in tokeniser.pieces if piece.isalpha() and len(piece) > 2)
    texts = ["ภาษาไทย", f"{known} {known} ไทย", ""]
    read = text_signs.reading(folder, tokeniser, texts, uses_weights=False)
    assert read.unknown.tolist() == [1, 1, 0]
    assert counts(texts, read)["broken_words"] == 1
    read = text_signs.reading(folder, tokeniser, texts, texts[::-1], uses_weights=False)
    assert read.unknown.tolist() == [1, 2, 1]


def test_ideographs_with_spaces_between_are_no_sign() -> None:
    assert counts(["我 喜 欢 这 部 电 影 ， 好 看"] * 40) == {}


def test_generated_texts_were_prepared_by_nobody(make_dataset: Make) -> None:
    needle = spec.Needle(length_tokens=64, distance_tokens=16, train_rows=40, test_rows=400, seed=0)
    made = fingerprint.of_generated(spec.identity(needle))
    dataset = make_dataset(format="needle", needle=needle, split="official", fingerprint=made, encoding="utf-8")
    for _ in ("made", "from the cache"):
        prepared = prepare(dataset)
        texts = list(prepared.pool.texts + prepared.test.texts)
        assert prepared.generated
        assert found_in(prepared, read_as(texts, keeps_case=True)) == {}
        assert found_in(prepared, read_as(texts, keeps_case=True, fits_weights=False)) == {"foreign_vocabulary": 440}
        as_if_written = dataclasses.replace(prepared, generated=False)
        assert found_in(as_if_written, read_as(texts, keeps_case=True)) == {"stripped_punctuation": 440, "lower_cased": 440}


def test_ids_that_the_weights_do_not_know() -> None:
    assert counts(RAW, read_as(RAW, keeps_case=False, fits_weights=False)) == {"foreign_vocabulary": 40}
    assert counts(RAW, read_as(RAW, keeps_case=False, fits_weights=None)) == {}


def test_no_message_quotes_a_text() -> None:
    ugly = ["canary CafÃ© <br> &amp;"] + [" ".join("canary") for _ in range(40)]
    found = text_signs.signs(ugly, read_as(ugly, keeps_case=True, pieces=9, fits_weights=False))
    assert "canary" not in repr([message for _, _, message in found]).lower()


# A checkpoint's own files.


def test_a_tokeniser_is_cased_unless_its_normaliser_lower_cases(tmp_path: Path) -> None:
    folder = bakery.checkpoint(tmp_path / "toy")
    assert not CheckpointTokeniser(folder).keeps_case
    tokeniser = json.loads((folder / "tokenizer.json").read_text())
    tokeniser["normalizer"]["lowercase"] = False
    (folder / "tokenizer.json").write_text(json.dumps(tokeniser))
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"do_lower_case": False}))
    assert CheckpointTokeniser(folder).keeps_case


def test_plurals_lie_near_their_words_only_under_the_right_ids() -> None:
    words = [f"{a}{b}word" for a in "abcdefghijkl" for b in "abcdefghijkl"]
    random = np.random.default_rng(0)
    singular = random.normal(size=(len(words), 32))
    table = np.concatenate([singular, singular + 0.5 * random.normal(size=singular.shape)]).astype(np.float32)
    ids = {word: i for i, word in enumerate(words)} | {f"{word}s": i + len(words) for i, word in enumerate(words)}
    own = vocabulary_fit.plurals_nearer(table, ids)
    assert own is not None
    assert own > 0.8
    shuffled = dict(zip(ids, random.permutation(len(ids)).tolist(), strict=True))
    other = vocabulary_fit.plurals_nearer(table, shuffled)
    assert other is not None
    assert abs(other) < 0.05
    assert vocabulary_fit.plurals_nearer(table, {"Ġ" + word: i for word, i in ids.items()}) == own
    assert vocabulary_fit.plurals_nearer(table, dict(list(ids.items())[:150])) is None  # too few plurals


def test_a_toy_vocabulary_tells_nothing(tmp_path: Path) -> None:
    folder = bakery.checkpoint(tmp_path / "toy")
    assert vocabulary_fit.fits(folder, CheckpointTokeniser(folder).pieces) is None
    (folder / "model.safetensors").unlink()
    assert vocabulary_fit.fits(folder, CheckpointTokeniser(folder).pieces) is None


# Real data.


def found_in(prepared: Prepared, read: Tokenised | None = None) -> dict[str, int]:
    signs = {"stripped_punctuation", "split_characters", "mojibake", "html", "lower_cased", "broken_words", "foreign_vocabulary"}
    return {each.code: each.count for each in audit.audit(prepared, tokenised=read) if each.code in signs}


def test_shared_data(make_dataset: Make, shared: Path) -> None:
    banking = prepare(make_dataset(path=shared / "banking77" / "train.csv", test_path=shared / "banking77" / "test.csv", label="category"))
    assert found_in(banking) == {}
    sms = prepare(make_dataset(path=shared / "sms_spam" / "spam.csv", text="v2", label="v1", encoding="cp1252"))
    assert found_in(sms) == {"html": 314}
    chapters = shared / "novel_chapters"
    novels = prepare(make_dataset(path=chapters / "train.jsonl", test_path=chapters / "test.jsonl", format="jsonl", group="book"))
    assert "stripped_punctuation" not in found_in(novels)
    reviews = prepare(make_dataset(path=shared / "movie_reviews", format="folder"))
    texts = list(reviews.pool.texts + reviews.test.texts + reviews.dropped.texts)
    assert found_in(reviews) == {}
    assert found_in(reviews, read_as(texts, keeps_case=False)) == {}
    assert found_in(reviews, read_as(texts, keeps_case=True)) == {"lower_cased": 2_000}


@pytest.mark.slow
def test_starter_data(make_dataset: Make) -> None:
    for name, rows in (("reuters8", 7_674), ("newsgroups", 18_794)):
        found = prepare(make_dataset(asset=name, format="orange", split="official"))
        assert found_in(found) == {"stripped_punctuation": rows}
    movie = prepare(make_dataset(asset="movie", format="movie", split="held_out_rows", held_out_rows=2000))
    assert found_in(movie) == {"html": 22}
