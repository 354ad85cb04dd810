"""Pairs of texts: both halves are read, cut, hashed and split (pitfall 28)."""

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import bakery
import factories
from bakeoff import fingerprint, spec
from bakeoff.data import audit, checks, longdoc, sources
from bakeoff.data import dataset as module
from bakeoff.data.dataset import Rows, prepare
from bakeoff.data.longdoc import count_words, read_words, share_out
from bakeoff.data.tokens import EMPTY, SEPARATOR, CheckpointTokeniser, Document, PairFrame, WordVocabulary
from bakeoff.errors import DataError, NotApplicable

Make = Callable[..., spec.Dataset]
FULL = spec.LongDoc(strategy="full", max_tokens=None)
LETTERS = str.maketrans("0123456789", "abcdefghij")


def head(most: int) -> spec.LongDoc:
    return spec.LongDoc(strategy="head", max_tokens=most)


def toy(folder: Path, *, pair: str, types: bool = True, specials: tuple[str, ...] = ("[CLS]", "[SEP]")) -> Path:
    """A checkpoint's folder with a word-level tokeniser over the letters, and no weights."""
    words = ("[PAD]", "[UNK]", *specials, *"abcdefghijklmnopqrstuvwxyz")
    ids = {word: i for i, word in enumerate(words)}
    tokeniser = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokeniser.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    single = f"{specials[0]} $A {specials[1]}"
    template = pair if types else pair.replace(":1", "")
    tokeniser.post_processor = processors.TemplateProcessing(
        single=single, pair=template, special_tokens=[(name, ids[name]) for name in specials]
    )
    tokeniser.add_special_tokens(["[PAD]", "[UNK]", *specials])
    folder.mkdir(parents=True)
    tokeniser.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "unk_token": "[UNK]"})
    )
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> CheckpointTokeniser:
    return CheckpointTokeniser(toy(tmp_path_factory.mktemp("toy") / "bert", pair="[CLS] $A [SEP] $B:1 [SEP]:1"))


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> CheckpointTokeniser:
    return CheckpointTokeniser(toy(tmp_path_factory.mktemp("toy") / "roberta", pair="<s> $A </s> </s> $B </s>", specials=("<s>", "</s>")))


# Reading.


def test_a_pair_is_framed_as_its_tokeniser_frames_it(bert: CheckpointTokeniser, roberta: CheckpointTokeniser) -> None:
    assert bert.pair == PairFrame(prefix=(2,), middle=(3,), suffix=(3,), segments=True)
    assert roberta.pair == PairFrame(prefix=(2,), middle=(3, 3), suffix=(3,), segments=False)
    assert (bert.pair.separator_id, roberta.pair.separator_id) == (3, None)
    documents: list[Document] = [("a b", "c"), "a b", ("", "c")]
    read = longdoc.read(documents, bert, FULL)
    assert [ids.tolist() for ids in read.ids] == [[2, 4, 5, 3, 6, 3], [2, 4, 5, 3], [2, 3, 6, 3]]
    assert read.lengths_tokens.tolist() == [6, 4, 4]
    read = longdoc.read(documents, roberta, FULL)
    assert [ids.tolist() for ids in read.ids] == [[2, 4, 5, 3, 3, 6, 3], [2, 4, 5, 3], [2, 3, 3, 6, 3]]


def test_a_pair_that_is_too_long_loses_tokens_of_its_longer_text_first(bert: CheckpointTokeniser) -> None:
    read = longdoc.read([("a b c d e f", "x y"), ("a", "v w x y z"), ("a b c d", "w x y z"), ("a", "b")], bert, head(8))
    assert [ids.tolist() for ids in read.ids] == [
        [2, 4, 5, 6, 3, 27, 28, 3],
        [2, 4, 3, 25, 26, 27, 28, 3],
        [2, 4, 5, 3, 26, 27, 28, 3],
        [2, 4, 3, 5, 3],
    ]
    assert read.lengths_tokens.tolist() == [11, 9, 11, 5]
    assert read.truncated.tolist() == [True, True, True, False]


