"""What the driver does with what a worker gave back: the files go into the store, the record last."""

import contextlib
import json
from collections.abc import Callable, Container
from dataclasses import replace
from pathlib import Path

from bakeoff import record as records
from bakeoff.record import Record
from bakeoff.runner import shipping, weights
from bakeoff.runner.attempt import LOG, Notify, Task, clear, failed, is_recorded, write_down
from bakeoff.runner.elsewhere import Returned
from bakeoff.runner.events import Event, Failed, Finished, Notice, Present
from bakeoff.runner.failure import Described
from bakeoff.runner.shipping import Packed
from bakeoff.spec import Pretrain, Run
from bakeoff.store import FAILURE, RECORD

MIRROR = ".wandb"
"""The folder beside the Runs where W&B keeps its own files."""


def land(
    task: Task, returned: Returned, *, best_of: Container[str] | None, tell: Callable[[Event], None]
) -> Finished | Present | Failed | None:
    """Put what came out of a Run, whose lock is held, into its store; its end, or null where the worker was stopped before it.

    With `best_of`, the ids of Runs that others are built from, the best weights of a question stay alone (`weights.keep_best`).
    Of a failure only the log and the reason are kept. Raises nothing but KeyboardInterrupt.
    """
    own = shipping.below(returned.files, task.run.run_id)
    end = None
    for event in returned.events:
        if isinstance(event, Notice):
            tell(event)
        elif isinstance(event, Finished | Failed):
            end = event
    try:
        if not isinstance(end, Finished):
            _add_log(task, own)
        shipping.unpack({f"{MIRROR}/{name}": content for name, content in shipping.below(returned.files, MIRROR).items()}, task.store.root)
        match end:
            case Failed():
                trace = json.loads(own[FAILURE])["traceback"] if FAILURE in own else []
                return write_down(task, Described(type_=end.type_, message=end.message, trace=trace))
            case Finished():
                return _keep(task, own, end, best_of=best_of, tell=lambda text: tell(Notice(text=text)))
    except Exception as error:
        with contextlib.suppress(OSError):
            _add_log(task, own)
        return failed(task, error, log=False)
    return None


def _keep(task: Task, own: Packed, end: Finished, *, best_of: Container[str] | None, tell: Notify) -> Finished | Present:
    content = own.pop(RECORD)
    if is_recorded(task):
        _add_log(task, own)
        weights.restore(task.run, task.store, _unpacking(own, content), tell)
        return Present(run=task.run)
    folder = clear(task, tell)
    _add_log(task, own)  # not before: a folder that is set aside takes its log along
    shipping.unpack(own, folder)
    record = records.from_json(content.decode())
    if record.run_id != task.run.run_id:
        raise RuntimeError(f"a worker answered {record.run_id} when asked {task.run.run_id}")
    if best_of is not None and record.status == "ok" and not isinstance(record.run.probe, Pretrain):
        weights.keep_best(record, task.store, best_of)
    task.store.write_record(record)
    return replace(end, run=task.run)


def _unpacking(own: Packed, content: bytes) -> Callable[[Run, Path, Notify, Callable[[Record], None]], Record]:
    """A bake function that was done elsewhere."""

    def bake(_run: Run, folder: Path, _notify: Notify, _write: Callable[[Record], None]) -> Record:
        shipping.unpack(own, folder)
        return records.from_json(content.decode())

    return bake


def _add_log(task: Task, own: Packed) -> None:
    """Add what a worker logged to the log of earlier attempts, once."""
    folder = task.store.folder(task.run.run_id)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / LOG, "ab") as log:
        log.write(own.pop(LOG, b""))
