"""A Ray cluster: the one at an address, or one that is started here for the time of a sweep. The only file that knows Ray."""

import contextlib
import logging
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.errors import BakeoffError, ConfigError
from bakeoff.runner import elsewhere
from bakeoff.runner.elsewhere import Order, Returned
from bakeoff.runner.remote import Lost
from bakeoff.runner.shipping import Packed
from bakeoff.spec import Machine, Run

_REACH_SECONDS = 5.0
_CONNECT_SECONDS = 30.0
_ANSWER_SECONDS = 120.0
_STOP_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What a Run takes of a node while it is baked."""

    cpus: int
    gpus: float

    @classmethod
    def of(cls, run: Run, machine: Machine, *, on_gpus: bool) -> "Demand":
        """Its threads and the GPUs of `machine.devices`, or so many times its threads where it uses none."""
        if on_gpus:
            return cls(cpus=run.probe.threads, gpus=machine.devices * machine.gpu_share)
        return cls(cpus=run.probe.threads * machine.devices, gpus=0)

    def runs_on(self, resources: Mapping[str, float]) -> int:
        """How many Runs a node with these resources holds at a time; one that takes part of a GPU is on one GPU alone."""
        by_cpus = int(resources.get("CPU", 0) // self.cpus)
        if not self.gpus:
            return by_cpus
        there = int(resources.get("GPU", 0))
        return min(by_cpus, there * int(1 / self.gpus + 1e-9) if self.gpus < 1 else int(there // self.gpus))

    def __str__(self) -> str:
        gpus = f"{self.gpus:g} GPU{'s' if self.gpus > 1 else ''} and " if self.gpus else ""
        return f"{gpus}{self.cpus} CPU{'s' if self.cpus > 1 else ''}"


@dataclass(frozen=True, kw_only=True)
class RayCluster:
    """Is a `remote.Cluster`."""

    machine: Machine
    sweep: str
    on_gpus: bool
    largest: Demand
    most: int | None

    @property
    def takes(self) -> str:
        """What a Run takes of a node, in words."""
        return str(self.largest)

    def slots(self) -> int:
        """How many Runs it holds at a time, by the nodes that are there now; at most so many as were asked for."""
        there = sum(self.largest.runs_on(node["Resources"]) for node in _nodes())
        return there if self.most is None else min(there, self.most)

    def put(self, files: Packed) -> Any:
        """A reference in the object store of Ray."""
        import ray

        return ray.put(files)

    def submit(self, order: Order) -> Hashable:
        """Without `max_calls`, a worker bakes many Runs, each in a child of its own, and loads what they need once."""
        import ray

        demand = Demand.of(order.run, self.machine, on_gpus=self.on_gpus)
        task = ray.remote(_bake).options(num_cpus=demand.cpus, num_gpus=demand.gpus, max_retries=0)
        reference: Hashable = task.remote(order, os.path.abspath(os.curdir))
        return reference

    def wait(self, references: Sequence[Hashable], *, seconds: float) -> Sequence[Hashable]:
        """Those that are done."""
        import ray

        ready: Sequence[Hashable] = ray.wait(list(references), num_returns=len(references) if not seconds else 1, timeout=seconds)[0]
        return ready

    def get(self, reference: Hashable) -> Returned:
        """What a worker returned. Raises Lost, or what it raised itself."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        try:
            returned: Returned = ray.get(reference)
        except RayTaskError as error:
            cause = error.cause
            if isinstance(cause, Exception) and not isinstance(cause, RayError):
                raise cause from None
            raise BakeoffError(f"a worker could not begin: {_in_short(cause or error)}") from None
        except RayError as error:
            raise Lost(type(error).__name__) from None
        return returned

    def stop(self, references: Sequence[Hashable]) -> None:
        """End workers; their children see it and end too."""
        import ray

        for reference in references:
            ray.cancel(reference, force=True)
        if references:
            ray.wait(list(references), num_returns=len(references), timeout=_STOP_SECONDS)


@contextlib.contextmanager
def connected(
    address: str | None, runs: Sequence[Run], machine: Machine, *, slots: int | None, code: Callable[[], Mapping[str, str]]
) -> Iterator[RayCluster]:
    """The cluster at `address`, or one that is started on this machine for as long as this is entered.

    `code` tells what must be alike on every machine. Raises ConfigError, before anything is submitted, when Ray is not
    installed, the cluster cannot be reached, no node can hold a Run, all cannot hold `slots` of them, or a node has other code.
    """
    try:
        import ray
    except ImportError:
        raise ConfigError('--executor ray needs Ray: pip install "bakeoff[ray]"') from None
    _connect(address)
    try:
        cluster = _able(runs, machine, most=slots)
        _refuse_other_code(code)
        try:
            yield cluster
        finally:
            cleaned = [answer for _, answer in _ask_every_node(elsewhere.clean, cluster.sweep)]
            ray.wait(cleaned, num_returns=len(cleaned), timeout=_STOP_SECONDS)
    finally:
        ray.shutdown()


def _bake(order: Order, drivers_folder: str) -> Returned:
    import ray

    # Ray lets workers import from the driver's working directory first: a datasets.py that lies there would be found.
    if sys.path[0] == drivers_folder:
        del sys.path[0]
    gpus = ray.get_runtime_context().get_accelerator_ids().get("GPU", [])
    # Children import this process's main module, which is Ray's and takes a second where Ray is not loaded yet.
    return elsewhere.bake(replace(order, preload=(*order.preload, "ray")), gpus=gpus, fetch=ray.get)


