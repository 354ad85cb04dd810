"""A sweep file's values, from an override's text to YAML and back."""

from pathlib import Path

import pytest

from bakeoff import sweep_file


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("true", True),
        ("null", None),
        ("tfidf", "tfidf"),
        ("1e-3", "1e-3"),
        ("", ""),
        ("@text", "@text"),
        ("%x", "%x"),
        ("[1, 2", "[1, 2"),
        ("a: b: c", "a: b: c"),
    ],
)
def test_a_value_is_written_as_what_it_is_and_read_back(tmp_path: Path, text: str, value: object) -> None:
    assert sweep_file.from_text(text) == value
    file = tmp_path / "own.yaml"
    file.write_text(sweep_file.render("own", {"dataset.text": [text]}, comments=["for a test"]))
    spec = sweep_file.read(file)["parameters"]["dataset.text"]
    assert sweep_file.grid_values("dataset.text", spec) == [text]
