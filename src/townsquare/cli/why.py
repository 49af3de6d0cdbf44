"""``townsquare why``: what moved one agent."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import console, number, safe, show_json, signed, table
from townsquare.core.errors import SettingError

if TYPE_CHECKING:
    from townsquare.analysis.causes.why import Cause, Move, Why
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from townsquare.analysis.causes.records import Evidence, HeldRecord

LARGEST = 10
LONGEST_TEXT = 60
_WORDS = {"anchor": "back to where it started", "clip": "kept within bounds", "own": "what it wrote itself"}


def why(
    folder: options.Folder,
    /,
    *,
    agent: Annotated[int, Parameter(converter=options.whole, help="The agent, by its number.")],
    step: Annotated[
        int | None, Parameter(converter=options.whole, help="One step; without it, the largest moves of the run.")
    ] = None,
    proposition: Annotated[str | None, Parameter(help="One proposition, by its name.")] = None,
    without_record: Annotated[
        int | None, Parameter(help="Compute the belief again without this argument record (rules in log odds).")
    ] = None,
    as_json: options.AsJson = False,
) -> int:
    """Show which posts and argument records, by whom, moved an agent's beliefs, and by how much."""
    from townsquare.analysis.causes.records import evidence, has_records
    from townsquare.analysis.causes.why import why as explain
    from townsquare.record.run import Run

    run = Run.open(folder)
    found = explain(run, agent, step, proposition)
    counted = has_records(run) or without_record is not None
    records = evidence(run, agent, step, proposition) if counted else ()
    if as_json:
        show_json(_plain(found) | (plain(records, without_record) if records else {}))
        return 0
    if without_record is not None:
        show_without(records, without_record)
        return 0
    if step is None:
        _show_largest(found, str(folder))
    else:
        for move in found.moves:
            _show_move(found, move)
    show_records(records, LARGEST if step is None else None)
    return 0


def _plain(found: Why) -> dict[str, Any]:
    moves = [
        {**asdict(move), "change": move.change, "explained": move.explained, "agrees": move.agrees}
        for move in found.moves
    ]
    return {**asdict(found), "agrees": found.agrees, "moves": moves}


def _show_move(found: Why, move: Move) -> None:
    before = "not on record (it joined in this step)" if move.before is None else f"{move.before:+.6f}"
    print(f"Agent {found.agent}, step {move.step}, {safe(move.proposition)}: {before} -> {move.after:+.6f}")
    rows = [_row(cause) for cause in move.causes]
    columns = ("moved by", "by", "trust", "says", "label", "weight", "first seen", "post", "text")
    if rows:
        console().print(table("", columns, rows, right=("moved by", "trust", "says", "weight", "post")))
    print(f"{_sum(found, move)}\n")


def _row(cause: Cause) -> tuple[str, ...]:
    seen = {None: "", True: "yes", False: "no"}[cause.first_seen]
    return (
        f"{cause.amount:+.6f}",
        safe(cause.name, 30) or _WORDS.get(cause.kind, cause.kind),
        "" if cause.trust is None else number(cause.trust, 3),
        "" if cause.stance is None else signed(cause.stance, 3),
        cause.label,
        "" if cause.weight is None else number(cause.weight, 3),
        seen,
        "" if cause.post is None else str(cause.post),
        safe(cause.text, LONGEST_TEXT),
    )


def _sum(found: Why, move: Move) -> str:
    total = f"sum of {len(move.causes)} contributions {move.explained:+.9f}"
    if move.agrees is None:
        return f"{total}; there is no recorded change to compare with"
    verdict = "they agree" if move.agrees else f"THEY DISAGREE by {abs(move.explained - move.change):.3g}"
    scaled = "" if found.unit == "stance" else f" (the rule counts in {found.unit}; contributions are scaled to stance)"
    return f"{total}, recorded change {move.change:+.9f}: {verdict}{scaled}"


