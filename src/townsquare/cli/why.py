"""``townsquare why``: what moved one agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import complain, cut, digits, exact, known, picked, safe, show, show_json, signed
from townsquare.core.errors import SettingError
from townsquare.core.words import count

if TYPE_CHECKING:
    from townsquare.analysis.causes.claims import ClaimBelief
    from townsquare.analysis.causes.records import Evidence, HeldRecord
    from townsquare.analysis.causes.why import Move, Why
    from townsquare.record.run import Run

LARGEST = 10
LONGEST_TEXT = 60


def why(
    folder: options.Folder,
    /,
    *,
    agent: Annotated[str, Parameter(help=options.AGENT)],
    step: options.Whole | None = None,
    proposition: str | None = None,
    claim: options.Whole | None = None,
    without_record: options.Whole | None = None,
    as_json: options.AsJson = False,
) -> int:
    """Show which posts and argument records changed an agent's beliefs, by whom and by how much.

    Parameters
    ----------
    step
        The step; default: the largest changes of the run.
    proposition
        Only this proposition.
    claim
        A claim, by an id that `why` lists: belief in it at each exposure, and its parts (`credence`).
    without_record
        Recompute the belief without the argument record with this id, which `why` lists (log-odds rules).
    """
    from townsquare.analysis.causes.claims import claims_of
    from townsquare.analysis.causes.records import evidence, has_records
    from townsquare.analysis.verbs import other_meaning
    from townsquare.analysis.verbs import why as explain
    from townsquare.record.run import Run

    run = Run.open(folder)
    if not as_json and (other := other_meaning(run, agent)):
        complain(other, kind="note")
    if claim is not None:
        options.alone("--claim", {"--step": step, "--proposition": proposition, "--without-record": without_record})
        return _show_claim(run, agent, claim, as_json=as_json)
    causes = explain(run, agent, step=step, proposition=proposition)
    counted = has_records(run) or without_record is not None
    records = evidence(run, causes.agent, step, proposition) if counted else ()
    if as_json:
        return show_json(_plain(causes) | (_plain_records(records, without_record) if records else {}))
    if without_record is not None:
        _show_without(records, without_record)
        return 0
    for sentence in causes.sentences:
        print(safe(sentence))
    if step is None:
        _show_largest(causes, str(folder))
    for move in () if step is None else causes.moves:
        _show_move(causes, move)
    _show_records(records, LARGEST if step is None else None)
    if step is None:
        _show_claims(claims_of(run, causes.agent), f"{folder} --agent {causes.agent}")
    return 0


def _show_claims(beliefs: Sequence[ClaimBelief], words: str) -> None:
    """Print the claims whose belief changed most."""
    from townsquare.analysis.causes.claims import share

    rows = [
        (belief.claim, f"{share(belief.last.start)} to {share(belief.last.judged)}", len(belief.meetings), belief.truth,
         cut(LONGEST_TEXT)(belief.text))
        for belief in beliefs[:LARGEST]
    ]  # fmt: skip
    if rows:
        columns = (str, "id", "believed", "steps shown", "truth", "text")
        show("Belief in claims, before the first and at the last exposure", rows, columns)
        print(f"Why: townsquare why {words} --claim {rows[0][0]}")


def _show_claim(run: Run, agent: str, claim: int, *, as_json: bool) -> int:
    """Print how strongly an agent believed a claim at each exposure, with the parts of the belief."""
    from townsquare.analysis.causes.claims import claims_of, holds_claims, share
    from townsquare.analysis.verbs import agent_number

    number = agent_number(run, agent)
    beliefs = {belief.claim: belief for belief in claims_of(run, number)}
    if claim not in beliefs:
        met = ", ".join(map(str, list(beliefs)[:LARGEST]))
        met += f" and {len(beliefs) - LARGEST} more" if len(beliefs) > LARGEST else ""
        no_claims = "none: the belief rule of this run holds no belief in claims"
        none = "none: this agent was shown no claim" if holds_claims(run) else no_claims
        raise SettingError("--claim", got=str(claim), allowed=met or none)
    belief = beliefs[claim]
    if as_json:
        return show_json({**asdict(belief), "sentences": belief.sentences})
    for sentence in belief.sentences:
        print(safe(sentence))
    show(
        "Belief in the claim at each exposure, and its parts in log odds, which sum to it",
        [asdict(meeting) for meeting in belief.meetings], (str, "step"), (cut(28), "shown by=by"),
        (str, "label shown=shown_label"), (share, "believed=judged"),
        (digits(3, sign=True), "prior=start", "earlier sources=sources", "earlier exposures=readings", "label", "note"),
        (digits(3, sign=True), "sum=judged"),
        (share, "believed afterwards=remembered"), words=("shown by", "label shown"),
    )  # fmt: skip
    return 0


def _plain(causes: Why) -> dict[str, Any]:
    moves = [asdict(move) | picked(move, "change", "explained", "agrees") for move in causes.moves]
    return {**asdict(causes), "agrees": causes.agrees, "moves": moves}


def _show_move(causes: Why, move: Move) -> None:
    before = "not recorded (joined in this step)" if move.before is None else f"{move.before:+.6f}"
    print(f"{safe(causes.who)}, step {move.step}, {safe(move.proposition)}: {before} -> {move.after:+.6f}")
    if move.causes:
        rows = [{**asdict(cause), "by": safe(cause.name, 40)} for cause in move.causes]
        show(
            "", rows, (exact, "change=amount"), (str, "by"), (known(digits(3)), "trust"),
            (known(digits(3, sign=True)), "post stance=stance"), (str, "label"),
            (known(digits(3)), "label weight=weight"),
            ({None: "", True: "yes", False: "no"}.__getitem__, "first seen=first_seen"), (known(str), "post"),
            (cut(LONGEST_TEXT), "text"), words=("by", "label", "first seen", "text"),
        )  # fmt: skip
    print(f"{_sum(causes, move)}\n")


def _sum(causes: Why, move: Move) -> str:
    if not move.causes and not move.change:
        return "no contribution, no recorded change"
    total = f"sum of {count(len(move.causes), 'contribution')} {move.explained:+.9f}"
    if move.agrees is None:
        return f"{total}; no recorded change to compare with"
    verdict = "equal" if move.agrees else f"DIFFERENCE of {abs(move.explained - move.change):.3g}"
    scaled = "" if causes.unit == "stance" else f" (rule unit: {causes.unit}; contributions are scaled to stance)"
    return f"{total}, recorded change {move.change:+.9f}: {verdict}{scaled}"


def _show_largest(causes: Why, folder: str) -> None:
    largest = [move for move in causes.largest(LARGEST) if move.change]
    if not largest:
        return
    rows = [(move.step, move.proposition, move.change, move.before, move.after, _strongest(move)) for move in largest]
    title = f"Largest changes of {safe(causes.who)} (rule {causes.rule})"
    columns = (str, "step", "proposition"), (signed, "change", "from", "to"), (str, "largest cause in its direction")
    show(title, rows, *columns)
    show(
        "Largest contributors over all steps", causes.contributors[:LARGEST], (str, "contributor=name", "proposition"),
        (exact, "total change=amount"), (str, "contributions=rows"),
    )  # fmt: skip
    unexplained = [move for move in causes.moves if move.agrees is False]
    if unexplained:
        print(f"{len(unexplained)} of {len(causes.moves)} recorded changes differ from the sum of their contributions.")
    else:
        print(f"All {len(causes.moves)} recorded changes equal the sum of their contributions.")
    print(f"Details of one step: townsquare why {folder} --agent {causes.agent} --step {largest[0].step}")


def _strongest(move: Move) -> str:
    cause = move.main_cause
    return "" if cause is None else f"{safe(cause.name, 40)} {cause.amount:+.4g}"


# The part of `townsquare why` that shows argument records, and a belief without one of them.


LONGEST_RECORD_TEXT = 70


def _plain_records(evidence: tuple[Evidence, ...], claim: int | None) -> dict[str, Any]:
    """Return records, and the belief without one, as JSON-able values."""
    out: dict[str, Any] = {"evidence": [{**asdict(basis), "agrees": basis.agrees} for basis in evidence]}
    if claim is not None:
        basis = _holding(evidence, claim)
        out["without_record"] = {"proposition": basis.proposition, **asdict(basis.without(claim))}
    return out


def _show_records(evidence: tuple[Evidence, ...], most: int | None) -> None:
    """Print the records of an agent, those with the largest effect first; at most ``most`` per proposition."""
    for basis in evidence:
        ordered = sorted(basis.records, key=lambda record: (not record.active, -abs(record.amount), record.claim))
        active = sum(record.active for record in basis.records)
        title = f"Records of agent {basis.agent} on {safe(basis.proposition)} after step {basis.step}: {active} active"
        archived = len(basis.records) - active
        title += f", {archived} archived" if archived else ""
        if ordered:
            _show_table_of(title, ordered[:most])
        else:
            print(title)
        more = "" if most is None or len(ordered) <= most else f" ({len(ordered) - most} more records)"
        belief = f"log odds L = {basis.log_odds:+.6f}, stance S = {basis.stance:+.6f}"
        own = f"; profile {safe(basis.profile)}" if basis.profile else ""
        print(f"uptake u = {basis.uptake:g}, anchoring a = {basis.anchoring:g}{own}")
        equal = "as recorded" if basis.agrees else f"NOT EQUAL to the recorded {basis.recorded:+.6f}"
        print(f"The prior (log odds {basis.prior:+.6f}) and the records give {belief}{more}: {equal}\n")


def _show_without(evidence: tuple[Evidence, ...], claim: int) -> None:
    """Print the belief without one record."""
    basis = _holding(evidence, claim)
    left = basis.without(claim)
    record = next(record for record in basis.records if record.claim == claim)
    print(f"Without record {claim} ({safe(record.text, LONGEST_RECORD_TEXT)}), after step {basis.step}:")
    log_odds = f"log odds L {basis.log_odds:+.6f} -> {left.log_odds:+.6f}"
    print(f"  {safe(basis.proposition)}: {log_odds}, stance S {basis.stance:+.6f} -> {left.stance:+.6f}")
    if not record.active:
        print("  no change: the record is archived")


def _holding(evidence: tuple[Evidence, ...], claim: int) -> Evidence:
    for basis in evidence:
        if any(record.claim == claim for record in basis.records):
            return basis
    known = ", ".join(str(record.claim) for basis in evidence for record in basis.records if record.active)
    raise SettingError("--without-record", got=str(claim), allowed=known or "none: the agent has no records")


def _show_table_of(title: str, records: Sequence[HeldRecord]) -> None:
    def row(record: HeldRecord) -> dict[str, Any]:
        by = f" by {record.by}" if record.by is not None else ""
        adds, state = (exact(record.amount), "active") if record.active else ("0", f"{record.change}{by}")
        return asdict(record) | {"adds": adds, "state": state, "polarity": "for" if record.polarity > 0 else "against"}

    show(
        title, map(row, records), (str, "id=claim", "adds", "polarity"), (digits(3), "strength", "weight"),
        (str, "origin", "state", "since"), (known(str), "post"), (cut(24), "from=name"),
        (cut(LONGEST_RECORD_TEXT), "text"), words=("origin", "state", "from", "text"),
    )  # fmt: skip
