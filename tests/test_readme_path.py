"""The newcomer's path of the README, from a file to answers, as it is written there but for the hours."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from test_readme import ROOT

HOURS = "0.04"


def path_of_the_readme() -> list[list[str]]:
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## From your own file to a decision\n")[2].partition("\n## ")[0]
    block = re.findall(r"^```sh\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL)[0]
    return [shlex.split(line, comments=True) for line in block.splitlines()]


def test_the_path_is_install_decide_export_predict() -> None:
    assert [words[:2] for words in path_of_the_readme()] == [
        ["make", "setup"],
        ["bakeoff", "decide"],
        ["bakeoff", "export"],
        ["bakeoff", "predict"],
    ]


@pytest.mark.slow
def test_the_commands_of_the_path_lead_from_a_file_to_answers(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    filler = ["".join(rng.choice(list("abcdefghijklmnop"), size=6)) for _ in range(300)]
    signs = (["parcel", "courier", "late"], ["refund", "invoice", "charged"])
    rows = [(f"{' '.join(rng.choice(filler, size=7))} {rng.choice(signs[i % 2])}", ("delivery", "money")[i % 2]) for i in range(500)]
    (tmp_path / "tickets.csv").write_text("body,topic\n" + "".join(f"{text},{label}\n" for text, label in rows), encoding="utf-8")
    (tmp_path / "next-month.csv").write_text("body\n" + "".join(f"{text}\n" for text, _ in rows[:7]), encoding="utf-8")

    def call(words: list[str]) -> str:
        done = subprocess.run([sys.executable, "-m", "bakeoff.cli", *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    _, decide, export, predict = path_of_the_readme()
    said = call([HOURS if before == "--hours" else word for before, word in zip(["", *decide], decide, strict=False)])
    last = shlex.split(said.strip().splitlines()[-1].rpartition(": ")[2])
    assert (last[:2], last[3:]) == (export[:2], export[3:])
    call([last[2] if word == "RUN_ID" else word for word in export])
    call(predict)
    answers = (tmp_path / "answers.csv").read_text(encoding="utf-8").splitlines()
    assert len(answers) == 8
    assert {line.split(",")[1] for line in answers[1:]} <= {"delivery", "money"}
