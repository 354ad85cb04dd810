"""What `--executor ray` refuses before it looks for a cluster, and what its workers write and are asked."""

from pathlib import Path

import pytest
import yaml

from bakeoff import provenance
from bakeoff.commands import on_cluster
from bakeoff.commands.baking import bake_runs, check_device
from bakeoff.errors import ConfigError
from bakeoff.record import Provenance
from bakeoff.spec import Machine, to_plain
from bakeoff.store import Store
from factories import make_latency_run, make_run

MACHINE = Machine(device="cuda", slots=None, wandb="disabled", wandb_project="bakeoff", keep_weights="needed", share_texts=False)


def test_latency_runs_are_refused_before_anything_starts() -> None:
    with pytest.raises(ConfigError) as refused:
        check_device(MACHINE, [make_run(), make_latency_run(), make_latency_run(engine="compile")], executor="ray")
    assert str(refused.value) == (
        "--executor ray cannot bake the 2 latency Runs asked for, since models are timed against each other on one quiet machine: "
        "bake those with --executor local, and the others here, for example with probe=quality"
    )


def test_the_gpus_of_this_machine_do_not_matter_to_a_cluster() -> None:
    check_device(MACHINE, [make_run()], executor="ray")  # machine.device=cuda, wherever this test runs


def test_an_address_without_ray_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--address=auto goes with --executor ray$"):
        bake_runs([make_run()], MACHINE, Store(tmp_path), executor="local", address="auto")


def test_the_run_yaml_of_a_run_names_the_machine_that_asked(tmp_path: Path) -> None:
    run, there = make_run(), tmp_path / "there"
    there.mkdir()
    on_cluster.name_as_here(run, there, Path("/home/anne/work/runs") / run.run_id, machine=MACHINE, here=Path("/home/anne/work"))
    text = (there / "run.yaml").read_text()
    assert text.splitlines()[0].endswith(f"bakeoff run --config-dir runs/{run.run_id} --config-name run")
    assert yaml.safe_load(text) == {**to_plain(run), "machine": to_plain(MACHINE)}
    on_cluster.name_as_here(run, there, Path("/data/runs") / run.run_id, machine=MACHINE, here=Path("/home/anne/work"))
    assert f"--config-dir /data/runs/{run.run_id} " in (there / "run.yaml").read_text()


def test_other_code_or_another_version_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = on_cluster.code_facts()
    assert {"python", "torch", "bakeoff", "bakeoff's source"} <= here.keys()
    assert on_cluster.code_facts() == here
    for name in ("__init__.py", "rooms/one.py"):
        (tmp_path / "bakeoff" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "bakeoff" / name).write_text("1")
    monkeypatch.setattr(on_cluster.bakeoff, "__file__", str(tmp_path / "bakeoff" / "__init__.py"))
    monkeypatch.setattr(on_cluster, "provenance", lambda: Provenance(commit=None, dirty=None, versions={"torch": "2"}))
    one = on_cluster.code_facts()
    (tmp_path / "bakeoff" / "rooms" / "one.py").write_text("2")
    two = on_cluster.code_facts()
    assert {name for name in one if one[name] != two[name]} == {"bakeoff's source"}
    assert (one["torch"], one["bakeoff's commit"]) == ("2", "none")
    assert provenance.versions() == {name: here[name] for name in provenance.versions()}
