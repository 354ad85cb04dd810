"""What shipping costs in all: one price of predictions for both places, teachers counted, nothing from a disturbed session."""

from dataclasses import replace
from typing import Any

import pytest

import factories
from bakeoff.record import MachineFacts, Record
from bakeoff.report.answer_costs import Total, totals
from bakeoff.report.costs import Prices, fitting, million_predictions
from bakeoff.spec import Distillation, Run
from contenders import contender, field, timed

PRICES = Prices(currency="EUR", cpu_core_hour=0.36, gpu_hour=3.6, note="made up", label=0.1)
TEACHING = Distillation(temperature=1.0, soft_weight=1.0, hard_weight=0.0, hidden_weight=0.0, transfer_epochs=1)


def trained(run: Run, seconds: float, **changes: Any) -> Record:
    record = factories.make_record(run, *factories.make_predictions(accuracy=0.8), **changes)
    return replace(record, training=replace(record.training, seconds=seconds))


def speed(run: Run, **changes: Any) -> Record:
    record = factories.make_record(run, *factories.make_predictions(accuracy=0.8), quality={})
    return replace(record, latency=factories.make_latency_facts(p50_ms=9.0, **changes))


def total_of(fitted: Record, served: Record) -> Total:
    one = contender("a", [[1, 1]], timed=timed(9.0, run_id=served.run_id), run_ids=(served.run_id,), fitted_by=(fitted.run_id,))
    records = {record.run_id: record for record in (fitted, served)}
    return totals(field(one), records, price_per_label=0.1, prices=PRICES)["a"]


def test_labels_training_and_predictions_of_an_engine_with_answers_of_its_own() -> None:
    """100 s on a GPU at 3.6 an hour, and 10⁶ predictions at 100 a second on one core at 0.36."""
    gpu = MachineFacts(processor="x", usable_cpus=2, memory_gb=8.0, gpu="H", device="cuda")
    found = total_of(trained(factories.make_run(model="bilstm"), 100.0, machine=gpu), speed(factories.make_latency_run()))
    assert (found.labels, found.training, found.million_predictions) == (pytest.approx(100), pytest.approx(0.1), pytest.approx(1.0))
    assert found.total == pytest.approx(101.1)


def test_a_disturbed_session_is_no_price() -> None:
    disturbed = speed(factories.make_latency_run(), contended=True)
    assert million_predictions(disturbed, PRICES) is None
    assert total_of(trained(factories.make_run(model="bilstm"), 100.0), disturbed).total is None


def test_a_students_training_holds_its_teachers_where_it_is_known() -> None:
    """1,000 s of the teacher and 100 s of the student at 0.36 an hour."""
    teacher = trained(factories.make_run(model="pretrained"), 1000.0)
    student = replace(factories.MODELS["pretrained"], name="student", pooling="cls", teacher="pretrained", distillation=TEACHING)
    taught = trained(replace(factories.make_run(model=student), teacher=teacher.run), 100.0)
    both, alone = (fitting([taught], known, PRICES) for known in ({teacher.run_id: teacher}, {}))
    assert (both.money, both.lacks_teacher) == (pytest.approx(0.11), False)
    assert (alone.money, alone.lacks_teacher) == (pytest.approx(0.01), True)
    assert total_of(taught, speed(factories.make_latency_run())).lacks_teacher
