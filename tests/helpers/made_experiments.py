"""Small made experiments in every form that ``check people`` reads; people act as the shipped numbers say."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from synthetic_people import write_jsonl

Rows = list[list[Any]]


def write(folder: Path, name: str, head: Sequence[str], rows: Rows, order: Sequence[int] | None = None) -> Path:
    """Write a table into a folder, its rows in another order if given."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows([rows[at] for at in (range(len(rows)) if order is None else order)])
    return folder


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def believed(share: float, sign: int, heed: float) -> float:
    """The mixture of those who heed a verdict and those who do not, in plain Python."""
    return (1 - heed) * share + heed * sigmoid(math.log(share / (1 - share)) + 3.0 * sign)


LABELS = ("experiment", "intervention", "person", "item", "true", "treated", "rated_accurate", "concord")


def label_rows(people: int = 50, controls: bool = True) -> Rows:
    """Two studies of 20 items: the number of people who believe each is the share that the numbers say, rounded."""
    rows: Rows = []
    for study, intervention in (("first", "true_false_label"), ("second", "false_label"), ("third", "literacy_tips")):
        for item in range(20):
            true = item % 2
            before = 0.69 if true else 0.32
            sign = (1 if true else -1) if intervention == "true_false_label" else 0 if true else -1
            after = believed(before, sign, 0.7 if true else 0.33) if sign and study != "third" else before
            for treated in (0, 1) if controls else (1,):
                share = after if treated else before
                for person in range(people):
                    yes = (person * 7 + item * 11) % people < round(share * people)
                    concord = ("concordant", "discordant")[(item // 2) % 2]
                    rows.append([study, intervention, f"{treated}-{person}", item, true, treated, int(yes), concord])
    return rows


HEADLINES = (
    "headline_id",
    "is_true",
    "ai_verdict",
    "rate_belief_control",
    "rate_belief_human_fc",
    "rate_belief_forced",
)


def headline_rows() -> Rows:
    rows: Rows = []
    for at in range(12):
        true, before = at % 2, 0.2 + 0.05 * at
        after = believed(before, 1 if true else -1, 0.7 if true else 0.33)
        rows.append([at, true, ("true", "unsure", "false")[at % 3], before, after, before])
    return rows


RATINGS = ("person", "interval", "repeated", "rating", "keep")


def rating_rows(new: bool = True) -> Rows:
    """Repeated statements are rated a point or so higher, less and less."""
    draw = np.random.default_rng(2)
    rows: Rows = []
    for person in range(60):
        for interval, more in (("immediate", 0.65), ("1 day", 0.37), ("1 week", 0.28), ("1 month", 0.16)):
            for at in range(8):
                plain = int(draw.integers(2, 7))
                if at % 2:
                    rows.append([person, interval, 1, plain + int(draw.random() < more), 1])
                elif new:
                    rows.append([person, interval, 0, plain, 1])
    return rows


CROWD = ("group", "condition", "question", "person", "round", "z", "peers_z")


def crowd_rows(controls: int = 4, groups: int = 6) -> Rows:
    """Control people go 30 % of the way to the middle; the others also 47 % of the way to their peers."""
    draw = np.random.default_rng(3)
    rows: Rows = []
    for group in range(controls + groups):
        social = group >= controls
        first = draw.normal(0.2, 1.2, (12, 3)).clip(-4, 4)
        noise = draw.normal(0, 0.1, (12, 3))
        peers = (first.sum(axis=0) - first) / 11
        alone = 0.1 + 0.7 * first
        then = alone + (0.47 * (peers - alone) if social else 0.0)
        last_peers = (then.sum(axis=0) - then) / 11
        last = alone + (0.47 * (last_peers - alone) if social else 0.0) + noise
        for person in range(12):
            for question in range(3):
                own = (first, peers), (then, last_peers), (last, last_peers)
                for at, (z, others) in enumerate(own, 1):
                    cells = [float(np.clip(z[person, question], -4, 4)), float(others[person, question])]
                    name = f"{group}-{person}"
                    rows.append([group, "social" if social else "control", f"q{question}", name, at, *cells])
    return rows


GUESSES = ("group", "channel", "person", "round", "rabbits", "squirrels", "guess", "others_guess")


def guess_rows(groups: int = 8) -> Rows:
    """Groups of four: the first guess is Bayes', later ones go 40 % of the way to the pooled estimate."""
    draw = np.random.default_rng(4)
    rows: Rows = []
    for group in range(groups):
        hits, misses = draw.integers(0, 6, (2, 4))
        guess = 100.0 * (1 + hits) / (2 + hits + misses)
        for at in range(1, 6):
            others = (guess.sum() - guess) / 3
            for person in range(4):
                cells = [at, hits[person], misses[person], round(guess[person], 6), round(others[person], 6)]
                rows.append([group, ("slider", "chat")[group % 2], f"{group}-{person}", *cells])
            pooled = 100 * (1 + hits + 8 * others / 100) / (2 + hits + misses + 8)
            guess = np.clip(guess + 0.4 * (pooled - guess) + draw.normal(0, 2, 4), 0, 100)
    return rows


PANEL = ("person", "arm", "trump_w2", "trump_w4", "mood_w2", "mood_w4")


def panel_rows() -> Rows:
    draw = np.random.default_rng(5)
    rows: Rows = []
    for person in range(120):
        stance, mood = draw.normal(0, 1), draw.uniform(-0.8, 0.8)
        asked = [stance + draw.normal(0, 0.19) for _ in range(2)]
        moods = [float(np.clip(mood + draw.normal(0, 0.167), -1, 1)) for _ in range(2)]
        rows.append([person, "Control", *np.round([*asked, *moods], 4)])
    return rows


BEFORE_AFTER = ("person", "side", "treated", "econ_pre", "econ_post", "thermo_dem_pre", "thermo_dem_post")


def before_after_rows(controls: bool = True) -> Rows:
    draw = np.random.default_rng(6)
    rows: Rows = []
    for person in range(80):
        lean = 1 if person % 2 else -1
        econ = 7 + 3 * lean + draw.normal(0, 1)
        warm = 50 - 20 * lean + draw.normal(0, 10)
        cells = [econ, econ + draw.normal(0, 0.5), warm, warm + draw.normal(0, 3)]
        side = "conservative" if lean > 0 else "liberal"
        rows.append([person, side, int(person % 4 < 2) if controls else 1, *np.round(cells, 3)])
    return rows


SITTING = ("study", "issue", "person", "before", "after")


def sitting_rows() -> Rows:
    draw = np.random.default_rng(7)
    rows: Rows = []
    for person, before in enumerate(draw.random(60)):
        after = float(np.clip(before + draw.normal(0, 0.05), 0, 1))
        rows.append(["any", "wages", person, round(before, 4), round(after, 4)])
    return rows


CHATS = (
    "traj_id", "participant_id", "conv_id", "condition", "proposition", "persuader_side", "initial_stance",
    "final_stance",
)  # fmt: skip


def chat_folder(folder: Path, controls: int = 12, people: int = 40, order: Sequence[int] | None = None) -> Path:
    """Chats with one persuader: everyone goes a third of the way to the middle, and a little with the messages."""
    draw = np.random.default_rng(8)
    rows: Rows = []
    said, readings = [], []
    for at in range(controls + people):
        control = at < controls
        side = 0 if control else (1 if at % 2 else -1)
        start = float(draw.uniform(-0.9, 0.9))
        end = math.tanh(0.6 * math.atanh(start) + 0.2 * side) + float(draw.normal(0, 0.1))
        rows.append(
            [f"c{at}", f"p{at}", f"c{at}", "control" if control else "persuade", "Tea is good.", side, round(start, 4),
             round(max(-1.0, min(1.0, end)), 4)]
        )  # fmt: skip
        readings.append([f"c{at}", 0, round(start, 4)])
        for i in range(3):
            words = f"Tea {i}."
            said.append({"conv_id": f"c{at}", "i": i, "author": "M", "received": True, "side": side, "text": words})
    write(folder, "trajectories.csv", CHATS, rows, order)
    write(folder, "trace.csv", ("traj_id", "after_message_i", "stance"), readings)
    write_jsonl(folder / "messages.jsonl", said)
    return folder


FORMS: dict[str, tuple[str, Sequence[str], Callable[[], Rows]]] = {
    "label_experiments": ("ratings.csv", LABELS, label_rows),
    "headlines": ("headlines.csv", HEADLINES, headline_rows),
    "truth_effect": ("ratings.csv", RATINGS, rating_rows),
    "partisan_crowds": ("answers.csv", CROWD, crowd_rows),
    "known_evidence_groups": ("guesses.csv", GUESSES, guess_rows),
    "opinion_panel": ("people.csv", PANEL, panel_rows),
    "cross_partisan_exposure": ("people.csv", BEFORE_AFTER, before_after_rows),
    "video_recommender": ("people.csv", SITTING, sitting_rows),
}
"""Every form of one table: the name of its file, its columns, and its made rows."""


def made(folder: Path, form: str, order: Sequence[int] | None = None) -> Path:
    """Write the made experiment of a form."""
    name, head, rows = FORMS[form]
    return write(folder, name, head, rows(), order)
