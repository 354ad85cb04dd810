"""What a runner tells while it bakes, and how it all ended."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bakeoff.record import Record, Status
from bakeoff.spec import Run


@dataclass(frozen=True, kw_only=True)
class Started:
    """A Run has begun."""

    run: Run


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A Run has its record."""

    run: Run
    seconds: float
    status: Status
    accuracy: float | None
    """Test accuracy from 0 to 1; null for a record without it."""
    p50_ms: float | None = None
    """Median latency; null for a record without it."""


@dataclass(frozen=True, kw_only=True)
class Present:
    """A Run needed no baking: its record stands, for example since another sweep made it meanwhile."""

    run: Run


@dataclass(frozen=True, kw_only=True)
class Failed:
    """A Run has no record; the message quotes no document of private data."""

    run: Run
    type_: str
    message: str
    written: bool
    """Whether `failure.json` could be written."""


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """Another process bakes this Run; it is looked at again once nothing else is left."""

    run: Run


@dataclass(frozen=True, kw_only=True)
class Notice:
    """Something worth knowing that fails no Run; told once however many Runs notice it."""

    text: str
    about: str | None = None
    """What it is about, where that is not to be told twice in other words."""


Event = Started | Finished | Present | Failed | Waiting | Notice


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How it ended; everything asked for is recorded when `failed` is empty and nothing was interrupted."""

    baked: tuple[str, ...]
    """Ids of the Runs recorded by this call, in the order in which they finished."""
    present: tuple[str, ...]
    """Ids of the Runs whose record was already there, or was made elsewhere meanwhile."""
    failed: dict[str, str]
    """Id → type and message."""
    interrupted: bool
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)
    """Id → what a Run recorded by this call took by the clock, from starting its process on."""

    def and_then(self, later: "Outcome") -> "Outcome":
        """This one and what came after it."""
        return Outcome(
            baked=self.baked + later.baked,
            present=self.present + later.present,
            failed=self.failed | later.failed,
            interrupted=self.interrupted or later.interrupted,
            seconds={**self.seconds, **later.seconds},
        )


@dataclass(kw_only=True)
class Tally:
    """Passes events on, each notice and each wait once, and keeps count for the Outcome."""

    on_event: Callable[[Event], None]
    _baked: dict[str, float] = field(default_factory=dict)
    """Id → seconds."""
    _present: list[str] = field(default_factory=list)
    _failed: dict[str, str] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    def add(self, event: Event) -> None:
        """Take note of an event and pass it on."""
        match event:
            case Finished():
                self._baked[event.run.run_id] = event.seconds
            case Present():
                self._present.append(event.run.run_id)
            case Failed():
                self._failed[event.run.run_id] = f"{event.type_}: {event.message}"
            case Notice() | Waiting():
                key = event.about or event.text if isinstance(event, Notice) else event.run.run_id
                if key in self._told:
                    return
                self._told.add(key)
        self.on_event(event)

    def has_ended(self, run_id: str) -> bool:
        """Whether a Run will not be looked at again."""
        return run_id in self._failed or run_id in self._baked or run_id in self._present

    def failure(self, run_id: str) -> str | None:
        """Type and message of a Run that failed; null for any other."""
        return self._failed.get(run_id)

    def outcome(self, *, interrupted: bool) -> Outcome:
        """The count so far."""
        return Outcome(
            baked=tuple(self._baked),
            present=tuple(self._present),
            failed=dict(self._failed),
            interrupted=interrupted,
            seconds=dict(self._baked),
        )


def finished(record: Record, *, seconds: float) -> Finished:
    """The event for a record just written."""
    test = record.quality.get("test")
    return Finished(
        run=record.run,
        seconds=seconds,
        status=record.status,
        accuracy=test.accuracy if test else None,
        p50_ms=record.latency.p50_ms if record.latency else None,
    )
