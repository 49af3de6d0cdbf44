"""Two made surveys with blanks, weights, party names and Likert items, and posts to go with them."""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from pathlib import Path

HEADLINES = (
    ("The old bridge is closed to trucks from Monday", 1),
    ("Engineers found rust in four of the twelve cables", 1),
    ("The bridge swayed so hard that two cars fell into the river", 0),
    ("A new bridge would cost 40 million", 1),
    ("The mayor has sold the bridge to a foreign bank", 0),
    ("Ferries will run every ten minutes", 1),
)
ITEM = "The old bridge should be replaced (1 no ... 7 yes)"
PARTIES = ("Die Linke", "Union", "Grüne", "", "Refused")
SHOTS = ("never", "once", "twice", "")
AGREE = ("strongly agree", "agree", "neutral", "disagree", "strongly disagree", "don't know")


def write_headlines(folder: Path) -> Path:
    """Write posts with columns `type` and `step` that mean something else."""
    rows = [(k, text, true, "political", "soon", 0.8 - 0.3 * k) for k, (text, true) in enumerate(HEADLINES)]
    return _write(folder / "headlines.csv", ["ID", "Headline", "is_true", "type", "step", "stance"], rows)


def write_small_survey(folder: Path, n: int = 40) -> Path:
    """Write 40 respondents of a town: ids, weights, parties, shots, incomes, two items, one of them asked again."""
    draw = random.Random(3)
    names = ["Respondent", "E-mail", "w", "Party", "Vaccinated", "Income", "Age group", ITEM, f"{ITEM} (wave 2)",
             "Ferries are enough"]  # fmt: skip
    rows = []
    for k in range(n):
        first = draw.choice([1, 2, 3, 4, 5, 6, 7, 0])  # 0: no answer
        again = min(7, first + draw.choice([0, 0, 1]))
        opinions = [first or "", again if first else "", draw.choice(AGREE)]
        answers = [draw.choice(PARTIES), draw.choice(SHOTS), draw.choice([1200, 2400.5, 3100, ""])]
        answers += [draw.choice(["18-34", "35-54", "55+"]), *opinions]
        rows.append([f"R_{k:03}", f"r{k}@example.org", round(draw.uniform(0.4, 2.5), 2), *answers])
    return _write(folder / "answers.csv", names, rows)


def write_large_survey(folder: Path, n: int = 400) -> Path:
    """Write 400 respondents in the form of a Qualtrics export, with coded blanks and mistakes in some cells."""
    draw = random.Random(5)
    names = ["StartDate", "ResponseId", "weight", "Q1", "party_vote", "news_days", "flu_shots_safe", "age"]
    rows: list[list[object]] = [
        ["Start", "ID", "Weight", "Trust", "Which party?", "Days with news", "Flu shots are safe", "Age"],
        [f'{{"ImportId":"{name}"}}' for name in names],
    ]
    for k in range(n):
        rows.append([
            "2026-01-05 10:00", f"r{k}", round(draw.uniform(0.5, 2), 3),
            draw.choice(["not at all", "a little", "a lot"]),
            draw.choice(["Conservatives", "Labour", "Lib Dem", "-99"]), draw.choice([0, 1, 3, 7, -99]),
            draw.choice([1, 2, 3, 4, 5, -99, 9 if k % 100 == 0 else 4]), draw.choice([18, 33, 47, 61, 80]),
        ])  # fmt: skip
    return _write(folder / "export.csv", names, rows)


def _write(path: Path, names: list[str], rows: Sequence[Sequence[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([names, *rows])
    return path
