"""Slots: which GPUs there are, who gets which, and what a child sees of them; the GPUs are those that a stand-in nvidia-smi lists."""

import dataclasses
import os
from pathlib import Path
from typing import Literal

import pytest
import seers
import toys

from bakeoff.commands.baking import check_device
from bakeoff.errors import ConfigError
from bakeoff.runner import sessions
from bakeoff.runner.local import run_local
from bakeoff.runner.slots import Slot, chosen_gpus, gpus, refusal, slots_of
from bakeoff.spec import Machine, Pretrain, Run
from bakeoff.store import Store

MACHINE = Machine(device="auto", slots=None, wandb="disabled", wandb_project="p", keep_weights="none", share_texts=False)
RUNS = [toys.make_run(seed) for seed in range(6)]


@pytest.fixture(autouse=True)
def three_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(3, tmp_path, monkeypatch)


def with_gpus(number: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An nvidia-smi that lists so many GPUs, one of them cut into parts, and nothing that hides any."""
    lines = [f"GPU {i}: NVIDIA Abacus (UUID: GPU-{i})\n  MIG 1g.10gb Device 0: (UUID: MIG-{i})" for i in range(number)]
    (folder / "list").write_text("\n".join(lines) + "\n" if lines else "No devices found\n")
    (folder / "nvidia-smi").write_text(f"#!/bin/sh\ncat {folder}/list\n")
    (folder / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, ("0", "1", "2")),
        ("1", ("1",)),
        ("2, 0", ("2", "0")),
        ("", ()),
        ("-1", ()),
        ("0,-1,1", ("0",)),
        ("0,7,1", ("0",)),
        ("none", ()),
        ("0,0,2", ("0", "2")),
        ("GPU-1,MIG-2", ("GPU-1", "MIG-2")),
    ],
)
def test_gpus_are_counted_as_cuda_counts_them(visible: str | None, expected: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus() == expected


def test_a_machine_without_gpus_has_none_whatever_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(0, tmp_path, monkeypatch)
    assert gpus() == ()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,GPU-1")
    assert gpus() == ()
    assert slots_of(MACHINE, RUNS, cores=3) == [Slot()] * 3


@pytest.mark.parametrize(
    ("changes", "most", "expected"),
    [
        ({}, None, [("0",), ("1",), ("2",)]),
        ({}, 1, [("0",)]),
        ({"slots": 2}, None, [("0",), ("1",)]),
        ({"slots": 2}, 3, [("0",), ("1",), ("2",)]),
        ({"gpus": (2, 0)}, None, [("2",), ("0",)]),
        ({"gpus": (1,), "device": "cuda"}, 1, [("1",)]),
        ({"devices": 2}, None, [("0", "1")]),
        ({"devices": 2, "gpus": (1, 2)}, None, [("1", "2")]),
        ({"devices": 3}, 1, [("0", "1", "2")]),
    ],
)
def test_one_slot_a_gpu(changes: dict[str, object], most: int | None, expected: list[tuple[str, ...]]) -> None:
    machine = dataclasses.replace(MACHINE, **changes)  # type: ignore[arg-type]
    assert [slot.gpus for slot in slots_of(machine, RUNS, cores=64, most=most)] == expected


@pytest.mark.parametrize(
    ("changes", "threads", "cores", "most", "expected"),
    [
        ({}, 1, 8, None, 8),
        ({}, 3, 8, None, 2),
        ({}, 9, 8, None, 1),
        ({"slots": 5}, 1, 2, None, 5),
        ({}, 1, 8, 3, 3),
        ({"devices": 2}, 2, 8, None, 2),
    ],
)
def test_on_cpu_cores_are_shared_by_threads(changes: dict[str, object], threads: int, cores: int, most: int | None, expected: int) -> None:
    run = dataclasses.replace(RUNS[0], probe=dataclasses.replace(RUNS[0].probe, threads=threads))
    machine = dataclasses.replace(MACHINE, device="cpu", **changes)  # type: ignore[arg-type]
    assert slots_of(machine, [RUNS[0], run], cores=cores, most=most) == [Slot()] * expected


def test_only_gpu_one_is_visible_and_it_is_number_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert chosen_gpus(MACHINE) == ("1",)
    assert chosen_gpus(dataclasses.replace(MACHINE, gpus=(0,))) == ("1",)
    with pytest.raises(ConfigError) as refused:
        chosen_gpus(dataclasses.replace(MACHINE, gpus=(1,)))
    assert str(refused.value) == "machine.gpus=[1] asks for GPU 1, but GPU 0 alone is visible here (CUDA_VISIBLE_DEVICES=1)"


@pytest.mark.parametrize(
    ("there", "changes", "most", "message"),
    [
        (3, {"gpus": (0, 3)}, None, "machine.gpus=[0, 3] asks for GPU 3, but GPUs 0 to 2 are visible here"),
        (0, {"gpus": (0,)}, None, "machine.gpus=[0], but there is no GPU here: set machine.gpus=null"),
        (0, {"device": "cuda"}, None, "machine.device=cuda, but there is no GPU here: set machine.device=cpu or auto"),
        (1, {"devices": 2}, None, "machine.devices=2 asks for 2 GPUs a Run, but there is 1 GPU to be used here"),
        (3, {"devices": 4}, None, "machine.devices=4 asks for 4 GPUs a Run, but there are 3 GPUs to be used here"),
        (
            0,
            {"devices": 2},
            None,
            "machine.devices=2 asks for 2 GPUs a Run, but there is none here: set machine.devices=1, or machine.device=cpu for as many "
            "processes",
        ),
        (
            3,
            {"slots": 4},
            None,
            "machine.slots=4, but there are 3 GPUs to be used here, for 3, since a GPU holds one Run at a time: ask for 3 at most",
        ),
        (
            3,
            {"devices": 2},
            2,
            "--slots=2, but there are 3 GPUs to be used here, for 1, since a GPU holds one Run at a time: ask for 1 at most",
        ),
    ],
)
def test_gpus_that_are_not_there_are_one_sentence(
    there: int, changes: dict[str, object], most: int | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_gpus(there, tmp_path, monkeypatch)
    with pytest.raises(ConfigError) as refused:
        slots_of(dataclasses.replace(MACHINE, **changes), RUNS, cores=8, most=most)  # type: ignore[arg-type]
    assert str(refused.value) == message


def test_numbers_are_those_of_nvidia_smi_unless_somebody_else_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Slot(gpus=("2",)).environment(RUNS[0]) == {
        "CUDA_VISIBLE_DEVICES": "2",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "OMP_NUM_THREADS": "1",
    }
    assert Slot().environment(RUNS[0]) == {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    assert Slot(gpus=("2",)).environment(RUNS[0]) == {"CUDA_VISIBLE_DEVICES": "2", "OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize("changes", [{"gpus": ()}, {"gpus": (0, 0)}, {"gpus": (-1,)}, {"devices": 0}])
def test_a_machine_that_makes_no_sense(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=rf"^machine\.{next(iter(changes))}="):
        dataclasses.replace(MACHINE, **changes)  # type: ignore[arg-type]


# What children see.


def lines(ledger: Path, word: str) -> list[list[str]]:
    return [line.split()[1:] for line in ledger.read_text().splitlines() if line.startswith(word)]


def test_every_run_sees_its_own_gpu_and_no_gpu_has_two_runs(tmp_path: Path) -> None:
    ledger, store = tmp_path / "ledger", Store(tmp_path / "runs")
    slots = slots_of(MACHINE, RUNS, cores=2)
    before = dict(os.environ)
    outcome = run_local(
        RUNS,
        store=store,
        bake=seers.baker(ledger, seconds=0.3),
        slots=slots,
        preload=["bakeoff.record"],
        share_texts=False,
        on_event=lambda event: None,
    )
    assert len(outcome.baked) == len(RUNS)
    assert dict(os.environ) == before
    seen = lines(ledger, "sees")
    assert {gpu for gpu, *_ in seen} == {"0", "1", "2"}
    assert {threads for _, threads in seen} == {"1"}
    held: set[str] = set()
    for word, *rest in (line.split() for line in ledger.read_text().splitlines()):
        if word == "sees":
            assert rest[0] not in held
            held.add(rest[0])
        elif word == "leaves":
            held.remove(rest[0])


def test_a_slot_is_free_again_after_its_run_died(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    outcome = run_local(
        RUNS[:4],
        store=Store(tmp_path / "runs"),
        bake=seers.baker(ledger, acts={0: "kill", 1: "raise"}),
        slots=[Slot(gpus=("2",))],
        preload=["bakeoff.record"],
        share_texts=False,
        on_event=lambda event: None,
    )
    assert (len(outcome.failed), len(outcome.baked)) == (2, 2)
    assert lines(ledger, "sees") == [["2", "1"]] * 4


def test_a_number_of_slots_sees_no_gpu(tmp_path: Path) -> None:
    ledger, run = tmp_path / "ledger", dataclasses.replace(RUNS[0], probe=dataclasses.replace(RUNS[0].probe, threads=3))
    run_local(
        [run],
        store=Store(tmp_path / "runs"),
        bake=seers.baker(ledger),
        slots=1,
        preload=["bakeoff.record"],
        share_texts=False,
        on_event=lambda event: None,
    )
    assert ledger.read_text().splitlines()[0] == "sees none 3"


@pytest.mark.parametrize(("device", "seen"), [("cpu", "none"), ("cuda", "1")])
def test_a_session_sees_a_gpu_only_where_it_times_one(device: str, seen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,2")
    ledger = tmp_path / "ledger"
    sessions.run_sessions(
        [toys.make_latency_run(device=device)],
        store=Store(tmp_path / "runs"),
        bake=seers.timer(ledger),
        preload=["bakeoff.record"],
        share_texts=False,
        on_event=lambda event: None,
    )
    assert ledger.read_text().splitlines()[0] == f"sees {seen} 1"


# Several devices.


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (toys.make_run(model="bilstm"), None),
        (toys.make_latency_run(), None),
        (toys.make_run(model="tfidf"), "machine.devices=2 means nothing to tfidf, which is not trained by steps: set machine.devices=1"),
        (
            toys.taught(teacher=toys.make_run(model="bilstm")),
            "machine.devices=2 is not for bilstm, whose teacher sits in one process with it: set machine.devices=1",
        ),
    ],
)
def test_what_several_devices_cannot_train_is_refused(run: Run, reason: str | None) -> None:
    assert refusal(run, dataclasses.replace(MACHINE, devices=2)) == reason
    assert refusal(run, MACHINE) is None


def test_recipes_that_several_devices_would_change_are_refused() -> None:
    two = dataclasses.replace(MACHINE, devices=2)
    run = toys.make_run(model="pretrained")
    head_first = dataclasses.replace(run, model=dataclasses.replace(run.model, head_first_epochs=1))  # type: ignore[call-arg]
    assert refusal(head_first, two) == (
        "machine.devices=2 is not for model.head_first_epochs=1, where the layers that learn change: set machine.devices=1"
    )
    training = dataclasses.replace(run.model.training, batch_size=1)  # type: ignore[union-attr]
    one_row = dataclasses.replace(run, model=dataclasses.replace(run.model, training=training))  # type: ignore[call-arg]
    assert refusal(one_row, two) == (
        "machine.devices=2 leaves a device idle, since batches of pretrained have 1 rows: set machine.devices=1"
    )
    pretrains = dataclasses.replace(run, probe=Pretrain(threads=1, mask_fraction=0.15, training=training))
    assert refusal(pretrains, two) is not None
    windows = dataclasses.replace(
        run.longdoc, strategy="windows", window_tokens=64, overlap_tokens=8, pool="mean_logits", trained_windows=4
    )
    assert refusal(dataclasses.replace(run, longdoc=windows), two) == (
        "machine.devices=2 would change what pretrained learns, since longdoc.trained_windows is drawn over a whole batch: "
        "set machine.devices=1"
    )


@pytest.mark.parametrize(("executor", "what"), [("inprocess", "--executor inprocess"), ("local", "a latency Run")])
def test_gpus_are_not_chosen_where_there_are_no_slots(executor: Literal["inprocess", "local"], what: str) -> None:
    run = toys.make_latency_run(device="cuda") if executor == "local" else toys.make_run()
    with pytest.raises(ConfigError) as refused:
        check_device(dataclasses.replace(MACHINE, gpus=(1,)), [run], executor=executor)
    assert str(refused.value) == f"machine.gpus=[1] does not choose the GPU of {what}: set CUDA_VISIBLE_DEVICES instead"
    check_device(dataclasses.replace(MACHINE, gpus=(1,)), [toys.make_run()])
