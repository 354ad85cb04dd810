"""Truncate, chunk and pool, or take a long variant; a BiLSTM has no limit and stays competitive.

Varied: how a document is read, by encoders that have a window and by models that have none; the BiLSTM reads the encoder's word-pieces and
starts from its table of them. Measured: test accuracy on documents over 512 of the encoders' tokens, and what each reading costs.
*Competitive* is a loss of at most 2.0 points there, by its upper bound, of the BiLSTM on whole documents against the best reading of an
encoder.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from bakeoff.claims import phrases, rules
from bakeoff.claims.claim import Answer, Bench, Cell, Claim, NotMeasured
from bakeoff.claims.pictures import Lines
from bakeoff.claims.scores import Scored, Tokens, accuracy_series, all_run_ids, difference, scored
from bakeoff.report.longdoc_readers import PAST_WINDOW, SLICES, Slice
from bakeoff.spec import BiLstm, Frozen, Pretrained, Tfidf

SMALL = (
    ("model=tfidf", "longdoc=full"),
    ("model=bilstm_pieces", "longdoc=full"),
    ("model=frozen", "longdoc=head,tail,windows_mean_embeddings"),
)


LATE = 0.9
"""Share of the steps from which on a best step says that the schedule was short."""


def measure(bench: Bench) -> Answer:
    """Bake every reading, keep the documents past the window, and judge the BiLSTM beside the best reading there."""
    asked = SMALL if bench.size == "small" else ((),)
    baked = [one for overrides in asked for one in bench.bake("long_documents_1000", *overrides)]
    cells = scored(baked, by=lambda run: (run.model.name, run.longdoc.label))
    encoders = [cell for cell in cells.values() if isinstance(cell.run.model, Pretrained | Frozen)]
    recurrent = [cell for cell in cells.values() if isinstance(cell.run.model, BiLstm) and cell.run.longdoc.strategy == "full"]
    lengths = _lengths(encoders)
    if lengths is None or not recurrent:
        raise NotMeasured("an encoder with the lengths of its documents and a BiLSTM on whole documents are not both recorded")
    past = PAST_WINDOW.holds(lengths)
    if not past.any():
        raise NotMeasured(f"no test document of {encoders[0].run.dataset.name} is longer than 512 tokens: take a dataset of long ones")
    best, bilstm = (max((cell.on(past) for cell in group), key=lambda cell: cell.accuracy.mean) for group in (encoders, recurrent))
    found = difference(best, bilstm)
    if found is None:
        raise NotMeasured(f"{best.run.model.name} and {bilstm.run.model.name} share no draw: bake the same seeds")
    loss = rules.in_points(found)
    untried = _untried(encoders)
    verdict = rules.competitive(loss.interval)
    if verdict == "holds" and untried:
        verdict = "inconclusive"  # a reading that was not baked may be better than the best of those that were
    return Answer(
        verdict=verdict,
        figure=loss.figure,
        unit="points lost",
        interval=loss.interval,
        seen=(
            f"On the {int(past.sum()):,} test documents over 512 tokens {bilstm.run.model.name} on whole documents scores "
            f"{_percent(bilstm)} and so {phrases.loses(loss.figure)} ({phrases.span(loss.interval)}) against the best reading of an "
            f"encoder "
            f"({_name(best)}), which scores {_percent(best)}.{_third(cells.values(), past)}"
        ),
        dataset=best.run.dataset.name,
        rows=tuple(_row(cell, lengths) for cell in cells.values()),
        run_ids=all_run_ids(cells),
        detectable=loss.detectable,
        pictures=(_picture(list(cells.values()), lengths),),
        notes=(*_notes(encoders, untried), *_unfinished(bilstm)),
    )


def _lengths(encoders: Sequence[Scored]) -> Tokens | None:
    """Whole lengths in the tokens of an encoder, which say for every reader which documents are long; None where no encoder saved them."""
    return next((cell.lengths_tokens for cell in encoders if cell.lengths_tokens is not None), None)


def _third(cells: Iterable[Scored], past: NDArray[np.bool_]) -> str:
    """What TF-IDF scores there, which is neither; nothing where it was not baked."""
    found = [cell.on(past) for cell in cells if isinstance(cell.run.model, Tfidf)]
    return f" TF-IDF on whole documents scores {max(map(_percent, found))}." if found else ""


def _name(cell: Scored) -> str:
    return f"{cell.run.model.name}, {cell.run.longdoc.label}"


def _percent(cell: Scored) -> str:
    return f"{100 * cell.accuracy.mean:.1f}%"


def _accuracy_on(cell: Scored, part: Slice, lengths: Tokens) -> float | None:
    """In per cent; None for a slice without documents."""
    rows = part.holds(lengths)
    return round(100 * cell.on(rows).accuracy.mean, 1) if rows.any() else None


def _row(cell: Scored, lengths: Tokens) -> dict[str, Cell]:
    facts = [one.record for one in cell.baked]
    processed = facts[0].data.processed_tokens_mean
    return {
        "model": cell.run.model.name,
        "reading": cell.run.longdoc.label,
        "all, %": round(100 * cell.accuracy.mean, 1),
        **{f"{part.title}, %": _accuracy_on(cell, part, lengths) for part in (*SLICES, PAST_WINDOW)},
        "tokens a document": None if processed is None else round(processed),
        "training, s": round(float(np.mean([record.training.seconds for record in facts])), 1),
        "answering, s": round(float(np.mean([record.training.predict_seconds or 0.0 for record in facts])), 1),
        "draws": len(facts),
        "diverged": cell.diverged,
    }


def _picture(cells: Sequence[Scored], lengths: Tokens) -> Lines:
    """Accuracy by length: each slice stands at the median length of its documents."""
    parts = {float(np.median(lengths[rows])): rows for part in SLICES if (rows := part.holds(lengths)).any()}
    return Lines(
        title=f"Accuracy by length of document: {cells[0].run.dataset.name}",
        x_label="tokens of the document",
        y_label="test accuracy, %",
        series=tuple(accuracy_series(_name(cell), {tokens: cell.on(rows) for tokens, rows in parts.items()}) for cell in cells),
        log_x=True,
    )


def _untried(encoders: Sequence[Scored]) -> tuple[str, ...]:
    """What an encoder could have done besides, in sentences."""
    read = {cell.run.longdoc.strategy for cell in encoders}
    tuned = any(isinstance(cell.run.model, Pretrained) for cell in encoders)
    return (
        *(f"No reading that would {what} was baked in this form." for what, ways in _WAYS.items() if not read & set(ways)),
        *(() if tuned else ("No fine-tuned encoder was baked in this form, and one may read better than a frozen one.",)),
    )


def _notes(encoders: Sequence[Scored], untried: Sequence[str]) -> tuple[str, ...]:
    return (
        f"The best reading is the best of {len(encoders)} on these very documents, which flatters it a little.",
        "Lengths are in the encoder's tokens, for every model.",
        *untried,
        "Recipes are the defaults of each model, which were chosen on short texts of two classes and not on this dataset.",
        "Seconds are those of Runs that may have had the machine to themselves or not; tokens are what compares.",
        "Long film reviews need a folder of yours: bakeoff sweep sweeps/claims/long_documents_1000.yaml dataset=movie_reviews "
        "dataset.path=FOLDER.",
    )


def _unfinished(bilstm: Scored) -> tuple[str, ...]:
    """A note where it was still learning when its schedule ended."""
    facts = [one.record.training for one in bilstm.baked]
    late = sum(each.best_step is not None and each.best_step >= LATE * each.steps for each in facts)
    if not late:
        return ()
    return (
        f"In {late} of {len(facts)} Runs of {bilstm.run.model.name} the best step by validation loss is among the last tenth: it was still "
        "learning when its schedule ended, and a longer one may take it further (model.training.epochs).",
    )


_WAYS = {"truncate": ("head", "tail", "head_tail", "middle"), "chunk and pool": ("windows",), "read a longer window": ("extended",)}
"""The three ways of the statement → strategies of each."""

CLAIM = Claim(
    name="long-documents",
    statement="Truncate, chunk and pool, or take a long variant; a BiLSTM has no limit and stays competitive.",
    kind="learning",
    rule=(
        "Holds when the BiLSTM on whole documents is competitive: on documents over 512 tokens the upper bound of its loss against the "
        "best reading of an encoder is at most 2.0 points. Where no fine-tuned encoder was baked, or one of the three ways was not, it can "
        "fail and cannot hold."
    ),
    seconds={"small": 6000, "full": 150_000},
    measure=measure,
    sweeps=("long_documents_1000",),
)
