"""Pretraining pays where nuance decides.

Varied: whether a test text holds a negator or a contrast word. Measured: the lead of the fine-tuned encoder over TF-IDF on
texts that do, minus its lead on the rest.
"""

import re
from collections.abc import Mapping

import numpy as np

from bakeoff.claims import contrasts, phrases, rules
from bakeoff.claims.claim import Answer, Bench, Cell, Claim, NotMeasured
from bakeoff.claims.rules import Measured
from bakeoff.claims.scores import Scored, all_run_ids, difference, scored
from bakeoff.report.stats import Estimate

PRETRAINED, FLOOR = "pretrained", "tfidf"
SENTENCE = "the film was not good at all"
NEGATORS = (
    *("not", "no", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "without", "cannot"),
    *("hardly", "barely", "scarcely", "lack", "lacks", "lacking"),
)
CONTRASTS = (
    *("but", "however", "although", "though", "yet", "despite", "instead", "nevertheless", "nonetheless"),
    *("whereas", "unless", "except", "rather"),
)
_NUANCE = re.compile(rf"\b(?:{'|'.join((*NEGATORS, *CONTRASTS))})\b|n['’]t\b", re.IGNORECASE)


def has_nuance(text: str) -> bool:
    """Whether a text holds a negator (n't included) or a contrast word."""
    return _NUANCE.search(text) is not None


def measure(bench: Bench) -> Answer:
    """Bake with kept weights, split the test rows in two, and pair over rows and draws."""
    cells = scored(bench.bake("nuance", keep_weights=True), by=lambda run: run.model.name)
    if PRETRAINED not in cells or FLOOR not in cells:
        raise NotMeasured(f"{PRETRAINED} and {FLOOR} are not both recorded, and the claim compares the two")
    ours, floor = cells[PRETRAINED], cells[FLOOR]
    if ours.answers.seeds != floor.answers.seeds:
        raise NotMeasured(f"{PRETRAINED} and {FLOOR} were not given the same draws: bake the same seeds")
    texts = bench.texts(ours.run)
    nuanced = np.array([has_nuance(texts[row]) for row in ours.answers.row_ids.tolist()])
    if nuanced.all() or not nuanced.any():
        raise NotMeasured(f"{int(nuanced.sum())} of {len(nuanced)} test texts hold a negator or a contrast word: both kinds are needed")
    lead = ours.answers.correct.astype(np.float64) - floor.answers.correct.astype(np.float64)
    more = rules.in_points(contrasts.between(lead, nuanced, ~nuanced, ours.answers))
    on, off = _lead(ours.on(nuanced), floor.on(nuanced)), _lead(ours.on(~nuanced), floor.on(~nuanced))
    verdict = rules.above(0.0, more.interval)
    return Answer(
        verdict=verdict,
        figure=more.figure,
        unit="points more of lead where nuance decides",
        interval=more.interval,
        seen=(
            f"The fine-tuned encoder {phrases.leads(on.figure, 'TF-IDF')} on the {int(nuanced.sum()):,} texts with a negator or a "
            f"contrast word and {phrases.leads(off.figure, 'it')} on the other {int((~nuanced).sum()):,}: a difference of "
            f"{phrases.signed(more.figure)} points ({phrases.span(more.interval)})."
        ),
        dataset=ours.run.dataset.name,
        rows=tuple(_row(name, cell, nuanced) for name, cell in cells.items()),
        run_ids=all_run_ids(cells),
        detectable=more.detectable,
        notes=tuple(_asked(bench, name, cell) for name, cell in cells.items()),
    )


def _lead(ours: Scored, floor: Scored) -> Measured:
    found = difference(ours, floor)
    assert found is not None, "the draws are the same"
    return rules.in_points(found)


def _row(name: str, cell: Scored, nuanced: np.ndarray) -> Mapping[str, Cell]:
    with_, without = cell.on(nuanced).accuracy, cell.on(~nuanced).accuracy
    return {
        "model": name,
        "with a negator or contrast word, %": round(100 * with_.mean, 1),
        "interval": _interval(with_),
        "the rest, %": round(100 * without.mean, 1),
        "interval of the rest": _interval(without),
        "draws": len(cell.baked),
    }


def _interval(found: Estimate) -> str:
    return f"{100 * found.low:.1f} to {100 * found.high:.1f}"


def _asked(bench: Bench, name: str, cell: Scored) -> str:
    """What a model makes of the article's sentence, over its draws."""
    probabilities = np.stack([bench.predict(baked, [SENTENCE])[0] for baked in cell.baked])  # (draws, classes)
    classes = cell.baked[0].record.data.classes
    answered = int(probabilities.mean(axis=0).argmax())
    agree = int((probabilities.argmax(axis=1) == answered).sum())
    return (
        f"“{SENTENCE}”, to {name}: {classes[answered]} ({100 * float(probabilities[:, answered].mean()):.0f}% sure on average; "
        f"{agree} of {len(probabilities)} draws)."
    )


CLAIM = Claim(
    name="nuance",
    statement="Pretraining pays where nuance decides.",
    kind="learning",
    rule=(
        "Holds when the fine-tuned encoder's lead over TF-IDF is larger on test texts with a negator or a contrast word than on the rest "
        "(lower bound of the difference of the two leads above 0)."
    ),
    seconds={"small": 600, "full": 600},
    measure=measure,
    sweeps=("nuance",),
)
