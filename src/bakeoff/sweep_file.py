"""Sweep files: one grid of Hydra overrides in YAML, which Weights & Biases reads too."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from bakeoff.convert import unknown_key
from bakeoff.errors import ConfigError

KEYS = ("program", "method", "name", "description", "project", "metric", "command", "parameters")
COMMAND = ["bakeoff", "run", "${args_no_hyphens}"]
"""What a W&B agent calls for each combination."""


def read(file: Path) -> dict[str, Any]:
    """A sweep file as plain values. Raises ConfigError for one that is no grid of parameters."""
    try:
        plain = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file.name} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(plain, dict) or not isinstance(plain.get("parameters"), dict):
        raise ConfigError(f"{file.name} has no parameters: a sweep file lists them as `key: {{values: […]}}`")
    for key in plain:
        if key not in KEYS:
            raise ConfigError(f"{file.name}: " + unknown_key(str(key), list(KEYS)))
    if plain.get("method") != "grid":
        raise ConfigError(f"{file.name}: method={plain.get('method')} should be grid, so that every cell is listed")
    return plain


def grid_values(key: str, spec: Any) -> list[str]:
    """The values of a parameter as Hydra overrides write them. Raises ConfigError for another form of parameter."""
    if isinstance(spec, Mapping) and set(spec) == {"value"}:
        return [as_text(spec["value"])]
    if isinstance(spec, Mapping) and set(spec) == {"values"} and isinstance(spec["values"], list) and spec["values"]:
        return [as_text(value) for value in spec["values"]]
    raise ConfigError(f"parameter {key} should be `{{value: x}}` or `{{values: [x, y]}}`")


def as_text(value: Any) -> str:
    """A plain value as a Hydra override writes it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def from_text(text: str) -> Any:
    """The plain value that `as_text` writes as `text`: a number, true, false or null where there is one, else the text itself."""
    try:
        value = yaml.safe_load(text) if text else text
    except yaml.YAMLError:  # such as @text, or an open bracket
        return text
    return value if isinstance(value, bool | int | float | None) and as_text(value) == text else text


def render(name: str, parameters: Mapping[str, list[str]], *, comments: list[str]) -> str:
    """A sweep file whose parameters have these values, each as an override writes it, under comments of a line each."""
    grid = {
        key: {"value": from_text(texts[0])} if len(texts) == 1 else {"values": [*map(from_text, texts)]}
        for key, texts in parameters.items()
    }
    plain = {"name": name, "method": "grid", "parameters": grid, "command": COMMAND}
    lines = "".join(f"# {comment}\n" for comment in comments)
    return lines + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, default_flow_style=None, width=1000)
