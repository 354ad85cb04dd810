"""A real Ray cluster of two logical nodes on this machine, with logical GPUs; and what is refused before anything is submitted."""

import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import toys
import travellers

from bakeoff.errors import ConfigError
from bakeoff.runner import on_ray
from bakeoff.runner.events import Event, Outcome, Started
from bakeoff.runner.on_ray import Demand, connected
from bakeoff.runner.remote import run_remote
from bakeoff.spec import Machine, Run
from bakeoff.store import Store

NODE = {"object_store_memory": 100 * 1024**2, "include_dashboard": False}


@pytest.fixture(autouse=True)
def closed_network() -> None:
    """Open here: Ray speaks to this machine by its own address, from code that no guard in Python sees."""


@pytest.fixture(scope="module")
def node_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of all nodes."""
    return tmp_path_factory.mktemp("node-cache")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, node_cache: Path) -> Iterator[Any]:
    """A node with one logical GPU, and one with two; workers find `toys`, and write nothing at home."""
    pytest.importorskip("ray", reason='Ray is not installed: pip install "bakeoff[ray]"')
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        patch.setenv("BAKEOFF_CACHE", str(node_cache))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        started = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "num_gpus": 1, **NODE})
        try:
            started.add_node(num_cpus=2, num_gpus=2, object_store_memory=NODE["object_store_memory"])
            yield started
        finally:
            started.shutdown()


class Bench:
    """A store, a ledger and a file of data, and what the last sweep told."""

    def __init__(self, folder: Path, address: str) -> None:
        self.store, self.ledger, self.data, self.address = Store(folder / "runs"), folder / "ledger", folder / "tickets.csv", address
        self.data.write_text("text,label")
        self.events: list[Event] = []

    def runs(self, n: int) -> list[Run]:
        return [travellers.run_of(self.data, seed) for seed in range(n)]

    def sweep(self, runs: list[Run], acts: dict[int, str] | None = None, *, seconds: float = 0.0) -> Outcome:
        with connected(self.address, runs, travellers.MACHINE, slots=None, code=travellers.alike) as there:
            return run_remote(
                runs,
                there,
                store=self.store,
                bake=travellers.looker(self.ledger, acts, seconds),
                rename=travellers.rename,
                preload=["bakeoff.record"],
                environment={},
                on_event=self.events.append,
            )

    def seen(self, run: Run) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.store.folder(run.run_id) / "seen.json").read_text())
        return found


@pytest.fixture
def bench(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("HOME", str(tmp_path))
    return Bench(tmp_path, cluster.address)


@pytest.mark.slow
def test_every_run_sees_its_own_device_and_no_device_has_two_runs(bench: Bench, node_cache: Path) -> None:
    runs = bench.runs(9)
    assert set(bench.sweep(runs, seconds=0.3).baked) == {run.run_id for run in runs}
    turns: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for seen in map(bench.seen, runs):
        turns.setdefault((seen["RAY_RAYLET_PID"], seen["CUDA_VISIBLE_DEVICES"]), []).append((seen["begin"], seen["end"]))
    assert sorted(device for _, device in turns) == ["0", "0", "1"]
    for spans in turns.values():
        spans.sort()
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))
    assert list(node_cache.iterdir()) == [node_cache / "assets"]  # nothing stays


@pytest.mark.slow
def test_a_failure_and_a_death_are_told_and_the_others_go_on(bench: Bench) -> None:
    runs = bench.runs(4)
    outcome = bench.sweep(runs, {0: "raise", 1: "exit 9"})
    assert set(outcome.baked) == {runs[2].run_id, runs[3].run_id}
    assert outcome.failed == {
        runs[0].run_id: f"RuntimeError: cannot convert {toys.CANARY}",
        runs[1].run_id: "ProcessDied: the process ended with exit code 9 before it gave an answer",
    }
    assert {failure["run_id"] for failure in bench.store.failures()} == set(outcome.failed)


@pytest.mark.slow
def test_a_node_that_goes_in_the_middle_costs_only_its_own_runs(bench: Bench, cluster: Any) -> None:
    doomed = cluster.add_node(num_cpus=1, num_gpus=1, object_store_memory=NODE["object_store_memory"])
    cluster.wait_for_nodes()
    raylet, caught = doomed.all_processes["raylet"][0].process.pid, list[str]()

    def kill_once_at_work() -> None:
        while not caught:
            time.sleep(0.05)
            caught.extend(run_id for run_id, pid in at_work(bench.ledger).items() if raylet_of(pid) == str(raylet))
        cluster.remove_node(doomed, allow_graceful=False)

    killer, runs = threading.Thread(target=kill_once_at_work, daemon=True), bench.runs(6)
    killer.start()
    outcome = bench.sweep(runs, seconds=4.0)
    killer.join()
    assert (sorted(outcome.baked), outcome.failed) == (sorted(run.run_id for run in runs), {})
    starts = [event.run.run_id for event in bench.events if isinstance(event, Started)]
    assert [run_id for run_id in set(starts) if starts.count(run_id) > 1] == caught
    assert all(toys.begun(bench.ledger).count(run.run_id) == 1 + (run.run_id in caught) for run in runs)
    assert all(bench.seen(run)["RAY_RAYLET_PID"] != str(raylet) for run in runs)


def at_work(ledger: Path) -> dict[str, int]:
    """Id of each Run that has begun and not ended → the process that bakes it."""
    lines = [line.split() for line in ledger.read_text().splitlines()] if ledger.exists() else []
    ended = {run_id for word, run_id, _ in lines if word == "end"}
    return {run_id: int(pid) for word, run_id, pid in lines if word == "begin" and run_id not in ended}


def raylet_of(pid: int) -> str | None:
    """The Ray node of a process; null once it is gone."""
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).environ().get("RAY_RAYLET_PID")
    return None


SWEEP = """
method: grid
parameters:
  dataset: {value: csv}
  dataset.text: {value: text}
  dataset.label: {value: label}
  model: {values: [majority, tfidf, bilstm]}
  budget.labels: {value: 24}
  seed: {value: 0}
