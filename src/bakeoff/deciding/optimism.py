"""The random-split twin of a split by time: how much better a score looks when tomorrow's rows are dealt among today's."""

from collections.abc import Sequence

TWIN = (
    "dataset.time=null",
    "dataset.newest_share=null",
    "dataset.newest_from=null",
    "dataset.split=fold",
    "dataset.fold=0",
)


def random_twin(overrides: Sequence[str]) -> tuple[str, ...]:
    """The overrides of a Run on the newest share, asking the same on fold 0 of the random split instead.

    Bake it once, beside the winner; optimism is its score minus the score on the newest share, in points. The two have
    different test rows, so their difference is unpaired.
    """
    replaced = {line.partition("=")[0] for line in TWIN}
    return (*(text for text in overrides if text.partition("=")[0].lstrip("+") not in replaced), *TWIN)
