"""Runs, records and bake functions of no substance, importable by the processes that a runner starts."""

import errno
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from bakeoff.errors import DataError
from bakeoff.record import (
    ClassQuality,
    DataFacts,
    Diagnostic,
    Finding,
    MachineFacts,
    Provenance,
    Record,
    Size,
    SplitQuality,
    TrainingFacts,
)
from bakeoff.runner import child
from bakeoff.runner.attempt import Task
from bakeoff.spec import BiLstm, Budget, Dataset, Distillation, Latency, LongDoc, Majority, Model, Pretrained, Quality, Run, Tfidf, Training

CANARY = "canary-7f3a my neighbour's diagnosis"
FULL = LongDoc(strategy="full", max_tokens=None)
_TRAINING = Training(
    learning_rate=2e-5, weight_decay=0.01, batch_size=16, epochs=3, min_steps=10, warmup_fraction=0.1, schedule="linear", clip_norm=1.0
)
MODELS: dict[str, Model] = {
    "majority": Majority(name="majority", default_longdoc=FULL),
    "tfidf": Tfidf(name="tfidf", default_longdoc=FULL, ngram_max=2, min_count=1, sublinear_tf=True, c_grid=(1.0,), cv_folds=2),
    "bilstm": BiLstm(
        name="bilstm",
        default_longdoc=FULL,
        precision="float32",
        embedding_dim=4,
        hidden_dim=4,
        layers=1,
        pooling="max",
        dropout=0.1,
        min_count=1,
        max_vocabulary=100,
        training=_TRAINING,
    ),
    "pretrained": Pretrained(
        name="pretrained",
        default_longdoc=FULL,
        checkpoint="minilm-l6",
        revision=None,
        checkpoint_fingerprint="c" * 64,
        precision="float32",
        pooling="mean",
        training=_TRAINING,
    ),
}


def make_run(seed: int = 0, *, model: str = "majority", labels: int = 100, redistributable: bool = True) -> Run:
    dataset = Dataset(
        name="toy",
        description="none",
        family="toy",
        redistributable=redistributable,
        metric="auto",
        asset=None,
        path="/home/anne/customers/toy.csv",
        test_path=None,
        format="csv",
        fingerprint="f" * 64,
        text="text",
        label="label",
        group=None,
        encoding="utf-8",
        label_map={},
        split="fold",
        fold=0,
        held_out_rows=None,
    )
    budget = Budget(labels=labels, draw=seed, order="stratified", unlabelled="none")
    return Run(dataset=dataset, budget=budget, model=MODELS[model], longdoc=FULL, probe=Quality(threads=1), seed=seed)


def taught(seed: int = 0, *, teacher: Run, dropout: float = 0.1) -> Run:
    """A BiLSTM with a teacher; `dropout` tells students of one teacher apart."""
    how = Distillation(temperature=2.0, soft_weight=1.0, hard_weight=0.5, hidden_weight=0.0, transfer_epochs=1)
    model = replace(MODELS["bilstm"], teacher=teacher.model.name, distillation=how, dropout=dropout)  # type: ignore[call-arg]
    return replace(make_run(seed, model="bilstm"), model=model, teacher=teacher)


def make_latency_run(name: str = "toy", *, redistributable: bool = True, **changes: object) -> Run:
    """A latency Run of a BiLSTM; its name says what `time_together` does with it."""
    probe = Latency(
        device="cpu",
        threads=1,
        engine="eager",
        scenario="single",
        batch_size=1,
        lengths="dataset",
        weights="untrained",
        reference="bilstm",
        machine="abacus",
    )
    run = make_run(model="bilstm", redistributable=redistributable)
    model = replace(MODELS["bilstm"], name=name, hidden_dim=sum(map(ord, name)))  # type: ignore[call-arg]
    return replace(run, model=model, probe=replace(probe, **changes))  # type: ignore[arg-type]


def time_together(
    runs: Sequence[Run],
    folder_of: Callable[[str], Path],
    notify: Callable[[str], None],
    write: Callable[[Record], None],
    *,
    ledger: Path,
    seconds: float = 0.0,
) -> dict[str, Record | Exception]:
    """A session that notes itself in the ledger, and does with each Run what its name says."""
    note(ledger, f"begin {' '.join(run.run_id for run in runs)}")
    print("printed by the session")
    notify("the same notice")
    answers: dict[str, Record | Exception] = {}
    for run in runs:
        assert folder_of(run.run_id).is_dir()
        act = run.model.name
        if act in ACTS:
            ACTS[act](folder_of(run.run_id))
        answers[run.run_id] = RuntimeError(f"cannot convert {CANARY}") if act == "fails" else make_record(run)
    time.sleep(seconds)
    for answer in answers.values():
        if isinstance(answer, Record):
            write(answer)
    note(ledger, f"end {' '.join(run.run_id for run in runs)}")
    return answers


def timer(ledger: Path, seconds: float = 0.0) -> Callable[..., dict[str, Record | Exception]]:
    return partial(time_together, ledger=ledger, seconds=seconds)


def sessions(ledger: Path, word: str = "begin") -> list[list[str]]:
    """The ids of each session that began (or ended)."""
    return [line.split()[1:] for line in ledger.read_text().splitlines() if line.startswith(word)] if ledger.exists() else []


