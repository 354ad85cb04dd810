"""Documents that two words decide: what is generated, and who can see both."""

import hashlib
import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from bakeoff import fingerprint, spec
from bakeoff.config import Composer
from bakeoff.data import longdoc as reading
from bakeoff.data import needle
from bakeoff.data.budget import spend
from bakeoff.data.dataset import prepare
from bakeoff.data.tokens import Ids, WordVocabulary
from bakeoff.errors import ConfigError, DataError, NotApplicable
from bakeoff.spec import LongDoc, Needle

SMALL = Needle(length_tokens=64, distance_tokens=16, train_rows=40, test_rows=400, seed=0)
VOCABULARY = WordVocabulary(words=(*needle.TELLING, *needle.FILLER))
TELLING_IDS = (3, 4)
POOLED = {"window_tokens": 20, "overlap_tokens": 5, "trained_windows": 8}
READINGS = {
    "full": LongDoc(strategy="full", max_tokens=None),
    "head": LongDoc(strategy="head", max_tokens=40),
    "tail": LongDoc(strategy="tail", max_tokens=40),
    "head_tail": LongDoc(strategy="head_tail", max_tokens=41, head_share=0.3),
    "middle": LongDoc(strategy="middle", max_tokens=33),
    "windows": LongDoc(strategy="windows", max_tokens=None, pool="mean_logits", **POOLED),  # type: ignore[arg-type]
    "windows of the head": LongDoc(strategy="windows", max_tokens=50, pool="max_embeddings", **POOLED),  # type: ignore[arg-type]
    "attention over windows": LongDoc(strategy="windows", max_tokens=50, pool="attention", **POOLED),  # type: ignore[arg-type]
}
OVERRIDES = ["dataset=needle", "dataset.needle.length_tokens=64", "dataset.needle.distance_tokens=16", "dataset.needle.train_rows=40"]


def rows_of(role: str, asked: Needle = SMALL) -> list[needle.Row]:
    return needle.generate(asked)[role]


def test_two_words_so_far_apart_decide_the_label_and_all_else_is_filler() -> None:
    rows = rows_of("test")
    assert len(rows) == 400
    starts = Counter[int]()
    for row in rows:
        words = row.text.split(" ")
        told = [i for i, word in enumerate(words) if word in needle.TELLING]
        assert len(words) == 64
        assert len(told) == 2
        assert told[1] - told[0] == 16
        assert row.label == ("same" if words[told[0]] == words[told[1]] else "different")
        assert set(words) - set(needle.TELLING) <= set(needle.FILLER)
        starts[told[0]] += 1
    assert set(starts) == set(range(48))  # wherever both fit
    assert max(starts.values()) < 25  # 8.3 expected of each


def test_neither_word_alone_says_anything_about_the_rows_there_are() -> None:
    for role, each in (("pool", 10), ("test", 100)):
        rows = rows_of(role)
        told = Counter((*(word for word in row.text.split(" ") if word in needle.TELLING), row.label) for row in rows)
        assert told == {
            ("red", "red", "same"): each,
            ("blue", "blue", "same"): each,
            ("red", "blue", "different"): each,
            ("blue", "red", "different"): each,
        }


def test_the_same_parameters_give_the_same_bytes_and_no_row_twice() -> None:
    first, again = needle.generate(SMALL), needle.generate(SMALL)
    assert first == again
    texts = [row.text for rows in first.values() for row in rows]
    assert len(set(texts)) == 440
    other = Needle(length_tokens=64, distance_tokens=16, train_rows=40, test_rows=400, seed=1)
    assert not {row.text for row in rows_of("test", other)} & set(texts)
    assert hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16] == "da9c011b23232fed"


def test_documents_too_short_to_differ_are_refused() -> None:
    short = Needle(length_tokens=3, distance_tokens=1, train_rows=500, test_rows=500, seed=0)
    with pytest.raises(
        DataError,
        match=r"^dataset\.needle\.length_tokens=3 makes 1,232 different documents, too few for 1,000 rows: ask for longer documents$",
    ):
        needle.generate(short)
    assert len(set(rows_of("test", Needle(length_tokens=3, distance_tokens=1, train_rows=100, test_rows=100, seed=0)))) == 100


def test_every_word_is_one_word_and_none_tells() -> None:
    assert len(needle.FILLER) == len(set(needle.FILLER)) == 154
    assert not set(needle.FILLER) & set(needle.TELLING)
    assert [len(ids) for ids in VOCABULARY.encode(list(needle.FILLER))] == [1] * 154


@pytest.mark.slow
def test_every_word_is_one_word_piece() -> None:
    from bakeoff.data import checkpoint
    from bakeoff.data.tokens import CheckpointTokeniser

    tokeniser = CheckpointTokeniser(checkpoint.resolve("minilm-l6", None))
    assert {len(ids) for ids in tokeniser.encode_now([*needle.FILLER, *needle.TELLING])} == {1}
    assert len(tokeniser.encode_now([rows_of("test")[0].text])[0]) == 64


