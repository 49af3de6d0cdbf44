"""The debate view: the transcript of one trial, with the stances around each turn and what it did to whom."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from townsquare.core.errors import SettingError
from townsquare.debate.record import REVISED, Plain
from townsquare.debate.results import DebateArm, DebateResults
from townsquare.debate.settings import SIDES
from townsquare.pages.view.query_string import Asked

_KEYS = ("uptake", "anchoring", "persona", "wanted", "attained", "prior")


def debate(held: DebateResults, name: str, asked: Asked) -> dict[str, Any]:
    """One trial of one arm; texts are untrusted. Without ``arm`` or ``trial``, the first that was held.

    Raises
    ------
    SettingError
        There is no such arm or trial.
    RecordError
        The trial cannot be read.
    """
    arm = arm_of(held, asked.word("arm"))
    records = {int(record["trial"]): record for record in held.records(arm)}
    found: dict[str, Any] = {
        "id": name,
        "arms": [{"slug": one.slug, "name": one.name} for one in held.arms],
        "arm": arm.slug,
        "statement": arm.statement,
        "trials": sorted(records),
        "wanted": held.trials,
        "settings": {key: _name(arm.settings[key]) for key in ("debater", "speaker", "judge", "opponent")},
        "failed": [{"arm": one, "trial": trial, "error": said} for one, trial, said in held.failed],
        "trial": None,
        "agents": [],
        "turns": [],
    }
    if not records:
        return found
    trial = asked.whole("trial", min(records))
    if trial not in records:
        raise SettingError("trial", got=str(trial), allowed=", ".join(str(one) for one in sorted(records)))
    record = records[trial]
    agents = [{"side": side, **{key: agent[key] for key in _KEYS}} for side, agent in record["agents"].items()]
    turns = [_turn(record, number, turn) for number, turn in enumerate(record["turns"], 1)]
    return {**found, "trial": trial, "agents": agents, "turns": turns}


def arm_of(held: DebateResults, slug: str) -> DebateArm:
    """The arm with this folder; the first for the empty name."""
    slugs = [arm.slug for arm in held.arms]
    if slug and slug not in slugs:
        raise SettingError("arm", got=repr(slug), allowed=", ".join(slugs))
    return held.arms[slugs.index(slug) if slug else 0]


def turn_table(held: DebateResults, asked: Asked) -> pl.DataFrame:
    """Every turn of an arm, for the CSV."""
    return held.turns().filter(pl.col("arm") == arm_of(held, asked.word("arm")).name)


def move_table(held: DebateResults, asked: Asked) -> pl.DataFrame:
    """Every change of a record in an arm, for the CSV."""
    return held.moves().filter(pl.col("arm") == arm_of(held, asked.word("arm")).name)


def side_table(held: DebateResults, asked: Asked) -> pl.DataFrame:
    """Who debated in each trial of an arm, and from where they started, for the CSV."""
    arm = arm_of(held, asked.word("arm"))
    rows = [
        {"arm": arm.name, "trial": record["trial"], "side": side, **{key: agent[key] for key in _KEYS}}
        for record in held.records(arm)
        for side, agent in record["agents"].items()
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _name(member: Any) -> str:
    return str(member["name"]) if isinstance(member, dict) else str(member)


def _turn(record: Plain, number: int, turn: Plain) -> Plain:
    return {
        "turn": number,
        "round": turn["round"],
        "side": SIDES[turn["seat"]],
        "text": turn["text"],
        "judged": turn["judged"],
        "before": turn["before"],
        "after": turn["after"],
        "moves": [_move(record, turn, move) for move in turn["moves"]],
        "retrieved": [_claim(record, row) for row in turn["retrieved"]],
    }


def _move(record: Plain, turn: Plain, move: Plain) -> Plain:
    """In stance units a contribution c of L is c·ΔS/ΔL: the parts of one turn sum to its move."""
    seat = move["seat"]
    shift = (turn["after"][seat] or 0.0) - (turn["before"][seat] or 0.0)
    total = math.fsum(one["amount"] for one in turn["moves"] if one["seat"] == seat)
    revised = move["kind"] == REVISED
    in_stance = shift if revised else move["amount"] * shift / total if total else 0.0
    return {
        "side": SIDES[seat],
        "kind": move["kind"],
        "stance": in_stance,
        "log_odds": None if revised else move["amount"],
        "claim": _claim(record, move["claim"]),
        "other": _claim(record, move["other"]),
    }


def _claim(record: Plain, row: int) -> Plain | None:
    if row < 0:
        return None
    claim = record["claims"][row]
    return {key: claim[key] for key in ("text", "tag", "polarity", "strength")}
