"""Which parts serve a model, and how they are put together."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PARTS = "bakeoff.shipping.parts"
_POOLS = {"attention": "AttentionPool", "lstm": "LstmPool", "transformer": "TransformerPool"}
_MODULES = {"bilstm": "BiLstm", "scratch": "Scratch", "pretrained": "Encoder", "frozen": "FrozenEncoder"}


@dataclass(frozen=True, kw_only=True)
class Step:
    """One part that is made: `name` is what later ones call it."""

    name: str
    part: str
    """Module and class, below `parts`."""
    takes: tuple[str, ...]
    """Of folder, settings, threads, and the names of earlier steps."""

    @property
    def qualified(self) -> str:
        """The class by its full name."""
        return f"{PARTS}.{self.part}"

    @property
    def line(self) -> str:
        """The step as a line of Python."""
        return f"{self.name} = {self.part.partition('.')[2]}({', '.join(self.takes)})"


def steps_of(settings: dict[str, Any]) -> tuple[Step, ...]:
    """The steps from a folder's settings to its `classifier`."""
    kind, last = settings["kind"], Step(name="classifier", part="classifier.Classifier", takes=("settings", "model"))
    if kind == "majority":
        return Step(name="model", part="majority.Majority", takes=("folder", "settings")), last
    if kind == "tfidf":
        reading = Step(name="reading", part=f"texts.{_text_reading(settings)}", takes=("settings",))
        return reading, Step(name="model", part="tfidf.Tfidf", takes=("folder", "settings", "reading")), last
    words = "WordTokens" if settings["words"] else "PieceTokens"
    tokens = Step(name="tokens", part=f"tokens.{words}", takes=("folder", "settings"))
    reading = Step(name="reading", part=f"readings.{_reading(settings)}", takes=("settings", "tokens"))
    model = Step(name="model", part="neural.Neural", takes=("settings", "reading", "network"))
    return tokens, reading, *_network(settings), model, last


def _network(settings: dict[str, Any]) -> tuple[Step, ...]:
    if settings["engine"] != "eager":
        return (Step(name="network", part="networks.OnnxNetwork", takes=("folder", "settings", "threads")),)
    own = ("settings",) if settings["kind"] in ("bilstm", "scratch") else ("folder", "settings")
    steps = [Step(name="module", part=f"modules.{_MODULES[settings['kind']]}", takes=own)]
    if settings["longdoc"]["strategy"] == "windows":
        steps.append(Step(name="pool", part=f"windows.{_POOLS.get(settings['longdoc']['pool'], 'PlainPool')}", takes=("settings",)))
        steps.append(Step(name="whole", part="windows.OverWindows", takes=("settings", "module", "pool")))
    network = Step(name="network", part="networks.TorchNetwork", takes=("folder", "settings", "threads", steps[-1].name))
    return *steps, network


def _text_reading(settings: dict[str, Any]) -> str:
    if settings["longdoc"]["max_tokens"] is None:
        return "WholeText"
    if settings["pairs"]:
        return "CutTexts"
    return "SelectedText" if settings["longdoc"]["strategy"] == "select" else "CutText"


def _reading(settings: dict[str, Any]) -> str:
    if settings["pairs"]:
        return "PairReading"
    return "SelectReading" if settings["longdoc"]["strategy"] == "select" else "CutReading"


def make(steps: Sequence[Step], folder: Path, settings: dict[str, Any], *, threads: int) -> Any:
    """The classifier, made in this process of the parts that `predict.py` holds copies of."""
    made: dict[str, Any] = {"folder": folder, "settings": settings, "threads": threads}
    for step in steps:
        module, _, name = step.qualified.rpartition(".")
        made[step.name] = getattr(importlib.import_module(module), name)(*(made[each] for each in step.takes))
    return made["classifier"]
