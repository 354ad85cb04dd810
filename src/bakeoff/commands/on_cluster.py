"""`--executor ray`: what `sweep` and `tune` give to a cluster, and what must be alike on all of its machines."""

import functools
import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import bakeoff
from bakeoff import tracking
from bakeoff.errors import ConfigError
from bakeoff.provenance import provenance
from bakeoff.runner import needs, on_ray
from bakeoff.runner.attempt import Bake
from bakeoff.runner.events import Event, Outcome
from bakeoff.runner.on_ray import RayCluster
from bakeoff.runner.remote import run_remote
from bakeoff.spec import Latency, Machine, Run
from bakeoff.store import Store, write_atomically


def refuse_latency(runs: Sequence[Run]) -> None:
    """Raise ConfigError for latency Runs, which need one machine that does nothing else."""
    if timed := sum(isinstance(run.probe, Latency) for run in runs):
        raise ConfigError(
            f"--executor ray cannot bake the {timed} latency Runs asked for, since models are timed against each other on one quiet "
            "machine: bake those with --executor local, and the others here, for example with probe=quality"
        )


def connected(
    address: str | None, runs: Sequence[Run], machine: Machine, store: Store, *, slots: int | None
) -> AbstractContextManager[RayCluster]:
    """A cluster that can bake these Runs and what they need; raises ConfigError as `on_ray.connected` does."""
    return on_ray.connected(address, needs.with_needs(runs, store), machine, slots=slots or machine.slots, code=code_facts)


def bake_on_cluster(
    runs: Sequence[Run],
    cluster: RayCluster,
    store: Store,
    *,
    bake: Bake,
    preload: Sequence[str],
    rebake_all: bool,
    on_event: Callable[[Event], None],
) -> Outcome:
    """Bake Runs on the workers of a cluster, with W&B as this machine has it: being logged in there is no consent either."""
    return run_remote(
        runs,
        cluster,
        store=store,
        bake=bake,
        rename=functools.partial(name_as_here, machine=cluster.machine, here=Path.cwd()),
        preload=preload,
        environment={"WANDB_MODE": tracking.mode_of(cluster.machine), "TOKENIZERS_PARALLELISM": os.environ["TOKENIZERS_PARALLELISM"]},
        rebake_all=rebake_all,
        limit_seconds=cluster.machine.time_limit_seconds,
        on_event=on_event,
    )


def name_as_here(run: Run, folder: Path, lies_in: Path, *, machine: Machine, here: Path) -> None:
    """Let the run.yaml of a Run that was baked elsewhere name the files and the folder of the machine that asked, in `here`."""
    from bakeoff.bake import rerunnable

    place = lies_in.relative_to(here) if lies_in.is_relative_to(here) else lies_in
    write_atomically(folder / "run.yaml", rerunnable(run, machine, place))


def code_facts() -> dict[str, str]:
    """Versions of what can change an answer, the commit, and a hash of bakeoff's own source: alike on every machine of a sweep."""
    root = Path(bakeoff.__file__).parent
    source = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        source.update(f"{file.relative_to(root).as_posix()}\n".encode() + file.read_bytes())
    code = provenance()
    return {**code.versions, "bakeoff's commit": code.commit or "none", "bakeoff's source": source.hexdigest()[:12]}
