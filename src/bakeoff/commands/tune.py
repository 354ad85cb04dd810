"""`bakeoff tune`: the same number of trials on validation rows for every model of a sweep, and sweep files with what they chose."""

import dataclasses
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bakeoff import config, sweep_file, tuning
from bakeoff.commands.baking import Executor, bake_runs, check_device, check_run, tell_end
from bakeoff.commands.tuned import Result, as_table, changes, commands
from bakeoff.config import Composer
from bakeoff.data.budget import VALIDATION_FROM_LABELS
from bakeoff.errors import ConfigError, DataError, NotApplicable
from bakeoff.runner import plan as planning
from bakeoff.runner.plan import Planned
from bakeoff.spec import Quality, Run
from bakeoff.store import Store, default_root
from bakeoff.sweep import Cell
from bakeoff.tuning import Contest, Entry, Recipe, Space


def tune(
    file: Path,
    overrides: list[str],
    *,
    trials: int,
    seed: int,
    executor: Executor,
    slots: int | None,
    address: str | None,
    dry_run: bool,
) -> int:
    """Exit code of `bakeoff tune`; raises BakeoffError for a mistake before anything starts."""
    store, sweep = Store(default_root()), config.load_sweep(file, overrides)
    contests = [contest(entry, store, trials=trials, seed=seed) for entry in tuning.entries(sweep)]
    held, kept = alike([each for each in contests if each.reason is None]), [each for each in contests if each.reason is not None]
    if not held:
        raise ConfigError(f"{file} has nothing to tune: {kept[0].title}: {kept[0].reason}")
    cells = tuple(Cell(overrides=each.entry.first.overrides, run=run) for each in held for _, run in each.tried)
    planned = planning.plan(dataclasses.replace(sweep, cells=cells), store)
    if dry_run:
        print("\n".join([*_listed(held, planned), *_fewer(held, trials), *_keep_their_default(kept)]))
        return 0
    machine, runs = config.machine_of(file, overrides), planning.to_bake(planned)
    check_device(machine, runs, executor=executor)
    if machine.keep_weights in ("all", "best"):
        machine = dataclasses.replace(machine, keep_weights="needed")  # a trial ships nothing
    print(f"{len(runs)} trials to bake, {sum(each.state == 'done' for each in planned)} already recorded", file=sys.stderr)
    outcome = bake_runs(runs, machine, store, executor=executor, slots=slots, address=address, group=f"{sweep.name}-tuning")
    tell_end(outcome, runs, store)
    if outcome.interrupted:
        return 130
    results = [Result.of(each, store) for each in held]
    written = [each.write(file, overrides, trials=trials, seed=seed) for each in results if each.chosen is not None]
    lines = [*as_table(results), *_fewer(held, trials), *_keep_their_default(kept), *commands(file, overrides, written)]
    print("\n".join(lines))
    return 1 if outcome.failed else 0


def contest(entry: Entry, store: Store, *, trials: int, seed: int) -> Contest:
    """What to try of an entry, at most `trials` recipes; settings that the sweep itself fixes are not searched."""
    first = entry.first
    space: dict[str, tuple[object, ...]] = {}
    reason = _nothing_to_judge(first)
    if reason is None:
        fixed = {tuning.setting_of(text) for text in first.overrides}
        space = {key: values for key, values in Composer().job(first.overrides).space.items() if key not in fixed}
        if not space:
            reason = "its configuration names no `tune` values that the sweep leaves open"
    if reason is not None:
        return Contest(entry=entry, space=space, tried=(), reason=reason)
    tried = tuple(itertools.islice(_drawn(first, space, seed=seed), trials))
    try:
        check_run(tried[0][1], store)
    except (NotApplicable, DataError) as refused:
        reason = str(refused)
    return Contest(entry=entry, space=space, tried=tried, reason=reason)


def alike(contests: Sequence[Contest]) -> list[Contest]:
    """The contests with as many trials each as the one with the fewest recipes has, so that no model is tried more often."""
    most = min((len(each.tried) for each in contests), default=0)
    return [dataclasses.replace(each, tried=each.tried[:most]) for each in contests]


def _nothing_to_judge(first: Cell) -> str | None:
    run = first.run
    if run is None or first.reason is not None:
        return first.reason
    if not isinstance(run.probe, Quality):
        return f"probe={run.probe.kind} asks for no score"
    if run.budget.labels != "all" and run.budget.labels < VALIDATION_FROM_LABELS:
        return f"below {VALIDATION_FROM_LABELS} labels there are no validation rows to choose by"
    return None


def _drawn(first: Cell, space: Space, *, seed: int) -> Iterator[tuple[Recipe, Run]]:
    """The recipes in their drawn order with their trials; a combination that the configuration refuses is passed over."""
    composer = Composer()
    for recipe in tuning.recipes(space, seed=seed):
        others = [f"{key}={sweep_file.as_text(value)}" for key, value in recipe.items() if value != space[key][0]]
        try:
            yield recipe, tuning.as_trial(composer.cell([*first.overrides, *others]).run)
        except NotApplicable:
            continue


def _listed(contests: Sequence[Contest], planned: Sequence[Planned]) -> list[str]:
    """One line a trial, one for each Run that is no trial but that some are built from, then how many there are to bake."""
    by_id = {run.run_id: each for each in planned if (run := each.cell.run) is not None}
    tried = {run.run_id: f"{each.title}  {changes(recipe, each.space)}" for each in contests for recipe, run in each.tried}
    lines = [f"{by_id[run_id].state:<8}  {run_id}  {told}" for run_id, told in tried.items()]
    others = [f"{'needed':<8}  {run_id}  {each.cell.title}  {each.reason}" for run_id, each in by_id.items() if run_id not in tried]
    return [*lines, *others, f"to bake: {sum(each.bake for each in by_id.values())}"]


def _fewer(contests: Sequence[Contest], trials: int) -> list[str]:
    """Why there are fewer trials than were asked for."""
    smallest = min(contests, key=lambda each: len(each.tried))
    most, run = len(smallest.tried), smallest.entry.first.run
    assert run is not None, "one without a Run is not tried"
    return [f"{most} trials each: the space of {run.model.name} has {most} recipes"] if most < trials else []


def _keep_their_default(contests: Sequence[Contest]) -> list[str]:
    return [f"not tuned: {each.title}: {each.reason}" for each in contests]
