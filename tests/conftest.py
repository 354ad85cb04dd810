"""What every test needs: a closed network, its own folders, and this folder on the import path (for `factories`)."""

import ipaddress
import socket
import sys
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def closed_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only loopback and local sockets connect."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(str(address[0])):
            raise AssertionError(f"a test tried to reach {address[0]}: the network is closed")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def small_numbers() -> None:
    """A test that trained leaves its process counting denormal numbers as zero, which hypothesis refuses to draw floats in."""
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_flush_denormal(False)


@pytest.fixture(autouse=True)
def own_folders(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs and home are a test's own, and the cache too unless the test is slow and needs the real assets."""
    monkeypatch.setenv("BAKEOFF_RUNS", str(tmp_path_factory.mktemp("runs")))
    monkeypatch.setenv("WANDB_MODE", "disabled")
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setenv("BAKEOFF_CACHE", str(tmp_path_factory.mktemp("cache")))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
