"""What serving and training a candidate costs: money at given prices; the rest stands in the records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from bakeoff import convert
from bakeoff.errors import ConfigError
from bakeoff.record import Record
from bakeoff.report.candidates import served_key
from bakeoff.report.summary import Section, Standing
from bakeoff.report.timing import Session, Timing
from bakeoff.spec import Latency

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
    known: Mapping[str, Record]
    """Quality Runs of the dataset by run id, among them those of teachers."""

    def money_a_million(self, prices: Prices) -> float | None:
        """A million predictions in the best batches where those were measured, else one after the other; null without a throughput."""
        return million_predictions((self.offline or self.timing).record, prices)

    def money_a_million_singly(self, prices: Prices) -> float | None:
        """A million predictions one after the other; null where that was not measured."""
        return million_predictions(self.timing.record, prices) if self.timing.probe.scenario == "single" else None

    def money_to_train(self, prices: Prices) -> float | None:
        """Fitting once, the mean over seeds, with the teacher of a student where it is known; null without a quality Run."""
        if self.training is None or not self.training.records:
            return None
        return fitting(self.training.records, self.known, prices).money


def million_predictions(record: Record, prices: Prices) -> float | None:
    """At the throughput that a latency Run found; None without one, and where other processes disturbed it."""
    facts, probe = record.latency, record.run.probe
    if facts is None or facts.contended or not facts.throughput_per_second or not isinstance(probe, Latency):
        return None
    return MILLION / facts.throughput_per_second / _HOUR_SECONDS * prices.hour(device=probe.device, threads=probe.threads)


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """What fitting once takes, the mean over seeds, each on the device of its Run."""

    money: float
    """With the teachers of students, as far as their records are known."""
    lacks_teacher: bool


def fitting(records: Sequence[Record], known: Mapping[str, Record], prices: Prices) -> Fitting:
    """Of these Runs, at least one; `known` are records by run id, among them the teachers'."""
    teachers = [record.run.teacher for record in records if record.run.teacher is not None]
    found = [known[teacher.run_id] for teacher in teachers if teacher.run_id in known]
    money = sum(_money_to_fit(record, prices) for record in (*records, *found)) / len(records)
    return Fitting(money=money, lacks_teacher=len(found) < len(teachers))


def _money_to_fit(record: Record, prices: Prices) -> float:
    hour = prices.hour(device=record.machine.device, threads=record.run.probe.threads)
    return record.training.seconds / _HOUR_SECONDS * hour


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
    known = {} if section is None else {record.run_id: record for record in section.records}
    found = []
    for timings in groups.values():
        single = [timing for timing in timings if timing.probe.scenario == "single"]
        offline = [timing for timing in timings if timing.probe.scenario == "offline"]
        training = None if section is None else _training(section, timings[0])
        found.append(Cost(timing=(single or offline)[0], offline=offline[0] if offline else None, training=training, known=known))
    return found


def _training(section: Section, timing: Timing) -> Standing | None:
    """The standing at the largest budget of the first candidate with this architecture."""
    alike = (standing for standing in section.tables[-1].scored if served_key(standing.candidate.run) == timing.candidate.key)
    return next(alike, None)
