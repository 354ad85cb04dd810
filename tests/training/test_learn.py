"""From labels to predictions: what a group or a near-duplicate may not do to the choice of C."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import bakery
from bakeoff.data import budget, dataset
from bakeoff.training import closed_form
from bakeoff.training import learn as learning


def test_c_is_chosen_across_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each author writes about one class in words of their own, so only folds by author show that the words do not carry over."""
    lines = ["text,label,author"]
    words = ["".join(letters) for letters in itertools.product("abcde", repeat=4)]
    lines += [f"{words[i]} {words[100 + i]} {words[200 + 6 * i + n]} {words[i + n]},{'ab'[i % 2]},{i}" for i in range(40) for n in range(6)]
    file = tmp_path / "authors.csv"
    file.write_text("\n".join(lines) + "\n")
    job = bakery.compose(*bakery.on_table(file), "dataset.group=author", "model=tfidf")
    prepared = dataset.prepare(job.run.dataset)
    spent = budget.spend(prepared.pool, job.run.budget, validation=False)
    seen: dict[str, np.ndarray] = {}
    original = closed_form.TfidfClassifier.fit

    def spy(self: object, texts: object, labels: object, bundles: np.ndarray, unlabelled: object = ()) -> None:
        seen["bundles"] = bundles
        original(self, texts, labels, bundles, unlabelled)  # type: ignore[arg-type]

    monkeypatch.setattr(closed_form.TfidfClassifier, "fit", spy)
    learning.learn(job.run, prepared, spent, device="cpu", log=lambda step, metrics: None)
    groups = prepared.pool.take(spent.fit).groups
    assert groups is not None
    bundle_of: dict[str, set[int]] = {}
    for group, bundle in zip(groups, seen["bundles"].tolist(), strict=True):
        bundle_of.setdefault(group, set()).add(bundle)
    assert all(len(bundles) == 1 for bundles in bundle_of.values())
