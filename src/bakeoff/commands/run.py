"""`bakeoff run`: a Hydra application whose mistakes are found before Hydra starts."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hydra

from bakeoff import config
from bakeoff.commands.baking import bake_runs, check_device, check_run, tell_end
from bakeoff.config import Composer, Job
from bakeoff.errors import BakeoffError, NotApplicable
from bakeoff.store import RECORD, Store, default_root
from bakeoff.tracking import Mirror

_WITH_VALUE = {"--config-dir": "config_dir", "-cd": "config_dir", "--config-name": "config_name", "-cn": "config_name"}
_INFORMS = ("--cfg", "-c", "--info", "-i", "-h", "--hydra-help", "--version", "--shell-completion", "-sc")


def run(arguments: list[str]) -> int:
    """Exit code of `bakeoff run ARGUMENTS`: 0 when every job is recorded, 1 when one failed.

    Raises BakeoffError for a mistake in any job, before any starts. A combination that makes no sense is none under a W&B
    agent, which goes through a whole grid and gives up where too many of its runs end badly: it is told, and the code is 0.
    """
    try:
        return _run(arguments)
    except NotApplicable as reason:
        if not _is_agents():
            raise
        _tell(f"not applicable: {reason}")
        return 0


def _run(arguments: list[str]) -> int:
    flags, overrides = _split(arguments)
    composer = Composer(Path(flags["config_dir"]) if "config_dir" in flags else None, flags.get("config_name", "run"))
    informs = any(text.split("=")[0] in _INFORMS for text in arguments)
    multirun = "-m" in arguments or "--multirun" in arguments
    asked = config.expand(overrides) if multirun else [overrides]
    jobs: list[Job] = []
    if informs:
        for each in asked:
            composer.compose(each)
    else:
        jobs = [composer.cell(each) for each in asked]  # all of them first: a check may fetch an asset
        to_bake = [job for job in jobs if _check(job)]
        if to_bake:
            Store(default_root()).check_usable()
    failed: list[str] = []
    composed: Iterator[Job] = iter(jobs)  # Hydra starts its task for each of them, in this order

    def task(cfg: Any) -> None:
        try:
            failed.extend(_bake(composer.from_hydra(cfg, next(composed).run.needs)))
        except BakeoffError as mistake:  # of what changed since it was checked
            print(f"bakeoff: {mistake}", file=sys.stderr)
            failed.append(str(mistake))

    scratch = tempfile.mkdtemp(prefix="bakeoff-hydra-")
    quiet = ["hydra/job_logging=none", "hydra/hydra_logging=none", "hydra.output_subdir=null", "hydra.job.chdir=false"]
    # Hydra writes multirun.yaml wherever its folders are; ours are elsewhere, so its own are thrown away.
    folders = [f"hydra.run.dir={scratch}", f"hydra.sweep.dir={scratch}", "hydra.sweep.subdir=job"]
    kept = [text for text in arguments if text not in _config_flags(arguments)]
    sys.argv = ["bakeoff run", *kept, *composer.search, *([] if informs else [*quiet, *folders])]
    try:
        config.prefer_working_directory()
        hydra.main(version_base="1.3", config_path=str(composer.primary), config_name=composer.config_name)(task)()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 1 if failed else 0


def _check(job: Job) -> bool:
    """Whether a job is to be baked; a recorded one needs neither its data nor its checkpoint. Raises BakeoffError when it cannot start."""
    store = Store(default_root())
    if store.load(job.run.run_id) is not None:
        return False
    check_device(job.machine, [job.run])
    check_run(job.run, store)
    return True


def _bake(job: Job) -> list[str]:
    """Bake in a child process; the ids of what failed. Prints the record's path."""
    store = Store(default_root())
    recorded = store.load(job.run.run_id)
    if recorded is not None and _is_agents():  # the agent wants to see every cell of its grid
        mirror = Mirror.start(job.run, machine=job.machine, root=store.root, group=None, notify=_tell)
        mirror.finish(recorded, folder=store.folder(job.run.run_id))
    outcome = bake_runs([] if recorded else [job.run], job.machine, store, executor="local", slots=1)
    tell_end(outcome, [job.run], store)
    if store.load(job.run.run_id) is not None:
        print(store.folder(job.run.run_id) / RECORD, flush=True)
    if outcome.interrupted:
        sys.exit(130)
    return list(outcome.failed)


def _is_agents() -> bool:
    """Whether a W&B agent called."""
    return bool(os.environ.get("WANDB_SWEEP_ID"))


def _tell(notice: str) -> None:
    print(notice, file=sys.stderr)


def _split(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """The flags that choose a configuration, and the overrides."""
    flags: dict[str, str] = {}
    overrides: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if name in _WITH_VALUE:
            flags[_WITH_VALUE[name]] = value if equals else next(words, "")
        elif name in ("--cfg", "-c", "--info", "-i", "--package", "-p") and not equals:
            next(words, "")
        elif not word.startswith("-"):
            overrides.append(word)
    return flags, overrides


def _config_flags(arguments: list[str]) -> set[str]:
    """The words that `Composer` has already understood."""
    words: set[str] = set()
    for i, word in enumerate(arguments):
        name, equals, _ = word.partition("=")
        if name in _WITH_VALUE:
            words |= {word} if equals else {word, *arguments[i + 1 : i + 2]}
    return words
