"""`bakeoff export`: a recorded Run's model in a folder that needs no bakeoff, checked before anyone sees it."""

import dataclasses
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from bakeoff.bake import weights_of_needs
from bakeoff.commands import card_facts
from bakeoff.commands.saved_runs import Saved, restore_needs, restore_weights, saved_run
from bakeoff.data import budget, unlabelled
from bakeoff.data.dataset import Prepared, Rows, prepare
from bakeoff.errors import BakeoffError, DataError, NotApplicable
from bakeoff.probes.requirements import require
from bakeoff.runner.needs import MODEL
from bakeoff.runner.weights import PREDICTIONS
from bakeoff.shipping import card, check, folder
from bakeoff.shipping.check import Probabilities
from bakeoff.shipping.folder import Engine, Shipment
from bakeoff.spec import BudgetZero, Latency, Predictions, Quality, Run
from bakeoff.store import Store, default_root

SHIPPED = "majority, tfidf, frozen, bilstm, scratch, pretrained and distilled models"


@dataclass(frozen=True, kw_only=True)
class Source:
    """Weights to ship, and what they should answer to the test rows."""

    folder: Path
    expected: Probabilities
    """Shape (test rows, classes)."""


def export(run_id: str, target: Path, *, engine: Engine, refit: bool) -> str:
    """Write the folder `target` whole or not at all; the sentence that says what is in it.

    Raises DataError, NotApplicable or BakeoffError, in one sentence, for a Run that cannot be shipped so, and where what was
    written does not answer as what was scored.
    """
    refuse_target(target)
    store = Store(default_root())
    saved = saved_run(store, run_id)
    refuse_run(saved, engine)
    prepared = prepare(saved.run.dataset)
    with _scratch(target) as scratch:
        written, weights = Path(scratch) / "export", Path(scratch) / "weights"
        written.mkdir()
        source = refitted(saved, prepared, store, weights) if refit else scored(saved, prepared, store)
        shipment = Shipment(run=saved.run, source=source.folder, engine=engine, refitted=refit)
        folder.write(written, shipment)
        found = check.answers(written, prepared.test.documents, threads=saved.run.probe.threads)
        agreement = check.compare(found, source.expected)
        refuse_difference(agreement, shipment)
        facts = card_facts.gather(saved, prepared, store, engine=engine, found=found, agreement=agreement)
        (written / "README.md").write_text(card.card(shipment, saved.record, agreement, facts), encoding="utf-8")
        if target.exists():
            target.rmdir()
        os.rename(written, target)
    told = "Unscored, since it was fitted on all labelled rows." if refit else facts.engine_score or facts.score
    return f"{saved.run.model.name} ({saved.run.run_id}) is in {target}. {told}"


def refuse_target(target: Path) -> None:
    """Raise DataError for a folder that holds something, or is the one we are in; and for a file or a link."""
    if Path.cwd().is_relative_to(target.resolve()):
        raise DataError(f"{target} is, or holds, the folder that you are in: name a new one below it")
    if target.is_dir() and not target.is_symlink() and not any(target.iterdir()):
        return
    if os.path.lexists(target):
        raise DataError(f"{target} exists already and is not an empty folder: name a new one")


