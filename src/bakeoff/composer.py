"""Hydra to Run: the only file that composes.

Every mistake in a configuration becomes one sentence (ConfigError) before anything starts.
"""

import contextlib
import copy
import difflib
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bakeoff import convert, resolve, tuning
from bakeoff.composed import Composed, Setting, dotted, setting
from bakeoff.errors import ConfigError, NotApplicable, UnknownSetting
from bakeoff.spec import Machine, Run, to_plain

_REFUSALS = (HydraException, OmegaConfBaseException, ValueError, yaml.YAMLError)


@dataclass(frozen=True)
class Job:
    """What a command asks for: the question, and how to execute it."""

    run: Run
    machine: Machine
    space: Mapping[str, tuple[Any, ...]]
    """What `bakeoff tune` may try instead: dotted setting → values, the configured one first."""


class WorkingDirectoryFirst(SearchPathPlugin):  # type: ignore[misc]
    """Puts `conf/` of the working directory before the packaged one, and both behind a `--config-dir` that holds the Run."""

    def manipulate_search_path(self, search_path: Any) -> None:
        """Called by Hydra while it builds its search path, which holds the primary folder under the name `main`."""
        known = {element.provider: element.path.removeprefix("file://") for element in search_path.get_path()}
        add = search_path.prepend if known["main"] == str(packaged("conf")) else search_path.append
        for folder in (Path("conf").absolute(), packaged("conf")):
            if folder.is_dir() and str(folder) != known["main"]:
                add(provider="bakeoff", path=_url(folder))


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
    """Composes Runs from overrides, on `config_name` of `config_dir` if it stands there, else of the packaged `conf`.

    Raises ConfigError for a folder or a configuration that does not exist.
    """

    def __init__(self, config_dir: Path | None = None, config_name: str = "run") -> None:
        self.config_name = config_name.removesuffix(".yaml")
        if config_dir is not None and not config_dir.is_dir():
            raise ConfigError(f"--config-dir {config_dir} is no folder: check the path")
        self._folders = [packaged("conf"), Path("conf").absolute(), *([] if config_dir is None else [config_dir.absolute()])]
        if not any((folder / f"{self.config_name}.yaml").is_file() for folder in self._folders):
            there = {file.stem for folder in self._folders for file in folder.glob("*.yaml")} - {"prices"}
            raise ConfigError(_not_one_of("--config-name", self.config_name, sorted(there), joint=" "))
        own = config_dir is not None and (config_dir / f"{self.config_name}.yaml").is_file()
        self.primary = config_dir.absolute() if config_dir is not None and own else packaged("conf")
        self._composed: dict[tuple[str, ...], Any] = {}
        self._read: dict[str, str | Setting | None] = {}
        self._refused: dict[tuple[str, ...], str] = {}
        self._found: resolve.Found = {}
        self._needed: dict[tuple[str, str], dict[str, Any]] = {}
        self.search = [] if config_dir is None or own else [f"hydra.searchpath=[{quoted(_url(config_dir.absolute()))}]"]

    def job(self, overrides: Sequence[str]) -> Job:
        """The Run and Machine of a list of Hydra overrides. Raises ConfigError or DataError."""
        return self.from_hydra(self.compose(overrides))

    def cell(self, overrides: Sequence[str]) -> Job:
        """`job`, for many cells in a row: each choice of groups is composed once, and data and checkpoints are looked at once."""
        read = [self._reading(text) for text in overrides]
        settings, choices = [each for each in read if isinstance(each, Setting)], tuple(each for each in read if isinstance(each, str))
        if None in read:
            return self._job(_plain(self.compose(overrides)), self._found)
        names = (*choices, *(each.key for each in settings))
        if names in self._refused:
            raise UnknownSetting(self._refused[names])
        if (values := self._laid(choices, settings)) is None:
            try:
                values = _plain(self.compose(overrides))
            except UnknownSetting as refusal:  # of a name, whatever its value
                self._refused[names] = str(refusal)
                raise
        return self._job(values, self._found)

    def _laid(self, choices: tuple[str, ...], settings: Sequence[Setting]) -> dict[str, Any] | None:
        """The plain values of a choice of groups with these settings; null where only composing them together can tell."""
        if choices not in self._composed:
            try:
                config = self.compose(choices)
            except ConfigError:
                return None
            values: Any = OmegaConf.to_container(config)
            is_computed = "${" in repr(values)
            self._composed[choices] = config if is_computed else Composed(values=values, missing=frozenset(OmegaConf.missing_keys(config)))
        base = self._composed[choices]
        if isinstance(base, Composed):
            return base.laid(settings)
        config = copy.deepcopy(base)
        try:
            for each in settings:
                OmegaConf.update(config, each.key, each.value)
        except OmegaConfBaseException:
            return None
        return _plain(config)

    def _reading(self, text: str) -> str | Setting | None:
        """An override that chooses of a group, as it stands, or a plain Setting; null for anything else."""
        if text not in self._read:
            try:
                (parsed,) = parse([text])
            except ConfigError:
                return None
            key, value = parsed.key_or_group, parsed.value()
            plain = parsed.type == OverrideType.CHANGE and parsed.package is None
            chooses = key in self._groups and isinstance(value, str)
            self._read[text] = None if not plain else text if chooses else setting(key, value)
        return self._read[text]

    def machine(self, overrides: Sequence[str]) -> Machine:
        """How Runs execute, of a list of Hydra overrides. Raises ConfigError."""
        section = OmegaConf.select(self.compose(overrides), "machine")
        return _machine(None if section is None else _plain(section))

    def compose(self, overrides: Sequence[str]) -> Any:
        """The configuration of a list of Hydra overrides, values not yet checked. Raises ConfigError."""
        with self._initialised():
            try:
                return compose(self.config_name, overrides=[*self.search, *overrides])
            except _REFUSALS as error:
                raise self._explain(error, overrides) from None

    def from_hydra(self, config: Any, needs: Mapping[str, Run] | None = None) -> Job:
        """The one conversion from a composed configuration to frozen nouns. Raises ConfigError or DataError.

        Inside Hydra's own task nothing else can be composed, so there `needs` holds what was composed before.
        """
        values = _plain(config)
        for part, run in (needs or {}).items():
            values[part], values["model"][part] = to_plain(run), run.model.name
        return self._job(values, {})

    def _job(self, values: dict[str, Any], found: resolve.Found) -> Job:
        machine, space = values.pop("machine", None), tuning.take_space(values.get("model"))
        return Job(run=convert.build_again(resolve.resolve(values, self._chosen, found)), machine=_machine(machine), space=space)

    def _chosen(self, part: str, name: str, probe: str) -> Mapping[str, Any]:
        """The plain model and probe that `model.teacher=NAME` or `model.start=NAME` means. Raises ConfigError or NotApplicable."""
        if (name, probe) not in self._needed:
            models = self._groups["model"]
            if name not in models:
                raise ConfigError(_not_one_of(f"model.{part}", name, sorted(models)))
            with self._initialised():
                try:
                    composed = compose(overrides=[*self.search, f"+model={name}", f"+probe={probe}"])
                except _REFUSALS as error:
                    raise ConfigError(_one_line(error)) from None
            if missing := sorted(OmegaConf.missing_keys(composed)):
                open_ = missing[0].removeprefix("model.")
                raise NotApplicable(f"model.{part}={name} cannot be made here: its YAML leaves {open_} open, so name one that fills it in")
            chosen = _plain(composed)
            tuning.take_space(chosen["model"])
            self._needed[name, probe] = chosen
        return self._needed[name, probe]

    @contextlib.contextmanager
    def _initialised(self) -> Iterator[None]:
        prefer_working_directory()
        GlobalHydra.instance().clear()
        with initialize_config_dir(str(self.primary), version_base="1.3"):
            yield

    def _explain(self, error: Exception, overrides: Sequence[str]) -> ConfigError:
        """One sentence for what Hydra refused."""
        parsed = parse(overrides)
        for text, override in zip(overrides, parsed, strict=True):
            if override.is_sweep_override():
                return ConfigError(f"{text} lists several values: `bakeoff run -m` runs each of them, without -m choose one")
        options = self._groups
        for override in parsed:
            key, value = override.key_or_group, override.value()
            if key in options and (not isinstance(value, str) or value not in options[key]):
                return ConfigError(_not_one_of(key, str(value), sorted(options[key])))
        choices = [text for text, override in zip(overrides, parsed, strict=True) if override.key_or_group in options]
        try:
            known = compose(self.config_name, overrides=[*self.search, *choices])
        except _REFUSALS:
            return ConfigError(_one_line(error))
        names = dotted(OmegaConf.to_container(known, resolve=False))
        for override in parsed:
            key = override.key_or_group
            if key not in options and key not in names:
                if OmegaConf.select(known, key.rpartition(".")[0]) == {}:
                    return ConfigError(f"{key} is a new name in an empty mapping: write +{key}=…")
                same_group = [name for name in names if name.startswith(key.split(".")[0] + ".") and not name.startswith("model.tune")]
                return UnknownSetting(convert.unknown_key(key, same_group or [*names, *options]))
        return ConfigError(_one_line(error))

    @functools.cached_property
    def _groups(self) -> dict[str, set[str]]:
        """Group → its choices in every folder of the search path."""
        options: dict[str, set[str]] = {}
        for folder in self._folders:
            for file in folder.glob("*/*.yaml"):
                options.setdefault(file.parent.name, set()).add(file.stem)
        return options


