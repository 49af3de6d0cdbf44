"""Made human data: small files in the form of the real ones, and a population whose numbers are known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from townsquare.beliefs.equation import STANCE_MARGIN
from townsquare.beliefs.grids import grid_of
from townsquare.humans.checked import joined
from townsquare.humans.fit.evidence_choice import EvidenceChoice
from townsquare.humans.fit.predict import predict_cell
from townsquare.humans.fit.replayed import whole
from townsquare.humans.fit.stream import stream_of
from townsquare.humans.trajectories import Message, Reading, Row, Trajectories

CHOICE = EvidenceChoice(dedup=False)


def write_csv(path: Path, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    """A CSV without quoting: cells hold no commas."""
    path.write_text("\n".join(",".join(map(str, row)) for row in [head, *rows]) + "\n", encoding="utf-8")
    return path


def write_jsonl(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """One object a line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def row(**changes: Any) -> Row:
    """A trajectory with two received messages."""
    default: dict[str, Any] = {
        "location": "made, row 1", "participant": "p", "conversation": "g", "proposition": "Tea is good.",
        "initial": 0.2, "final": 0.4,
        "messages": [Message("q", 1.0, 0.5, "It is warm."), Message("r", -1.0, 0.5, "It stains.")],
    }  # fmt: skip
    return Row(**{**default, **changes})


def population(
    people: int = 600, uptake: float = 0.15, anchoring: float = 0.6, *, messages: int = 14, noise: float = 0.1,
    readings: bool = False, rule: str = "log_odds", seed: int = 3, topics: int = 12,
) -> Trajectories:  # fmt: skip
    """A DEBATE-shaped population: groups of four, six-point answers at first, and ends by a rule with known numbers.

    Sides lean to one side in each group, as they do among people, so that the net evidence differs between groups.
    """
    draw = np.random.default_rng(seed)
    scale = np.linspace(-1, 1, 6)
    rows = []
    for person in range(people):
        group = person // 4
        lean = np.random.default_rng([seed, group]).uniform(-0.9, 0.9)
        others = [f"p{4 * group + k}" for k in range(4) if 4 * group + k != person]
        said = [
            Message(str(draw.choice(others)), float(1 if draw.random() < (1 + lean) / 2 else -1), float(strength))
            for strength in draw.uniform(0.2, 0.9, int(draw.integers(messages // 2, messages + 1)))
        ]
        place, topic = f"made, row {person + 1}", f"topic {group % topics}"
        start = float(draw.choice(scale))
        rows.append(Row(place, f"p{person}", f"g{group}", topic, start, 0.0, said))
    made = joined("made", rows)
    x = np.full(people, uptake), np.full(people, anchoring)
    return _ended(rows, made, x, noise, draw, rule=rule, readings=readings)


def _ended(
    rows: list[Row], made: Trajectories, numbers: tuple[np.ndarray, np.ndarray], noise: float,
    draw: np.random.Generator, *, rule: str, readings: bool,
) -> Trajectories:  # fmt: skip
    spans = whole(made, stream_of(made, CHOICE))
    ends = predict_cell(spans.rows, grid_of(rule), STANCE_MARGIN, float(numbers[0][0]), float(numbers[1][0]))
    final = np.clip(ends + draw.normal(0, noise, len(made)), -1, 1)
    ended = []
    for at, (one, end) in enumerate(zip(rows, final.tolist(), strict=True)):
        half = len(one.messages) // 2
        between = [Reading(half, float(np.clip((one.initial + end) / 2, -1, 1)))] if readings else []
        ended.append(
            Row(
                one.location,
                one.participant,
                one.conversation,
                one.proposition,
                one.initial,
                final[at],
                one.messages,
                between,
            )
        )
    return joined("made", ended)
