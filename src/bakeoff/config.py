"""Hydra to Run: the only file that knows Hydra.

Every mistake in a configuration becomes one sentence (ConfigError) before anything starts.
"""

import difflib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bakeoff import convert, fingerprint
from bakeoff.cache import cache_root
from bakeoff.errors import ConfigError, DataError, NotApplicable, UnknownSetting
from bakeoff.spec import Machine, Run
from bakeoff.sweep import Cell, Sweep

_FORMATS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_SWEEP_KEYS = ("program", "method", "name", "description", "project", "metric", "command", "parameters")


@dataclass(frozen=True)
class Job:
    """What a command asks for: the question, and how to execute it."""

    run: Run
    machine: Machine


class WorkingDirectoryFirst(SearchPathPlugin):  # type: ignore[misc]
    """Puts `conf/` of the working directory before the packaged one."""

    def manipulate_search_path(self, search_path: Any) -> None:
        """Called by Hydra while it builds its search path."""
        own = Path("conf").absolute()
        if own.is_dir() and own != packaged("conf"):
            search_path.prepend(provider="working-directory", path=f"file://{own}")


def packaged(name: str) -> Path:
    """The `conf` or `sweeps` folder that the package carries: inside the wheel, or at the root of a checkout."""
    inside = Path(__file__).parent / name
    return inside if inside.is_dir() else Path(__file__).parents[2] / name


def prefer_working_directory() -> None:
    """Register the search path plugin with Hydra (once)."""
    plugins = Plugins.instance()
    if WorkingDirectoryFirst not in plugins.discover(SearchPathPlugin):
        plugins.register(WorkingDirectoryFirst)


class Composer:
    """Composes Runs from overrides, on `config_name` of `config_dir` if it stands there, else of the packaged `conf`."""

    def __init__(self, config_dir: Path | None = None, config_name: str = "run") -> None:
        self.config_name = config_name
        own = config_dir is not None and (config_dir / f"{config_name}.yaml").is_file()
        self.primary = config_dir.absolute() if config_dir is not None and own else packaged("conf")
        self.search = [] if config_dir is None or own else [f"hydra.searchpath=[file://{config_dir.absolute()}]"]

    def job(self, overrides: Sequence[str]) -> Job:
        """The Run and Machine of a list of Hydra overrides. Raises ConfigError or DataError."""
        prefer_working_directory()
        GlobalHydra.instance().clear()
        with initialize_config_dir(str(self.primary), version_base="1.3"):
            try:
                config = compose(self.config_name, overrides=[*self.search, *overrides])
            except (HydraException, OmegaConfBaseException, ValueError) as error:
                raise self._explain(error, overrides) from None
            return from_hydra(config)

    def _explain(self, error: Exception, overrides: Sequence[str]) -> ConfigError:
        """One sentence for what Hydra refused."""
        options, parsed = _group_options(), parse(overrides)
        for override in parsed:
            key, value = override.key_or_group, override.value()
            if key in options and (not isinstance(value, str) or value not in options[key]):
                return ConfigError(_not_one_of(key, str(value), sorted(options[key])))
        choices = [text for text, override in zip(overrides, parsed, strict=True) if override.key_or_group in options]
        known = OmegaConf.to_container(compose(self.config_name, overrides=choices), resolve=False)
        for override in parsed:
            key = override.key_or_group
            if key not in options and not _has(known, key):
                nearest = [*_keys(known, ""), *options]
                same_group = [name for name in nearest if name.startswith(key.split(".")[0] + ".")]
                return UnknownSetting(convert.unknown_key(key, same_group or nearest))
        return ConfigError(" ".join(str(error).split()))


def parse(overrides: Sequence[str]) -> list[Override]:
    """Hydra's reading of overrides. Raises ConfigError for one that is no KEY=VALUE."""
    parsed = []
    for text in overrides:
        try:
            parsed += OverridesParser.create().parse_overrides([text])
        except HydraException:
            raise ConfigError(f"{text!r} should be KEY=VALUE (put a value with spaces or punctuation in quotes: KEY='\"a b\"')") from None
    return parsed


def expand(overrides: Sequence[str]) -> list[list[str]]:
    """The jobs of `bakeoff run -m`: every combination of comma-separated values, as Hydra would run them."""
    batches = BasicSweeper.split_arguments(parse(overrides), max_batch_size=None)
    return [list(job) for batch in batches for job in batch]


