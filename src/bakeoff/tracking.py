"""The Weights & Biases mirror of a Run: offline unless asked, without texts, and never in the way.

Whatever goes wrong with W&B is told once through `notify`; then the mirror is silent and the Run goes on.
All of its files lie under `.wandb` in the runs folder.
"""

import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from bakeoff.mirrored import Sheet, sheets
from bakeoff.record import Record, without_folders
from bakeoff.spec import Machine, Run, to_plain

PRELOAD = ("wandb", "wandb.apis.public")
"""Modules that `start` needs; a fork server that has imported them saves each Run half a second."""

Mode = Literal["offline", "online", "disabled"]

_INIT_SECONDS = 20.0
_FINISH_SECONDS = 60.0
_OFFLINE_AFTER_FAILURE_SECONDS = 600.0
"""After W&B did not answer, how long the next Runs go offline at once instead of waiting again."""
_STEP = "step"


class Mirror:
    """One W&B run of one Run; `start` makes it, `finish` or `fail` ends it."""

    def __init__(self, wandb_run: Any | None, notify: Callable[[str], None], *, shares_texts: bool = False) -> None:
        self._run, self._notify, self._shares_texts = wandb_run, notify, shares_texts

    @classmethod
    def start(cls, run: Run, *, machine: Machine, root: Path, group: str | None, notify: Callable[[str], None]) -> "Mirror":
        """Begin the W&B run of one attempt, with the Run as its config.

        `root` is the runs folder. Online, an unreachable server or a missing login is waited for at most
        20 seconds; then this Run, and those of the next ten minutes, are kept offline.
        """
        mode = mode_of(machine)
        if mode == "disabled":
            return cls(None, notify)
        folder = root / ".wandb"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            named = _named(run, machine, group)
            online = _init_online(named, folder, notify) if mode == "online" else None
            return cls(online or _init(named, folder, "offline"), notify, shares_texts=machine.share_texts or run.dataset.redistributable)
        except ImportError:
            notify("W&B is not installed: Runs are recorded without it (pip install wandb, or set machine.wandb=disabled)")
        except Exception as error:
            notify(f"W&B could not start ({type(error).__name__}): Runs are recorded without it")
        return cls(None, notify)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Add one row of curves at an optimiser step. Rows may come in any order; none is dropped."""
        # W&B drops a row whose own step is lower than the last one's, and keeps a row back until a higher one comes.
        # So its step counts rows, and ours is a column, which `_init` makes the x axis.
        self._try(lambda run: run.log({_STEP: step, **metrics}))

    @classmethod
    def start_report(cls, name: str, *, machine: Machine, root: Path, notify: Callable[[str], None]) -> "Mirror":
        """Begin the W&B run of a report, which `finish_report` ends."""
        mode = mode_of(machine)
        if mode == "disabled":
            return cls(None, notify)
        folder = root / ".wandb"
        named = {"project": machine.wandb_project, "name": f"report {name}"[:128], "job_type": "report", "config": {"report": name}}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            online = _init_online(named, folder, notify) if mode == "online" else None
            return cls(online or _init(named, folder, "offline"), notify)
        except Exception as error:
            notify(f"W&B could not start ({type(error).__name__}): the page is written without it")
        return cls(None, notify)

    def finish(self, record: Record, *, folder: Path | None = None, texts: Mapping[str, str] | None = None) -> None:
        """End with the record's numbers as summary, and with the tables of the answers in its `folder`, where there are some.

        `texts`, by row id, stay here unless the dataset is redistributable or `machine.share_texts` is set.
        """
        predictions = None if folder is None else folder / "predictions.parquet"
        if predictions is not None and predictions.exists() and "test" in record.quality:
            self._try(lambda run: self._log_sheets(run, sheets(record, predictions, texts if self._shares_texts else None)))
        self._end(summary_of(record), exit_code=0)

    def finish_report(self, tables: Sequence[Sheet], pages: Mapping[str, Path]) -> None:
        """End with tables, and with pages and figures (HTML or SVG files, by name) as media."""

        def log(run: Any) -> None:
            import wandb

            self._log_sheets(run, tables)
            run.log({name: wandb.Html(path.read_text(encoding="utf-8"), inject=False) for name, path in pages.items()})

        self._try(log)
        self._end({"status": "ok"}, exit_code=0)

    @staticmethod
    def _log_sheets(run: Any, found: Sequence[Sheet]) -> None:
        import wandb

        run.log({sheet.name: wandb.Table(columns=list(sheet.columns), data=[list(row) for row in sheet.rows]) for sheet in found})

    def fail(self, message: str) -> None:
        """End as failed; `message` must be safe to share (see `runner.failure.describe`)."""
        self._end({"status": "failed", "error": message}, exit_code=1)

    def _end(self, summary: Mapping[str, float | str], *, exit_code: int) -> None:
        def end(run: Any) -> None:
            run.summary.update(dict(summary))
            run.finish(exit_code=exit_code)

        self._try(lambda run: _within(_FINISH_SECONDS, lambda: end(run)))
        self._run = None

    def _try(self, act: Callable[[Any], None]) -> None:
        if self._run is None:
            return
        try:
            act(self._run)
        except Exception as error:
            self._run = None
            self._notify(f"W&B stopped taking metrics ({type(error).__name__}): Runs go on, and their records are complete without it")


def mode_of(machine: Machine) -> Mode:
    """Offline unless `machine.wandb` or WANDB_MODE says online; the variable wins, save that disabled is disabled.

    Being logged in is no consent, and a variable that says offline keeps an online configuration from uploading.
    """
    chosen = {"online": "online", "run": "online", "disabled": "disabled"}.get(os.environ.get("WANDB_MODE") or machine.wandb, "offline")
    return "disabled" if machine.wandb == "disabled" else chosen  # type: ignore[return-value]


def summary_of(record: Record) -> dict[str, float | str]:
    """The numbers and short facts of a record, flat: `test/accuracy`, `training/seconds`, `provenance/commit`.

    Class names are left out: a wrongly named label column would make texts of them.
    """
    summary: dict[str, float | str] = {"status": record.status, "finished_at": record.finished_at}
    _flatten(summary, "", to_plain(record.quality))
    for part in ("data", "training", "latency", "size", "machine", "provenance"):
        _flatten(summary, f"{part}/", to_plain(getattr(record, part)))
    summary |= {f"data/audit/{finding.code}": finding.count for finding in record.data.audit}
    summary["training/diagnostics"] = ", ".join(diagnostic.code for diagnostic in record.training.diagnostics)
    return summary


def _flatten(into: dict[str, float | str], prefix: str, plain: Any) -> None:
    for key, value in (plain or {}).items():
        if key in ("classes", "subset_hashes"):
            continue
        if isinstance(value, dict):
            _flatten(into, f"{prefix}{key}/", value)
        elif isinstance(value, int | float | str):
            into[f"{prefix}{key}"] = value


def _named(run: Run, machine: Machine, group: str | None) -> dict[str, Any]:
    """What W&B is told of a Run as it begins."""
    return {
        "project": machine.wandb_project,
        "id": None if os.environ.get("WANDB_SWEEP_ID") else run.run_id,  # under an agent the id is the agent's
        "name": f"{run.run_id} {run.title}"[:128],
        "config": {"run_id": run.run_id, "question_id": run.question_id, **without_folders(to_plain(run))},
        "group": group,
        "job_type": run.probe.kind,
        "tags": [run.run_id, run.model.kind],
    }


def _init_online(named: Mapping[str, Any], folder: Path, notify: Callable[[str], None]) -> Any | None:
    """An online W&B run; null, with a notice, when W&B does not answer now or did not a moment ago."""
    marker = folder / "unreachable"
    if not _is_fresh(marker):
        try:
            return _init(named, folder, "online")
        except ImportError:
            raise
        except Exception as error:
            marker.write_text(type(error).__name__, encoding="utf-8")
    why = marker.read_text(encoding="utf-8")
    notify(
        f"W&B did not answer ({why}; log in with `wandb login` or check the network): "
        f"Runs are kept offline in {folder} and can be sent with `wandb sync`"
    )
    return None


def _init(named: Mapping[str, Any], folder: Path, mode: Mode) -> Any:
    """A W&B run; every attempt has an id of its own, which begins with the one named, since W&B refuses one that failed to start."""
    for name in ("DIR", "CACHE_DIR", "DATA_DIR", "ARTIFACT_DIR"):
        os.environ.setdefault(f"WANDB_{name}", str(folder))
    # Its error reports carry tracebacks with messages, which may quote texts.
    os.environ["WANDB_ERROR_REPORTING"] = "false"
    import wandb

    wanted = {
        "mode": mode,
        "console": "off",
        "silent": True,
        "save_code": False,
        "disable_code": True,
        "disable_git": True,
        "disable_job_creation": True,
        "symlink": False,
        "init_timeout": _INIT_SECONDS,
        "login_timeout": _INIT_SECONDS,
        "finish_timeout": _FINISH_SECONDS / 2,
        "reinit": "create_new",  # otherwise a second init in one process returns the first run
        "x_disable_meta": True,  # the command line, which may name the user's folders
        "x_disable_stats": True,
        "x_save_requirements": False,
        "x_service_wait": _INIT_SECONDS,
        "x_transaction_log_flush_interval": 0.2,  # what a killed Run keeps; 15 by default
    }
    settings = wandb.Settings(**{name: value for name, value in wanted.items() if name in wandb.Settings.model_fields})
    own_id = f"{named['id']}-{secrets.token_hex(4)}" if named.get("id") else None
    started = wandb.init(**{**named, "id": own_id}, settings=settings)
    started.define_metric("*", step_metric=_STEP)
    return started


def _is_fresh(marker: Path) -> bool:
    return marker.exists() and time.time() - marker.stat().st_mtime < _OFFLINE_AFTER_FAILURE_SECONDS


def _within(seconds: float, act: Callable[[], None]) -> None:
    """Do something in a thread. Raises what it raises, or TimeoutError when it takes longer."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError
    if errors:
        raise errors[0]