@given(first=st.integers(0, 40), second=st.integers(0, 40), most=st.integers(5, 60))
def test_truncation_is_that_of_hugging_faces_tokenizers(bert: CheckpointTokeniser, first: int, second: int, most: int) -> None:
    pair = (" ".join("a" * first), " ".join("b" * second))
    backend = Tokenizer.from_str(bert._backend.to_str())
    backend.enable_truncation(most, strategy="longest_first")
    (ids,) = longdoc.frame(longdoc.content([pair], bert, head(most), now=True), bert, head(most)).ids
    assert ids.tolist() == backend.encode(*pair).ids
    assert len(ids) <= most
    kept = (ids == 4).sum(), (ids == 5).sum()
    assert all(bool(n) == bool(whole) for n, whole in zip(kept, (first, second), strict=True))
    if first + second + 3 <= most:
        assert kept == (first, second)


@given(first=st.integers(0, 10**6), second=st.integers(0, 10**6), room=st.integers(2, 10**6))
def test_shares_fill_the_room_and_leave_no_text_out(first: int, second: int, room: int) -> None:
    kept = share_out(first, second, room)
    assert sum(kept) == min(room, first + second)
    assert all(0 <= n <= whole and bool(n) == bool(whole) for n, whole in zip(kept, (first, second), strict=True))
    assert abs(kept[0] - kept[1]) <= 1 or min(kept) == min(first, second)


@pytest.mark.parametrize(("most", "least"), [(3, 5), (4, 5)])
def test_too_little_room_for_both_texts_is_refused(bert: CheckpointTokeniser, most: int, least: int) -> None:
    with pytest.raises(
        NotApplicable, match=f"^longdoc.max_tokens={most} should be at least {least} for a pair of texts: 3 special tokens and one of each"
    ):
        longdoc.read([("a", "b")], bert, head(most))
    assert longdoc.read(["a b c"], bert, head(most)).ids[0].tolist() == [2, *range(4, 2 + most), 3]


def test_a_tokeniser_that_runs_two_texts_together_is_refused(tmp_path: Path) -> None:
    tokeniser = CheckpointTokeniser(toy(tmp_path / "gpt", pair="[CLS] $A $B [SEP]"))
    assert tokeniser.pair is None
    with pytest.raises(NotApplicable, match=r"^dataset.text_pair needs a tokeniser that sets a special token between two texts"):
        longdoc.read([("a", "b")], tokeniser, FULL)


def test_the_characters_of_a_special_token_are_text(bert: CheckpointTokeniser) -> None:
    (ids,) = bert.encode(["a [SEP] b [CLS] [PAD]"])
    assert ids.tolist() == [4, 1, 1, 1, 5, 1, 1, 1, 1, 1, 1]  # brackets and words of their own, all unknown here
    assert bert._backend.encode("a [SEP] b").ids[0] == 2


def test_ordinary_text_is_tokenised_as_ever(bert: CheckpointTokeniser) -> None:
    plain = Tokenizer.from_str(bert._backend.to_str())
    assert not plain.encode_special_tokens
    for text in ("a b, c!", "sep", "[ SEP ]", "", "  ", "ünï 漢字 🙂", "a" * 300, "x\ny"):
        assert bert.encode_now([text])[0].tolist() == plain.encode(text, add_special_tokens=False).ids


def test_words_of_a_pair_stand_around_a_separator_of_their_own() -> None:
    words = WordVocabulary.learn(["b a a", "a [SEP] c"], min_count=1, max_size=3, pairs=True)
    assert words.words == (SEPARATOR, "a", "[", "]")
    assert WordVocabulary.learn(["b a a"], min_count=1, max_size=3).pair is None
    read = longdoc.read([("a b", "[SEP]"), ("", "a")], words, FULL)
    assert [ids.tolist() for ids in read.ids] == [[4, 1, 3, 5, 1, 6], [EMPTY, 3, 4]]
    assert longdoc.read([("a a a a a", "a a")], words, head(5)).ids[0].tolist() == [4, 4, 3, 4, 4]


