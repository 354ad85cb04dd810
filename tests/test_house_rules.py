"""The house: which room may import what, and how large a module may grow."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "bakeoff"
ANYWHERE = {"errors", "cache", "identity", "readings", "recipes", "labelled", "kinds"}
HEAVY = {"torch", "pytorch_lightning", "transformers", "pandas", "wandb", "hydra", "omegaconf", "ray", "sklearn", "datasets", "matplotlib"}

# Room → rooms of bakeoff it may import, and heavy packages it may import.
MAY: dict[str, tuple[set[str], set[str]]] = {
    "identity": (set(), set()),
    "readings": ({"identity"}, set()),
    "recipes": ({"identity"}, set()),
    "labelled": ({"identity"}, set()),
    "kinds": ({"identity", "readings", "recipes"}, set()),
    "fits": ({"kinds", "spec"}, set()),
    "spec": ({"fits", "identity", "kinds", "labelled", "readings", "recipes"}, set()),
    "errors": (set(), set()),
    "cache": (set(), set()),
    "locks": (set(), set()),
    "convert": ({"spec"}, set()),
    "fingerprint": (set(), set()),
    "sweep": ({"spec"}, set()),
    "serving_facts": (set(), set()),
    "record": ({"spec", "convert", "serving_facts"}, set()),
    "store": ({"spec", "record", "locks"}, set()),
    "provenance": ({"spec", "record"}, set()),
    "sweep_file": ({"convert"}, set()),
    "tuning": ({"spec", "convert", "record", "sweep"}, set()),
    "composed": (set(), set()),
    "composer": ({"spec", "convert", "composed", "resolve", "tuning"}, {"hydra", "omegaconf"}),
    "config": ({"spec", "composer", "sweep", "sweep_file"}, set()),
    "resolve": ({"fingerprint", "provenance"}, set()),
    "data": ({"spec", "fingerprint", "data"}, {"datasets", "transformers", "torch"}),
    "models": ({"spec", "models"}, {"torch", "transformers", "sklearn"}),
    "training": ({"spec", "data", "models", "training"}, {"torch", "pytorch_lightning"}),
    "probes": ({"spec", "record", "data", "models", "probes"}, {"torch", "sklearn"}),
    "mirrored": ({"record"}, set()),
    "tracking": ({"spec", "record", "mirrored"}, {"wandb"}),
    "shipping": ({"spec", "record", "store", "data", "models", "probes", "shipping"}, {"torch", "transformers"}),
    "runner": ({"spec", "record", "store", "sweep", "runner"}, {"ray"}),
    "report": ({"spec", "record", "store", "sweep", "convert", "tuning", "report", "claims"}, {"pandas", "matplotlib"}),
    "claims": (
        {"spec", "record", "store", "convert", "fingerprint", "data", "models", "probes", "runner", "report", "claims"},
        {"torch", "transformers"},
    ),
    "deciding": ({"spec", "record", "store", "sweep", "sweep_file", "runner", "report", "deciding"}, set()),
    "commands": (set(), {"hydra"}),
    "bake": (set(), {"torch"}),
    "bake_latency": (set(), set()),
    "cli": (set(), set()),
}
FREE = {"bake", "bake_latency", "cli", "commands"}
"""They may use every room."""
WITHOUT_PACKAGES = {
    "identity",
    "readings",
    "recipes",
    "labelled",
    "kinds",
    "fits",
    "spec",
    "errors",
    "locks",
    "convert",
    "fingerprint",
    "sweep",
    "record",
    "serving_facts",
    "store",
}
"""Rooms of the standard library alone."""


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_every_room_has_a_rule() -> None:
    assert {room_of(path) for path in modules()} == set(MAY)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_what_it_may(path: Path) -> None:
    room = room_of(path)
    rooms, packages = MAY[room]
    for name in imported(path):
        parts = name.split(".")
        if parts[0] == "bakeoff" and len(parts) > 1 and room not in FREE and parts[1] != "__version__":
            assert parts[1] in rooms | ANYWHERE, f"{room} may not import bakeoff.{parts[1]}"
        if parts[0] in HEAVY:
            assert parts[0] in packages, f"{room} may not import {parts[0]}"
        if room in WITHOUT_PACKAGES and parts[0] != "bakeoff":
            assert parts[0] in sys.stdlib_module_names, f"{room} may import the standard library only, not {parts[0]}"


def test_only_one_file_knows_each_outside_world() -> None:
    owners: dict[str, set[str]] = {}
    for path in modules():
        for name in imported(path):
            owners.setdefault(name.split(".")[0], set()).add(str(path.relative_to(SOURCE)))
    assert owners["wandb"] == {"tracking.py"}
    assert {owner for owner in owners["hydra"] if owner != "commands/run.py"} == {"composer.py"}
    assert all(owner.startswith("training/") for owner in owners["pytorch_lightning"])
    assert owners.get("ray", set()) <= {"runner/on_ray.py"}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_stays_small_and_has_a_noun_for_a_name(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300
    assert path.stem not in ("utils", "helpers", "common", "misc")


def test_importing_bakeoff_and_its_core_loads_nothing_heavy() -> None:
    code = (
        "import sys, os; before = dict(os.environ)\n"
        "import bakeoff, bakeoff.cli, bakeoff.spec, bakeoff.store, bakeoff.record, bakeoff.report.frame\n"
        "import bakeoff.runner.local, bakeoff.runner.plan, bakeoff.runner.sessions, bakeoff.commands.baking, bakeoff.probes.kit\n"
        f"print(sorted(set({sorted(HEAVY)!r}) & sys.modules.keys()), before == dict(os.environ))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"
