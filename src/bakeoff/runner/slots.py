"""Where Runs are baked on this machine: one slot a GPU, or as many as there are CPU cores for the threads of a Run."""

import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import ConfigError
from bakeoff.spec import Latency, Machine, Neural, Pretrain, Pretrained, Run

VISIBLE = "CUDA_VISIBLE_DEVICES"
ORDER = "CUDA_DEVICE_ORDER"
_ASKING_SECONDS = 20


@dataclass(frozen=True, kw_only=True)
class Slot:
    """The devices of one Run at a time."""

    gpus: tuple[str, ...] = ()
    """As CUDA_VISIBLE_DEVICES names them; none: a Run here sees no GPU."""

    def environment(self, run: Run) -> dict[str, str]:
        """What a process that bakes `run` here must find in its environment before it uses CUDA."""
        own = {VISIBLE: ",".join(self.gpus), "OMP_NUM_THREADS": str(run.probe.threads)}
        if self.gpus and VISIBLE not in os.environ:
            own[ORDER] = os.environ.get(ORDER, "PCI_BUS_ID")  # the numbers that we counted are those of nvidia-smi
        return own


def gpus() -> tuple[str, ...]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them, found without loading torch.

    As CUDA reads that variable: the first entry that is no GPU ends the list.
    """
    there, chosen = _n_gpus(), os.environ.get(VISIBLE)
    if chosen is None:
        return tuple(str(number) for number in range(there))
    usable: list[str] = []
    for name in (part.strip() for part in chosen.split(",")):
        named = name.startswith(("GPU-", "MIG-")) and there > 0
        if not named and not (name.isdigit() and int(name) < there):
            break
        if name not in usable:  # one that is named twice is one GPU
            usable.append(name)
    return tuple(usable)


def chosen_gpus(machine: Machine) -> tuple[str, ...]:
    """The GPUs that `machine` lets Runs use, all that are visible or those of `machine.gpus`; none with machine.device=cpu.

    Raises ConfigError for a GPU that is not there.
    """
    if machine.device == "cpu":
        return ()
    visible, asked = gpus(), machine.gpus
    if machine.device == "cuda" and not visible:
        raise ConfigError(f"machine.device=cuda, but there is no GPU here{_masked()}: set machine.device=cpu or auto")
    if asked is None:
        return visible
    if not visible:
        raise ConfigError(f"machine.gpus={list(asked)}, but there is no GPU here{_masked()}: set machine.gpus=null")
    if (missing := next((index for index in asked if index >= len(visible)), None)) is not None:
        there = "GPU 0 alone is" if len(visible) == 1 else f"GPUs 0 to {len(visible) - 1} are"
        raise ConfigError(f"machine.gpus={list(asked)} asks for GPU {missing}, but {there} visible here{_masked()}")
    return tuple(visible[index] for index in asked)


def slots_of(machine: Machine, runs: Iterable[Run], *, cores: int, most: int | None = None) -> list[Slot]:
    """The slots that `machine` has for these Runs, at most `most` (null: machine.slots); on `cores` CPU cores where it uses no GPU.

    With machine.devices=2 a slot has two GPUs, or the cores for two processes. Raises ConfigError for GPUs that are not there.
    """
    found, devices = chosen_gpus(machine), machine.devices
    most, key = (most, "--slots") if most is not None else (machine.slots, "machine.slots")
    if not found:
        if devices > 1 and machine.device != "cpu":
            raise ConfigError(
                f"machine.devices={devices} asks for {devices} GPUs a Run, but there is none here{_masked()}: set machine.devices=1, or "
                "machine.device=cpu for as many processes"
            )
        threads = max((run.probe.threads for run in runs), default=1)
        return [Slot()] * (most or max(1, cores // (threads * devices)))
    if devices > len(found):
        raise ConfigError(f"machine.devices={devices} asks for {devices} GPUs a Run, but {_counted(len(found))} to be used here{_masked()}")
    pinned = [Slot(gpus=found[start : start + devices]) for start in range(0, len(found) - devices + 1, devices)]
    if most is not None and most > len(pinned):
        held = f"for {len(pinned)}, since a GPU holds one Run at a time"
        raise ConfigError(f"{key}={most}, but {_counted(len(found))} to be used here{_masked()}, {held}: ask for {len(pinned)} at most")
    return pinned[:most]


def refusal(run: Run, machine: Machine) -> str | None:
    """Why several devices would change what this Run answers, or would have nothing to do; null where they would not."""
    devices, model = machine.devices, run.model
    if devices == 1 or isinstance(run.probe, Latency):
        return None
    advice = "set machine.devices=1"
    if not isinstance(model, Neural):
        return f"machine.devices={devices} means nothing to {model.name}, which is not trained by steps: {advice}"
    if run.teacher is not None:
        return f"machine.devices={devices} is not for {model.name}, whose teacher sits in one process with it: {advice}"
    if run.longdoc.strategy == "windows":
        return (
            f"machine.devices={devices} would change what {model.name} learns, since longdoc.trained_windows is drawn over a whole "
            f"batch: {advice}"
        )
    if isinstance(model, Pretrained) and model.head_first_epochs:
        return (
            f"machine.devices={devices} is not for model.head_first_epochs={model.head_first_epochs}, where the layers that learn change: "
            f"{advice}"
        )
    batch_size = (run.probe if isinstance(run.probe, Pretrain) else model).training.batch_size
    if batch_size < devices:
        return f"machine.devices={devices} leaves a device idle, since batches of {model.name} have {batch_size} rows: {advice}"
    return None


def _n_gpus() -> int:
    """NVIDIA GPUs of this machine, whatever CUDA_VISIBLE_DEVICES says."""
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=_ASKING_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return len(list(Path("/dev").glob("nvidia[0-9]*")))
    return sum(line.startswith("GPU ") for line in done.stdout.splitlines())


def _masked() -> str:
    """The words that remind of a variable which hides GPUs, and counts those it leaves from 0."""
    chosen = os.environ.get(VISIBLE)
    return "" if chosen is None else f" ({VISIBLE}={chosen})"


def _counted(number: int) -> str:
    return "there is 1 GPU" if number == 1 else f"there are {number} GPUs"


def numbered(slots: int | Sequence[Slot]) -> list[Slot]:
    """Slots as they are; a number stands for so many without a GPU."""
    return [Slot()] * slots if isinstance(slots, int) else list(slots)