def test_words_that_are_read_and_counted() -> None:
    assert read_words("a b, c", head(3)) == "a b, "
    assert read_words(("a b c d", "e f"), head(3)) == ("a b ", "e ")
    assert read_words(("a b c d", "e f"), FULL) == ("a b c d", "e f")
    assert count_words([("a b, c", "d"), "a b", ("", "")]).tolist() == [5, 2, 0]


# Rows.


def write(path: Path, rows: list[tuple[str, str, str]], header: str = "text,second,label") -> Path:
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")
    return path


def many(n: int = 100) -> list[tuple[str, str, str]]:
    return [(f"{number}x {number}y", f"{number}z", f"c{i % 2}") for i, number in enumerate(str(i).translate(LETTERS) for i in range(n))]


def test_every_format_reads_the_second_column(make_dataset: Make, tmp_path: Path) -> None:
    rows = [("a", "NA", "x"), ("", "b", "y")]
    as_csv = write(tmp_path / "f.csv", rows)
    as_tsv = tmp_path / "f.tsv"
    as_tsv.write_text(as_csv.read_text().replace(",", "\t"))
    as_json = tmp_path / "f.jsonl"
    as_json.write_text("".join(json.dumps(dict(zip(("text", "second", "label"), row, strict=True))) + "\n" for row in rows))
    found = [
        sources.read(make_dataset(path=path, format=path.suffix[1:], text_pair="second"))["pool"] for path in (as_csv, as_tsv, as_json)
    ]
    assert found[0] == found[1] == found[2]
    assert (found[0].texts, found[0].pairs) == (("a", ""), ("NA", "b"))


def test_mistakes_about_the_second_column(make_dataset: Make, tmp_path: Path) -> None:
    path = write(tmp_path / "f.csv", [("a", "b", "x"), ("c", "d", "y")])
    with pytest.raises(DataError, match=r"^dataset.text_pair=secnd is no column of f.csv; did you mean second\? There are label, second"):
        sources.read(make_dataset(path=path, text_pair="secnd"))
    lines = tmp_path / "f.jsonl"
    lines.write_text('{"text": "a", "second": null, "label": "x"}\n')
    with pytest.raises(DataError, match=r"^dataset.text_pair=second is null in line 1 of f.jsonl: it should be a text"):
        sources.read(make_dataset(path=lines, format="jsonl", text_pair="second"))
    for fields in ({"format": "folder"}, {"format": "movie"}, {"format": "orange"}, {"text_pair": "text"}):
        with pytest.raises(ValueError, match=r"^dataset.text_pair=\w+ should name a second column of a table"):
            make_dataset(path=path, **{"text_pair": "second"} | fields)


def test_row_ids_hash_both_texts_and_those_of_single_texts_stay(make_dataset: Make, tmp_path: Path) -> None:
    prepared = prepare(make_dataset(path=write(tmp_path / "f.csv", [("a", "bc", "c0"), ("ab", "c", "c1"), *many()]), text_pair="second"))
    rows = {row_id: pair for side in (prepared.pool, prepared.test) for row_id, pair in zip(side.row_ids, side.documents, strict=True)}

    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    for row_id, (first, second) in rows.items():
        assert row_id == f"{digest(digest(first) + digest(second))[:16]}-0"
    assert {("a", "bc"), ("ab", "c")} <= set(rows.values())
    alone = prepare(make_dataset(path=write(tmp_path / "g.csv", many())))
    assert set(alone.pool.row_ids) == {f"{digest(text)[:16]}-0" for text in alone.pool.texts}
    assert alone.pool.pairs is None
    assert alone.pool.documents == alone.pool.texts == alone.pool.all_texts == alone.pool.whole_texts


def test_splits_and_near_duplicates_are_those_of_the_joined_texts(make_dataset: Make, tmp_path: Path) -> None:
    rows = many(200)
    joined = [(f"{first} {second}", "-", label) for first, second, label in rows]
    pairs = prepare(make_dataset(path=write(tmp_path / "f.csv", rows), text_pair="second"))
    texts = prepare(make_dataset(path=write(tmp_path / "g.csv", joined)))
    assert {" ".join(pair) for pair in pairs.test.documents} == set(texts.test.texts)
    moved = [(*pairs.test.documents[0][:1], f"{pairs.test.documents[0][1]}!", "c0")]  # equal in its words to a test row
    again = prepare(make_dataset(path=write(tmp_path / "h.csv", [*rows, *moved]), text_pair="second"))
    side = again.test if moved[0][:2] in again.test.documents else again.dropped
    assert moved[0][:2] in side.documents


