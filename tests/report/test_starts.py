"""Pretraining Runs on a page: no candidates of their own, and they tell apart the models that start from them."""

import dataclasses

import factories
from bakeoff import spec
from bakeoff.record import Diagnostic
from bakeoff.report.candidates import candidates
from bakeoff.report.pages import write_report
from bakeoff.report.summary import sections
from bakeoff.store import Store
from factories import cell, sweep_of


def start(seed: int, *, unlabelled: str = "pool") -> spec.Run:
    run = factories.make_run(model=dataclasses.replace(factories.MODELS["scratch"], name="scratch_mlm"), labels=1000, seed=seed)
    probe = spec.Pretrain(threads=1, mask_fraction=0.15, training=factories.TRAINING)
    return dataclasses.replace(run, budget=dataclasses.replace(run.budget, unlabelled=unlabelled), probe=probe)  # type: ignore[arg-type]


def started(seed: int, *, unlabelled: str = "pool") -> spec.Run:
    run = factories.make_run(model="scratch", labels=1000, seed=seed)
    model = dataclasses.replace(run.model, start="scratch_mlm")  # type: ignore[type-var]
    return dataclasses.replace(run, model=model, start=start(seed, unlabelled=unlabelled))


def test_a_model_with_a_start_is_another_candidate_and_seeds_of_it_are_one() -> None:
    plain = factories.make_run(model="scratch", labels=1000)
    runs = [plain, started(0), started(1), started(0, unlabelled="none"), start(0)]
    found = candidates(runs)
    keys = [found[run.run_id].key for run in runs[:4]]
    assert len(set(keys)) == 3
    assert keys[1] == keys[2]
    assert start(0).run_id not in found
    assert found[started(0).run_id].label != found[plain.run_id].label


def test_a_page_has_its_students_and_not_the_pretraining(store: Store) -> None:
    runs = [factories.make_run(model="scratch", labels=1000, seed=seed) for seed in range(2)] + [started(seed) for seed in range(2)]
    for run, accuracy in zip(runs, (0.7, 0.71, 0.8, 0.81), strict=True):
        factories.bake(store, run, accuracy=accuracy)
    labels, predicted = factories.make_predictions(accuracy=1.0)
    record = factories.make_record(start(0), labels, predicted, quality={})
    odd = dataclasses.replace(record.training, diagnostics=(Diagnostic(code="no_steps", message="no step was taken"),))
    record = dataclasses.replace(record, training=odd)
    store.folder(record.run_id).mkdir(parents=True)
    store.write_record(record)
    every = [*runs, start(0)]
    written = write_report([sweep_of(*map(cell, every))], store, store.root.parent / "page").read_text()
    (section,) = sections(every, store)
    assert {candidate.run.model.name for candidate in section.candidates.values()} == {"scratch"}
    assert "also read texts without labels" in written
    assert "no step was taken" not in written
