"""What is to bake and in which order."""

import json
from pathlib import Path

import pytest
import toys

from bakeoff.runner.estimate import rough_seconds
from bakeoff.runner.plan import Planned, Rebake, as_json, as_text, plan, to_bake
from bakeoff.spec import Run
from bakeoff.store import Store
from bakeoff.sweep import Cell, Sweep

IMPOSSIBLE = Cell(overrides=("model=bilstm", "longdoc=head"), run=None, reason="bilstm reads all")


def sweep(*cells: Run | Cell) -> Sweep:
    made = tuple(cell if isinstance(cell, Cell) else Cell(overrides=("model=x",), run=cell) for cell in cells)
    return Sweep(name="toy", description="", path="toy.yaml", cells=made)


def states(planned: tuple[Planned, ...]) -> list[tuple[str, bool]]:
    return [(each.state, each.bake) for each in planned]


def test_floors_first_then_seed_by_seed_longest_first(tmp_path: Path) -> None:
    grid = [
        toys.make_run(seed, model=model, labels=labels)
        for model in ("bilstm", "pretrained", "tfidf", "majority")
        for labels in (100, 1000)
        for seed in (0, 1)
    ]
    order = [(run.model.kind, run.budget.labels, run.seed) for run in to_bake(plan(sweep(*grid, *grid), Store(tmp_path)))]
    floors = [(kind, labels, seed) for seed in (0, 1) for kind in ("tfidf", "majority") for labels in (100, 1000)]
    rest = [(kind, labels, seed) for seed in (0, 1) for kind, labels in _LONGEST_FIRST]
    assert order == floors + rest


_LONGEST_FIRST = [("pretrained", 1000), ("pretrained", 100), ("bilstm", 1000), ("bilstm", 100)]


def test_latency_comes_after_all_else_in_grid_order(tmp_path: Path) -> None:
    timed = [toys.make_latency_run(name) for name in ("slow", "fast")]
    trained = [toys.make_run(seed, model=model) for seed in (0, 1) for model in ("pretrained", "majority")]
    order = to_bake(plan(sweep(*timed, *trained), Store(tmp_path)))
    assert [run.run_id for run in order[-2:]] == [run.run_id for run in timed]
    assert [run.model.kind for run in order[:-2]] == ["majority", "majority", "pretrained", "pretrained"]


def test_a_session_says_nothing_about_how_long_one_run_takes(tmp_path: Path) -> None:
    store, run = Store(tmp_path), toys.make_latency_run()
    store.write_record(toys.make_record(run, seconds=500))
    (planned,) = plan(sweep(run), store, rebake="all")
    assert (planned.state, planned.estimate_seconds) == ("todo", None)


def test_rough_seconds() -> None:
    # 100 labels × 3 epochs × 256 tokens at 2,000 tokens a second; `all` as 10,000 labels; never under 10 steps of 16.
    assert rough_seconds(toys.make_run(model="pretrained")) == pytest.approx(5 + 300 * 256 / 2000)
    assert rough_seconds(toys.make_run(model="pretrained", labels=1)) == pytest.approx(5 + 160 * 256 / 2000)
    assert rough_seconds(toys.make_run(model="bilstm", labels=1000)) == pytest.approx(5 + 3000 * 256 / 75000)
    assert [rough_seconds(toys.make_run(model=kind)) for kind in ("majority", "tfidf")] == [1.0, 5.0]


def test_what_is_recorded_tells_how_long_other_seeds_take_and_sets_the_order(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for seed, seconds in ((0, 500), (1, 700)):
        run = toys.make_run(seed, model="bilstm", labels=1000)
        store.write_record(toys.make_record(run, seconds=seconds))
    planned = plan(sweep(toys.make_run(2, model="pretrained"), toys.make_run(2, model="bilstm", labels=1000)), store)
    assert [each.estimate_seconds for each in planned] == [None, 600.0]
    assert [run.model.kind for run in to_bake(planned)] == ["bilstm", "pretrained"]


@pytest.mark.parametrize(
    ("rebake", "expected"),
    [
        ("missing", [("done", False), ("failed", True), ("todo", True), ("locked", True), ("not_applicable", False)]),
        ("failed", [("done", False), ("failed", True), ("todo", False), ("locked", False), ("not_applicable", False)]),
        ("all", [("todo", True), ("failed", True), ("todo", True), ("locked", True), ("not_applicable", False)]),
    ],
)
def test_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rebake: Rebake, expected: list[tuple[str, bool]]) -> None:
    store, runs = Store(tmp_path), [toys.make_run(seed) for seed in range(4)]
    store.write_record(toys.make_record(runs[0]))
    store.write_failure(runs[1], type_="ValueError", message="no", trace=[])
    monkeypatch.setattr("bakeoff.runner.plan.is_locked", lambda _, run_id: run_id == runs[3].run_id)
    planned = plan(sweep(*runs, IMPOSSIBLE), store, rebake=rebake)
    assert states(planned) == expected
    assert planned[1].reason == "ValueError: no"
    assert planned[4].reason == "bilstm reads all"
    assert [run.seed for run in to_bake(planned)] == [number for number, (_, bake) in enumerate(expected) if bake]


def test_planning_writes_nothing(tmp_path: Path) -> None:
    plan(sweep(toys.make_run()), Store(tmp_path / "runs"))
    assert list(tmp_path.iterdir()) == []


def test_the_plan_as_json_and_text(tmp_path: Path) -> None:
    store, runs = Store(tmp_path), [toys.make_run(1, model="pretrained"), toys.make_run(0), toys.make_run(1)]
    store.write_record(toys.make_record(runs[1], seconds=60))
    planned = plan(sweep(*runs, runs[2], IMPOSSIBLE), store)
    plain = json.loads(as_json(planned))
    assert plain[2] == {
        "run_id": runs[2].run_id,
        "question_id": runs[2].question_id,
        "title": "toy · majority · full · 100 labels · seed 1",
        "state": "todo",
        "reason": None,
        "estimate_seconds": 60.0,
        "rough_seconds": None,
    }
    assert (plain[0]["estimate_seconds"], plain[0]["rough_seconds"]) == (None, pytest.approx(5 + 300 * 256 / 2000))
    assert plain[4]["run_id"] is None
    assert plain[4]["title"] == "model=bilstm longdoc=head"
    assert as_text(planned).splitlines() == [
        f"todo            {runs[2].run_id}  toy · majority · full · 100 labels · seed 1   about 60 s",
        f"todo            {runs[2].run_id}  toy · majority · full · 100 labels · seed 1   about 60 s",
        f"todo            {runs[0].run_id}  toy · pretrained · full · 100 labels · seed 1   roughly 43 s",
        f"done            {runs[1].run_id}  toy · majority · full · 100 labels · seed 0   about 60 s",
        "not applicable  -             model=bilstm longdoc=head   (bilstm reads all)",
        "3 todo, 1 done, 1 not applicable",
        "to bake: 2, about 60 s for the 1 of them whose like is recorded, roughly 43 s for 1 without records of their like",
    ]
