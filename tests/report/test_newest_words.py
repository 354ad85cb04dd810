"""What a page and a command line say of test rows that are the newest."""

import factories
from bakeoff.report.timed import _data as settings_of
from bakeoff.report.view import _split as split_words


class Section:
    """All of a section that the words are about."""

    def __init__(self, **fields: object) -> None:
        self.dataset = factories.make_dataset(split="newest", time="received", held_out_rows=None, **fields)


def test_a_page_says_which_rows_are_tested() -> None:
    assert split_words(Section(newest_share=0.2)) == "the newest by received"  # type: ignore[arg-type]
    pinned = Section(newest_from=("2024-03-17T00:00:00", "2024-03-20T00:00:00.000001"))
    assert split_words(pinned) == "the newest by received, from 2024-03-17T00:00:00 on"  # type: ignore[arg-type]


def test_a_timing_command_asks_for_the_same_split() -> None:
    assert [*settings_of(Section(newest_share=0.2).dataset)][-2:] == ["dataset.time=received", "dataset.newest_share=0.2"]
    pinned = Section(newest_from=("2024-03-17T00:00:00",)).dataset
    assert [*settings_of(pinned)][-2:] == ["dataset.time=received", "dataset.newest_from=['2024-03-17T00:00:00']"]
