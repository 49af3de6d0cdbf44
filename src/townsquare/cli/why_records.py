"""The part of ``townsquare why`` that shows argument records, and a belief without one of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from townsquare.cli.console import console, number, safe, table
from townsquare.errors import SettingError

if TYPE_CHECKING:
    from townsquare.analysis.records import Evidence, HeldRecord

LONGEST_TEXT = 70
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
            rows = [_row(record) for record in ordered[:most]]
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
    print(f"Without record {claim} ({safe(record.text, LONGEST_TEXT)}), after step {one.step}:")
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


def _row(record: HeldRecord) -> tuple[str, ...]:
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
        safe(record.text, LONGEST_TEXT),
    )


def _said(one: Evidence) -> str:
    return "as recorded" if one.agrees else f"NOT the recorded {one.recorded:+.6f}"
