"""The text of a shipped `predict.py`, and of the `requirements.txt` beside it."""

import importlib.metadata
from typing import Any

from bakeoff.shipping.bundle import Bundled, bundle
from bakeoff.shipping.recipe import PARTS, steps_of

_DISTRIBUTIONS = {"onnxruntime": ("onnxruntime", "onnxruntime-gpu")}
"""Package → the names under which it may be installed, where they differ from its own."""

_HEAD = '''"""Texts to labels, without bakeoff: python predict.py FILE.csv --text COLUMN

In Python:

    from predict import load

    load().predict(["a text", "another"])

{what}
"""
'''
_LOAD = '''def load(folder: Path = Path(__file__).parent, *, threads: int = 1) -> Classifier:
    """The classifier of the files in `folder`, on so many CPU threads."""
    settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    {lines}
    return classifier


if __name__ == "__main__":
    main(load)
'''


def bundled(settings: dict[str, Any]) -> Bundled:
    """What a model's `predict.py` is made of."""
    return bundle([*(step.qualified for step in steps_of(settings)), f"{PARTS}.command.main"])


def script(settings: dict[str, Any], parts: Bundled) -> str:
    """The whole of `predict.py`."""
    known = f"unscored; estimate from run {settings['run_id']}" if settings["refitted"] else f"of Run {settings['run_id']}"
    what = f"The model is {settings['name']}, {known}: see README.md. bakeoff wrote this file."
    load = _LOAD.format(lines="\n    ".join(step.line for step in steps_of(settings)))
    return "\n".join([_HEAD.format(what=what), parts.imports, "\n", parts.definitions, "\n", load])


def requirements(parts: Bundled) -> str:
    """The packages that `predict.py` needs, pinned to the versions that it was checked with."""
    return "".join(f"{name}=={_version(name)}\n" for name in sorted(parts.packages, key=str.lower))


def _version(package: str) -> str:
    """Without a local part such as +cpu, which indexes do not serve to all."""
    for name in _DISTRIBUTIONS.get(package, (package,)):
        try:
            return importlib.metadata.version(name).partition("+")[0]
        except importlib.metadata.PackageNotFoundError:
            continue
    raise AssertionError(f"{package} is imported and so is installed")
