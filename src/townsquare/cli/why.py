"""``townsquare why``: what moved one agent."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options, why_records
from townsquare.cli.console import console, number, safe, show_json, signed, table

if TYPE_CHECKING:
    from townsquare.analysis.why import Cause, Move, Why

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
    from townsquare.analysis.records import evidence, has_records
    from townsquare.analysis.why import why as explain
    from townsquare.record.run import Run

    run = Run.open(folder)
    found = explain(run, agent, step, proposition)
    counted = has_records(run) or without_record is not None
    records = evidence(run, agent, step, proposition) if counted else ()
    if as_json:
        show_json(_plain(found) | (why_records.plain(records, without_record) if records else {}))
        return 0
    if without_record is not None:
        why_records.show_without(records, without_record)
        return 0
    if step is None:
        _show_largest(found, str(folder))
    else:
        for move in found.moves:
            _show_move(found, move)
    why_records.show_records(records, LARGEST if step is None else None)
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
