"""The most memory that was held since it was last forgotten."""

import mmap
import sys

import pytest

from bakeoff.probes import peak


@pytest.mark.skipif(sys.platform != "linux", reason="proc(5) is Linux's")
def test_what_was_held_before_is_forgotten() -> None:
    if not peak.forget("cpu"):
        pytest.skip("this kernel does not reset the peak")
    before = peak.memory_mb("cpu")
    held = mmap.mmap(-1, 40 * 2**20)  # not from a heap, which may still hold what others gave back
    held.write(b"x" * len(held))
    assert peak.memory_mb("cpu") >= before + 39
    held.close()
    assert peak.memory_mb("cpu") >= before + 39  # a peak stays
    assert peak.forget("cpu")
    assert peak.memory_mb("cpu") < before + 20
