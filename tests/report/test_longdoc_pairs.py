"""Long documents: slices, paired differences between ways to read, and folds together, on worked examples."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import t as student

import reading
from bakeoff import spec
from bakeoff.report import longdoc_pairs, stats
from bakeoff.report.longdoc_readers import PAST_WINDOW, SLICES, Reader, Study, studies
from bakeoff.report.longdoc_view import seconds_a_document
from bakeoff.report.summary import sections
from bakeoff.store import Store

LENGTHS = [100, 200, 512, 513, 600, 700, 800, 1024, 1025, 3000] * 2
HEAD = [1, 1, 1, 1, 0, 0, 1, 0, 1, 0] * 2
TAIL = [1, 1, 0, 1, 1, 0, 1, 1, 1, 0] * 2
WHOLE = [1, 1, 0, 1, 1, 1, 1, 1, 1, 0] * 2
BILSTM = [1, 0, 1, 1, 0, 1, 0, 1, 1, 0] * 2


def study_of(store: Store, *runs: spec.Run) -> Study:
    (found,) = studies(sections(runs, store), store)
    return found


def reader(study: Study, model: str, label: str) -> Reader:
    (found,) = [each for each in study.readers if each.candidate.run.model.name == model and each.reading.label == label]
    return found


def by_hand(differences: list[int]) -> tuple[float, float, float]:
    """Mean of row differences in {-1, 0, 1} with its 95% t interval over rows."""
    d = np.array(differences, dtype=float)
    half = student.ppf(0.975, len(d) - 1) * d.std(ddof=1) / len(d) ** 0.5
    return float(d.mean()), float(d.mean() - half), float(d.mean() + half)


@pytest.fixture
def runs(store: Store) -> list[spec.Run]:
    """An encoder read in three ways, and a BiLSTM read in two, on twenty documents, the second ten like the first."""
    answers = {
        ("pretrained", "head 256"): HEAD,
        ("pretrained", "tail 256"): TAIL,
        ("pretrained", "windows"): WHOLE,
        ("bilstm", "full"): BILSTM,
        ("bilstm", "head 256"): HEAD[::-1],
    }
    found = [reading.make_run(reading.PIECES if model == "bilstm" else model, name) for model, name in answers]
    for run, right in zip(found, answers.values(), strict=True):
        # The BiLSTM counts words, so its lengths are others.
        reading.bake(store, run, right, lengths=LENGTHS if run.model.name == "pretrained" else [n // 2 for n in LENGTHS])
    return found


def test_slices_are_those_of_records_and_hold_their_ends() -> None:
    assert [part.title for part in SLICES] == ["to 512", "513–1,024", "1,025–2,048", "over 2,048"]
    held = [part.holds(np.array(LENGTHS[:10])).astype(int).tolist() for part in SLICES]
    assert held == [[1, 1, 1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 1, 0, 0], [0] * 8 + [1, 0], [0] * 9 + [1]]
    assert PAST_WINDOW.title == "over 512"
    assert PAST_WINDOW.holds(np.array(LENGTHS)).sum() == 14


def test_a_slice_is_scored_by_the_model_s_own_tokens(runs: list[spec.Run], store: Store) -> None:
    study = study_of(store, *runs)
    head, bilstm = reader(study, "pretrained", "head-256"), reader(study, "bilstm", "full")
    scored = [(part.title, found.mean, found.rows) for part in SLICES if (found := head.on(part)) is not None]
    assert scored == [("to 512", 1.0, 6), ("513–1,024", pytest.approx(2 / 5), 10), ("1,025–2,048", 1.0, 2), ("over 2,048", 0.0, 2)]
    counted = [(part.title, found.rows) for part in SLICES if (found := bilstm.on(part)) is not None]
    assert counted == [("to 512", 18), ("1,025–2,048", 2)]


def test_head_against_tail_is_paired_over_rows(runs: list[spec.Run], store: Store) -> None:
    (found,) = longdoc_pairs.head_against_tail(study_of(store, *runs))
    mean, low, high = by_hand([t - h for t, h in zip(TAIL, HEAD, strict=True)])
    assert (found.first.reading.label, found.second.reading.label) == ("tail-256", "head-256")
    assert (found.difference.mean, found.difference.low, found.difference.high) == pytest.approx((mean, low, high))
    assert mean == pytest.approx(0.1)
    turned = dataclasses.replace(found, difference=dataclasses.replace(found.difference, mean=-mean, low=-high, high=-low)).winner_first
    assert (turned.first.reading.label, turned.difference.mean) == ("head-256", pytest.approx(mean))
    assert (turned.difference.low, turned.difference.high) == pytest.approx((low, high))


def test_the_best_other_reading_minus_the_head_past_512_tokens(runs: list[spec.Run], store: Store) -> None:
    (found,) = longdoc_pairs.past_the_head(study_of(store, *runs))
    long = [i for i, n in enumerate(LENGTHS) if n > 512]
    mean, low, high = by_hand([WHOLE[i] - HEAD[i] for i in long])
    assert (found.first.reading.strategy, found.picked_from) == ("windows", 2)
    assert (found.difference.mean, found.difference.low, found.difference.high) == pytest.approx((mean, low, min(high, 1.0)))
    assert (mean, found.difference.rows) == (pytest.approx(3 / 7), 14)


def test_beside_the_bilstm_the_encoder_s_tokens_say_which_documents_are_long(runs: list[spec.Run], store: Store) -> None:
    everywhere, long = longdoc_pairs.beside_bilstm(study_of(store, *runs))
    assert everywhere.difference.mean == pytest.approx((sum(WHOLE) - sum(BILSTM)) / 20)
    assert (everywhere.first.reading.strategy, everywhere.picked_from) == ("windows", 3)
    assert long.difference.rows == 14  # and not the 2 by the BiLSTM's own count
    assert long.difference.mean == pytest.approx(2 / 7)


def test_equal_tokens_are_the_same_cut(runs: list[spec.Run], store: Store) -> None:
    (found,) = longdoc_pairs.at_equal_tokens(study_of(store, *runs))
    assert (found.first.candidate.kind, found.second.candidate.kind) == ("pretrained", "bilstm")
    assert found.first.reading == found.second.reading == reading.longdoc("head 256")
    assert found.difference.mean == pytest.approx(0.0)


@pytest.mark.parametrize("changes", [{"vocabulary": "words", "checkpoint": None}, {"checkpoint_fingerprint": "d" * 64}])
def test_a_cut_of_other_tokens_is_no_equal_cut(store: Store, changes: dict[str, str | None]) -> None:
    if changes.get("vocabulary") == "words":
        changes |= {"checkpoint_fingerprint": None}
    other = dataclasses.replace(reading.PIECES, **changes)
    runs = [reading.make_run(model, name) for model in ("pretrained", other) for name in ("head 256", "tail 256")]
    for run in runs:
        reading.bake(store, run, HEAD, lengths=LENGTHS)
    study = study_of(store, *runs)
    assert len(study.readers) == 4
    assert longdoc_pairs.at_equal_tokens(study) == []


def test_records_of_seeds_that_some_fold_lacks_cost_nothing(store: Store) -> None:
    """Fold 0 has seeds 0 and 1, fold 2 has seed 0: what is told is of seed 0, its seconds too."""
    asked = [(fold, seed, name) for fold, seed in ((0, 0), (0, 1), (2, 0)) for name in ("head 256", "tail 256")]
    runs = [reading.make_run("pretrained", name, seed=seed, dataset=reading.folds_of(fold)) for fold, seed, name in asked]
    for run, (fold, seed, _) in zip(runs, asked, strict=True):
        reading.bake(store, run, HEAD, lengths=LENGTHS, prefix=f"{fold}", predict_seconds=100.0 if seed else 2.0)
    study = study_of(store, *runs)
    assert [sorted(record.run.seed for record in each.records) for each in study.readers] == [[0, 0], [0, 0]]
    assert [seconds_a_document(each) for each in study.readers] == [2.0 / 20, 2.0 / 20]


def test_the_best_is_one_that_was_run_on_the_same_folds(store: Store) -> None:
    """Windows are best, but on one fold of two: an easier one, for all that is known."""
    perfect = [1] * 20
    answers = {
        (0, "pretrained", "head 256"): HEAD,
        (2, "pretrained", "head 256"): HEAD,
        (0, "pretrained", "tail 256"): TAIL,
        (2, "pretrained", "tail 256"): TAIL,
        (2, "pretrained", "windows"): perfect,
        (0, "bilstm", "full"): BILSTM,
        (2, "bilstm", "full"): BILSTM,
    }
    runs = [reading.make_run(model, name, dataset=reading.folds_of(fold)) for fold, model, name in answers]
    for run, right in zip(runs, answers.values(), strict=True):
        reading.bake(store, run, right, lengths=LENGTHS, prefix=f"{run.dataset.fold}")
    study = study_of(store, *runs)
    assert study.readers[0].reading.strategy == "windows"
    (past,) = longdoc_pairs.past_the_head(study)
    assert (past.first.reading.label, past.picked_from) == ("tail-256", 1)
    beside = longdoc_pairs.beside_bilstm(study)
    assert [(each.first.reading.label, each.picked_from) for each in beside] == [("tail-256", 2)] * 2


def test_the_smallest_detectable_difference() -> None:
    """(t(0.975, 99) + t(0.8, 99)) · 0.02, with t from tables: 1.98422 and 0.84523."""
    found = stats.interval(np.array([0.1]), row_variance=0.02**2, rows=100, least=-1.0, most=1.0)
    assert stats.smallest_detectable(found) == pytest.approx((1.98422 + 0.84523) * 0.02, rel=1e-4)


def test_without_lengths_nothing_is_said_of_slices(store: Store) -> None:
    runs = [reading.make_run("pretrained", name) for name in ("head 256", "tail 256")]
    for run, right in zip(runs, (HEAD, TAIL), strict=True):
        reading.bake(store, run, right, lengths=None)
    study = study_of(store, *runs)
    assert [reader.on(part) for reader in study.readers for part in SLICES] == [None] * 8
    assert longdoc_pairs.past_the_head(study) == []
    assert len(longdoc_pairs.head_against_tail(study)) == 1


def test_one_reading_a_model_is_no_study(store: Store) -> None:
    runs = [reading.make_run("pretrained", "head 256"), reading.make_run("bilstm", "full")]
    for run in runs:
        reading.bake(store, run, HEAD, lengths=LENGTHS)
    assert studies(sections(runs, store), store) == []


def test_folds_stand_together(store: Store) -> None:
    """The pooled mean, with the corrected interval over folds: SE² = (1/2 + r) · s², 1 degree of freedom."""
    answers = {(0, "head 256"): HEAD, (0, "tail 256"): TAIL, (2, "head 256"): HEAD, (2, "tail 256"): WHOLE}
    runs = [reading.make_run("pretrained", name, dataset=reading.folds_of(fold)) for fold, name in answers]
    for run, right in zip(runs, answers.values(), strict=True):
        reading.bake(store, run, right, lengths=LENGTHS, prefix=f"{run.dataset.fold}")
    study = study_of(store, *runs)
    assert study.title == "reviews, folds 0 and 2 together"
    (found,) = longdoc_pairs.head_against_tail(study)
    by_fold = np.array([0.1, 0.2])
    half = student.ppf(0.975, 1) * np.sqrt((0.5 + 20 / 8000) * by_fold.var(ddof=1))
    assert found.difference.mean == pytest.approx(0.15)
    assert (found.difference.low, found.difference.rows) == (pytest.approx(0.15 - half), 40)
    assert reader(study, "pretrained", "tail-256").overall.rows == 40
    scored = reader(study, "pretrained", "head-256").on(PAST_WINDOW)
    assert scored is not None
    assert (scored.rows, scored.mean) == (28, pytest.approx(3 / 7))


def test_a_slice_keeps_its_groups(store: Store) -> None:
    groups = np.arange(20) // 2
    runs = [reading.make_run("pretrained", name) for name in ("head 256", "tail 256")]
    for run, right in zip(runs, (HEAD, TAIL), strict=True):
        reading.bake(store, run, right, lengths=LENGTHS, groups=groups)
    study = study_of(store, *runs)
    (found,) = longdoc_pairs.past_the_head(study)
    assert (found.difference.rows, found.difference.groups, study.n_groups) == (14, 8, 10)