def _show_largest(found: Why, folder: str) -> None:
    largest = [move for move in found.largest(LARGEST) if move.change]
    if not largest:
        print(f"Agent {found.agent} never moved.")
        return
    rows = [
        (move.step, move.proposition, signed(move.change), "–" if move.before is None else signed(move.before),
         signed(move.after), _strongest(move))
        for move in largest
    ]  # fmt: skip
    columns = ("step", "proposition", "change", "from", "to", "most by")
    title = f"Largest moves of agent {found.agent} (rule {found.rule})"
    console().print(table(title, columns, rows, right=("step", "change", "from", "to")))
    totals = [
        (total.name, total.proposition, f"{total.amount:+.6f}", total.rows) for total in found.by_author[:LARGEST]
    ]
    by_author = ("author", "proposition", "moved it by", "exposures")
    console().print(table("In all, by author", by_author, totals, right=("moved it by", "exposures")))
    unexplained = [move for move in found.moves if move.agrees is False]
    if unexplained:
        print(f"{len(unexplained)} of {len(found.moves)} recorded changes are NOT the sum of their contributions.")
    else:
        print(f"All {len(found.moves)} recorded changes agree with the sum of their contributions.")
    print(f"One step in full: townsquare why {folder} --agent {found.agent} --step {largest[0].step}")


def _strongest(move: Move) -> str:
    if not move.causes:
        return ""
    cause = move.causes[0]
    return safe(cause.name or _WORDS.get(cause.kind, cause.kind), 40)


# The part of `townsquare why` that shows argument records, and a belief without one of them.


LONGEST_RECORD_TEXT = 70
_COLUMNS = ("id", "adds", "polarity", "strength", "weight", "origin", "state", "since", "post", "from", "text")


def plain(found: tuple[Evidence, ...], claim: int | None) -> dict[str, Any]:
    """Records, and the belief without one, as JSON-able values."""
    out: dict[str, Any] = {"evidence": [{**asdict(one), "agrees": one.agrees} for one in found]}
    if claim is not None:
        one = _holding(found, claim)
        out["without_record"] = {"proposition": one.proposition, **asdict(one.without(claim))}
    return out


def show_records(found: tuple[Evidence, ...], most: int | None) -> None:
    """The records of an agent, those that count most first; ``most`` of them a proposition, or all."""
    for one in found:
        ordered = sorted(one.records, key=lambda record: (not record.active, -abs(record.amount), record.claim))
        active = sum(record.active for record in one.records)
        title = f"Records of agent {one.agent} on {safe(one.proposition)} after step {one.step}: {active} active"
        archived = len(one.records) - active
        title += f", {archived} archived" if archived else ""
        if ordered:
            rows = [_record_row(record) for record in ordered[:most]]
            right = ("id", "adds", "polarity", "strength", "weight", "since", "post")
            console().print(table(title, _COLUMNS, rows, right=right))
        else:
            print(title)
        more = "" if most is None or len(ordered) <= most else f" ({len(ordered) - most} more records)"
        belief = f"L = {one.log_odds:+.6f}, S = {one.stance:+.6f}"
        own = f"; profile {safe(one.profile)}" if one.profile else ""
        print(f"u = {one.uptake:g}, a = {one.anchoring:g}{own}")
        print(f"start {one.prior:+.6f} and records give {belief}{more}: {_said(one)}\n")


def show_without(found: tuple[Evidence, ...], claim: int) -> None:
    """The belief that is left without one record."""
    one = _holding(found, claim)
    left = one.without(claim)
    record = next(record for record in one.records if record.claim == claim)
    print(f"Without record {claim} ({safe(record.text, LONGEST_RECORD_TEXT)}), after step {one.step}:")
    log_odds = f"L {one.log_odds:+.6f} -> {left.log_odds:+.6f}"
    print(f"  {safe(one.proposition)}: {log_odds}, S {one.stance:+.6f} -> {left.stance:+.6f}")
    if not record.active:
        print("  nothing changes: the record is archived")


def _holding(found: tuple[Evidence, ...], claim: int) -> Evidence:
    for one in found:
        if any(record.claim == claim for record in one.records):
            return one
    held = ", ".join(str(record.claim) for one in found for record in one.records if record.active)
    raise SettingError("--without-record", got=str(claim), allowed=held or "none: the agent holds no records")


def _record_row(record: HeldRecord) -> tuple[str, ...]:
    because = f" by {record.by}" if record.by is not None else ""
    return (
        str(record.claim),
        f"{record.amount:+.6f}" if record.active else "0",
        "for" if record.polarity > 0 else "against",
        number(record.strength, 3),
        number(record.weight, 3),
        record.origin,
        "active" if record.active else f"{record.change}{because}",
        str(record.since),
        "" if record.post is None else str(record.post),
        safe(record.name, 24),
        safe(record.text, LONGEST_RECORD_TEXT),
    )


def _said(one: Evidence) -> str:
    return "as recorded" if one.agrees else f"NOT the recorded {one.recorded:+.6f}"
