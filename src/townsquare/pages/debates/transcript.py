"""The transcript of an arm: every turn with the stances before and after it, and the records that moved them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from townsquare.core.documents import bundled_labels
from townsquare.core.words import number, printable
from townsquare.debate.record import REVISED, Plain
from townsquare.debate.results import TRANSCRIPT, DebateArm, DebateResults
from townsquare.debate.settings import SIDES
from townsquare.pages.debates.figures import course_figure
from townsquare.pages.debates.tables import measure_table
from townsquare.pages.debates.turns import turns_of
from townsquare.pages.report.page import Page

KIND = bundled_labels("debate_changes")
POLARITY = {1: "for", -1: "against"}
_COURSES = {
    "kept": "Reported stances (thin lines: trials; thick lines: means)",
    "judged": "Judged stance of each message",
}


def write_transcript(results: DebateResults, arm: DebateArm, *, figures: bool = True) -> Path:
    """Write ``transcript.html`` into the folder of an arm: one self-contained file, all texts escaped.

    Raises
    ------
    RecordError
        A trial cannot be read, or the page not be written.
    """
    records = results.records(arm)
    drawn = _COURSES.items() if records and figures else ()
    return Page(
        "debate.html",
        title=printable(arm.statement, 200),
        facts=_facts(results, arm),
        figures=[course_figure(results, arm, key, says, judged=key == "judged") for key, says in drawn],
        table=measure_table(results, arm) if records else None,
        trials=[_trial(record) for record in records],
        speaker=printable(str(arm.settings["speaker"]["name"]), 80),
    ).write(results.folder / arm.slug / TRANSCRIPT)


def _facts(results: DebateResults, arm: DebateArm) -> list[tuple[str, str]]:
    settings = arm.settings
    trials = f"{len(results.records(arm))} of {results.trials}"
    facts = {"arm": arm.name, "trials": trials, "rounds": settings["rounds"]}
    members = {name: settings[name]["name"] for name in ("debater", "speaker", "judge")}
    facts |= members | {"opponent": settings["opponent"], "seed": settings["seed"]}
    return [(name, printable(str(value), 120)) for name, value in facts.items()]


def _trial(record: Plain) -> Plain:
    """Return one trial: its number, how each agent started, its turns in words, and the hash of its record."""
    starts = [_start(side, agent) for side, agent in record["agents"].items()]
    pairs = zip(turns_of(record), record["turns"], strict=True)
    turns = [_turn(turn) | {"instruction": recorded["instruction"]} for turn, recorded in pairs]
    return {"number": record["trial"], "starts": starts, "turns": turns, "hash": record["hash"]}


def _start(side: str, agent: Plain) -> str:
    scale = agent["prior_scale"]
    scaled = "" if scale == 1 else f", each weighted {number(scale)}×"
    seeds = f"{len(agent['seeds'])} seed records{scaled}" if agent["seeds"] else "a stated prior"
    return (
        f"{side}: uptake u {number(agent['uptake'])}, anchoring a {number(agent['anchoring'])}; "
        f"target stance {_signed(agent['wanted'])}, attained {_signed(agent['attained'])} from {seeds}"
    )


def _turn(turn: Plain) -> Plain:
    """Return a turn in words; ``stances`` are (side, before, after) of agents, ``retrieved`` what the speaker had."""
    ends = zip(SIDES, turn["before"], turn["after"], strict=True)
    return {
        **turn,
        "judged": _signed(turn["judged"]),
        "stances": [(side, _signed(before), _signed(after)) for side, before, after in ends if before is not None],
        "moves": [_move(turn, move) for move in turn["moves"]],
        "retrieved": [f"{_claim(claim)}: {claim['text']}" for claim in turn["retrieved"]],
    }


def _move(turn: Plain, move: Plain) -> Plain:
    """Return one line under a turn: whom it moved, by how much in stance and in log odds, and which record did it.

    ``text`` is the claim if the message does not already say it, else ""; where a claim was refused, ``record`` and
    ``text`` are those of the record that stood against it.
    """
    shown = {"side": move["side"], "kind": KIND[move["kind"]], "amount": _signed(move["stance"]), "log_odds": ""}
    if move["kind"] == REVISED:
        return {**shown, "record": "", "text": ""}
    if move["kind"] == "refused":
        return {**shown, "amount": "no change", "record": _claim(move["other"]), "text": move["other"]["text"]}
    claim = move["claim"]
    text = "" if claim["text"] in turn["text"] else claim["text"]
    return {**shown, "log_odds": _signed(move["log_odds"]), "record": _claim(claim), "text": text}


def _claim(claim: Plain) -> str:
    tag = f", {claim['tag']}" if claim["tag"] else ""
    return f"{POLARITY[claim['polarity']]}, strength {number(float(claim['strength']))}{tag}"


def _signed(value: Any) -> str:
    return number(None if value is None else float(value), 2, signed=True)
