"""What makes two questions the same: each field of a noun is one of three, and `identity` refuses one that is none.

- `hashed()`: part of the question; changing it gives another `run_id`.
- `neutral(x)`: added after ids were published; left out of the identity at `x`, the value without effect.
- `display()`: never part of the question (names, paths, descriptions).

A code change that alters a noun's answers raises that noun's class constant `recipe`, which `identity` adds.
"""

import dataclasses
import functools
import hashlib
import json
import re
from typing import Any, Literal

ID_VERSION = 1


def hashed(part: Literal["architecture", "training"] | None = None) -> Any:
    """A field of the question. Model fields say which `part` they belong to: untrained latency drops training."""
    return dataclasses.field(metadata={"identity": "hashed", "part": part})


def neutral(value: Any, part: Literal["architecture", "training"] | None = None) -> Any:
    """A field added later: absent from the identity at `value`, at which it has no effect."""
    return dataclasses.field(default=value, metadata={"identity": "neutral", "neutral": value, "part": part})


def display(later: Any = dataclasses.MISSING) -> Any:
    """A field that is never part of the question; one added after records were written says what it is where it is absent."""
    if isinstance(later, dict):
        return dataclasses.field(default_factory=later.copy, metadata={"identity": "none"})
    return dataclasses.field(default=later, metadata={"identity": "none"})


def identity(noun: Any, part: Literal["architecture"] | None = None) -> Any:
    """What is hashed of a noun, as plain JSON values, computed alike from a plan and from a record.

    With `part`, the fields of that part of a model alone, which is what an untrained model is. The answer is kept with the
    noun, which thousands of Runs share: change a copy of it. Raises TypeError for a field that is not classified.
    """
    if not dataclasses.is_dataclass(noun) or isinstance(noun, type):
        return _plain(noun)
    kept: dict[str | None, Any] = noun.__dict__.setdefault(_KEPT, {})
    if part not in kept:
        kept[part] = _identity(noun, part)
    return kept[part]


_KEPT = "_identity_of_part"


def _identity(noun: Any, part: Literal["architecture"] | None) -> dict[str, Any]:
    roles_of: Any = _roles  # mypy holds a type for no key of a cache
    constants, roles = roles_of(type(noun))
    values: dict[str, Any] = dict(constants)
    for name, role, at, belongs in roles:
        if part is not None and belongs not in (part, None):
            continue
        value = getattr(noun, name)
        if role == "hashed" or (role == "neutral" and value != at):
            values[name] = value if type(value) in _PLAIN else identity(value)
        elif role not in ("neutral", "none"):
            raise TypeError(f"{type(noun).__name__}.{name} is not classified: use hashed, neutral or display")
    return values


_PLAIN = (str, int, float, bool, type(None))


@functools.cache
def _roles(cls: type) -> tuple[dict[str, Any], tuple[tuple[str, Any, Any, Any], ...]]:
    """A noun's constants; and of each field its name, role, neutral value and part."""
    metadata = ((field.name, field.metadata) for field in dataclasses.fields(cls))
    roles = tuple((name, known.get("identity"), known.get("neutral"), known.get("part")) for name, known in metadata)
    return {name: getattr(cls, name) for name in ("kind", "recipe") if hasattr(cls, name)}, roles


def hash_identity(plain: Any) -> str:
    """First 12 hex digits of the SHA-256 of the sorted, compact JSON of an identity."""
    text = json.dumps({"id_version": ID_VERSION, "run": plain}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def is_run_id(text: str) -> bool:
    """Whether a text has the form of a run id."""
    return re.fullmatch(r"[0-9a-f]{12}", text) is not None


def to_plain(noun: Any) -> Any:
    """Every field of a noun as plain JSON values, `kind` included; `convert.build` reads it back."""
    if not dataclasses.is_dataclass(noun) or isinstance(noun, type):
        return _plain(noun)
    kind = {"kind": noun.kind} if hasattr(noun, "kind") else {}
    return kind | {field.name: to_plain(getattr(noun, field.name)) for field in dataclasses.fields(noun)}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    return value