"""


@pytest.mark.slow
def test_the_same_sweep_gives_the_same_bytes_here_and_there(cluster: Any, tmp_path: Path) -> None:
    words = {"good": ("fine", "lovely", "great", "warm", "bright"), "bad": ("dull", "awful", "cold", "poor", "grey")}
    lines = [f"{words[label][i % 5]} story number {i},{label}" for i in range(60) for label in words]
    (tmp_path / "films.csv").write_text("\n".join(["text,label", *lines]) + "\n")
    (tmp_path / "films.yaml").write_text(SWEEP)
    told = {name: _bakeoff(tmp_path, name, executor) for name, executor in {"here": [], "there": ["--address", cluster.address]}.items()}
    stores = {name: Store(tmp_path / name) for name in told}
    found = [record.run_id for record in stores["here"].load_all()]
    assert len(found) == 3, told
    assert [record.run_id for record in stores["there"].load_all()] == found, told
    for run_id in found:
        here, there = (stores[name].folder(run_id) for name in told)
        assert {path.name for path in here.iterdir()} == {path.name for path in there.iterdir()}
        assert (here / "predictions.parquet").read_bytes() == (there / "predictions.parquet").read_bytes()
        assert (here / "run.yaml").read_text().replace("here/", "there/") == (there / "run.yaml").read_text()
        asked = [json.loads((each / "record.json").read_text())["run"] for each in (here, there)]
        assert asked[0] == asked[1]
        assert asked[0]["dataset"]["path"] == "films.csv"
    assert told["here"].splitlines()[-1] == told["there"].splitlines()[-1]


def _bakeoff(folder: Path, name: str, executor: list[str]) -> str:
    command = [sys.executable, "-m", "bakeoff.cli", "sweep", "films.yaml", "dataset.path=films.csv", "machine.device=cpu"]
    environment = os.environ | {"BAKEOFF_RUNS": name, "BAKEOFF_CACHE": str(folder / f"cache-{name}"), "HOME": str(folder)}
    command += ["--executor", "ray", "--slots", "1", *executor] if executor else []
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "slots", "sentence"),
    [
        (
            {"devices": 3},
            None,
            "a Run takes 3 GPUs and 1 CPU of one node, but the nodes of the cluster have 1 GPUs and 1 CPUs, 2 GPUs and 2 CPUs: "
            "lower machine.devices or probe.threads",
        ),
        ({}, 4, "--slots or machine.slots=4, but the cluster holds 3 Runs of 1 GPU and 1 CPU at a time: ask for 3 at most"),
        ({"gpus": (0,)}, None, "machine.gpus=[0] means nothing to --executor ray, which hands out GPUs itself: set it to null"),
    ],
)
def test_more_than_there_is_is_an_error_at_once(bench: Bench, change: dict[str, Any], slots: int | None, sentence: str) -> None:
    machine, begin = replace(travellers.MACHINE, **change), time.monotonic()
    with pytest.raises(ConfigError) as refused, connected(bench.address, bench.runs(1), machine, slots=slots, code=travellers.alike):
        pass
    assert str(refused.value) == sentence
    assert time.monotonic() - begin < 30


@pytest.mark.slow
def test_slots_are_those_of_the_nodes_and_fewer_if_asked(bench: Bench) -> None:
    found = []
    for machine, slots in (
        (travellers.MACHINE, None),
        (replace(travellers.MACHINE, gpu_share=0.5, device="auto"), None),
        (travellers.MACHINE, 2),
    ):
        with connected(bench.address, bench.runs(1), machine, slots=slots, code=travellers.alike) as there:
            found.append(there.slots())
    assert found == [3, 3, 2]  # half a GPU a Run, but a whole CPU


@pytest.mark.slow
def test_a_node_with_other_code_is_refused(bench: Bench) -> None:
    with (
        pytest.raises(ConfigError, match=r"^the node \S+ has process \d+, but this machine has \d+: install the same there, or its"),
        connected(bench.address, bench.runs(1), travellers.MACHINE, slots=None, code=travellers.whoever),
    ):
        pass


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("nowhere", "--address=nowhere should be HOST:PORT of a Ray cluster, such as 10.0.0.1:6379, or auto"),
        (
            "127.0.0.1:1",
            "--address=127.0.0.1:1 cannot be reached (Connection refused): start a cluster with ray start --head, or check the address",
        ),
    ],
)
def test_an_address_without_a_cluster_is_one_sentence_within_seconds(address: str, sentence: str) -> None:
    pytest.importorskip("ray", reason='Ray is not installed: pip install "bakeoff[ray]"')
    begin = time.monotonic()
    with (
        pytest.raises(ConfigError) as refused,
        connected(address, [toys.make_run()], travellers.MACHINE, slots=None, code=travellers.alike),
    ):
        pass
    assert str(refused.value) == sentence
    assert time.monotonic() - begin < 10


@pytest.mark.slow
def test_a_port_of_something_else_is_one_sentence_within_seconds(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason='Ray is not installed: pip install "bakeoff[ray]"')
    code = (
        "import sys, toys, travellers; from bakeoff.runner import on_ray; from bakeoff.errors import ConfigError\n"
        "on_ray._CONNECT_SECONDS = 3.0\n"
        "try:\n    on_ray.connected(sys.argv[1], [toys.make_run()], travellers.MACHINE, slots=None, code=travellers.alike).__enter__()\n"
        "except ConfigError as refused:\n    print(refused); sys.exit(2)\n"
    )
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        address = f"127.0.0.1:{deaf.getsockname()[1]}"
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent), "HOME": str(tmp_path)}
        command = [sys.executable, "-c", code, address]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stdout == f"--address={address} gave no answer of a Ray cluster in 3 s: check the address\n"


def test_without_ray_the_command_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(ConfigError, match=r'^--executor ray needs Ray: pip install "bakeoff\[ray\]"$'),
        connected(None, [toys.make_run()], travellers.MACHINE, slots=None, code=travellers.alike),
    ):
        pass


@pytest.mark.parametrize(
    ("demand", "resources", "runs"),
    [
        (Demand(cpus=1, gpus=0), {"CPU": 4.0}, 4),
        (Demand(cpus=3, gpus=0), {"CPU": 4.0, "GPU": 8.0}, 1),
        (Demand(cpus=1, gpus=1), {"CPU": 4.0, "GPU": 2.0}, 2),
        (Demand(cpus=1, gpus=2), {"CPU": 4.0, "GPU": 3.0}, 1),
        (Demand(cpus=1, gpus=1), {"CPU": 4.0}, 0),
        (Demand(cpus=1, gpus=0.1), {"CPU": 64.0, "GPU": 2.0}, 20),
        (Demand(cpus=1, gpus=0.4), {"CPU": 64.0, "GPU": 2.0}, 4),
        (Demand(cpus=2, gpus=1), {"GPU": 2.0}, 0),
    ],
)
def test_what_a_node_holds(demand: Demand, resources: dict[str, float], runs: int) -> None:
    assert demand.runs_on(resources) == runs


def test_what_a_run_takes() -> None:
    run, machine = toys.make_run(), travellers.MACHINE
    run = replace(run, probe=replace(run.probe, threads=2))  # type: ignore[arg-type]

    def takes(on_gpus: bool, **change: Any) -> str:
        changed: Machine = replace(machine, **change)
        return str(Demand.of(run, changed, on_gpus=on_gpus))

    assert takes(True) == "1 GPU and 2 CPUs"
    assert takes(True, gpu_share=0.25) == "0.25 GPU and 2 CPUs"
    assert takes(True, devices=4) == "4 GPUs and 2 CPUs"
    assert takes(False) == "2 CPUs"
    assert takes(False, devices=2) == "4 CPUs"


def test_only_workers_that_can_be_had_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [{"Resources": {"CPU": 4.0}}, {"Resources": {"CPU": 1.0}}]
    monkeypatch.setattr(on_ray, "_nodes", lambda: nodes)
    run = toys.make_run()
    run = replace(run, probe=replace(run.probe, threads=2))  # type: ignore[arg-type]
    assert on_ray._able([run], travellers.MACHINE, most=None).slots() == 2
    with pytest.raises(ConfigError, match=r"^machine\.device=cuda and machine\.devices=1, but the cluster has no GPU"):
        on_ray._able([run], replace(travellers.MACHINE, device="cuda"), most=None)
    nodes.pop(0)
    with pytest.raises(ConfigError, match=r"^a Run takes 2 CPUs of one node, but the nodes of the cluster have 0 GPUs and 1 CPUs: lower"):
        on_ray._able([run], travellers.MACHINE, most=None)
