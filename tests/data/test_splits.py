import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.data import splits

keys_ = st.lists(st.text(max_size=3), min_size=1, max_size=60)


def test_golden() -> None:
    """Published splits: a change here moves test rows of every dataset."""
    keys = [f"text {i}" for i in range(10)]
    assert [next(fold for fold in range(5) if splits.in_fold([key], fold)[0]) for key in keys] == [0, 0, 2, 2, 1, 3, 0, 3, 0, 1]
    assert np.flatnonzero(splits.lowest_hashes(keys, 3)).tolist() == [4, 5, 9]


@given(keys_)
def test_five_folds_cover_every_row_once_and_keep_equal_keys_together(keys: list[str]) -> None:
    folds = np.stack([splits.in_fold(keys, fold) for fold in range(5)])
    assert folds.sum(axis=0).tolist() == [1] * len(keys)
    fold_of = dict(zip(keys, folds.argmax(axis=0).tolist(), strict=True))
    assert [fold_of[key] for key in keys] == folds.argmax(axis=0).tolist()


@given(keys_, st.text(max_size=3))
def test_appending_a_row_moves_no_old_row(keys: list[str], new: str) -> None:
    assert splits.in_fold([*keys, new], 0)[:-1].tolist() == splits.in_fold(keys, 0).tolist()


@given(st.lists(st.text(max_size=3), min_size=1, max_size=60, unique=True), st.integers(1, 60))
def test_lowest_hashes_are_exactly_so_many(keys: list[str], count: int) -> None:
    assert splits.lowest_hashes(keys, count).sum() == min(count, len(keys))


@given(keys_, st.integers(1, 60))
def test_equal_keys_are_never_on_both_sides(keys: list[str], count: int) -> None:
    chosen = splits.lowest_hashes(keys, count)
    assert chosen.sum() <= count
    assert not {key for key, one in zip(keys, chosen, strict=True) if one} & {key for key, one in zip(keys, chosen, strict=True) if not one}


def test_a_key_that_would_overfill_the_count_is_passed_over() -> None:
    keys = [f"text {i}" for i in range(10)]
    first = int(np.flatnonzero(splits.lowest_hashes(keys, 1))[0])
    chosen = splits.lowest_hashes([*keys, keys[first]], 1)
    assert np.flatnonzero(chosen).tolist() == [i for i in np.flatnonzero(splits.lowest_hashes(keys, 2)) if i != first]