def composed(*overrides: str) -> spec.Run:
    return Composer().job([*OVERRIDES, "dataset.needle.test_rows=80", *overrides]).run


def test_the_dataset_composes_is_prepared_and_verified() -> None:
    run = composed("model=bilstm", "budget.labels=all")
    prepared = prepare(run.dataset)
    assert (run.dataset.split, run.dataset.fold) == ("official", None)
    assert (len(prepared.pool), len(prepared.test), prepared.classes, prepared.primary_metric) == (
        40,
        80,
        ("different", "same"),
        "accuracy",
    )
    assert np.bincount(prepared.test.labels).tolist() == [40, 40]
    # All documents hold the same words, yet none is another's copy: nothing is contaminated or bundled.
    assert not prepared.contaminated.any()
    assert len(set(prepared.pool.clusters.tolist()) | set(prepared.test.clusters.tolist())) == 120
    again = prepare(run.dataset)  # from the cache
    assert (again.pool.row_ids, again.test.texts) == (prepared.pool.row_ids, prepared.test.texts)


def test_a_budget_keeps_its_validation_rows() -> None:
    run = Composer().job([*OVERRIDES[:3], "dataset.needle.train_rows=300", "dataset.needle.test_rows=8", "budget.labels=all"]).run
    spent = spend(prepare(run.dataset).pool, run.budget, validation=True)
    assert (len(spent.fit), len(spent.validation)) == (240, 60)


def test_its_parameters_are_its_identity() -> None:
    run, other = composed(), composed("dataset.needle.distance_tokens=17")
    plain = {"recipe": 1, "length_tokens": 64, "distance_tokens": 16, "train_rows": 40, "test_rows": 80, "seed": 0}
    assert run.dataset.fingerprint == fingerprint.of_generated(plain) == composed("dataset.needle.seed=0.0").dataset.fingerprint
    assert len({run.run_id, other.run_id, composed("dataset.needle.seed=1").run_id}) == 3
    assert len({run.dataset.fingerprint, other.dataset.fingerprint}) == 2
    changed = Composer().job([*OVERRIDES, "dataset.needle.test_rows=80", f"+dataset.fingerprint={run.dataset.fingerprint}"]).run
    assert changed.run_id == run.run_id
    with pytest.raises(DataError, match=r"holds other bytes than dataset\.fingerprint says"):
        composed(f"+dataset.fingerprint={'0' * 64}")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "dataset.needle.distance_tokens=64",
            r"^dataset\.needle\.distance_tokens=64 should be from 1 to below dataset\.needle\.length_tokens=64$",
        ),
        ("dataset.path=x.csv", r"^dataset=needle makes its own pool and test rows"),
        ("dataset.text=foo", r"^dataset\.text=foo means nothing to dataset=needle, which reads no file: leave it out$"),
        ("dataset.label=foo", r"^dataset\.label=foo means nothing to dataset=needle, which reads no file: leave it out$"),
        ("dataset.encoding=cp1252", r"^dataset\.encoding=cp1252 means nothing to dataset=needle, which reads no file: leave it out$"),
        ("dataset.needle.seed=-1", r"^dataset\.needle\.seed=-1 should be 0 or more$"),
        ("dataset.needle=null", r"^dataset\.needle goes with dataset\.format=needle: use dataset=needle$"),
        ("dataset.needle.seed=x", r"^dataset\.needle\.seed=x should be a whole number"),
        ("~dataset.needle.seed", r"^dataset\.needle\.seed is missing"),
    ],
)
def test_what_makes_no_needle_is_one_sentence(override: str, message: str) -> None:
    with pytest.raises((NotApplicable, ConfigError), match=message):
        composed(override)


def windows_of(ids: Ids, longdoc: LongDoc) -> list[Ids]:
    """The rule as documented: each window begins window − special − overlap tokens on, and the last one ends with the document."""
    assert longdoc.window_tokens is not None
    assert longdoc.overlap_tokens is not None
    stride, found = longdoc.window_tokens - longdoc.overlap_tokens, []
    for start in itertools.count(0, stride):
        found.append(ids[start : start + longdoc.window_tokens])
        if start + longdoc.window_tokens >= len(ids):
            return found
    raise AssertionError


def looks(ids: Ids, longdoc: LongDoc) -> list[Ids]:
    one_window_a_look = longdoc.strategy == "windows" and longdoc.pool != "attention"
    return windows_of(ids, longdoc) if one_window_a_look else [ids]