def parse(overrides: Sequence[str]) -> list[Override]:
    """Hydra's reading of overrides. Raises ConfigError for one that is no KEY=VALUE."""
    parsed = []
    for text in overrides:
        try:
            parsed += OverridesParser.create().parse_overrides([text])
        except HydraException:
            raise ConfigError(f"{text!r} should be KEY=VALUE (put a value with spaces or punctuation in quotes: KEY='\"a b\"')") from None
    return parsed


def quoted(text: str) -> str:
    """A value that Hydra takes as it stands, whatever characters it has; only backslashes before a quote or the end escape."""
    escaped = re.sub(r"(\\*)('|\Z)", lambda found: found[1] * 2 + found[2].replace("'", "\\'"), text)
    return f"'{escaped}'"


def expand(overrides: Sequence[str]) -> list[list[str]]:
    """The jobs of `bakeoff run -m`: every combination of comma-separated values, as Hydra would run them."""
    batches = BasicSweeper.split_arguments(parse(overrides), max_batch_size=None)
    return [list(job) for batch in batches for job in batch]


def _plain(config: Any) -> dict[str, Any]:
    try:
        if missing := sorted(OmegaConf.missing_keys(config)):
            raise ConfigError(f"{missing[0]} is missing: set {missing[0]}=…")
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key} cannot be computed: {str(error).splitlines()[0]}") from None
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def _machine(section: Any) -> Machine:
    if not isinstance(section, Mapping):
        raise ConfigError("machine is missing: choose one with machine=…")
    return convert.build(Machine, section, "machine")


def _not_one_of(key: str, value: str, options: list[str], joint: str = "=") -> str:
    near = difflib.get_close_matches(value, options, n=1)
    hint = f"did you mean {key}{joint}{near[0]}? The choices" if near else "the choices"
    return f"{key}{joint}{value} is not available; {hint} are {', '.join(options)}"


def _url(folder: Path) -> str:
    return f"file://{folder}"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
