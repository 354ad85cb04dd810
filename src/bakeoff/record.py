"""The immutable answer to one Run, its JSON, and the version of that JSON."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from bakeoff import convert
from bakeoff.errors import BakeoffError
from bakeoff.serving_facts import Agreement as Agreement
from bakeoff.serving_facts import GridPoint as GridPoint
from bakeoff.serving_facts import Interval as Interval
from bakeoff.serving_facts import LatencyFacts as LatencyFacts
from bakeoff.serving_facts import ServingCost as ServingCost
from bakeoff.serving_facts import Stated as Stated
from bakeoff.spec import Run, to_plain

SCHEMA_VERSION = 1
MACRO_MIN_ROWS = 10
"""Macro-F1 averages over classes with at least this many rows."""

LENGTH_SLICES: dict[str, tuple[int, int | None]] = {
    "test_to_512": (0, 512),
    "test_513_to_1024": (513, 1024),
    "test_1025_to_2048": (1025, 2048),
    "test_over_2048": (2049, None),
}
"""Key of `Record.quality` → the least and most tokens of its documents, whole and in the model's own, special ones included."""

PATHS = ("path", "test_path", "checkpoint", "vectors", "unlabelled_path")
"""Fields of a Run's nouns that may name folders."""

Status = Literal["ok", "diverged"]


@dataclass(frozen=True, kw_only=True)
class MachineFacts:
    """Where a Run was baked; recorded, not hashed, for quality."""

    processor: str
    usable_cpus: int
    memory_gb: float
    gpu: str | None
    device: str
    """The device this Run used: cpu or cuda."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One sign of trouble in the data; `message` quotes no document."""

    code: str
    """For example near_duplicates, conflicting_labels, empty_texts, small_class, truncated."""
    count: int
    message: str


@dataclass(frozen=True, kw_only=True)
class DataFacts:
    """What the Run saw: sizes, the exact rows by hash, how much was read, and the audit."""

    revision: str
    classes: tuple[str, ...]
    primary_metric: Literal["accuracy", "macro_f1"]
    n_pool: int
    n_fit: int
    n_val: int
    n_test: int
    n_transfer: int = 0
    """Texts on which a teacher taught this Run, labelled or not; 0 without a teacher."""
    subset_hashes: dict[str, str]
    """SHA-256 of the sorted row ids of `fit`, `validation` and `test`."""
    truncated_fraction: float | None
    """Share of test documents of which the reading strategy left tokens out; null where nothing is tokenised."""
    length_tokens: dict[str, float]
    """Percentiles p50, p90, p95, p99 and max of test document lengths, in the model's own tokens."""
    audit: tuple[Finding, ...]
    read_fraction: float | None = None
    """Tokens read of all test documents ÷ tokens there; null where nothing is tokenised, and in records from before."""
    processed_tokens_mean: float | None = None
    """Tokens that a test document sends through the model; windows read their overlaps and special tokens again."""
    visible_fraction: float | None = None
    """Of generated needle documents: the share of test rows whose two telling words the reader has in one look. An ideal reader
    is right about these and at chance about the others."""


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """One sign of trouble in training, and the first thing to check."""

    code: Literal["near_chance", "collapsed", "not_finite", "no_steps", "out_of_memory"]
    message: str


@dataclass(frozen=True, kw_only=True)
class TrainingFacts:
    """How fitting went. Closed-form models have seconds and no steps."""

    epochs: float
    steps: int
    best_step: int | None
    best_validation_loss: float | None
    seconds: float
    predict_seconds: float | None
    tokens_per_second: float | None
    peak_memory_mb: float
    """The most that the process held while it was baked, of a GPU its memory; in older records, of the process since it began."""
    stop_reason: Literal["schedule", "closed_form", "not_finite", "not_trained"]
    """not_trained: a latency Run, which times what is there, and a model that reads no label."""
    selected: dict[str, float]
    """What the model chose on its own labels, for example C by cross-validation."""
    diagnostics: tuple[Diagnostic, ...]
    micro_batch_size: int | None = None
    """Rows of a batch that were read at a time, since memory did not suffice for all; the steps are those of whole batches."""