@pytest.mark.parametrize("name", READINGS)
def test_an_oracle_of_what_is_read_agrees_with_the_positions(name: str) -> None:
    """It sees what the model is given, and is right where one look shows both words."""
    longdoc, rows = READINGS[name], rows_of("test")
    texts = tuple(row.text for row in rows)
    read = reading.read(texts, VOCABULARY, longdoc)
    answers = []
    for ids in read.ids:
        told = [[token for token in look.tolist() if token in TELLING_IDS] for look in looks(ids, longdoc)]
        both = next((pair for pair in told if len(pair) == 2), None)
        answers.append(None if both is None else "same" if both[0] == both[1] else "different")
    visible = needle.visible(needle.positions(texts), longdoc, length_tokens=64, special_tokens=0)
    assert [answer is not None for answer in answers] == visible.tolist()
    assert all(answer in (None, row.label) for answer, row in zip(answers, rows, strict=True))

    seen = sum(answer is not None for answer in answers)
    # Of the others a guess is right as often as not, whichever class it always names.
    guessed = Counter(row.label for answer, row in zip(answers, rows, strict=True) if answer is None)
    assert abs(guessed["same"] - guessed["different"]) <= 4 * (400 - seen) ** 0.5


def test_the_share_that_is_visible_by_hand() -> None:
    """Two words 4 apart in documents of 12: the first stands at 0 … 7."""
    places = np.asarray([[start, start + 4] for start in range(8)])

    def together(special_tokens: int = 0, **fields: object) -> list[int]:
        chosen = LongDoc(**{"max_tokens": None, **fields})  # type: ignore[arg-type]
        return np.flatnonzero(needle.visible(places, chosen, length_tokens=12, special_tokens=special_tokens)).tolist()

    assert together(strategy="full") == [0, 1, 2, 3, 4, 5, 6, 7]
    assert together(strategy="head", max_tokens=6) == [0, 1]
    assert together(strategy="head", max_tokens=8, special_tokens=2) == [0, 1]
    assert together(strategy="tail", max_tokens=6) == [6, 7]
    assert together(strategy="middle", max_tokens=6) == [3, 4]  # reads 3 … 8
    assert together(strategy="head_tail", max_tokens=6, head_share=0.5) == []  # reads 0 … 2 and 9 … 11
    assert together(strategy="head_tail", max_tokens=10, head_share=0.5) == [0, 3, 4, 7]  # reads 0 … 4 and 7 … 11
    assert together(strategy="extended", max_tokens=12, attention_window=4) == [0, 1, 2, 3, 4, 5, 6, 7]
    windows = {"strategy": "windows", "window_tokens": 8, "overlap_tokens": 2, "trained_windows": 1}
    assert together(special_tokens=2, pool="mean_logits", **windows) == [0, 1, 4, 5]  # 0 … 5, 4 … 9, 8 … 11
    assert together(special_tokens=2, pool="mean_logits", **{**windows, "overlap_tokens": 5}) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert together(special_tokens=2, pool="lstm", **windows) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert together(special_tokens=2, pool="lstm", **windows, max_tokens=10) == [0, 1, 2, 3]
    assert together(special_tokens=2, pool="max_logits", **windows, max_tokens=10) == [0, 1]
    with pytest.raises(NotApplicable, match=r"^longdoc=select chooses sentences by their words"):
        together(strategy="select", max_tokens=6, rank="tfidf")


@pytest.mark.parametrize("pool", ["mean_logits", "max_logits", "mean_embeddings", "max_embeddings", "attention", "lstm", "transformer"])
def test_every_pool_shows_what_its_looks_show(pool: str) -> None:
    """Of an average or a maximum a window is a look; what runs over the windows sees all of them."""
    longdoc = LongDoc(strategy="windows", max_tokens=50, pool=pool, **POOLED)  # type: ignore[arg-type]
    texts = tuple(row.text for row in rows_of("test"))
    over_all = pool in ("attention", "lstm", "transformer")
    expected = [
        any(sum(token in TELLING_IDS for token in look.tolist()) == 2 for look in ([ids] if over_all else windows_of(ids, longdoc)))
        for ids in reading.read(texts, VOCABULARY, longdoc).ids
    ]
    found = needle.visible(needle.positions(texts), longdoc, length_tokens=64, special_tokens=0)
    assert found.tolist() == expected
    assert 0 < sum(expected) < 400


def test_a_record_says_how_much_its_model_could_see(tmp_path: Path) -> None:
    texts = tuple(row.text for row in rows_of("test"))
    head = READINGS["head"]
    lengths = np.full(400, 66)
    expected = needle.visible(needle.positions(texts), head, length_tokens=64, special_tokens=2).mean()
    assert needle.visible_fraction(SMALL, texts, head, lengths) == expected == pytest.approx(22 / 48, abs=0.08)
    assert needle.visible_fraction(None, texts, head, lengths) is None
    assert needle.visible_fraction(SMALL, texts, head, np.zeros(0, dtype=np.int64)) is None
    assert needle.visible_fraction(SMALL, texts, head, lengths + np.arange(400)) is None
    assert needle.visible_fraction(SMALL, texts, LongDoc(strategy="select", max_tokens=9, rank="tfidf"), lengths) is None
