"""A configuration that is composed once, and the plain settings that are laid on it for each cell of a grid.

It is what composing again with these overrides would give, or null where that is not certain.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Plain = str | int | float | bool | None

_KEY = re.compile(r"\w+(\.\w+)*")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """An override that puts one plain value in the place of another."""

    key: str
    """Dotted, such as `model.training.epochs`."""
    value: Plain


def setting(key: str, value: Any) -> Setting | None:
    """The Setting of an override `key=value`; null where the configuration would read more into it than a plain value."""
    if not isinstance(value, Plain) or not _KEY.fullmatch(key):
        return None
    return None if isinstance(value, str) and ("${" in value or value == "???") else Setting(key=key, value=value)


@dataclass(frozen=True, kw_only=True)
class Composed:
    """The plain values of a choice of groups, none of which is computed from another (`${…}`)."""

    values: dict[str, Any]
    missing: frozenset[str]
    """Dotted keys that the YAML leaves to whoever uses it (`???`)."""

    def laid(self, settings: Sequence[Setting]) -> dict[str, Any] | None:
        """A copy of the values with these settings in their places; what is nested deeper than them is shared.

        Null where a setting would take the place of something that is no plain value, or of nothing, and where a value
        is still missing.
        """
        if self.missing - {each.key for each in settings}:
            return None
        values = {key: dict(value) if isinstance(value, dict) else value for key, value in self.values.items()}
        for each in settings:
            *path, last = each.key.split(".")
            place = values
            for part in path:
                if not isinstance(place.get(part), dict):
                    return None
                place[part] = dict(place[part])
                place = place[part]
            if last not in place or not isinstance(place[last], Plain):
                return None
            place[last] = each.value
        return values


def dotted(plain: Any, within: str = "") -> list[str]:
    """The dotted keys of nested values, those of mappings included."""
    if not isinstance(plain, dict):
        return []
    found = []
    for key, value in plain.items():
        name = f"{within}.{key}" if within else str(key)
        found += [name, *dotted(value, name)]
    return found
