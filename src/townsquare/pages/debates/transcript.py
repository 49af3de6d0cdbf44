"""The transcript of an arm: every turn with the stances before and after it, and the records that moved them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from townsquare.debate.record import REVISED, Plain
from townsquare.debate.results import TRANSCRIPT, DebateArm, DebateResults
from townsquare.debate.settings import CON, PRO, SIDES
from townsquare.pages.debates.figures import WORD, course_panel
from townsquare.pages.debates.tables import measure_table
from townsquare.pages.report.page import render, write
from townsquare.pages.report.section import Panel
from townsquare.pages.report.svg import clean
from townsquare.pages.report.words import number

KIND = {
    "accepted": "accepted",
    "refused": "refused as a near-duplicate of a record as strong",
    "archived": "archived, replaced by a stronger near-duplicate",
    "restored": "restored",
    REVISED: "revised its stance; no record says why",
}
POLARITY = {1: "for", -1: "against"}


@dataclass(frozen=True, slots=True)
class MoveShown:
    """One line under a turn: whom it moved, by how much in stance and in log odds, and which record did it.

    ``text`` is the claim if the message does not already say it, else ""; where a claim was refused, ``record`` and
    ``text`` are those of the record that stood against it.
    """

    side: str
    kind: str
    amount: str
    log_odds: str
    record: str
    text: str


@dataclass(frozen=True, slots=True)
class TurnShown:
    """One turn in words. ``stances`` are (side, before, after) of agents, ``retrieved`` what the speaker had."""

    number: int
    round: int
    side: str
    text: str
    instruction: str
    judged: str
    stances: tuple[tuple[str, str, str], ...]
    moves: tuple[MoveShown, ...]
    retrieved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TrialShown:
    """One trial: its number, how each agent started, its turns, and the hash of its record."""

    number: int
    starts: tuple[str, ...]
    turns: tuple[TurnShown, ...]
    hash: str


def write_transcript(held: DebateResults, arm: DebateArm, *, figures: bool = True) -> Path:
    """Write ``transcript.html`` into the folder of an arm: one self-contained file, all texts escaped.

    Raises
    ------
    RecordError
        A trial cannot be read, or the page not be written.
    """
    records = held.records(arm)
    panels = []
    if records and figures:
        panels = [
            Panel("Stance kept by each agent: trials thin, their mean thick", course_panel(held, arm, "kept")),
            Panel("Stance the judge reads in each message", course_panel(held, arm, "judged", judged=True)),
        ]
    text = render(
        "debate.html",
        title=clean(arm.statement, 200),
        facts=_facts(held, arm),
        panels=panels,
        table=measure_table(held, arm) if records else None,
        trials=[_trial(record) for record in records],
        speaker=clean(str(arm.settings["speaker"]["name"]), 80),
    )
    return write(text, held.folder / arm.slug / TRANSCRIPT)


def _facts(held: DebateResults, arm: DebateArm) -> list[tuple[str, str]]:
    settings = arm.settings
    return [
        ("arm", clean(arm.name, 120)),
        ("trials", f"{len(held.records(arm))} of {held.trials}"),
        ("rounds", str(settings["rounds"])),
        ("debater", clean(settings["debater"]["name"], 80)),
        ("speaker", clean(settings["speaker"]["name"], 80)),
        ("opponent", clean(settings["opponent"], 80)),
        ("judge", clean(settings["judge"]["name"], 80)),
        ("seed", str(settings["seed"])),
    ]


def _trial(record: Plain) -> TrialShown:
    starts = tuple(_start(side, agent) for side, agent in record["agents"].items())
    turns = tuple(_turn(record, number, turn) for number, turn in enumerate(record["turns"], 1))
    return TrialShown(record["trial"], starts, turns, record["hash"])


def _start(side: str, agent: Plain) -> str:
    scale = agent["prior_scale"]
    scaled = "" if scale == 1 else f", each counted {number(scale)} times"
    seeds = f"{len(agent['seeds'])} seed records{scaled}" if agent["seeds"] else "a stated prior"
    return (
        f"{side}: u {number(agent['uptake'])}, a {number(agent['anchoring'])}; wanted {_signed(agent['wanted'])}, "
        f"attained {_signed(agent['attained'])} from {seeds}"
    )


def _turn(record: Plain, nth: int, turn: Plain) -> TurnShown:
    seats = [seat for seat in (PRO, CON) if turn["before"][seat] is not None]
    stances = tuple((WORD[seat], _signed(turn["before"][seat]), _signed(turn["after"][seat])) for seat in seats)
    return TurnShown(
        number=nth,
        round=turn["round"],
        side=SIDES[turn["seat"]],
        text=turn["text"],
        instruction=turn["instruction"],
        judged=_signed(turn["judged"]),
        stances=stances,
        moves=tuple(_move(record, turn, move) for move in turn["moves"]),
        retrieved=tuple(_claim(record["claims"][row], with_text=True) for row in turn["retrieved"]),
    )


def _move(record: Plain, turn: Plain, move: Plain) -> MoveShown:
    seat = move["seat"]
    shift = turn["after"][seat] - turn["before"][seat]
    total = math.fsum(one["amount"] for one in turn["moves"] if one["seat"] == seat)
    if move["kind"] == REVISED:
        return MoveShown(WORD[seat], KIND[REVISED], _signed(shift), "", "", "")
    # In stance units a contribution c of L is c·ΔS/ΔL: parts of one turn sum to its move.
    amount = move["amount"] * shift / total if total else 0.0
    claim = record["claims"][move["claim"]]
    kind = KIND[move["kind"]]
    if move["kind"] == "refused":
        near = record["claims"][move["other"]]
        return MoveShown(WORD[seat], kind, "unmoved", "", _claim(near), near["text"])
    text = "" if claim["text"] in turn["text"] else claim["text"]
    return MoveShown(WORD[seat], kind, _signed(amount), _signed(move["amount"]), _claim(claim), text)


def _claim(claim: Plain, *, with_text: bool = False) -> str:
    tag = f", {claim['tag']}" if claim["tag"] else ""
    said = f"{POLARITY[claim['polarity']]}, strength {number(float(claim['strength']))}{tag}"
    return f"{said}: {claim['text']}" if with_text else said


def _signed(value: Any) -> str:
    return number(None if value is None else float(value), 2, signed=True)
