"""A debate that was held, as one JSON file: starts, claims, turns, and what each message did to whom.

A file is written at once or not at all, holds the digest of what it belongs to, and ends with the SHA-256 of its own
content (canonical JSON, keys sorted), so that a damaged one is told from a whole one. Numbers are written so that they
read back bit for bit; NaN is null.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

from townsquare.core.documents import read_json
from townsquare.core.errors import RecordError
from townsquare.core.files import write_whole
from townsquare.debate.contract import Claim, Move
from townsquare.debate.resolve import Resolved
from townsquare.debate.settings import SIDES
from townsquare.debate.start import Begun
from townsquare.debate.trial import Held, Spoken
from townsquare.settings.resolve import current_version

FORMAT = 1
REVISED = "revised"
"""Kind of a move without a record; others are the words of :class:`townsquare.core.schema.HoldingChange`."""

Plain = dict[str, Any]


def trial_record(found: Resolved, trial: int, held: Held) -> Plain:
    """One debate in plain values, its hash included.

    Keys: ``format``, ``version``, ``digest``, ``trial``, ``statement``, ``judge``, ``agents`` (by side: profile,
    persona, wanted and attained stance, prior, prior scale, seeds as rows of claims), ``claims``, ``turns``, ``hash``.
    """
    seeds = _seed_rows(held)
    record: Plain = {
        "format": FORMAT,
        "version": current_version(),
        "digest": found.digest,
        "trial": trial,
        "statement": found.bank.statement,
        "judge": found.settings.judge.name,
        "has_records": found.members["debater"][0].has_records,
        "agents": {SIDES[seat]: _agent(found, seat, start, seeds[seat]) for seat, start in held.starts.items()},
        "claims": [_claim(claim) for claim in held.claims],
        "turns": [_turn(spoken) for spoken in held.turns],
    }
    return {**record, "hash": content_hash(record)}


def _seed_rows(held: Held) -> dict[int, list[int]]:
    """Rows of the claims that each agent started with; two agents that drew one argument have two rows of it."""
    rows: dict[int, list[int]] = {}
    row = 0
    for seat, start in held.starts.items():
        rows[seat] = list(range(row, row + len(start.places)))
        row += len(start.places)
    return rows


def _agent(found: Resolved, seat: int, start: Begun, seeds: list[int]) -> Plain:
    uptake, anchoring = found.settings.profile(seat)
    return {
        "uptake": uptake,
        "anchoring": anchoring,
        "persona": found.settings.agent(seat).persona,
        "wanted": start.wanted,
        "attained": start.attained,
        "prior": start.prior,
        "prior_scale": start.prior_scale,
        "seeds": seeds,
    }


def _claim(claim: Claim) -> Plain:
    return {**claim._asdict(), "strength": _number(claim.strength)}


def _turn(spoken: Spoken) -> Plain:
    turn = spoken.turn
    return {
        "round": turn.round,
        "seat": turn.seat,
        "instruction": turn.instruction,
        "retrieved": [one.claim for one in turn.retrieved],
        "text": spoken.text,
        "claims": list(spoken.claims),
        "before": [_number(one) for one in spoken.before],
        "after": [_number(one) for one in spoken.after],
        "judged": _number(spoken.judged),
        "moves": [_move(seat, move) for seat, move in spoken.moves],
    }


def _move(seat: int, move: Move) -> Plain:
    kind = REVISED if move.kind is None else move.kind.name.lower()
    return {"seat": seat, "kind": kind, "claim": move.claim, "other": move.other, "amount": move.amount}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def content_hash(record: Plain) -> str:
    """SHA-256, hexadecimal, of a record without its hash."""
    kept = {key: value for key, value in record.items() if key != "hash"}
    canonical = json.dumps(kept, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def write_json(path: Path, value: object) -> None:
    """Write a file, and the folder it goes into; the old file or the new one is there at every moment.

    Raises
    ------
    RecordError
        It cannot be written there.
    """
    write_whole(path, json.dumps(value, allow_nan=False) + "\n", parents=True)


def read_trial(path: Path) -> Plain:
    """A record as it was written.

    Raises
    ------
    RecordError
        It is not there, or not what was written.
    """
    try:
        record = read_json(path, RecordError)
    except RecordError as error:
        got = f"a file that cannot be read ({error.got})"
        raise RecordError(error.where, got=got, allowed=error.allowed, do="delete it and go on") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT or record.get("hash") != content_hash(record):
        raise RecordError(str(path), got="a damaged record", do="delete it and give the command again")
    return record