def from_hydra(config: Any) -> Job:
    """The one conversion from a composed configuration to frozen nouns. Raises ConfigError or DataError."""
    missing = sorted(OmegaConf.missing_keys(config))
    if missing:
        raise ConfigError(f"{missing[0]} is missing: set {missing[0]}=…")
    try:
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise ConfigError(" ".join(str(error).split())) from None
    assert isinstance(plain, dict)
    values: dict[str, Any] = {str(key): value for key, value in plain.items()}
    machine = convert.build(Machine, _section(values, "machine"), "machine")
    return Job(run=convert.build_run(_resolve(values)), machine=machine)


def load_sweep(path: Path, overrides: Sequence[str] = ()) -> Sweep:
    """Every cell of a sweep file, with overrides that replace a parameter of the grid or are added to each cell.

    A combination that the configuration refuses is a cell with a reason. Raises ConfigError for a file that is no
    sweep, for a value that no cell could take, and when every cell is refused; DataError for data that is not there.
    """
    file = find_sweep(path)
    plain = _read_sweep(file)
    grid = {str(key): _grid_values(str(key), spec) for key, spec in plain["parameters"].items()}
    for override in parse(overrides):
        raw = override.sweep_string_iterator() if override.is_sweep_override() else [override.get_value_element_as_str()]
        grid[override.key_or_group] = list(raw)
    composer, cells = Composer(), []
    for values in itertools.product(*grid.values()):
        arguments = tuple(f"{key}={value}" for key, value in zip(grid, values, strict=True))
        try:
            cells.append(Cell(overrides=arguments, run=composer.job(arguments).run))
        except NotApplicable as reason:
            cells.append(Cell(overrides=arguments, run=None, reason=str(reason)))
    if all(cell.run is None for cell in cells):
        raise ConfigError(f"{file.name} has no cell that applies: {cells[0].reason}")
    return Sweep(name=file.stem, description=str(plain.get("description") or ""), path=str(path), cells=tuple(cells))


def machine_of(path: Path, overrides: Sequence[str] = ()) -> Machine:
    """How a sweep executes: `machine.…` overrides, else the sweep file's own values."""
    plain = _read_sweep(find_sweep(path))
    own = [f"{key}={_grid_values(str(key), spec)[0]}" for key, spec in plain["parameters"].items() if str(key).startswith("machine")]
    return Composer().job([*own, *(text for text in overrides if text.startswith("machine"))]).machine


def find_sweep(path: Path) -> Path:
    """The sweep file at `path`, or the packaged one of that name."""
    for candidate in (path, packaged("sweeps") / path.name, packaged("sweeps") / f"{path.name}.yaml"):
        if candidate.is_file():
            return candidate
    names = ", ".join(sorted(file.name for file in packaged("sweeps").glob("*.yaml")))
    raise ConfigError(f"{path} is no sweep file; those that come with bakeoff are {names}")


def _read_sweep(file: Path) -> dict[str, Any]:
    try:
        plain = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file.name} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(plain, dict) or not isinstance(plain.get("parameters"), dict):
        raise ConfigError(f"{file.name} has no parameters: a sweep file lists them as `key: {{values: […]}}`")
    for key in plain:
        if key not in _SWEEP_KEYS:
            raise ConfigError(f"{file.name}: " + convert.unknown_key(str(key), list(_SWEEP_KEYS)))
    if plain.get("method") != "grid":
        raise ConfigError(f"{file.name}: method={plain.get('method')} should be grid, so that every cell is listed")
    return plain


def _grid_values(key: str, spec: Any) -> list[str]:
    if isinstance(spec, Mapping) and set(spec) == {"value"}:
        return [_as_text(spec["value"])]
    if isinstance(spec, Mapping) and set(spec) == {"values"} and isinstance(spec["values"], list) and spec["values"]:
        return [_as_text(value) for value in spec["values"]]
    raise ConfigError(f"parameter {key} should be `{{value: x}}` or `{{values: [x, y]}}`")


