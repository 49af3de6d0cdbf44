"""A debate that was held, as one JSON file: starts, claims, turns, and what each message did to whom.

A file is written at once or not at all, holds the digest of what it belongs to, and ends with the SHA-256 of its own
content (canonical JSON, keys sorted), so that a damaged one is told from a whole one. Numbers are written so that they
read back bit for bit; NaN is null.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from townsquare.core.documents import finite, read_json
from townsquare.core.errors import RecordError
from townsquare.core.files import write_whole
from townsquare.core.identity import canonical_json
from townsquare.debate.contract import Move, Side
from townsquare.debate.resolve import ResolvedDebate
from townsquare.debate.settings import SIDES
from townsquare.debate.trial import TrialCourse, TurnRecord
from townsquare.settings.resolve import current_version

FORMAT = 1
REVISED = "revised"
"""Kind of a move without a record; others are the words of :class:`townsquare.core.enums.HoldingChange`."""

_OF_START = {"uptake", "anchoring", "wanted", "attained", "prior", "prior_scale"}

Plain = dict[str, Any]


def trial_record(resolved: ResolvedDebate, trial: int, course: TrialCourse) -> Plain:
    """Return one debate as plain values, its hash included.

    Keys: ``format``, ``version``, ``digest``, ``trial``, ``statement``, ``judge``, ``agents`` (by side: profile,
    persona, wanted and attained stance, prior, prior scale, seeds as rows of claims), ``claims``, ``turns``, ``hash``.
    """
    record: Plain = {
        "format": FORMAT,
        "version": current_version(),
        "digest": resolved.digest,
        "trial": trial,
        "statement": resolved.bank.statement,
        "judge": resolved.settings.judge.name,
        "has_records": resolved.members["debater"][0].has_records,
        "agents": {SIDES[number]: _start(resolved, side) for number, side in course.sides.items()},
        "claims": course.claims,
        "turns": [_turn(turn) for turn in course.turns],
    }
    record = finite(record)
    return {**record, "hash": content_hash(record)}


def _start(resolved: ResolvedDebate, side: Side) -> Plain:
    """Return the start of an agent."""
    start = {name: value for name, value in side._asdict().items() if name in _OF_START}
    return {**start, "seeds": side.seeds, "persona": resolved.settings.agent(side.number).persona}


def _turn(record: TurnRecord) -> Plain:
    turn = record.turn
    return {
        "round": turn.round,
        "seat": turn.side,
        "instruction": turn.instruction,
        "retrieved": [value.claim for value in turn.retrieved],
        "text": record.text,
        "claims": record.claims,
        "before": record.before,
        "after": record.after,
        "judged": record.judged,
        "moves": [_move(side, move) for side, move in record.moves],
    }


def _move(side: int, move: Move) -> Plain:
    kind = REVISED if move.kind is None else move.kind.name.lower()
    return {"seat": side, "kind": kind, "claim": move.claim, "other": move.other, "amount": move.amount}


def content_hash(record: Plain) -> str:
    """Return the SHA-256, hexadecimal, of a record without its hash."""
    content = {key: value for key, value in record.items() if key != "hash"}
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def write_json(path: Path, value: object) -> None:
    """Write a file, and the folder it goes into; the old file or the new one is there at every moment.

    Raises
    ------
    RecordError
        It cannot be written there.
    """
    write_whole(path, json.dumps(value, allow_nan=False) + "\n", parents=True)


def read_trial(path: Path) -> Plain:
    """Read a record and check its hash.

    Raises
    ------
    RecordError
        It is not there, or not what was written.
    """
    try:
        record = read_json(path, RecordError)
    except RecordError as error:
        got = f"a file that cannot be read ({error.got})"
        raise RecordError(error.where, got=got, allowed=error.allowed, do="delete it and continue") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT or record.get("hash") != content_hash(record):
        raise RecordError(str(path), got="a damaged record", do="delete it and repeat the command")
    return record