def test_the_cache_keeps_both_texts(make_dataset: Make, tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    composed = make_dataset(path=write(tmp_path / "f.csv", many()), text_pair="second")
    first = prepare(composed)
    monkeypatch.setattr(module, "_build", lambda dataset: pytest.fail("built again"))
    again = prepare(composed)
    assert (again.pool.row_ids, again.pool.documents) == (first.pool.row_ids, first.pool.documents)
    assert (again.test.pairs, again.dropped.pairs) == (first.test.pairs, first.dropped.pairs)


def test_rows_taken_keep_their_second_text() -> None:
    rows = Rows(row_ids=("1", "2"), texts=("a", "b"), labels=np.arange(2), groups=None, clusters=np.arange(2), pairs=("c", "d"))
    taken = rows.take([1])
    assert (taken.documents, taken.all_texts, taken.whole_texts) == ((("b", "d"),), ("b", "d"), ("b\nd",))


def test_the_audit_sees_both_texts(make_dataset: Make, tmp_path: Path) -> None:
    rows = [("a", "b", "c0"), ("a", "b", "c1"), ("a", "q", "c0"), ("", "", "c0"), ("", "w", "c1"), *many()]
    path = write(tmp_path / "f.csv", rows)
    found = {each.code: each.count for each in audit.audit(prepare(make_dataset(path=path, text_pair="second")))}
    assert (found["empty_texts"], found["exact_duplicates"], found["conflicting_labels"]) == (1, 1, 1)


def test_a_pair_is_another_question(make_dataset: Make, tmp_path: Path) -> None:
    path = write(tmp_path / "f.csv", many())
    plain, pair = make_dataset(path=path), make_dataset(path=path, text_pair="second")
    assert "text_pair" not in spec.identity(plain)
    assert spec.identity(pair) == spec.identity(plain) | {"text_pair": "second"}
    assert bakery.SPECIALS[3] == SEPARATOR


def test_a_reading_without_room_for_a_pair_is_refused_before_anything_starts(make_dataset: Make, tmp_path: Path) -> None:
    toy_bert = toy(tmp_path / "roberta", pair="<s> $A </s> </s> $B </s>", specials=("<s>", "</s>"))
    (toy_bert / "model.safetensors").write_bytes(b"")
    pretrained = dataclasses.replace(
        factories.MODELS["pretrained"],  # type: ignore[type-var]
        checkpoint=str(toy_bert),
        checkpoint_fingerprint=fingerprint.of_checkpoint(str(toy_bert), None),
    )
    table = write(tmp_path / "f.csv", many())
    for pair, most in ((None, 5), ("second", 6)):
        run = factories.make_run(model=pretrained, labels=20, dataset=make_dataset(path=table, text_pair=pair))
        checks.check(dataclasses.replace(run, longdoc=head(most)))
    with pytest.raises(NotApplicable, match=r"^longdoc.max_tokens=5 should be at least 6 for a pair of texts: 4 special tokens"):
        checks.check(dataclasses.replace(run, longdoc=head(5)))


def test_entailment_has_no_place_for_a_second_text(make_dataset: Make, tmp_path: Path) -> None:
    judge = spec.ZeroShot(
        name="nli",
        default_longdoc=FULL,
        method="entailment",
        checkpoint="nli",
        revision=None,
        checkpoint_fingerprint="c" * 64,
        precision="float32",
        template="This is {}.",
        descriptions={},
    )
    dataset = make_dataset(path=write(tmp_path / "f.csv", many()), text_pair="second")
    with pytest.raises(ValueError, match=r"^dataset.text_pair=second leaves nli no place for its classes, which it reads as the pair"):
        factories.make_run(model=judge, labels=0, dataset=dataset)
    factories.make_run(model=dataclasses.replace(judge, method="similarity"), labels=0, dataset=dataset)