def _as_text(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _section(values: dict[str, Any], name: str) -> dict[str, Any]:
    section = values.pop(name, None)
    if not isinstance(section, dict):
        raise ConfigError(f"{name} is missing: choose one with {name}=…")
    return section


def _resolve(values: dict[str, Any]) -> dict[str, Any]:
    """Fill in what is derived: data and checkpoint identity, the draw, the reading."""
    for name in ("dataset", "budget", "model", "longdoc", "probe"):
        if not isinstance(values.get(name), dict):
            raise ConfigError(f"{name} is missing: choose one with {name}=…")
    resolved = dict(values)
    resolved["dataset"] = _dataset(dict(values["dataset"]))
    resolved["budget"] = dict(values["budget"])
    if not isinstance(values.get("seed"), int):
        raise ConfigError(f"seed={values.get('seed')} should be a whole number")
    if resolved["budget"].get("draw") is None:
        resolved["budget"]["draw"] = values["seed"]
    model = resolved["model"] = dict(values["model"])
    if model.get("kind") == "pretrained":
        revision = model.get("revision")
        if Path(str(model.get("checkpoint"))).expanduser().is_dir():
            model["checkpoint"] = str(Path(str(model["checkpoint"])).expanduser().absolute())
        model["checkpoint_fingerprint"] = fingerprint.of_checkpoint(
            str(model.get("checkpoint")), None if revision is None else str(revision), cache_root()
        )
    resolved["longdoc"] = _longdoc(values["longdoc"], model.get("default_longdoc"))
    return resolved


def _longdoc(chosen: Mapping[str, Any], default: Any) -> dict[str, Any]:
    """An explicit reading wins; what it leaves open is the model's own."""
    reading, own = dict(chosen), default if isinstance(default, dict) else {}
    if reading.get("strategy") is None:
        reading["strategy"] = own.get("strategy")
        if reading["strategy"] == "full" and reading.get("max_tokens") is not None:
            reading["strategy"] = "head"
        if reading.get("max_tokens") is None:
            reading["max_tokens"] = own.get("max_tokens")
    return reading


def _dataset(dataset: dict[str, Any]) -> dict[str, Any]:
    if dataset.get("asset") is not None:
        return dataset | {"fingerprint": fingerprint.of_dataset_asset(str(dataset["asset"]))}
    path = Path(str(dataset.get("path"))).expanduser().absolute()
    test = dataset.get("test_path")
    test = None if test is None else Path(str(test)).expanduser().absolute()
    if dataset.get("format") is None:
        dataset["format"] = _FORMATS.get(path.suffix.lower())
        if dataset["format"] is None:
            raise DataError(f"dataset.path={path.name} should end in .csv, .tsv or .jsonl, or set dataset.format=csv")
    dataset["name"] = dataset.get("name") or re.sub(r"[^\w.-]+", "_", path.stem)
    dataset["family"] = dataset.get("family") or dataset["name"]
    if dataset.get("split") is None:
        rows = dataset.get("held_out_rows")
        dataset["split"] = "official" if test is not None else "fold" if rows is None else "held_out_rows"
    if dataset["split"] == "fold" and dataset.get("fold") is None:
        dataset["fold"] = 0
    for key, chosen in (("path", path), ("test_path", test)):
        if chosen is not None and not chosen.exists():
            raise DataError(f"dataset.{key}={chosen} does not exist: give the path of a file, or of a folder with one folder a class")
    digest = fingerprint.of_files(path, test, cache_root())
    return dataset | {"path": str(path), "test_path": None if test is None else str(test), "fingerprint": digest}


def _group_options() -> dict[str, set[str]]:
    roots = {packaged("conf"), Path("conf").absolute()}
    options: dict[str, set[str]] = {}
    for root in roots:
        for file in root.glob("*/*.yaml"):
            options.setdefault(file.parent.name, set()).add(file.stem)
    return options


def _not_one_of(key: str, value: str, options: list[str]) -> str:
    near = difflib.get_close_matches(value, options, n=1)
    hint = f"did you mean {key}={near[0]}? The choices" if near else "the choices"
    return f"{key}={value} is not available; {hint} are {', '.join(options)}"


def _keys(plain: Any, prefix: str) -> list[str]:
    if not isinstance(plain, dict):
        return []
    found = []
    for key, value in plain.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        found += [name, *_keys(value, name)]
    return found


def _has(plain: Any, dotted: str) -> bool:
    for part in dotted.split("."):
        if not isinstance(plain, dict) or part not in plain:
            return False
        plain = plain[part]
    return True
