"""The raw samples of a Run: `latency.parquet`, one row a call."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bakeoff.probes.latency import Stages, Turn
from bakeoff.probes.samples import STAGES
from bakeoff.probes.session import GRID_DOCUMENTS, Measured

SCHEMA = pa.schema(
    [
        ("turn", pa.int32()),
        ("call", pa.int32()),
        ("kind", pa.string()),
        ("document", pa.string()),
        ("tokens", pa.int32()),
        ("total_ns", pa.int64()),
        *((f"{stage}_ns", pa.int64()) for stage in STAGES),
    ]
)
"""`turn` is the round of the session and `call` the place in the turn. `document` is the row id of the first document of a
batch, or grid-TOKENS-NUMBER; `tokens` are those of the whole call. The kinds: sample; after_switch, the turn's first call;
stages, a call timed stage by stage; reference, the reference's samples in the shared rounds, from which the ratio follows."""


def write_samples(file: Path, measured: Measured, reference: Measured | None, *, row_ids: Sequence[str]) -> None:
    """Write every call of a Run; `row_ids` name the documents in the order in which they were timed."""
    tables = _of_documents(measured, row_ids, sample="sample")
    if reference is not None and measured.turns:
        shared = Measured(batch_size=reference.batch_size, lengths_tokens=reference.lengths_tokens)
        shared.turns = {number: turn for number, turn in reference.turns.items() if number in measured.turns}
        tables += _of_documents(shared, row_ids, sample="reference")[:1]
    for tokens, turns in measured.grid.items():
        names = np.asarray([f"grid-{tokens}-{number}" for number in range(GRID_DOCUMENTS)])
        tables += _calls(turns, names, np.full(GRID_DOCUMENTS, tokens), sample="sample") if turns else []
    pq.write_table(pa.concat_tables(tables) if tables else SCHEMA.empty_table(), file, compression="zstd")


def _of_documents(measured: Measured, row_ids: Sequence[str], *, sample: str) -> list[pa.Table]:
    assert measured.lengths_tokens is not None
    size, n = measured.batch_size, len(row_ids)
    starts = np.arange(0, n, size)
    tokens = measured.lengths_tokens[(starts[:, None] + np.arange(size)) % n].sum(axis=1)
    return _calls(measured.turns, np.asarray(row_ids)[starts], tokens, sample=sample) if measured.turns else []


def _calls(turns: Mapping[int, Turn], names: npt.NDArray[np.str_], tokens: npt.NDArray[np.int64], *, sample: str) -> list[pa.Table]:
    """Samples, after-switch calls and staged calls of some turns; batches have `names` and `tokens`, shape (batches,)."""
    sizes = [len(turn.total_ns) for turn in turns.values()]
    rounds = np.asarray(list(turns), dtype=np.int64)
    first = np.asarray([turn.first for turn in turns.values()], dtype=np.int64)
    call = np.concatenate([np.arange(size) for size in sizes])
    total_ns = np.concatenate([np.asarray(turn.total_ns, dtype=np.int64) for turn in turns.values()])
    # A turn opens behind its first timed batch, and the staged call comes after the last.
    opening = np.asarray([turn.opening for turn in turns.values()], dtype=np.int64)
    switched_ns = np.asarray([turn.after_switch_ns for turn in turns.values()], dtype=np.int64)
    tables = [
        _table(sample, np.repeat(rounds, sizes), call, np.repeat(first, sizes) + call, names, tokens, total_ns, None),
        _table("after_switch", rounds, np.zeros_like(rounds), opening, names, tokens, switched_ns, None),
    ]
    staged = {number: turn.stages for number, turn in turns.items() if turn.stages is not None}
    if staged:
        number = np.asarray(list(staged), dtype=np.int64)
        ends = np.asarray([turns[each].first + len(turns[each].total_ns) for each in staged], dtype=np.int64)
        calls = np.asarray([len(turns[each].total_ns) for each in staged], dtype=np.int64)
        tables.append(_table("stages", number, calls, ends, names, tokens, None, list(staged.values())))
    return tables


def _table(
    kind: str,
    rounds: npt.NDArray[np.int64],
    call: npt.NDArray[np.int64],
    batch: npt.NDArray[np.int64],
    names: npt.NDArray[np.str_],
    tokens: npt.NDArray[np.int64],
    total_ns: npt.NDArray[np.int64] | None,
    stages: Sequence[Stages] | None,
) -> pa.Table:
    n, place = len(rounds), batch % len(names)
    times = {f"{stage}_ns": [getattr(each, f"{stage}_ns") for each in stages] if stages else [None] * n for stage in STAGES}
    total = [sum(column) for column in zip(*times.values(), strict=True)] if stages else total_ns
    columns = {"turn": rounds, "call": call, "kind": [kind] * n, "document": names[place], "tokens": tokens[place], "total_ns": total}
    return pa.table({name: pa.array(column, SCHEMA.field(name).type) for name, column in (columns | times).items()})
