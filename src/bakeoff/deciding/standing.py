"""Where the candidates stand after a round, by the rule of `report.choose`: who needs more draws, who is out."""

from collections.abc import Mapping
from dataclasses import dataclass

from bakeoff.deciding.offers import Candidate, Offer
from bakeoff.report.choice import Choice, Judged


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What the rule says so far."""

    open: tuple[Candidate, ...] = ()
    """Candidates that more draws may still decide, the best by its mean first."""
    leader: Candidate | None = None
    """The recommended, else the best by its mean."""
    advised_seeds: int = 5
    """Draws that a recommendation rests on."""


def standing(choice: Choice, offers: Mapping[str, Offer]) -> Standing:
    """By the choice at all labels; `offers` are by run id.

    Open are the reference and the recommended while they have fewer draws than advised, and whoever is undecided and not known to
    cost more: the rule never picks what is dearer than the best. One that is behind by more than the margin on the one draw it
    shares with the best, rows alone considered, is not given more.
    """
    reference, sure = choice.reference, choice.sureness
    if reference is None or sure is None:
        return Standing()
    found: dict[Candidate, None] = {}
    for each in choice.judged:
        offer = _offer(each, offers)
        if offer is None or not each.contender.reads_labels or each.contender.seeds >= sure.advised_seeds:
            continue
        if each is reference or each is choice.recommended or _is_open(each, choice):
            found[offer.candidate] = None
    leader = _offer(choice.recommended or reference, offers)
    return Standing(open=tuple(found), leader=None if leader is None else leader.candidate, advised_seeds=sure.advised_seeds)


def _is_open(judged: Judged, choice: Choice) -> bool:
    if judged.verdict != "undecided":
        return False
    if judged.saving is not None and judged.saving.share is not None and not judged.saving.is_cheaper:
        return False
    return judged.gap is None or judged.gap.low <= choice.limits.margin


def _offer(judged: Judged, offers: Mapping[str, Offer]) -> Offer | None:
    return next((offers[run_id] for run_id in judged.contender.run_ids if run_id in offers), None)
