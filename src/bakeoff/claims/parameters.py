"""How many parameters compared models have: recurrent models against attention are matched within 5%, and the counts are printed."""

from collections.abc import Mapping

from bakeoff.claims import rules
from bakeoff.claims.claim import Baked, NotMeasured


def beside_words(baked: Baked) -> int:
    """Parameters of a model without its table of words, which depends on the dataset and is the same for all of one width."""
    size = baked.record.size
    assert size is not None, "a model that was trained has a size"
    return size.parameters_total - size.parameters_embedding


def matched(models: Mapping[str, Baked]) -> dict[str, int]:
    """The counts beside the words, by name. Raises NotMeasured where they, or the tables of words, are more than 5% apart."""
    counts = {name: beside_words(one) for name, one in models.items()}
    tables = [one.record.size.parameters_embedding for one in models.values() if one.record.size is not None]
    if not rules.matched(list(counts.values())) or not rules.matched(tables):
        told = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        raise NotMeasured(
            f"the parameter counts do not match within 5% ({told} beside the words): set the sizes of the sweep files so that they do"
        )
    return counts
