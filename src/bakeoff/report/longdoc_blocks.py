"""The part of a page about long documents: what each way to read buys, by length, and what it costs."""

import re
from collections.abc import Sequence

from bakeoff.report import longdoc_figures, longdoc_view, longdoc_words, words
from bakeoff.report.blocks import Block, Figure
from bakeoff.report.longdoc_figures import Mark, Row, Spot
from bakeoff.report.longdoc_pairs import pairs_of
from bakeoff.report.longdoc_readers import SLICES, Reader, Study, studies
from bakeoff.report.summary import Section
from bakeoff.store import Store


def longdoc_blocks(sections: Sequence[Section], store: Store) -> list[Block]:
    """A block a dataset and budget at which a model was scored with more than one reading; none where each has one.

    Raises DataError where saved predictions are missing or contradict their record.
    """
    return [block for study in studies(sections, store) for block in _blocks(study)]


def _blocks(study: Study) -> list[Block]:
    """What was found first, then the ways to read with their figures, then every difference."""
    pairs, illustrates = pairs_of(study), longdoc_words.illustrates(study)
    where = f"{study.title}, {words.budget(study.table)}"
    found = Block(
        heading=f"Ways to read long documents: {where}",
        level=2,
        paragraphs=(longdoc_view.HOW, *((longdoc_view.IDEAL,) if study.dataset.needle is not None else ())),
        warnings=() if illustrates is None else (illustrates,),
        notes=(*([] if illustrates else longdoc_words.findings(pairs)), *longdoc_words.published(study)),
    )
    ways = Block(
        heading=f"What each way to read scores and costs: {where}",
        level=3,
        figures=tuple(figure for figure in (*_by_slice(study), _against_seconds(study)) if figure is not None),
        grids=(longdoc_view.readers_grid(study),),
    )
    if not pairs.every:
        return [found, ways]
    grid = longdoc_view.pairs_grid(study, pairs.every)
    return [found, ways, Block(heading=f"Paired differences: {where}", level=3, grids=(grid,), notes=(longdoc_view.DETECTABLE,))]


def _by_slice(study: Study) -> list[Figure]:
    """A figure a model that reads in more than one way, where lengths were saved."""
    found = []
    metric = words.METRIC_NAMES[study.metric]
    for model in study.models:
        readers = [reader for reader in study.of_model(model) if reader.lengths and reader.candidate.kind != "majority"]
        rows = [Row(label=reader.reading.label, marks=_marks(reader)) for reader in readers]
        if len(rows) < 2:
            continue
        name = readers[0].candidate.name
        slug = f"reading-{study.slug}-{_slug(' '.join(model))}"
        svg = longdoc_figures.by_slice(rows, axis=f"{metric[0].upper()}{metric[1:]}, % (bars: 95% intervals)", salt=slug)
        caption = f"{study.title}, {name}: {metric} by reading and length of the document in the model's own tokens, best reading first."
        found.append(Figure(file=f"{slug}.svg", caption=caption, svg=svg, runs=_runs(readers)))
    return found


def _marks(reader: Reader) -> tuple[Mark, ...]:
    scored = [(part, reader.on(part)) for part in SLICES]
    return tuple(
        Mark(part=f"{part.title} tokens", mean=100 * found.mean, low=100 * found.low, high=100 * found.high)
        for part, found in scored
        if found is not None
    )


def _against_seconds(study: Study) -> Figure | None:
    """Without the majority model, which reads nothing; two readers with a known time are needed."""
    readers = [reader for reader in study.readers if reader.candidate.kind != "majority"]
    spots = [(reader, seconds) for reader in readers if (seconds := longdoc_view.seconds_a_document(reader))]
    if len(spots) < 2:
        return None
    shown = [_spot(reader, seconds) for reader, seconds in spots]
    best_of_model = {spot.model: spot for spot in reversed(shown)}
    named = [spot for spot in shown if spot in best_of_model.values() or spot in longdoc_figures.unbeaten(shown)]
    metric = words.METRIC_NAMES[study.metric]
    slug = f"seconds-{study.slug}"
    svg = longdoc_figures.against_seconds(shown, named=named, axis=f"{metric[0].upper()}{metric[1:]}, % (bars: 95% intervals)", salt=slug)
    caption = (
        f"{study.title}: {metric} against seconds to predict a document; named are each model's best reading and those on the dashed "
        "steps, which nothing beats on both."
    )
    return Figure(file=f"{slug}.svg", caption=caption, svg=svg, runs=_runs([reader for reader, _ in spots]))


def _spot(reader: Reader, seconds: float) -> Spot:
    overall = reader.overall
    return Spot(
        model=reader.candidate.name,
        label=f"{reader.candidate.run.model.name} · {reader.reading.label}",
        seconds=seconds,
        score=100 * overall.mean,
        low=100 * overall.low,
        high=100 * overall.high,
    )


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _runs(readers: Sequence[Reader]) -> tuple[str, ...]:
    return tuple(record.run_id for reader in readers for record in reader.records)
