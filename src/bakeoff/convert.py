"""Plain values to frozen dataclasses, strictly: the one door for YAML (through `config`) and for records.

An unknown or missing key, a wrong type or a refused value is a ConfigError that names the key,
the value and what would be right.
"""

import dataclasses
import difflib
import functools
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union

from bakeoff.errors import ConfigError, NotApplicable, UnknownSetting
from bakeoff.spec import MODEL_KINDS, PROBE_KINDS, Dataset, LongDoc, Model, Probe, Run

T = TypeVar("T")


def build(cls: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """A `cls` from plain `values`; `where` is the dotted key under which they stand (for messages).

    Raises UnknownSetting for an unknown key, NotApplicable for a combination that the class refuses, and
    ConfigError for a missing key or a wrong type.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where or cls.__name__}={values!r} should be a group of settings")
    fields = _fields(cls)
    for key in values:
        if key not in fields and key != "kind":
            raise UnknownSetting(unknown_key(_join(where, str(key)), [_join(where, name) for name in fields]))
    arguments = {}
    for name, (hint, required) in fields.items():
        if name in values:
            value = values[name]
            # Most values are of the one plain type that is asked for; a record has hundreds.
            plain = type(value) is hint and (hint is not float or math.isfinite(value))
            arguments[name] = value if plain else _value(hint, value, _join(where, name))
        elif required:
            raise ConfigError(f"{_join(where, name)} is missing: set it, for example in the YAML of {where or cls.__name__}")
    try:
        return cls(**arguments)
    except ValueError as refused:
        raise NotApplicable(str(refused)) from None


@functools.cache
def _fields(cls: type) -> dict[str, tuple[Any, bool]]:
    """Name of each field of a dataclass → its type, and whether it must be given."""
    hints = typing.get_type_hints(cls)
    absent = dataclasses.MISSING
    return {
        field.name: (hints[field.name], field.default is absent and field.default_factory is absent) for field in dataclasses.fields(cls)
    }


@functools.cache
def _parts(hint: Any) -> tuple[Any, tuple[Any, ...], bool]:
    """A type's origin and arguments, and whether it is a dataclass."""
    return typing.get_origin(hint), typing.get_args(hint), dataclasses.is_dataclass(hint)


def build_run(values: Mapping[str, Any]) -> Run:
    """A Run from plain values, `model.kind` and `probe.kind` selecting the dataclass; what is wrong with a Run it needs says so."""
    needs = {}
    for part in ("teacher", "start"):
        if isinstance(section := values.get(part), Mapping):
            try:
                needs[part] = build(Run, section)
            except ConfigError as reason:
                model = values["model"]
                named = model.get(part) if isinstance(model, Mapping) else getattr(model, part)
                raise type(reason)(f"model.{part}={named} cannot be made here: {reason}") from None
    return build(Run, {**values, **needs})


def build_again(values: Mapping[str, Any]) -> Run:
    """As `build_run`, for thousands of Runs that share most nouns: one seen before is not built, and so checked, twice."""
    nouns = {part: _noun(cls, values[part], part) for part, cls in _SHARED.items() if isinstance(values.get(part), Mapping)}
    return build_run({**values, **nouns})


_SHARED: dict[str, Any] = {"dataset": Dataset, "model": Model, "longdoc": LongDoc, "probe": Probe}
_BUILT: dict[tuple[str, str], Any] = {}


def _noun(hint: Any, values: Mapping[str, Any], where: str) -> Any:
    key = (where, repr(values))
    if key not in _BUILT:
        _BUILT[key] = _value(hint, values, where)
    return _BUILT[key]


def unknown_key(key: str, known: list[str]) -> str:
    """The sentence for a key that does not exist, with the nearest one that does."""
    last = {name.rpartition(".")[2]: name for name in reversed(known)}
    if near := difflib.get_close_matches(key.rpartition(".")[2], last, n=1, cutoff=0.6):
        return f"{key} is not a setting; did you mean {last[near[0]]}?"
    return f"{key} is not a setting; the settings here are {', '.join(sorted(known))}"


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _value(hint: Any, value: Any, where: str) -> Any:
    if hint in (Model, Probe):
        return _of_kind(MODEL_KINDS if hint == Model else PROBE_KINDS, value, where)
    origin, arguments, is_noun = _parts(hint)
    if origin in (Union, types.UnionType):
        return _one_of(arguments, value, where)
    if origin is Literal:
        if value in arguments:
            return value
        raise ConfigError(f"{where}={value} should be one of {', '.join(map(str, arguments))}")
    if is_noun:
        return value if isinstance(value, typing.cast(type, hint)) else build(typing.cast(type, hint), value, where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{where}={value} should be a list")
        return tuple(_value(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if origin is dict:
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}={value} should be a mapping")
        key_hint, item_hint = arguments
        return {_value(key_hint, key, where): _value(item_hint, item, f"{where}.{key}") for key, item in value.items()}
    return _scalar(hint, value, where)


def _of_kind(kinds: Mapping[str, type], value: Any, where: str) -> Any:
    if isinstance(value, tuple(kinds.values())):
        return value
    if not isinstance(value, Mapping) or value.get("kind") not in kinds:
        kind = value.get("kind") if isinstance(value, Mapping) else value
        raise ConfigError(f"{where}.kind={kind} should be one of {', '.join(sorted(kinds))}")
    return build(kinds[value["kind"]], value, where)


def _one_of(hints: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in hints:
        return None
    if type(value) in hints and type(value) in (str, int, bool):
        return value
    for hint in hints:
        if hint is type(None):
            continue
        try:
            return _value(hint, value, where)
        except NotApplicable:
            raise
        except ConfigError as error:
            if len(hints) == 2 and type(None) in hints:
                raise ConfigError(f"{error} or null") from None
    raise ConfigError(f"{where}={value} should be {' or '.join(_name(hint) for hint in hints)}")


def _scalar(hint: Any, value: Any, where: str) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if hint is float:
        # YAML 1.1 reads 2e-5 as text and 2.0e-5 as a number; both mean the same number here.
        try:
            converted = float(value) if number or isinstance(value, str) else math.nan
        except ValueError:
            converted = math.nan
        if math.isfinite(converted):
            return converted
    elif hint is int and number and float(value).is_integer():
        return int(value)
    elif hint is str and isinstance(value, str):
        return value
    elif hint is str and number:
        return str(value)
    elif (hint is bool and isinstance(value, bool)) or hint is Any:
        return value
    raise ConfigError(f"{where}={value} should be {_name(hint)}")


def _name(hint: Any) -> str:
    if typing.get_origin(hint) is Literal:
        return " or ".join(map(str, typing.get_args(hint)))
    return {int: "a whole number", float: "a number", str: "a text", bool: "true or false", type(None): "null"}.get(hint, str(hint))
