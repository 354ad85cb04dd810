"""The weights of last month's winner are asked about the test rows that came since, but for those that they may have learned."""

from pathlib import Path

import numpy as np
import pytest

import bakery
from bakeoff.commands import decide_shipped
from bakeoff.data.dataset import prepare
from bakeoff.deciding.old_report import Decision, OldReport, read_old, write_decision
from bakeoff.spec import Dataset
from bakeoff.store import Store, default_root


@pytest.fixture
def old(tmp_path: Path) -> OldReport:
    file = bakery.write_csv(tmp_path / "tickets.csv", bakery.rows(200))
    baked = bakery.bake(bakery.compose(*bakery.on_table(file), "machine.keep_weights=all", *bakery.TINY["tfidf"], "budget.labels=100"))
    write_decision(tmp_path, Decision(winner=(baked.record.run_id,), rivals=()))
    return read_old(tmp_path, Store(default_root()))


def grown(tmp_path: Path, more: list[bakery.Row]) -> Dataset:
    file = bakery.write_csv(tmp_path / "tickets.csv", [*bakery.rows(200), *more])
    return bakery.compose(*bakery.on_table(file), *bakery.TINY["tfidf"], "budget.labels=100").run.dataset


def test_old_rows_keep_their_answers_and_new_ones_get_some(old: OldReport, tmp_path: Path) -> None:
    dataset = grown(tmp_path, bakery.rows(400, labels=("neg", "pos", "aha"), seed=9))
    found = decide_shipped.shipped(old, dataset, Store(default_root()), fits=lambda seconds: True)
    today = prepare(dataset).test
    assert found is not None
    assert found.row_ids.tolist() == list(today.row_ids)
    assert found.labels.tolist() == today.labels.tolist()
    assert found.seeds == old.winner.answers.seeds
    is_old = np.isin(found.row_ids, old.winner.answers.row_ids)
    assert (found.predicted[:, is_old] == old.winner.answers.predicted + 1).all()  # "aha" comes before "neg" and "pos"
    new = found.where(~is_old)
    assert new.predicted.min() > 0  # a class that it has never seen
    assert new.where(new.labels > 0).scores("accuracy")[0] > 0.9
    assert decide_shipped.shipped(old, dataset, Store(default_root()), fits=lambda seconds: False) is None
    assert decide_shipped.shipped(old, dataset, Store(tmp_path / "none"), fits=lambda seconds: True) is None


def test_copies_of_what_it_learned_are_not_asked(old: OldReport, tmp_path: Path) -> None:
    before = bakery.rows(200)
    copies = [(" ".join([*text.split()[:-1], "other"]), label) for text, label in before]  # 9 of 11 words: near-duplicates
    dataset = grown(tmp_path, copies)
    prepared = prepare(dataset)
    asked = decide_shipped.unseen(prepared, old.test_row_ids)
    learned = {" ".join(text.split()[:-1]) for text in prepared.dropped.texts}
    assert any(" ".join(text.split()[:-1]) in learned for text in prepared.test.texts)
    assert not [text for text in asked.texts if " ".join(text.split()[:-1]) in learned]
    assert old.test_row_ids.isdisjoint(asked.row_ids)
