"""Which tokens are hidden, what stands in their place, and that nothing else changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.data.masking import MASK_WORD, NOT_HIDDEN, Hiding, MaskedDocuments, hide, hiding_of, with_mask
from bakeoff.data.tokens import WordVocabulary
from bakeoff.errors import DataError

SIZE = 50
SPECIAL = np.isin(np.arange(SIZE), [0, 1, 2, SIZE - 1])


def hiding(fraction: float = 0.15) -> Hiding:
    return Hiding(fraction=fraction, mask_id=SIZE - 1, special=SPECIAL)


@st.composite
def batches(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Padded ids with special tokens among them, and lengths of at least 1."""
    lengths = np.array(draw(st.lists(st.integers(1, 30), min_size=1, max_size=8)))
    ids = np.random.default_rng(draw(st.integers(0, 2**32))).integers(0, SIZE, size=(len(lengths), lengths.max()))
    return np.where(np.arange(lengths.max()) < lengths[:, None], ids, 0), lengths


@given(batch=batches(), fraction=st.floats(0.01, 0.99), seed=st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_a_share_of_the_ordinary_tokens_is_hidden_and_nothing_else_changes(
    batch: tuple[np.ndarray, np.ndarray], fraction: float, seed: int
) -> None:
    ids, lengths = batch
    hidden = hide(ids, lengths, hiding(fraction), np.random.default_rng(seed))
    chosen = hidden.targets != NOT_HIDDEN
    ordinary = (np.arange(ids.shape[1]) < lengths[:, None]) & ~SPECIAL[ids]
    assert not (chosen & ~ordinary).any()
    assert (hidden.targets[chosen] == ids[chosen]).all()
    assert (hidden.ids[~chosen] == ids[~chosen]).all()
    assert not SPECIAL[hidden.ids[chosen & (hidden.ids != SIZE - 1)]].any()
    for n, row in zip(ordinary.sum(axis=1), chosen, strict=True):
        assert row.sum() == (max(1, int(np.floor(n * fraction + 0.5))) if n else 0)


def test_the_shares_of_mask_other_token_and_same_token() -> None:
    ids = np.full((100, 1000), 7)
    hidden = hide(ids, np.full(100, 1000), hiding(), np.random.default_rng(0))
    chosen = hidden.targets != NOT_HIDDEN
    assert chosen.sum() == 100 * 150
    masked, kept = hidden.ids[chosen] == SIZE - 1, hidden.ids[chosen] == 7
    assert masked.mean() == pytest.approx(0.8, abs=0.01)
    # Of the tenth that is drawn, one of 46 draws is the token itself.
    assert kept.mean() == pytest.approx(0.1 + 0.1 / 46, abs=0.01)
    drawn = np.bincount(hidden.ids[chosen][~masked & ~kept], minlength=SIZE)
    assert drawn[~SPECIAL & (np.arange(SIZE) != 7)].min() > 10


def test_every_place_is_hidden_as_often() -> None:
    ids, random, counts = np.full((200, 20), 7), np.random.default_rng(0), np.zeros(20)
    for _ in range(20):
        counts += (hide(ids, np.full(200, 20), hiding(), random).targets != NOT_HIDDEN).sum(axis=0)
    assert counts / 4000 == pytest.approx(np.full(20, 0.15), abs=0.03)


def test_masks_change_each_time_unless_they_are_fixed() -> None:
    ids = [np.arange(3, 43, dtype=np.int32), np.arange(3, 23, dtype=np.int32)]
    fixed, dynamic = (MaskedDocuments(ids, 0, hiding(), seed=5, fixed=choice) for choice in (True, False))
    one, two = fixed.collate([0, 1]), fixed.collate([0, 1])
    assert one.ids.equal(two.ids)
    assert one.labels.equal(two.labels)
    assert not dynamic.collate([0, 1]).labels.equal(dynamic.collate([0, 1]).labels)
    again = MaskedDocuments(ids, 0, hiding(), seed=5, fixed=False)
    first = MaskedDocuments(ids, 0, hiding(), seed=5, fixed=False)
    assert again.collate([1, 0]).labels.equal(first.collate([1, 0]).labels)
    assert one.labels.shape == (2, 40)
    assert one.lengths.tolist() == [40, 20]


def test_the_mask_of_words_is_a_word_that_no_text_holds() -> None:
    vocabulary = with_mask(WordVocabulary.learn(["good film [MASK] good"], min_count=1, max_size=10))
    assert vocabulary.words[-1] == MASK_WORD
    found = hiding_of(vocabulary, 0.15)
    assert found.mask_id == len(vocabulary) - 1
    assert found.mask_id not in np.concatenate(vocabulary.encode(["good [MASK] [mask] film"]))
    assert np.flatnonzero(found.special).tolist() == [0, 1, 2, found.mask_id]


def test_what_stands_between_two_texts_is_never_hidden() -> None:
    vocabulary = with_mask(WordVocabulary.learn([("good film", "bad film")], min_count=1, max_size=10, pairs=True))
    assert vocabulary.pair is not None
    assert np.flatnonzero(hiding_of(vocabulary, 0.15).special).tolist() == [0, 1, 2, *vocabulary.pair.middle, len(vocabulary) - 1]


def test_a_vocabulary_without_words_is_refused() -> None:
    with pytest.raises(DataError, match="give no word to guess"):
        hiding_of(with_mask(WordVocabulary(words=())), 0.15)
