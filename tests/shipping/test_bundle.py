"""Definitions of several modules in one file that imports nothing of bakeoff."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.shipping import script
from bakeoff.shipping.bundle import bundle

LONGDOC = {"strategy": "head", "max_tokens": 64, "rank": None, "pool": None}
SETTINGS = {
    "run_id": "0123456789ab",
    "name": "toy",
    "classes": ["a", "b"],
    "pairs": False,
    "engine": "eager",
    "words": False,
    "refitted": False,
}


def test_a_definition_comes_behind_what_it_uses_and_brings_its_imports() -> None:
    made = bundle(["bakeoff.models.bilstm.BothWays"])
    assert re.findall(r"^(?:class|def) (\w+)", made.definitions, re.MULTILINE) == ["turned_round", "BothWays"]
    assert made.imports == "import torch\nfrom torch import nn"
    assert made.packages == {"torch"}


def test_imports_that_wait_inside_a_function_count_as_packages() -> None:
    assert bundle(["bakeoff.models.encoders.fresh"]).packages == {"torch", "transformers"}


def test_a_constant_is_copied_with_its_docstring_and_a_decorator_with_its_class() -> None:
    made = bundle(["bakeoff.data.tokens.PairFrame", "bakeoff.models.windows.CHUNK_TOKENS"]).definitions
    assert made.startswith("@dataclass(frozen=True, kw_only=True)\nclass PairFrame:")
    assert made.endswith('CHUNK_TOKENS = 131_072\n"""Most tokens that it reads at once: longer windows are read fewer at a time."""')


def test_two_constants_of_one_name_are_told_apart() -> None:
    made = bundle(["bakeoff.data.tokens.split_words", "bakeoff.data.sentences.rank_sentences"])
    names: dict[str, object] = {}
    exec(f"{made.imports}\n{made.definitions}", names)
    assert names["split_words"]("It's 2.") == ["it", "'", "s", "2", "."]  # type: ignore[operator]
    assert names["_WORD"].pattern == r"\w+|[^\w\s]"  # type: ignore[attr-defined]
    assert names["_sentences_WORD"].pattern == r"\w+"  # type: ignore[attr-defined]
    assert names["rank_sentences"](["a b", "c d", "a b c e"], "tfidf").tolist()[0] in (1, 2)  # type: ignore[operator]


def test_what_yaml_fills_is_not_copied() -> None:
    made = bundle(["bakeoff.data.cuts.spans"])
    assert "from types import SimpleNamespace as LongDoc" in made.imports
    assert "class LongDoc" not in made.definitions


def test_a_module_used_by_its_name_is_refused() -> None:
    with pytest.raises(AssertionError, match="is a module of bakeoff"):
        bundle(["bakeoff.models.encoders.pooled"])


@pytest.mark.parametrize(
    ("kind", "words", "longdoc", "packages"),
    [
        ("majority", False, {}, ["numpy", "safetensors"]),
        ("tfidf", False, {"strategy": "full", "max_tokens": None}, ["numpy", "safetensors"]),
        ("tfidf", False, {"strategy": "select", "rank": "textrank"}, ["numpy", "safetensors", "scipy"]),
        ("bilstm", True, {}, ["numpy", "safetensors", "torch"]),
        ("scratch", False, {"strategy": "windows", "pool": "transformer"}, ["numpy", "safetensors", "tokenizers", "torch"]),
        ("pretrained", False, {}, ["numpy", "safetensors", "tokenizers", "torch", "transformers"]),
    ],
)
def test_a_script_says_what_it_needs_and_no_more(kind: str, words: bool, longdoc: dict[str, object], packages: list[str]) -> None:
    settings = SETTINGS | {"kind": kind, "words": words, "longdoc": LONGDOC | longdoc}
    parts = script.bundled(settings)
    text = script.script(settings, parts)
    assert not re.search(r"^\s*(?:import|from) bakeoff", text, re.MULTILINE)
    lines = script.requirements(parts).splitlines()
    assert [line.partition("==")[0] for line in lines] == packages
    assert all(re.fullmatch(r"[\w-]+==[\d.]+\w*", line) for line in lines)


@pytest.mark.parametrize("strategy", ["head", "select", "windows"])
def test_a_script_has_no_name_without_a_meaning(strategy: str, tmp_path: Path) -> None:
    longdoc = LONGDOC | {"strategy": strategy, "rank": "tfidf", "pool": "attention"}
    for kind in ("tfidf", "bilstm", "scratch", "pretrained", "frozen"):
        settings = SETTINGS | {"kind": kind, "longdoc": longdoc, "words": True}
        (tmp_path / f"{kind}.py").write_text(script.script(settings, script.bundled(settings)))
    ruff = Path(sys.executable).with_name("ruff")
    if not ruff.exists():
        pytest.skip("ruff is not installed")
    done = subprocess.run([ruff, "check", "--isolated", "--select", "F", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_script_of_a_refitted_model_says_that_it_is_unscored() -> None:
    settings = SETTINGS | {"kind": "majority", "longdoc": LONGDOC}
    parts = script.bundled(settings)
    assert "The model is toy, of Run 0123456789ab: see README.md." in script.script(settings, parts)
    assert "The model is toy, unscored; estimate from run 0123456789ab: see README.md." in script.script(
        settings | {"refitted": True}, parts
    )
