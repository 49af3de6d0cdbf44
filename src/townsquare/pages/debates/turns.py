"""The turns of one trial in plain values: what was said, the stances around it, and what it did to whom."""

from __future__ import annotations

import math

from townsquare.debate.record import REVISED, Plain
from townsquare.debate.settings import SIDES


def turns_of(record: Plain) -> list[Plain]:
    """Return every turn of a recorded trial, with claims in place of their rows; texts are untrusted.

    Keys: ``turn`` (from 1), ``round``, ``side``, ``text``, ``judged``, ``before`` and ``after`` (stances by seat),
    ``moves`` and ``retrieved`` (claims). A move has ``side``, ``kind``, ``stance`` (its share of the shift),
    ``log_odds`` (None for a revision), ``claim`` and ``other`` (a claim or None). A claim has ``text``, ``tag``,
    ``polarity``, ``strength``.
    """
    copied = ("round", "text", "judged", "before", "after")
    return [
        {"turn": number, "side": SIDES[turn["seat"]]}
        | {key: turn[key] for key in copied}
        | {"moves": [_move(record, turn, move) for move in turn["moves"]]}
        | {"retrieved": [_claim(record, row) for row in turn["retrieved"]]}
        for number, turn in enumerate(record["turns"], 1)
    ]


def _move(record: Plain, turn: Plain, move: Plain) -> Plain:
    """Return a change of stance: in stance units a contribution c of L is c·ΔS/ΔL, so that parts sum to the change."""
    side = move["seat"]
    shift = (turn["after"][side] or 0.0) - (turn["before"][side] or 0.0)
    total = math.fsum(other["amount"] for other in turn["moves"] if other["seat"] == side)
    revised = move["kind"] == REVISED
    return {
        "side": SIDES[side],
        "kind": move["kind"],
        "stance": shift if revised else move["amount"] * shift / total if total else 0.0,
        "log_odds": None if revised else move["amount"],
        "claim": _claim(record, move["claim"]),
        "other": _claim(record, move["other"]),
    }


def _claim(record: Plain, row: int) -> Plain | None:
    return None if row < 0 else {key: record["claims"][row][key] for key in ("text", "tag", "polarity", "strength")}
