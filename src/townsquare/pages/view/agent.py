"""The agent view: who it is, what it was shown, what it did, and why it moved."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import polars as pl

from townsquare.analysis.causes.claims import belief_parts, claims_of, holds_claims
from townsquare.analysis.causes.contributions import unit_of
from townsquare.analysis.causes.records import Evidence, evidence, has_records
from townsquare.analysis.causes.why import TOLERANCE, Cause, Move, total_of, why
from townsquare.beliefs.equation import stances_of, start_log_odds
from townsquare.core.enums import TrailKind, word_of
from townsquare.core.errors import SettingError
from townsquare.pages.view import network, queries
from townsquare.pages.view.answers import columns
from townsquare.pages.view.library import Snapshot
from townsquare.settings.resolve import resolve

MOST_CLAIMS = 10
"""Claims of an agent that are listed where nobody asks for more."""
MOST_MEMORIES = 100
"""Memories that a page takes at most; the CSV has all."""
_NO_MARGIN = 1e-15


def agent(of: Snapshot, number: int) -> dict[str, Any]:
    """Return persona, course of its beliefs, size of its move in each step, neighbors."""
    who = check_agent(of, number)
    course = queries.beliefs_of(of, number)
    around = network.neighbors(of, number)
    return {
        "agent": number,
        **who,
        "persona": queries.persona(of, number).to_dicts(),
        "persona_text": queries.persona_text(of, number),
        "survey_text": queries.survey_text(of, number),
        "course": columns(course),
        "follows": len(around["follows"]),
        "followers": len(around["followed_by"]),
        "records": has_records(of.cached),
        "claims": holds_claims(of.run),
    }


def check_agent(of: Snapshot, number: int) -> dict[str, Any]:
    """Name, kind and step of joining of an agent. Raises ``SettingError`` if none exists of that number."""
    rows = queries.agent_names(of.cached).filter(pl.col("agent") == number)
    if rows.is_empty():
        raise SettingError("agent", got=str(number), allowed=f"0 to {of.cached.table('agents').height - 1}")
    return {name: rows[name][0] for name in ("who", "kind", "born")}


def agent_step(of: Snapshot, number: int, step: int) -> dict[str, Any]:
    """Return what an agent was shown in a step, what it did, and what it remembers after it."""
    return {
        "memories": queries.memories_of(of, number, step).head(MOST_MEMORIES).to_dicts(),
        "exposures": queries.exposures_of(of, number, step).to_dicts(),
        "actions": queries.actions_of(of, number, step).to_dicts(),
    }


def claims(of: Snapshot, number: int, most: int) -> dict[str, Any]:
    """Return how far an agent believed at most so many of its claims, changed answers first, in sentences."""
    beliefs = claims_of(queries.OfAgent(of, number), number)
    listed = [{**asdict(belief), "sentences": belief.sentences} for belief in beliefs[:most]]
    return {"met": len(beliefs), "claims": listed}


def claim_table(of: Snapshot, number: int) -> pl.DataFrame:
    """Return the parts of every belief in a claim at every showing."""
    return belief_parts(queries.OfAgent(of, number), agent=number)


def move_of(of: Snapshot, number: int, step: int, proposition: str) -> Move:
    """Return one move of one belief, with its causes. Raises as :func:`townsquare.analysis.causes.why.why` does."""
    reasons = why(queries.OfAgent(of, number), number, step, proposition)
    if not reasons.moves:
        raise SettingError("step", got=str(step), allowed="a step after which the agent had joined")
    return reasons.moves[0]


def waterfall(of: Snapshot, number: int, step: int, proposition: str) -> dict[str, Any]:
    """Return a move in the unit of the rule: before, each contribution, after, and their sum.

    ``before`` and ``after`` are recorded stances; under a rule in log odds they are converted, and the change is what
    the trail says, since a stance near 1 no longer tells its log odds.
    """
    move = move_of(of, number, step, proposition)
    unit = unit_of(of.run)
    total = total_of(cause.recorded for cause in move.causes)
    if unit == "stance":
        after, agrees = move.after, move.agrees
        before = after - total if move.before is None else move.before
    else:
        after = float(start_log_odds([move.after], margin=_NO_MARGIN)[0])
        before = after - total
        says = float(stances_of([before])[0])
        agrees = None if move.before is None else abs(says - move.before) <= TOLERANCE
    return {
        "step": step,
        "proposition": proposition,
        "unit": unit,
        "joined": move.before is None,
        "stance_before": move.before,
        "stance_after": move.after,
        "before": before,
        "after": after,
        "sum": total,
        "change": after - before,
        "agrees": agrees,
        "causes": causes_of(of, number, step, proposition, move),
    }


def causes_of(of: Snapshot, number: int, step: int, proposition: str, move: Move) -> list[dict[str, Any]]:
    """Return the contributions to a move, each with the factor of its novelty and with the argument record that it is.

    ``novelty`` is the factor that the rule gave the row; None where the rule does not ask whether it was new.
    ``record`` is None under rules without argument records; else ``claim``, ``text`` (untrusted), ``polarity``,
    ``strength`` in [0, 1], and ``by``: the text of the record that replaced it, or None.
    """
    records = _records_by_cause(of, number, step, proposition) if has_records(of.cached) else {}
    factors = _novelty(of, step)
    causes = []
    for cause in move.causes:
        novelty = None if factors is None or cause.first_seen is None else factors[0 if cause.first_seen else 1]
        waiting = records.get((cause.kind, cause.rank, cause.post, cause.recorded))
        causes.append({**asdict(cause), "novelty": novelty, "record": waiting.pop(0) if waiting else None})
    return causes


def _records_by_cause(of: Snapshot, number: int, step: int, proposition: str) -> dict[tuple[Any, ...], list[Any]]:
    """Return records by the row of the trail that they are: each change of a record has one, in the same order."""
    wanted = queries.proposition_number(of.cached, proposition)
    trail = of.run.rows_where("trail", agent=number, step=step).filter(pl.col("proposition") == wanted)
    amounts: dict[tuple[Any, ...], list[float]] = {}
    for kind, rank, post, amount in trail.select("kind", "rank", "post", "amount").iter_rows():
        amounts.setdefault((word_of(TrailKind, kind), rank, post), []).append(amount)
    records_of: dict[tuple[Any, ...], list[Any]] = {}
    for change in queries.record_changes(of, number, step, wanted):
        cause = (change["kind"], change["rank"], change["post"])
        if amounts.get(cause):
            kind, rank, post = cause
            key = (kind, None if rank < 0 else rank, None if post < 0 else post, amounts[cause].pop(0))
            records_of.setdefault(key, []).append({name: change[name] for name in _RECORD})
    return records_of


_RECORD = ("claim", "text", "polarity", "strength", "by")


def _novelty(of: Snapshot, step: int) -> tuple[float, float] | None:
    """Return factors of a root at first sight and of one seen before; None where the rule of the run has none."""
    params: Any = resolve(of.run.settings).at(step).params["beliefs"]
    if not getattr(params, "weigh_novelty", hasattr(params, "novelty_new")):
        return None
    return float(params.novelty_new), float(params.novelty_repeat)


def records(of: Snapshot, number: int, step: int, proposition: str) -> dict[str, Any]:
    """Return argument records after a step, active and archived; none under rules without them."""
    beliefs = _evidence(of, number, step, proposition)
    return {**asdict(beliefs[0]), "agrees": beliefs[0].agrees} if beliefs else {"records": []}


def _evidence(of: Snapshot, number: int, step: int, proposition: str) -> tuple[Evidence, ...]:
    return evidence(queries.OfAgent(of, number), number, step, proposition) if has_records(of.cached) else ()


def cause_table(of: Snapshot, number: int, step: int, proposition: str) -> pl.DataFrame:
    """Return the bars of the waterfall, for the CSV."""
    rows = causes_of(of, number, step, proposition, move_of(of, number, step, proposition))
    for row in rows:
        record = row.pop("record") or dict.fromkeys(_RECORD)
        row |= {f"record_{name}": record[name] for name in _RECORD}
    names = [*(field.name for field in fields(Cause)), "novelty", *(f"record_{name}" for name in _RECORD)]
    frame = pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame(schema=names)
    return frame.rename({"amount": "amount_in_stance", "recorded": "amount"})


def without_record(of: Snapshot, number: int, step: int, proposition: str, claim: int) -> dict[str, Any]:
    """Return the belief without one argument record: exact, since records add; what it had archived stays archived."""
    if not has_records(of.cached):
        raise SettingError("record", got=str(claim), allowed="none: the rule of this run keeps no records")
    beliefs = _evidence(of, number, step, proposition)
    if not beliefs:
        raise SettingError("record", got=str(claim), allowed="none: this agent has no belief in this step")
    left = beliefs[0].without(claim)
    return {"claim": claim, "stance": left.stance, "recorded": beliefs[0].stance, "log_odds": left.log_odds}
