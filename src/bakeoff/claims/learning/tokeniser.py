"""Stripping what the tokeniser expected, or reading with another vocabulary's ids, costs points in silence.

Varied: what the fine-tuned encoder is given for the same rows: raw texts, texts without punctuation, texts split into
characters, and raw texts under another checkpoint's ids (the starter's weights, with a tokeniser whose word-pieces are
numbered otherwise). Measured: the accuracy that each loses against raw texts, and whether the audit says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bakeoff.cache import cache_root
from bakeoff.claims import other_ids, rules
from bakeoff.claims.claim import Answer, Baked, Bench, Cell, Claim, NotMeasured, Verdict
from bakeoff.claims.rules import Measured
from bakeoff.claims.scores import Scored, all_run_ids, difference, scored
from bakeoff.data import checkpoint, text_signs
from bakeoff.data.tokens import CheckpointTokeniser
from bakeoff.errors import DataError
from bakeoff.spec import Run

CHECKPOINT = "minilm-l6"
RAW, STRIPPED, SPLIT, OTHER_IDS = "raw", "punctuation stripped", "characters split", "another checkpoint's ids"
SIGN_OF = {STRIPPED: "stripped_punctuation", SPLIT: "split_characters", OTHER_IDS: "foreign_vocabulary"}
"""The finding by which the audit tells each."""
REWRITE_OF = {"none": RAW, "strip_punctuation": STRIPPED, "split_characters": SPLIT}
SMALL_LABELS = 300
"""Of the small form: an encoder takes three quarters of the steps that it takes with 1,000."""


@dataclass(frozen=True, kw_only=True)
class Spoiled:
    """What one way of spoiling the texts costs."""

    name: str
    scored: Scored
    loss: Measured
    told: bool
    """Whether the audit of every one of its Runs has the sign."""

    @property
    def verdict(self) -> Verdict:
        """It costs points, and the audit says so."""
        return rules.all_of((rules.above(0.0, self.loss.interval), rules.exact(self.told)))


def measure(bench: Bench) -> Answer:
    """Bake all four, pair each with the raw texts over rows and draws, and judge by the one that loses least."""
    cells = scored(_bake(bench), by=_given)
    raw = cells[RAW]
    found = [_spoiled(name, cells[name], raw) for name in SIGN_OF if name in cells]
    false_alarms = _false_alarms(raw)
    lower = _lower_cased(bench.texts(raw.run))
    quiet = not false_alarms and not lower.flagged
    verdict = rules.all_of([*(each.verdict for each in found), rules.exact(quiet)])
    least = min(found, key=lambda each: (each.verdict != verdict, each.loss.figure))
    return Answer(
        verdict=verdict,
        figure=least.loss.figure,
        unit="points lost",
        interval=least.loss.interval,
        seen=(
            f"Lost of {100 * raw.accuracy.mean:.1f}% on raw texts: "
            + ", ".join(f"{each.name} {_points(each.loss)}" for each in found)
            + f"; the audit tells {sum(each.told for each in found)} of {len(found)}, and raises "
            + ("no" if quiet else "a")
            + " false alarm on raw or lower-cased texts."
        ),
        dataset=raw.run.dataset.name,
        rows=tuple(_rows(raw, found, lower, false_alarms)),
        run_ids=all_run_ids([raw, *(each.scored for each in found)]),
        detectable=least.loss.detectable,
        notes=(
            f"{lower.identical:,} of {lower.texts:,} lower-cased test texts have exactly the ids of the raw ones, since this checkpoint is "
            "uncased: they cost nothing, and the audit rightly says nothing.",
            "What lower-casing costs a cased checkpoint cannot be tested here: it needs one, for example "
            "`bakeoff run dataset.rewrite=lower_case model.checkpoint=bert-base-cased model.revision=<commit>` with the hub.",
            _silence([raw, *(each.scored for each in found)]),
        ),
    )


def _bake(bench: Bench) -> Sequence[Baked]:
    try:
        folder = other_ids.make(checkpoint.resolve(CHECKPOINT, None), cache_root() / "claims" / f"{CHECKPOINT}-other-ids")
    except DataError as reason:
        raise NotMeasured(str(reason)) from None
    foreign = ("dataset.rewrite=none", f"model.checkpoint='{folder}'", "model.name=pretrained_other_ids")
    few = (f"budget.labels={SMALL_LABELS}",) if bench.size == "small" else ()
    return [*bench.bake("tokeniser", *few), *bench.bake("tokeniser", *foreign, *few)]


def _given(run: Run) -> str:
    return OTHER_IDS if run.model.name == "pretrained_other_ids" else REWRITE_OF[run.dataset.rewrite]


def _signs_of(cell: Scored) -> set[str]:
    """The codes that stand in the audit of every Run of a cell."""
    return set.intersection(*({finding.code for finding in one.record.data.audit} for one in cell.baked))


def _false_alarms(raw: Scored) -> set[str]:
    """The signs that stand in the audit of any Run on raw texts."""
    return set(SIGN_OF.values()) & {finding.code for one in raw.baked for finding in one.record.data.audit}


def _silence(cells: Sequence[Scored]) -> str:
    diverged, every = sum(cell.diverged for cell in cells), sum(len(cell.baked) for cell in cells)
    if diverged:
        return f"{diverged} of {every} Runs diverged, which is not silent, and count as answering the most frequent class."
    return "No Run failed or diverged: but for the audit, the loss is silent."


def _spoiled(name: str, cell: Scored, raw: Scored) -> Spoiled:
    found = difference(raw, cell)
    if found is None:
        raise NotMeasured(f"the Runs with {name} share no draw with those on raw texts: bake the same seeds")
    return Spoiled(name=name, scored=cell, loss=rules.in_points(found), told=SIGN_OF[name] in _signs_of(cell))


@dataclass(frozen=True, kw_only=True)
class LowerCased:
    """What the checkpoint's tokeniser makes of lower-cased texts."""

    texts: int
    identical: int
    """How many have the ids of the raw text."""
    flagged: bool
    """Whether the audit finds fault with their case."""


