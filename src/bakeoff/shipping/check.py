"""A shipped folder's own answers, from a fresh process in which bakeoff cannot be imported, held against those that were scored."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bakeoff.data.tokens import Document
from bakeoff.errors import BakeoffError

Probabilities = npt.NDArray[np.float32]

TOLERANCE = 1e-5
"""A probability of a shipped model differs by less from the one that was scored."""
_CHILD = """
import json, sys
sys.modules["bakeoff"] = None  # whoever imports it fails
folder, answers, threads = sys.argv[1:]
sys.path.insert(0, folder)
import numpy as np
from predict import load
documents = [each if isinstance(each, str) else tuple(each) for each in json.load(sys.stdin)]
np.save(answers, load(threads=int(threads)).probabilities(documents))
"""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How a shipped model's answers compare with other answers to the same rows."""

    n: int
    changed_labels: int
    max_difference: float

    @property
    def is_same(self) -> bool:
        """Whether every label agrees and no probability is TOLERANCE away."""
        return self.changed_labels == 0 and self.max_difference < TOLERANCE


def answers(folder: Path, documents: Sequence[Document], *, threads: int) -> Probabilities:
    """What the folder answers by itself, shape (documents, classes). Raises BakeoffError where it does not.

    Python is isolated (`-I`), so that neither the environment nor the working directory has a say; texts go through a pipe.
    """
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    with tempfile.TemporaryDirectory(prefix="bakeoff-export-") as scratch:
        file = Path(scratch) / "answers.npy"
        command = [sys.executable, "-I", "-B", "-c", _CHILD, str(folder.absolute()), str(file), str(threads)]
        done = subprocess.run(command, input=json.dumps(documents).encode(), capture_output=True, env=environment, cwd=scratch)
        if done.returncode:
            last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise BakeoffError(f"the exported folder does not answer by itself ({last.partition(':')[0] or 'it was stopped'})")
        found: Probabilities = np.load(file, allow_pickle=False)
        return found


def compare(found: Probabilities, expected: Probabilities) -> Agreement:
    """Two sets of probabilities of the same rows, shape (rows, classes). Raises BakeoffError for others."""
    if found.shape != expected.shape:  # arrays of other shapes may still be subtracted, and would seem to agree
        raise BakeoffError(f"the exported folder answers in shape {found.shape}, but what was scored is of shape {expected.shape}")
    return Agreement(
        n=len(found),
        changed_labels=int((found.argmax(axis=1) != expected.argmax(axis=1)).sum()),
        max_difference=float(np.abs(found.astype(np.float64) - expected).max(initial=0.0)),
    )
