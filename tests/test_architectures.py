"""One Run of every encoder family at toy size, from a folder and without the hub: fine-tuned, and frozen."""

from pathlib import Path

import numpy as np
import pytest

import bakery
import toy_encoders
from bakeoff.data.checks import check

PLAIN = ("model.training.epochs=2", "model.training.min_steps=4", "model.training.learning_rate=1e-2", "model.training.batch_size=16")
PACED = ("model.layer_decay=0.8", "model.head_first_epochs=1", "model.reinitialised_layers=1", "model.keep_layers=[0,1,3]")


def overrides(tmp_path: Path, family: str) -> list[str]:
    folder = toy_encoders.checkpoint(tmp_path / family, family, initializer_range=0.1)
    pool = bakery.write_csv(tmp_path / "pool.csv", bakery.rows(60))
    test = bakery.write_csv(tmp_path / "test.csv", bakery.rows(20, seed=1))
    return [*bakery.on_table(pool, test), bakery.checkpoint_override(folder), "longdoc.max_tokens=32", "budget.labels=40"]


@pytest.mark.parametrize("family", toy_encoders.FAMILIES)
def test_an_encoder_of_every_family_bakes_from_a_folder(family: str, tmp_path: Path) -> None:
    job = bakery.compose(*overrides(tmp_path, family), "model=pretrained", *PLAIN, *PACED, "machine.keep_weights=all")
    check(job.run)
    baked = bakery.bake(job)
    assert baked.record.status == "ok"
    assert (baked.record.training.steps, baked.record.training.epochs) == (6, 2.0)
    assert baked.record.quality["test"].n == 20
    assert baked.record.size is not None
    assert baked.record.size.parameters_trainable == baked.record.size.parameters_total
    assert (baked.folder / "model" / "config.json").exists()
    frozen = bakery.bake(bakery.compose(*overrides(tmp_path / "frozen", family), "model=frozen", "model.cv_folds=2"))
    assert frozen.record.status == "ok"
    assert frozen.record.data.n_fit == 40
    assert np.isfinite([probability for _, row in frozen.answers.values() for probability in row]).all()


def test_a_fine_tuned_encoder_repeats_itself_with_every_setting(tmp_path: Path) -> None:
    job = bakery.compose(*overrides(tmp_path, "bert"), "model=pretrained", *PLAIN, *PACED)
    first = bakery.bake(job)
    (first.folder / "record.json").unlink()
    assert bakery.bake(job).predictions == first.predictions
