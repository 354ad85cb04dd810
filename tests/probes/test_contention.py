"""Who else used the processor."""

import subprocess
import sys
import time

import psutil
import pytest

from bakeoff.probes.contention import CpuReading, foreign_share, read_cpu


def reading(wall: float, busy: float, own: float) -> CpuReading:
    return CpuReading(wall_seconds=wall, busy_seconds=busy, own_seconds=own)


@pytest.mark.parametrize(
    ("after", "share"),
    [
        (reading(110, 510, 15), 0.5),  # of 10 s that the machine was busy, 5 were ours
        (reading(110, 505, 15), 0.0),  # ticks of the system's clock may give us a little more than there was
        (reading(110, 525, 15), 2.0),
        (reading(100, 505, 10), 0.0),
    ],
)
def test_the_share_is_what_was_busy_and_not_ours_in_cores(after: CpuReading, share: float) -> None:
    assert foreign_share(reading(100, 500, 10), after) == share


def test_our_own_children_are_ours_while_they_live_and_after() -> None:
    burn = "import time; end = time.process_time() + 0.4\nwhile time.process_time() < end: pass\nprint('burnt', flush=True); input()"
    before = read_cpu()
    child = subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    child.stdout.readline()
    alive = read_cpu()
    child.communicate("\n")
    gone = read_cpu()
    assert alive.own_seconds - before.own_seconds >= 0.35
    assert gone.own_seconds >= alive.own_seconds - 0.02
    assert gone.own_seconds - before.own_seconds < 0.8  # counted once, not as itself and as its parent's child


def test_another_process_is_foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    burn = "import time; end = time.process_time() + 30\nprint(flush=True)\nwhile time.process_time() < end: pass"
    child = subprocess.Popen([sys.executable, "-c", burn], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    monkeypatch.setattr(psutil.Process, "children", lambda self, recursive: [])  # as if it were not ours
    before = read_cpu()
    time.sleep(1.0)
    share = foreign_share(before, read_cpu())
    child.kill()
    child.communicate()
    assert share > 0.3
