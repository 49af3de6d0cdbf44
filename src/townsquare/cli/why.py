"""``townsquare why``: what moved one agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from townsquare.cli import options
from townsquare.cli.console import cut, digits, exact, known, safe, show, show_json, signed
from townsquare.core.errors import SettingError

if TYPE_CHECKING:
    from townsquare.analysis.causes.records import Evidence, HeldRecord
    from townsquare.analysis.causes.why import Cause, Move, Why

LARGEST = 10
LONGEST_TEXT = 60
_WORDS = {"anchor": "back to where it started", "clip": "kept within bounds", "own": "what it wrote itself"}


def why(
    folder: options.Folder,
    /,
    *,
    agent: options.Whole,
    step: options.Whole | None = None,
    proposition: str | None = None,
    without_record: int | None = None,
    as_json: options.AsJson = False,
) -> int:
    """Show which posts and argument records, by whom, moved an agent's beliefs, and by how much.

    Parameters
    ----------
    agent
        The agent, by its number.
    step
        One step; without it, the largest moves of the run.
    proposition
        One proposition, by its name.
    without_record
        Compute the belief again without this argument record (rules in log odds).
    """
    from townsquare.analysis.causes.records import evidence, has_records
    from townsquare.analysis.causes.why import why as explain
    from townsquare.record.run import Run

    run = Run.open(folder)
    found = explain(run, agent, step, proposition)
    counted = has_records(run) or without_record is not None
    records = evidence(run, agent, step, proposition) if counted else ()
    if as_json:
        return show_json(_plain(found) | (_plain_records(records, without_record) if records else {}))
    if without_record is not None:
        _show_without(records, without_record)
        return 0
    if step is None:
        _show_largest(found, str(folder))
    for move in () if step is None else found.moves:
        _show_move(found, move)
    _show_records(records, LARGEST if step is None else None)
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
    if move.causes:
        rows = [{**asdict(cause), "by": safe(cause.name, 30) or _kind(cause)} for cause in move.causes]
        show(
            "", rows, (exact, "moved by=amount"), (str, "by"), (known(digits(3)), "trust"),
            (known(digits(3, sign=True)), "says=stance"), (str, "label"), (known(digits(3)), "weight"),
            ({None: "", True: "yes", False: "no"}.__getitem__, "first seen=first_seen"), (known(str), "post"),
            (cut(LONGEST_TEXT), "text"), words=("by", "label", "first seen", "text"),
        )  # fmt: skip
    print(f"{_sum(found, move)}\n")


def _kind(cause: Cause) -> str:
    return _WORDS.get(cause.kind, cause.kind)


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
    rows = [(move.step, move.proposition, move.change, move.before, move.after, _strongest(move)) for move in largest]
    title = f"Largest moves of agent {found.agent} (rule {found.rule})"
    columns = (str, "step", "proposition"), (signed, "change", "from", "to"), (str, "most by")
    show(title, rows, *columns)
    totals = found.by_author[:LARGEST]
    show(
        "In all, by author", totals, (str, "author=name", "proposition"), (exact, "moved it by=amount"),
        (str, "exposures=rows"),
    )  # fmt: skip
    unexplained = [move for move in found.moves if move.agrees is False]
    if unexplained:
        print(f"{len(unexplained)} of {len(found.moves)} recorded changes are NOT the sum of their contributions.")
    else:
        print(f"All {len(found.moves)} recorded changes agree with the sum of their contributions.")
    print(f"One step in full: townsquare why {folder} --agent {found.agent} --step {largest[0].step}")


def _strongest(move: Move) -> str:
    if not move.causes:
        return ""
    return safe(move.causes[0].name or _kind(move.causes[0]), 40)


# The part of `townsquare why` that shows argument records, and a belief without one of them.


LONGEST_RECORD_TEXT = 70


def _plain_records(found: tuple[Evidence, ...], claim: int | None) -> dict[str, Any]:
    """Records, and the belief without one, as JSON-able values."""
    out: dict[str, Any] = {"evidence": [{**asdict(one), "agrees": one.agrees} for one in found]}
    if claim is not None:
        one = _holding(found, claim)
        out["without_record"] = {"proposition": one.proposition, **asdict(one.without(claim))}
    return out


def _show_records(found: tuple[Evidence, ...], most: int | None) -> None:
    """The records of an agent, those that count most first; ``most`` of them a proposition, or all."""
    for one in found:
        ordered = sorted(one.records, key=lambda record: (not record.active, -abs(record.amount), record.claim))
        active = sum(record.active for record in one.records)
        title = f"Records of agent {one.agent} on {safe(one.proposition)} after step {one.step}: {active} active"
        archived = len(one.records) - active
        title += f", {archived} archived" if archived else ""
        if ordered:
            _show_table_of(title, ordered[:most])
        else:
            print(title)
        more = "" if most is None or len(ordered) <= most else f" ({len(ordered) - most} more records)"
        belief = f"L = {one.log_odds:+.6f}, S = {one.stance:+.6f}"
        own = f"; profile {safe(one.profile)}" if one.profile else ""
        print(f"u = {one.uptake:g}, a = {one.anchoring:g}{own}")
        print(f"start {one.prior:+.6f} and records give {belief}{more}: {_said(one)}\n")


def _show_without(found: tuple[Evidence, ...], claim: int) -> None:
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


def _show_table_of(title: str, records: Sequence[HeldRecord]) -> None:
    def state(record: HeldRecord) -> str:
        by = f" by {record.by}" if record.by is not None else ""
        return "active" if record.active else f"{record.change}{by}"

    rows = [
        asdict(one) | {"adds": one.amount if one.active else None, "state": state(one), "is_for": one.polarity > 0}
        for one in records
    ]
    show(
        title, rows, (str, "id=claim"), (lambda adds: "0" if adds is None else exact(adds), "adds"),
        (("against", "for").__getitem__, "polarity=is_for"), (digits(3), "strength", "weight"),
        (str, "origin", "state", "since"), (known(str), "post"), (cut(24), "from=name"),
        (cut(LONGEST_RECORD_TEXT), "text"),
    )  # fmt: skip


def _said(one: Evidence) -> str:
    return "as recorded" if one.agrees else f"NOT the recorded {one.recorded:+.6f}"