@dataclass(frozen=True, kw_only=True)
class ClassQuality:
    """One class on one split; precision and recall are null where nothing was predicted or nothing stands."""

    support: int
    precision: float | None
    recall: float | None


@dataclass(frozen=True, kw_only=True)
class SplitQuality:
    """How right the saved predictions are on one split or slice of it."""

    n: int
    accuracy: float
    macro_f1: float
    """Mean F1 over classes with at least MACRO_MIN_ROWS rows here (over all present classes where none has as many)."""
    macro_f1_all: float
    """Mean F1 over every class that stands here."""
    log_loss: float | None
    brier: float | None
    ece: float | None
    """These three are null where the answers came from a file without probabilities."""
    majority_baseline: float
    """Accuracy of always answering the class that is largest in the rows the model was fitted on (in the pool, without any)."""
    collapsed: bool
    """One class was predicted for every row."""
    classes: dict[str, ClassQuality]
    read_fraction: float | None = None
    """Tokens read ÷ tokens there, over these rows; null where it is not known."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large the model is; flops are per test document of median length, null where no formula applies."""

    parameters_total: int
    parameters_trainable: int
    parameters_embedding: int
    bytes: int
    flops_per_document: float | None


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What code gave the answer."""

    commit: str | None
    dirty: bool | None
    versions: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Record:
    """The answer to one Run. `quality` is keyed by split or slice (`test`, `test_uncontaminated`, LENGTH_SLICES, `validation`).

    A latency Run has quality only where its engine changes the predictions of trained weights.
    """

    schema_version: int
    run_id: str
    question_id: str
    status: Status
    started_at: str
    finished_at: str
    run: Run
    machine: MachineFacts
    data: DataFacts
    training: TrainingFacts
    quality: dict[str, SplitQuality]
    latency: LatencyFacts | None = None
    size: Size | None
    """Null where it is not known: of answers that were made elsewhere."""
    stated: Stated | None = None
    provenance: Provenance

    def to_json(self) -> str:
        """Indented JSON; paths inside the Run keep their last part only."""
        plain = {f.name: to_plain(getattr(self, f.name)) for f in dataclasses.fields(self)}
        plain["run"] = without_folders(plain["run"])
        return json.dumps(plain, indent=2, allow_nan=False) + "\n"


_SHARED = {"machine": MachineFacts, "provenance": Provenance}
"""What thousands of records of one store have in common."""


class NewerSchema(BakeoffError):
    """A record of a schema version that this code does not know yet."""


def from_json(text: str) -> Record:
    """As `from_plain`, of a record's JSON; raises ValueError where it is none."""
    return from_plain(json.loads(text))


def from_plain(plain: Any) -> Record:
    """Read a record; raises BakeoffError when it is no record of this schema or its id does not match its Run."""
    version = plain.get("schema_version") if isinstance(plain, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise NewerSchema(f"a newer bakeoff wrote it (schema version {version}, here {SCHEMA_VERSION}): upgrade bakeoff to read it")
    if not isinstance(plain, dict) or plain.get("schema_version") != SCHEMA_VERSION:
        raise BakeoffError(f"not a record of schema version {SCHEMA_VERSION}")
    run = convert.build_again(plain["run"]) if isinstance(plain.get("run"), dict) else plain.get("run")
    shared = {name: convert.seen(cls, plain[name], name) for name, cls in _SHARED.items() if isinstance(plain.get(name), dict)}
    record = convert.build(Record, {**plain, **shared, "run": run})
    if record.run.run_id != record.run_id:
        raise BakeoffError(f"record {record.run_id} holds a Run whose id is {record.run.run_id}; bake it again")
    return record


def without_folders(run: dict[str, Any]) -> dict[str, Any]:
    """A plain Run whose paths keep their last part, since folders name people and customers; so do the Runs it needs."""
    plain = dict(run)
    for noun in ("dataset", "budget", "model"):
        plain[noun] = {key: _last_part(value) if key in PATHS else value for key, value in run[noun].items()}
    for needed in ("teacher", "start"):
        if plain.get(needed) is not None:
            plain[needed] = without_folders(plain[needed])
    return plain


def _last_part(value: Any) -> Any:
    return PurePath(value).name if isinstance(value, str) and PurePath(value).is_absolute() else value