@contextmanager
def _scratch(target: Path) -> Iterator[str]:
    """A folder beside the target, gone in the end. Raises DataError where none can be written."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent)
    except OSError as error:
        raise DataError(f"{target} cannot be written ({os.strerror(error.errno or 0)}): name a folder where you may write") from None
    with made as scratch:
        yield scratch


def refuse_run(saved: Saved, engine: Engine) -> None:
    """Raise NotApplicable for a Run whose model cannot be shipped, or not with this engine."""
    run = saved.run
    if isinstance(run.probe, Latency):
        raise NotApplicable(f"{run.run_id} timed {run.model.name} and scored nothing: export its quality Run")
    if not isinstance(run.probe, Quality) or run.is_trial:
        raise NotApplicable(f"{run.run_id} answered no test row (it is a start or a trial): export a Run that did")
    if isinstance(run.model, BudgetZero | Predictions):
        raise NotApplicable(f"{run.run_id} is of kind {run.model.kind}, which learned no weights: what can be exported are {SHIPPED}")
    if saved.record.status != "ok":
        raise NotApplicable(f"{run.run_id} diverged and answered nothing: export another Run")
    if run.dataset.rewrite != "none":
        raise NotApplicable(f"{run.run_id} learned from texts rewritten by dataset.rewrite={run.dataset.rewrite}: export a Run without")
    try:
        require(dataclasses.replace(run, probe=_latency(run, engine)))
    except NotApplicable as reason:
        raise NotApplicable(str(reason).replace("probe.engine=", "--engine ").replace(" and probe.device=cpu", "")) from None


def _latency(run: Run, engine: Engine) -> Latency:
    """How the engine would be timed, by which it is told what it needs."""
    return Latency(
        device="cpu",
        threads=run.probe.threads,
        engine=engine,
        scenario="single",
        batch_size=1,
        lengths="dataset",
        weights="trained",
        reference="bilstm",
        machine="",
    )


def scored(saved: Saved, prepared: Prepared, store: Store) -> Source:
    """The weights that were scored, baked again where they are gone, and their recorded answers."""
    restore_weights(saved.run, saved.machine, store)
    table = pq.read_table(store.folder(saved.run.run_id) / PREDICTIONS, columns=["row_id", "probabilities"])
    if tuple(table["row_id"].to_pylist()) != prepared.test.row_ids:
        raise DataError(f"the predictions of {saved.run.run_id} are of other rows than its data has now: bake the Run again")
    expected = np.asarray(table["probabilities"].to_pylist(), dtype=np.float32)
    return Source(folder=store.folder(saved.run.run_id) / MODEL, expected=expected)


def refitted(saved: Saved, prepared: Prepared, store: Store, into: Path) -> Source:
    """Weights fitted on all rows of pool and test by the Run's own recipe, and what they answer to the rows that were the test's."""
    from bakeoff.bake import choose_device
    from bakeoff.training.learn import learn

    run = dataclasses.replace(saved.run, budget=dataclasses.replace(saved.run.budget, labels="all"))
    restore_needs(saved.run, saved.machine, store)
    together = dataclasses.replace(prepared, pool=joined((prepared.pool, prepared.test)))
    spent = budget.spend(together.pool, run.budget, validation=run.keeps_validation)
    texts = unlabelled.read(run.budget, run.dataset, dataclasses.replace(together, test=prepared.test.take([])), spent)
    print(f"fitting {run.model.name} on all {len(together.pool):,} labelled rows …", file=sys.stderr)
    learned = learn(
        run,
        together,
        spent,
        device=choose_device(saved.machine)[0],
        log=lambda step, metrics: None,
        unlabelled=texts.documents,
        needs=weights_of_needs(saved.run, store),
    )
    if not learned.finite or learned.test is None:
        raise BakeoffError(f"{run.model.name} diverged when it was fitted on all labelled rows: export the scored one, without --refit")
    learned.save(into)
    return Source(folder=into, expected=learned.test)


def joined(parts: Sequence[Rows]) -> Rows:
    """All rows of some, in the order of their ids."""
    every = [row_id for part in parts for row_id in part.row_ids]
    whole = Rows(
        row_ids=tuple(every),
        texts=tuple(text for part in parts for text in part.texts),
        labels=np.concatenate([part.labels for part in parts]),
        groups=None if parts[0].groups is None else tuple(group for part in parts for group in part.groups or ()),
        clusters=np.concatenate([part.clusters for part in parts]),
        pairs=None if parts[0].pairs is None else tuple(pair for part in parts for pair in part.pairs or ()),
    )
    return whole.take(sorted(range(len(every)), key=every.__getitem__))


def refuse_difference(agreement: check.Agreement, shipment: Shipment) -> None:
    """Raise BakeoffError where an engine that should answer alike does not."""
    if agreement.is_same or shipment.engine == "onnx_int8":
        return
    raise BakeoffError(
        f"{shipment.run.run_id} was not exported: its folder labels {agreement.changed_labels:,} of {agreement.n:,} test rows otherwise "
        f"than was scored, and probabilities differ by up to {agreement.max_difference:.2g} (below {check.TOLERANCE:g} is asked): bake the "
        "Run again on this machine"
    )
