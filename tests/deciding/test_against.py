"""keep, retrain or reconsider: exact verdicts on answers made by hand."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import factories
from bakeoff import spec
from bakeoff.commands import decide_against
from bakeoff.deciding.against import Comparison, Setting, compare, judge, plan, refuse_other_question
from bakeoff.deciding.drift import Pair, unpaired
from bakeoff.deciding.old_report import Decision, read_old, write_decision
from bakeoff.errors import DataError
from bakeoff.report import stats
from bakeoff.report.stats import Answers
from bakeoff.store import Store

HOW = spec.Distillation(temperature=2.0, soft_weight=0.5, hard_weight=0.5, hidden_weight=0.0, transfer_epochs=1)
SETTING = Setting(name="bilstm", classes=("a", "b"), unknown=frozenset(), metric="accuracy", margin_points=1.0)


def answers(right: list[float], *, rows: range, seed: int = 0, labels: np.ndarray | None = None) -> Answers:
    """Answers of which the given shares are right, in the first and second half of `rows` apart; seeds disagree on no row."""
    ids = np.array([f"{row:04}" for row in rows])
    labels = np.arange(len(ids)) % 2 if labels is None else labels
    correct = np.zeros(len(ids), dtype=bool)
    for part, share in zip(np.array_split(np.arange(len(ids)), len(right)), right, strict=True):
        correct[part[: round(share * len(part))]] = True
    predicted = np.where(correct, labels, 1 - labels)
    return Answers(row_ids=ids, labels=labels, predicted=np.stack([predicted] * 2), seeds=((seed, 0), (seed + 1, 1)))


OLD, ALL = range(1000), range(2000)
"""Last month's test rows, and today's."""


def judged(old: float, winner: list[float], rival: list[float] | None = None, **changes: Any) -> Comparison:
    """Share right of the shipped winner on old rows; of the others on old and new rows apart."""
    rivals = {} if rival is None else {"tfidf": answers(rival, rows=ALL)}
    setting = dataclasses.replace(SETTING, **{key: changes.pop(key) for key in ("unknown", "margin_points", "by_time") if key in changes})
    return judge(answers([old], rows=OLD), answers(winner, rows=ALL), rivals, setting=setting, **changes)


def test_keep_where_retraining_gains_nothing() -> None:
    found = judged(0.9, [0.9, 0.9], [0.9, 0.9])
    assert found.verdict == "keep"
    assert (
        found.reason == "bilstm gains nothing for sure by retraining: 0.0 points (-0.4 to 0.4) on the 1,000 test rows that both answered."
    )
    assert (found.winner.old_rows.mean, found.winner.new_rows.mean) == (0.9, 0.9)  # type: ignore[union-attr]
    assert (found.changes.n_old, found.changes.n_new, found.changes.n_gone) == (1000, 1000, 0)


def test_retrain_where_it_is_better_on_the_rows_that_both_answered() -> None:
    found = judged(0.85, [0.9, 0.9])
    assert found.verdict == "retrain"
    assert found.reason == "bilstm gains 5.0 points (3.6 to 6.4) by retraining, on the 1,000 test rows that both answered."
    assert judged(0.898, [0.9, 0.9]).verdict == "keep"  # 2 rows of 1,000: the interval holds zero


def test_retrain_where_the_shipped_model_answers_new_rows_badly() -> None:
    shipped = answers([0.9, 0.8], rows=ALL)
    found = judged(0.9, [0.9, 0.9], shipped=shipped)
    assert found.verdict == "retrain"
    assert found.gain is not None
    assert found.gain.mean == pytest.approx(0.05)
    assert found.gain.rows == 2000


def test_retrain_for_a_class_that_the_shipped_model_has_never_seen() -> None:
    found = judged(0.9, [0.9, 0.9], unknown=frozenset({"b"}))
    assert found.verdict == "retrain"
    assert found.reason == "bilstm as shipped has never seen 1 of the classes (b in 1,000 of today's test rows)."


def test_reconsider_where_a_rival_is_better_by_more_than_the_margin() -> None:
    found = judged(0.9, [0.9, 0.9], [0.93, 0.93])
    assert found.verdict == "reconsider"
    assert found.reason == "tfidf is now better than bilstm by 3.0 points (2.3 to 3.7) on today's test rows."
    assert judged(0.9, [0.9, 0.9], [0.93, 0.93], margin_points=4.0).verdict == "keep"
    assert judged(0.9, [0.9, 0.9], [0.905, 0.905]).verdict == "keep"  # half a point is below the margin


def test_reconsider_where_new_rows_are_answered_worse() -> None:
    found = judged(0.9, [0.9, 0.8])
    assert found.verdict == "reconsider"
    # Standard error √(0.9 · 0.1 / 999 + 0.8 · 0.2 / 999) = 0.01582, t(0.975, 999) = 1.9623
    assert (
        found.reason == "bilstm, retrained, scores 10.0 points (6.9 to 13.1) lower on new test rows than on old ones: the data has changed."
    )
    assert judged(0.9, [0.9, 0.88]).verdict == "keep"  # 2 points, but the interval holds zero


def test_newest_rows_are_held_against_the_newest_rows_of_last_month() -> None:
    """Retrained, it knows what came after the old rows, so that these get easier: nothing has changed."""
    found = judged(0.8, [0.95, 0.8])
    assert found.verdict == "reconsider"
    found = judged(0.8, [0.95, 0.8], by_time=True, shipped=answers([0.8, 0.8], rows=ALL))
    assert found.verdict == "keep"
    assert found.changes.score is not None
    assert found.changes.score.mean == pytest.approx(0.0)
    assert found.gain is not None
    assert (found.gain.mean, found.gain.rows) == (0.0, 1000)  # of the new rows alone
    assert "The winner's accuracy on new rows minus on old rows as it was last month: +0.0 " in decide_against.render(found)
    found = judged(0.9, [0.95, 0.8], by_time=True)
    assert found.reason == (
        "bilstm, retrained, scores 10.0 points (6.9 to 13.1) lower on new test rows than it scored on the newest rows of last month: "
        "the data has changed."
    )


def test_macro_f1_of_old_and_new_rows_is_over_classes_that_both_have() -> None:
    """The new rows have none of class c, which nobody gets right: without it both score as before."""
    labels = np.array([0, 1] * 100 + [2] * 50)
    right = Answers(
        row_ids=np.arange(250), labels=labels, predicted=np.stack([np.where(labels == 2, 0, labels)] * 2), seeds=((0, 0), (1, 0))
    )
    without = right.where(labels != 2)
    assert stats.estimate(without, "macro_f1").mean == 1.0
    assert stats.estimate(right, "macro_f1").mean == pytest.approx((0.8 + 1.0 + 0.0) / 3)
    found = unpaired(right, without, "macro_f1")
    assert found is not None
    assert (found.mean, found.rows) == (0.0, 200)
    assert unpaired(right.where(labels == 2), without, "macro_f1") is None


def test_scores_of_different_draws_are_compared_on_those_that_are_shared() -> None:
    three = answers([0.9], rows=OLD)
    three = dataclasses.replace(three, predicted=np.concatenate([three.predicted, 1 - three.labels[None]]), seeds=(*three.seeds, (2, 0)))
    found = unpaired(three, answers([0.8], rows=ALL), "accuracy")
    assert found is not None
    assert (found.mean, found.seeds) == (pytest.approx(0.1), 2)  # the third draw gets nothing right
    assert unpaired(answers([0.9], rows=OLD), answers([0.8], rows=ALL, seed=7), "accuracy") is None


def test_a_file_without_new_test_rows() -> None:
    found = judge(answers([0.9], rows=OLD), answers([0.9], rows=OLD), {}, setting=SETTING)
    assert found.verdict == "keep"
    assert (found.winner.new_rows, found.changes.score, found.changes.mix_p_value) == (None, None, None)
    assert found.changes.shares == {"a": Pair(old=0.5, new=None), "b": Pair(old=0.5, new=None)}
    assert "| bilstm | 90.0% (88.1 to 91.9) | — | — |" in decide_against.render(found)


def test_rows_that_are_gone_or_were_relabelled_are_no_basis() -> None:
    old, now = answers([0.9], rows=range(1200)), answers([0.9, 0.9], rows=ALL)
    labels = now.labels.copy()
    labels[:100] = 1 - labels[:100]
    now = Answers(row_ids=now.row_ids[5:], labels=labels[5:], predicted=now.predicted[:, 5:], seeds=now.seeds)
    found = judge(old, now, {}, setting=SETTING)
    assert found.changes.n_gone == 5
    assert found.gain is not None
    assert found.gain.rows == 1100


def test_what_changed() -> None:
    labels = np.array([0] * 500 + [1] * 500 + [0] * 200 + [1] * 800)
    found = judge(
        answers([0.9], rows=OLD, labels=labels[:1000]),
        answers([0.9, 0.9], rows=ALL, labels=labels),
        {},
        setting=SETTING,
        lengths_tokens=np.array([10] * 1000 + [40] * 1000),
    )
    assert found.changes.shares == {"a": Pair(old=0.5, new=0.2), "b": Pair(old=0.5, new=0.8)}
    assert found.changes.mix_p_value is not None
    assert found.changes.mix_p_value < 1e-40
    assert found.changes.length_tokens == {"p50": Pair(old=10.0, new=40.0), "p95": Pair(old=10.0, new=40.0)}
    assert decide_against.render(found) == (
        "## Keep\n\n"
        "bilstm gains nothing for sure by retraining: 0.0 points (-0.4 to 0.4) on the 1,000 test rows that both answered.\n\n"
        "| retrained on the grown file | accuracy on old test rows | on new test rows | behind the winner on both |\n"
        "|---|---|---|---|\n"
        "| bilstm | 90.0% (88.1 to 91.9) | 90.0% (88.1 to 91.9) | — |\n\n"
        "1,000 old and 1,000 new test rows.\n\n"
        "The winner's accuracy on new rows minus on old rows: +0.0 (-2.6 to +2.6) points.\n\n"
        "Length in tokens, old → new: p50 10 → 40, p95 10 → 40.\n\n"
        f"The class mix differs between old and new rows (chi-square test, p = {found.changes.mix_p_value:.2g}).\n\n"
        "| class | old rows | new rows |\n|---|---|---|\n| a | 50.0% | 20.0% |\n| b | 50.0% | 80.0% |\n"
    )


def baked(store: Store, *, fingerprint: str, accuracy: dict[str, float], rows: int) -> dict[str, tuple[str, ...]]:
    """Two seeds a model on one state of the file; run ids by model."""
    dataset = factories.make_dataset(fingerprint=fingerprint, split="fold", fold=0, held_out_rows=None)
    ids: dict[str, tuple[str, ...]] = {}
    for model, share in accuracy.items():
        runs = [factories.make_run(model=model, labels="all", seed=seed, dataset=dataset) for seed in (0, 1)]
        ids[model] = tuple(factories.bake(store, run, accuracy=share, rows=rows).run_id for run in runs)
    return ids


def test_from_one_report_to_the_next(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    ids = baked(store, fingerprint="a" * 64, accuracy={"bilstm": 0.9, "tfidf": 0.88, "frozen": 0.87, "majority": 0.5}, rows=400)
    report = tmp_path / "report"
    report.mkdir()
    write_decision(report, Decision(winner=ids["bilstm"], rivals=(ids["tfidf"], ids["frozen"], ids["majority"])))
    old = read_old(report, store)
    assert [each.runs[0].model.name for each in (old.winner, *old.rivals)] == ["bilstm", "tfidf", "frozen"]  # two rivals at most
    assert len(old.test_row_ids) == 400

    grown = dataclasses.replace(old.dataset, fingerprint="b" * 64)
    runs = plan(old, grown)
    assert [(run.model.name, run.seed, run.dataset.fingerprint) for run in runs] == [
        (name, seed, "b" * 64) for name in ("bilstm", "tfidf", "frozen") for seed in (0, 1)
    ]
    now = baked(store, fingerprint="b" * 64, accuracy={"bilstm": 0.9, "tfidf": 0.96}, rows=600)
    assert {run.run_id for run in runs[:4]} == {*now["bilstm"], *now["tfidf"]}
    found = compare(old, grown, store)
    assert (found.verdict, found.changes.n_old, found.changes.n_new) == ("reconsider", 400, 200)
    assert [each.name for each in found.rivals] == ["tfidf"]  # frozen has no score yet
    assert found.reason.startswith("tfidf is now better than bilstm by 6.0 points")


def test_a_taught_model_is_asked_with_its_teacher(tmp_path: Path) -> None:
    dataset = factories.make_dataset(split="fold", fold=0, held_out_rows=None)
    student = dataclasses.replace(factories.MODELS["bilstm"], teacher="pretrained", distillation=HOW)
    run = factories.make_run(model=factories.MODELS["bilstm"], dataset=dataset)
    taught = dataclasses.replace(run, model=student, teacher=factories.make_run(model="pretrained", dataset=dataset))
    store = Store(tmp_path)
    ids = factories.bake(store, taught, accuracy=0.9).run_id
    write_decision(tmp_path, Decision(winner=(ids,), rivals=()))
    (again,) = plan(read_old(tmp_path, store), dataclasses.replace(dataset, fingerprint="b" * 64))
    assert again.teacher is not None
    assert (again.dataset.fingerprint, again.teacher.dataset.fingerprint) == ("b" * 64, "b" * 64)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": "kind"}, "--against needs the same question of a grown file, but dataset.label was label and is kind"),
        ({"fold": 1}, "--against needs the same question of a grown file, but dataset.fold was 0 and is 1"),
        ({"group": "customer"}, "--against needs the same question of a grown file, but dataset.group was None and is customer"),
    ],
)
def test_another_question_is_refused(changes: dict[str, Any], message: str) -> None:
    old = factories.make_dataset(split="fold", fold=0, held_out_rows=None)
    with pytest.raises(DataError) as raised:
        refuse_other_question(old, dataclasses.replace(old, fingerprint="b" * 64, **changes))
    assert str(raised.value) == message


def test_cuts_of_a_time_split_may_differ() -> None:
    old = factories.make_dataset(split="newest", time="day", newest_share=0.2, held_out_rows=None)
    pinned = dataclasses.replace(old, newest_share=None, newest_from=("2024-03-01T00:00:00",), fingerprint="b" * 64)
    assert refuse_other_question(old, pinned) is None  # type: ignore[func-returns-value]
    with pytest.raises(DataError, match=r"dataset\.time"):
        refuse_other_question(old, dataclasses.replace(pinned, time="hour"))


def test_reports_that_say_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    with pytest.raises(DataError, match=r"^--against .* has no decision.json: name the folder of a report that `bakeoff decide` wrote$"):
        read_old(tmp_path, store)
    write_decision(tmp_path, Decision(winner=("0" * 12,), rivals=()))
    with pytest.raises(DataError, match=r"^the records behind .* are gone or of another version of bakeoff: keep its runs folder, or run"):
        read_old(tmp_path, store)
    for content, why in (("{", "is damaged"), (json.dumps({"decision_version": 9}), "has decision_version 9 where this bakeoff reads 1")):
        (tmp_path / "decision.json").write_text(content)
        with pytest.raises(DataError, match=why):
            read_old(tmp_path, store)
    ids = baked(store, fingerprint="a" * 64, accuracy={"tfidf": 0.9}, rows=100)
    write_decision(tmp_path, Decision(winner=ids["tfidf"], rivals=()))
    old = read_old(tmp_path, store)
    with pytest.raises(DataError, match=r"^--against needs a file that has grown, but it holds the same bytes as in the old report$"):
        plan(old, old.dataset)
    with pytest.raises(DataError, match=r"^last month's winner has no score on the grown file"):
        compare(old, dataclasses.replace(old.dataset, fingerprint="c" * 64), store)


def test_records_beside_the_page_stand_in_for_the_store(tmp_path: Path) -> None:
    ids = baked(Store(tmp_path / "report" / "records"), fingerprint="a" * 64, accuracy={"tfidf": 0.9}, rows=100)
    write_decision(tmp_path / "report", Decision(winner=ids["tfidf"], rivals=()))
    assert read_old(tmp_path / "report", Store(tmp_path / "runs")).winner.runs[0].model.name == "tfidf"