def _connect(address: str | None) -> None:
    """Raise ConfigError for a cluster that cannot be reached, within seconds: left to itself Ray tries for minutes."""
    import ray

    if address is not None and address != "auto":
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if not host or not port.isdigit():
            raise ConfigError(f"--address={address} should be HOST:PORT of a Ray cluster, such as 10.0.0.1:6379, or auto")
        try:
            socket.create_connection((host, int(port)), timeout=_REACH_SECONDS).close()
        except OSError as error:
            raise ConfigError(
                f"--address={address} cannot be reached ({os.strerror(error.errno) if error.errno else error}): start a cluster with "
                "ray start --head, or check the address"
            ) from None
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    errors: list[BaseException] = []

    def connect() -> None:
        try:
            ray.init(address=address or "local", **quiet)
        except BaseException as error:
            errors.append(error)

    if address is None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        quiet |= {"include_dashboard": False, "num_cpus": _usable_cpus()}
        connect()  # not in a thread, for what Ray starts ends with the thread that started it
    else:
        # In a thread, for Ray cannot be told how long to try, nor be interrupted.
        thread = threading.Thread(target=connect, daemon=True)
        thread.start()
        thread.join(_CONNECT_SECONDS)
        if thread.is_alive():
            raise ConfigError(f"--address={address} gave no answer of a Ray cluster in {_CONNECT_SECONDS:.0f} s: check the address")
    if errors:
        what = "a local Ray cluster" if address is None else f"--address={address}"
        raise ConfigError(f"{what} cannot be used: {_in_short(errors[0])}")


def _able(runs: Sequence[Run], machine: Machine, *, most: int | None) -> RayCluster:
    """Raise ConfigError for what the cluster cannot hold: Ray would wait for ever, silently."""
    nodes = _nodes()
    there = sum(int(node["Resources"].get("GPU", 0)) for node in nodes)
    if machine.gpus is not None:
        raise ConfigError(f"machine.gpus={list(machine.gpus)} means nothing to --executor ray, which hands out GPUs itself: set it to null")
    if not there and (machine.device == "cuda" or (machine.device == "auto" and machine.devices > 1)):
        raise ConfigError(f"machine.device={machine.device} and machine.devices={machine.devices}, but the cluster has no GPU")
    on_gpus = there > 0 and machine.device != "cpu"
    demands = {Demand.of(run, machine, on_gpus=on_gpus) for run in runs}
    for demand in sorted(demands, key=str):
        if not any(demand.runs_on(node["Resources"]) for node in nodes):
            have = ", ".join(sorted({_counted(node["Resources"]) for node in nodes}))
            raise ConfigError(
                f"a Run takes {demand} of one node, but the nodes of the cluster have {have}: lower machine.devices or probe.threads"
            )
    largest = Demand(cpus=max((each.cpus for each in demands), default=1), gpus=max((each.gpus for each in demands), default=0))
    cluster = RayCluster(machine=machine, sweep=secrets.token_hex(6), on_gpus=on_gpus, largest=largest, most=most)
    holds = sum(largest.runs_on(node["Resources"]) for node in nodes)
    if most is not None and most > holds:
        raise ConfigError(
            f"--slots or machine.slots={most}, but the cluster holds {holds} Runs of {largest} at a time: ask for {holds} at most"
        )
    return cluster


def _refuse_other_code(code: Callable[[], Mapping[str, str]]) -> None:
    """Raise ConfigError when a node would answer otherwise than this machine says that it did."""
    import ray

    here = code()
    for node, answer in _ask_every_node(code):
        try:
            there = ray.get(answer, timeout=_ANSWER_SECONDS)
        except Exception as error:
            why = "did not answer in time" if isinstance(error, TimeoutError) else "cannot import the same bakeoff"
            raise ConfigError(f"the node {node} {why}: install this version of bakeoff there, or take the node away") from None
        for name, version in here.items():
            if there.get(name) != version:
                raise ConfigError(
                    f"the node {node} has {name} {there.get(name)}, but this machine has {version}: install the same there, "
                    "or its answers could differ"
                )


def _ask_every_node(question: Callable[..., Any], *arguments: Any) -> list[tuple[str, Any]]:
    """Address of each node, and a reference to its answer."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def ask(node: Mapping[str, Any]) -> Any:
        there = NodeAffinitySchedulingStrategy(node_id=node["NodeID"], soft=False)
        return ray.remote(question).options(num_cpus=0, max_retries=0, scheduling_strategy=there).remote(*arguments)

    return [(node["NodeManagerAddress"], ask(node)) for node in _nodes()]


def _nodes() -> list[dict[str, Any]]:
    import ray

    return [node for node in ray.nodes() if node["Alive"]]


def _usable_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _counted(resources: Mapping[str, float]) -> str:
    """What a node has, in words."""
    return f"{resources.get('GPU', 0):g} GPUs and {resources.get('CPU', 0):g} CPUs"


def _in_short(error: BaseException) -> str:
    """The first line of an error, without a closing full stop; Ray's go on with a traceback."""
    lines = str(error).strip().splitlines()
    return lines[0].strip()[:300].rstrip(".") if lines else type(error).__name__
