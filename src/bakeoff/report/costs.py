"""What serving and training a candidate costs: money at given prices; the rest stands in the records."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from bakeoff import convert
from bakeoff.errors import ConfigError
from bakeoff.report.candidates import served_key
from bakeoff.report.summary import Section, Standing
from bakeoff.report.timing import Session, Timing

MILLION = 1_000_000
_HOUR_SECONDS = 3600


@dataclass(frozen=True, kw_only=True)
class Prices:
    """What a machine costs by the hour."""

    currency: str
    cpu_core_hour: float
    gpu_hour: float
    note: str
    label: float | None = None
    """One label by a person; null where nobody says."""

    def hour(self, *, device: str, threads: int) -> float:
        """An hour of the cores that compute, or of one GPU."""
        return self.gpu_hour if device == "cuda" else self.cpu_core_hour * threads


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One way to serve a candidate, with what it takes to train it at the largest budget that was scored."""

    timing: Timing
    """One document at a time where that was measured, else offline."""
    offline: Timing | None
    training: Standing | None

    def money_a_million(self, prices: Prices) -> float | None:
        """A million predictions one after the other, offline where that was measured; null without a throughput."""
        timing = self.offline or self.timing
        speed = timing.facts.throughput_per_second
        if not speed:
            return None
        return MILLION / speed / _HOUR_SECONDS * prices.hour(device=timing.probe.device, threads=timing.probe.threads)

    def money_to_train(self, prices: Prices) -> float | None:
        """Fitting once, the mean over seeds; null without a quality Run."""
        if self.training is None or not self.training.records:
            return None
        return money_to_train(self.training, prices)


def money_to_train(standing: Standing, prices: Prices) -> float:
    """Fitting once, the mean over seeds, on the device of the first Run; it takes a finished one."""
    some = standing.records[0]
    return standing.train_seconds / _HOUR_SECONDS * prices.hour(device=some.machine.device, threads=some.run.probe.threads)


def read_prices(path: Path) -> Prices:
    """Prices from a YAML file. Raises ConfigError for one that cannot be read or lacks a price."""
    try:
        plain = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        raise ConfigError(f"{path.name} is no readable YAML: copy conf/prices.yaml and fill in your own prices") from None
    return convert.build(Prices, plain, "prices")


def costs(sessions: Sequence[Session], section: Section | None) -> list[Cost]:
    """One cost a candidate, engine, device, thread count and kind of weights of these sessions, fastest first.

    The sessions are of one dataset and machine; `section` is that dataset's quality, if there is any.
    """
    groups: dict[tuple[str, ...], list[Timing]] = {}
    for session in sessions:
        for timing in session.timings:
            probe = timing.probe
            key = (timing.candidate.key, probe.engine, probe.device, str(probe.threads), timing.weights)
            groups.setdefault(key, []).append(timing)
    found = []
    for timings in groups.values():
        single = [timing for timing in timings if timing.probe.scenario == "single"]
        offline = [timing for timing in timings if timing.probe.scenario == "offline"]
        training = None if section is None else _training(section, timings[0])
        found.append(Cost(timing=(single or offline)[0], offline=offline[0] if offline else None, training=training))
    return found


def _training(section: Section, timing: Timing) -> Standing | None:
    """The standing at the largest budget of the first candidate with this architecture."""
    alike = (standing for standing in section.tables[-1].scored if served_key(standing.candidate.run) == timing.candidate.key)
    return next(alike, None)