def make_record(run: Run, *, accuracy: float = 0.75, seconds: int = 60) -> Record:
    test = SplitQuality(
        n=8,
        accuracy=accuracy,
        macro_f1=0.5,
        macro_f1_all=0.5,
        log_loss=0.7,
        brier=0.5,
        ece=0.25,
        majority_baseline=0.5,
        collapsed=False,
        classes={"yes": ClassQuality(support=4, precision=None, recall=0.0)},
    )
    return Record(
        schema_version=1,
        run_id=run.run_id,
        question_id=run.question_id,
        status="ok",
        started_at="2026-01-02T03:04:05Z",
        finished_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1767323045 + seconds)),
        run=run,
        machine=MachineFacts(processor="abacus", usable_cpus=2, memory_gb=8.0, gpu=None, device="cpu"),
        data=DataFacts(
            revision="r1",
            classes=("yes", "no"),
            primary_metric="accuracy",
            n_pool=100,
            n_fit=80,
            n_val=20,
            n_test=8,
            subset_hashes={"test": "0" * 64},
            truncated_fraction=None,
            length_tokens={"p50": 7.0},
            audit=(Finding(code="near_duplicates", count=3, message="three"),),
        ),
        training=TrainingFacts(
            epochs=0.0,
            steps=0,
            best_step=None,
            best_validation_loss=None,
            seconds=1.5,
            predict_seconds=0.5,
            tokens_per_second=None,
            peak_memory_mb=1.0,
            stop_reason="closed_form",
            selected={"c": 1.0},
            diagnostics=(Diagnostic(code="collapsed", message="one class"),),
        ),
        quality={"test": test},
        size=Size(parameters_total=2, parameters_trainable=2, parameters_embedding=0, bytes=16, flops_per_document=None),
        provenance=Provenance(commit="abc", dirty=False, versions={"torch": "2.13.0"}),
    )


def bake(
    run: Run,
    folder: Path,
    notify: Callable[[str], None],
    write: Callable[[Record], None],
    *,
    ledger: Path,
    acts: dict[int, str],
    seconds: float = 0.0,
) -> Record:
    """Note begin and end in the ledger, and between them do what `acts` says for this seed."""
    note(ledger, f"begin {run.run_id} {os.getpid()}")
    assert not (folder / "leftover.txt").exists()
    (folder / "predictions.parquet").write_text(str(run.seed))
    print("printed by bake")
    notify("the same notice")
    time.sleep(seconds)
    act = acts.get(run.seed, "fine")
    if act != "fine":
        ACTS[act](folder)
    note(ledger, f"end {run.run_id} {os.getpid()}")
    record = make_record(run)
    write(record)
    return record


def bake_with_weights(run: Run, folder: Path, *told: Callable[..., None], **options: object) -> Record:
    """`bake`, which leaves weights too, so that students can be baked."""
    (folder / "model").mkdir()
    (folder / "model" / "weights").write_text(run.run_id)
    return bake(run, folder, *told, **options)  # type: ignore[arg-type]


def keeper(ledger: Path, acts: dict[int, str] | None = None, seconds: float = 0.0) -> Callable[..., Record]:
    return partial(bake_with_weights, ledger=ledger, acts=acts or {}, seconds=seconds)


def baker(ledger: Path, acts: dict[int, str] | None = None, seconds: float = 0.0) -> Callable[..., Record]:
    return partial(bake, ledger=ledger, acts=acts or {}, seconds=seconds)


def note(ledger: Path, line: str) -> None:
    handle = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


def begun(ledger: Path) -> list[str]:
    """The run ids that were begun, one entry a time."""
    return [line.split()[1] for line in ledger.read_text().splitlines() if line.startswith("begin")] if ledger.exists() else []


def _raise(_: Path) -> NoReturn:
    raise RuntimeError(f"cannot convert {CANARY}")


def _raise_chained(_: Path) -> NoReturn:
    try:
        float(CANARY)
    except ValueError as error:
        raise DataError("dataset.label=score is a number") from error


def _raise_in_thread(folder: Path) -> None:
    thread = threading.Thread(target=_raise, args=(folder,))
    thread.start()
    thread.join()


def _no_space() -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _full_disk(_: Path) -> None:
    os.fsync = lambda _handle: _no_space()  # type: ignore[assignment]


def _linger(_: Path) -> None:
    threading.Thread(target=time.sleep, args=(60,)).start()


def _sleep_deaf(_: Path) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(60)


def _exit(_: Path) -> NoReturn:
    raise SystemExit(3)


def _sleep_wordy(_: Path) -> None:
    def tell(_number: int, _frame: object) -> NoReturn:
        raise RuntimeError("asked to end")

    signal.signal(signal.SIGTERM, tell)
    time.sleep(60)


def _end_while_training(_: Path) -> None:
    import pytorch_lightning as pl
    import torch

    class Ending(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
            os.kill(os.getpid(), signal.SIGTERM)
            loss: torch.Tensor = self.layer(batch[0]).sum()
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters())

    rows = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(4, 1)))
    pl.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False).fit(Ending(), rows)


ACTS: dict[str, Callable[[Path], None]] = {
    "raise": _raise,
    "raise chained": _raise_chained,
    "raise in thread": _raise_in_thread,
    "exit 9": lambda _: os._exit(9),
    "kill": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "abort": lambda _: os.abort(),
    "system exit": _exit,
    "out of memory": lambda _: (_ for _ in ()).throw(MemoryError()),
    "full disk": _full_disk,
    "linger": _linger,
    "sleep": lambda _: time.sleep(60),
    "sleep deaf": _sleep_deaf,
    "sleep wordy": _sleep_wordy,
    "end while training": _end_while_training,
}


def one_whose_fork_server_dies(task: Task, *more: Any) -> int:
    """A child that the death of its fork server meets before it takes its lock, the first time; it goes on a second later."""
    met = task.store.root / f"met-{task.run.run_id}"
    if not met.exists():
        met.touch()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(1.0)
    return child.one(task, *more)
