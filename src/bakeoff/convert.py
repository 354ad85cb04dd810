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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, Union

from bakeoff.errors import ConfigError, NotApplicable, UnknownSetting
from bakeoff.spec import MODEL_KINDS, PROBE_KINDS, Dataset, LongDoc, Model, Probe, Run

T = TypeVar("T")
Reader = Callable[[Any, str], Any]


def build(cls: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """A `cls` from plain `values`; `where` is the dotted key under which they stand (for messages).

    Raises UnknownSetting for an unknown key, NotApplicable for a combination that the class refuses, and
    ConfigError for a missing key or a wrong type.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where or cls.__name__}={values!r} should be a group of settings")
    fields: dict[str, _Field] = _fields(cls)  # type: ignore[arg-type]  # mypy holds a type for no key of a cache
    for key in values:
        if key not in fields and key != "kind":
            raise UnknownSetting(unknown_key(_join(where, str(key)), [_join(where, name) for name in fields]))
    arguments = {}
    for name, field in fields.items():
        if name in values:
            value = values[name]
            # Most values are of the one plain type that is asked for; a record has hundreds.
            plain = type(value) is field.hint and (field.hint is not float or math.isfinite(value))
            arguments[name] = value if plain else field.read(value, _join(where, name))
        elif field.required:
            raise ConfigError(f"{_join(where, name)} is missing: set it, for example in the YAML of {where or cls.__name__}")
    try:
        return cls(**arguments)
    except ValueError as refused:
        raise NotApplicable(str(refused)) from None


@dataclass(frozen=True, kw_only=True)
class _Field:
    """What a field of a dataclass takes."""

    hint: Any
    read: Reader
    required: bool


@functools.cache
def _fields(cls: type) -> dict[str, _Field]:
    """The fields of a dataclass by name."""
    hints = typing.get_type_hints(cls)
    absent = dataclasses.MISSING
    return {
        field.name: _Field(
            hint=hints[field.name],
            read=_reader(hints[field.name]),
            required=field.default is absent and field.default_factory is absent,
        )
        for field in dataclasses.fields(cls)
    }


def build_run(values: Mapping[str, Any]) -> Run:
    """A Run from plain values, `model.kind` and `probe.kind` selecting the dataclass; what is wrong with a Run it needs says so."""
    needs = {}
    for part in ("teacher", "start"):
        if isinstance(section := values.get(part), Mapping):
            try:
                needs[part] = build(Run, section)
            except ConfigError as reason:
                model = values.get("model")
                named = model.get(part) if isinstance(model, Mapping) else getattr(model, part, None)
                raise type(reason)(f"model.{part}={named} cannot be made here: {reason}") from None
    return build(Run, {**values, **needs})


def build_again(values: Mapping[str, Any]) -> Run:
    """As `build_run`, for thousands of Runs that share most nouns: one seen before is not built, and so checked, twice."""
    try:
        return build(Run, _with_shared(values))
    except ConfigError:
        return build_run(values)  # which says what is wrong in its own order


def _with_shared(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a Run, with its nouns and the Runs that it needs built."""
    nouns = {part: seen(cls, values[part], part) for part, cls in _SHARED.items() if isinstance(values.get(part), Mapping)}
    needs = {part: build(Run, _with_shared(values[part])) for part in ("teacher", "start") if isinstance(values.get(part), Mapping)}
    return {**values, **nouns, **needs}


_SHARED: dict[str, Any] = {"dataset": Dataset, "model": Model, "longdoc": LongDoc, "probe": Probe}
_BUILT: dict[tuple[str, str], Any] = {}


def seen(hint: Any, values: Mapping[str, Any], where: str) -> Any:
    """A noun of these values: the one that was built of the same ones before, where there is one."""
    key = (where, repr(values))
    if key not in _BUILT:
        _BUILT[key] = _reader(hint)(values, where)
    return _BUILT[key]


def unknown_key(key: str, known: list[str]) -> str:
    """The sentence for a key that does not exist, with the nearest one that does."""
    last = {name.rpartition(".")[2]: name for name in reversed(known)}
    if near := difflib.get_close_matches(key.rpartition(".")[2], last, n=1, cutoff=0.6):
        return f"{key} is not a setting; did you mean {last[near[0]]}?"
    return f"{key} is not a setting; the settings here are {', '.join(sorted(known))}"


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


@functools.cache
def _reader(hint: Any) -> Reader:
    """What reads a value of this type from a plain one and its key; made once a type, since a store holds a million values."""
    if hint in (Model, Probe):
        return functools.partial(_of_kind, MODEL_KINDS if hint == Model else PROBE_KINDS)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return functools.partial(_one_of, arguments, {each: _reader(each) for each in arguments if each is not type(None)})
    if origin is Literal:
        return functools.partial(_literal, arguments)
    if dataclasses.is_dataclass(hint):
        return functools.partial(_noun, typing.cast(type, hint))
    if origin is tuple:
        return functools.partial(_list, _reader(arguments[0]))
    if origin is dict:
        return functools.partial(_mapping, _reader(arguments[0]), _reader(arguments[1]))
    return functools.partial(_scalar, hint)


def _noun(cls: type, value: Any, where: str) -> Any:
    return value if isinstance(value, cls) else build(cls, value, where)


def _literal(choices: tuple[Any, ...], value: Any, where: str) -> Any:
    if value in choices:
        return value
    raise ConfigError(f"{where}={value} should be one of {', '.join(map(str, choices))}")


def _list(read: Reader, value: Any, where: str) -> Any:
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{where}={value} should be a list")
    return tuple(read(item, f"{where}[{i}]") for i, item in enumerate(value))


def _mapping(read_key: Reader, read_item: Reader, value: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}={value} should be a mapping")
    return {read_key(key, where): read_item(item, f"{where}.{key}") for key, item in value.items()}


def _of_kind(kinds: Mapping[str, type], value: Any, where: str) -> Any:
    if isinstance(value, tuple(kinds.values())):
        return value
    if not isinstance(value, Mapping) or str(value.get("kind")) not in kinds:
        kind = value.get("kind") if isinstance(value, Mapping) else value
        raise ConfigError(f"{where}.kind={kind} should be one of {', '.join(sorted(kinds))}")
    return build(kinds[str(value["kind"])], value, where)


def _one_of(hints: tuple[Any, ...], readers: Mapping[Any, Reader], value: Any, where: str) -> Any:
    if value is None and type(None) in hints:
        return None
    if type(value) in hints and type(value) in (str, int, bool):
        return value
    for read in readers.values():
        try:
            return read(value, where)
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