def _lower_cased(texts: Mapping[str, str]) -> LowerCased:
    raw = list(texts.values())
    lower = [text.lower() for text in raw]
    folder = checkpoint.resolve(CHECKPOINT, None)
    tokeniser = CheckpointTokeniser(folder)
    read = text_signs.reading(folder, tokeniser, lower, uses_weights=True)
    pairs = zip(tokeniser.encode(raw), tokeniser.encode(lower), strict=True)
    return LowerCased(
        texts=len(raw),
        identical=sum(a.tolist() == b.tolist() for a, b in pairs),
        flagged=any(code == "lower_cased" and count for code, count, _ in text_signs.signs(lower, read)),
    )


def _rows(raw: Scored, found: Sequence[Spoiled], lower: LowerCased, false_alarms: set[str]) -> list[dict[str, Cell]]:
    rows = [_row(RAW, raw, told="a false alarm" if false_alarms else "no sign")]
    for each in found:
        told = SIGN_OF[each.name] if each.told else "nothing"
        rows.append(_row(each.name, each.scored, told=told, loss=each.loss))
    same = lower.identical == lower.texts
    rows.append(
        _row("lower-cased", raw if same else None, told="a false alarm" if lower.flagged else "no sign", exactly=0.0 if same else None)
    )
    return rows


def _row(name: str, cell: Scored | None, *, told: str, loss: Measured | None = None, exactly: float | None = None) -> dict[str, Cell]:
    return {
        "given": name,
        "accuracy, %": None if cell is None else round(100 * cell.accuracy.mean, 1),
        "lost, points": exactly if loss is None else round(loss.figure, 1),
        "from": exactly if loss is None else round(loss.interval.low, 1),
        "to": exactly if loss is None else round(loss.interval.high, 1),
        "draws": None if cell is None else len(cell.baked),
        "the audit tells": told,
    }


def _points(loss: Measured) -> str:
    return f"{loss.figure:.1f} points ({loss.interval.low:.1f} to {loss.interval.high:.1f})"


CLAIM = Claim(
    name="tokeniser",
    statement="Stripping what the tokeniser expected, or another vocabulary's ids, costs points in silence.",
    kind="learning",
    rule=(
        "Holds when texts without punctuation, texts split into characters and another checkpoint's ids each lose accuracy (lower bound of "
        "the loss above 0), the audit has the sign of each, and has none for raw texts or for the case of texts that an uncased one reads."
    ),
    seconds={"small": 2400, "full": 2400},
    measure=measure,
    sweeps=("tokeniser",),
)
