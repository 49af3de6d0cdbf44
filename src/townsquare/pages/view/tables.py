"""What a question takes from its query string, long lists in pages, and the CSV file behind every view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from townsquare.analysis.beliefs import belief_course, stance_bins
from townsquare.analysis.catalog import analyze
from townsquare.analysis.contract import CachedRun
from townsquare.analysis.engagement import engagement
from townsquare.analysis.health import participation
from townsquare.analysis.moderation import moderation_events
from townsquare.core.extras import MissingExtra
from townsquare.pages.view import agent as agents
from townsquare.pages.view import cascade, network, notes, post_queries, queries
from townsquare.pages.view import post as posts
from townsquare.pages.view.library import Snapshot
from townsquare.pages.view.query_string import Asked

PAGE = 50
"""Rows of a page of a list."""

TableOf = Callable[[Snapshot, Asked], pl.DataFrame]


_AGENT_ORDER = ("change", "followers", "start", "end", "agent")
_POST_ORDER = ("engagement", "step", "flags")


# --- what a question takes ---------------------------------------------------------------------------------


def _number(of: Snapshot, asked: Asked) -> int:
    return queries.proposition_number(of.cached, asked.word("proposition"))


def _name(of: Snapshot, asked: Asked) -> str:
    return str(queries.propositions(of.cached).filter(pl.col("proposition") == _number(of, asked))["name"][0])


PARAMETERS: Mapping[str, Callable[[Snapshot, Asked], Any]] = {
    "step": lambda of, asked: asked.step(of),
    "number": _number,
    "proposition": _name,
    "root": lambda of, asked: posts.root_of(of, asked.whole("post")),
}
"""How parameters are read from a query string, by name; all others are whole numbers."""


def asks(answer: Callable[..., Any], *names: str) -> Callable[[Snapshot, Asked], Any]:
    """Return a question: what answers it from a snapshot, and the parameters that it takes beside."""

    def ask(of: Snapshot, asked: Asked) -> Any:
        given = (PARAMETERS[name](of, asked) if name in PARAMETERS else asked.whole(name) for name in names)
        return answer(of, *given)

    return ask


def measured(measure: Callable[[CachedRun], pl.DataFrame]) -> TableOf:
    """Return a question without parameters that a measure of a run answers."""
    return lambda of, _: measure(of.cached)


# --- lists -------------------------------------------------------------------------------------------------


def paged(table: TableOf) -> Callable[[Snapshot, Asked], dict[str, Any]]:
    """Return a question for ``PAGE`` rows of a table, beginning at the row ``from``."""

    def page(of: Snapshot, asked: Asked) -> dict[str, Any]:
        rows, first = table(of, asked), max(0, asked.whole("from", 0))
        return {"total": rows.height, "from": first, "page": PAGE, "rows": rows.slice(first, PAGE).to_dicts()}

    return page


def agents_asked_for(of: Snapshot, asked: Asked) -> pl.DataFrame:
    """Return persons whose number or name matches ``find``, ordered by ``sort``; ``trait: answer`` finds answers."""
    agents = queries.agent_list(of, _number(of, asked))
    wanted, by = asked.word("find").strip().lower(), asked.one_of("sort", _AGENT_ORDER)
    if wanted.isdigit():
        number, named = pl.col("agent").cast(pl.String), pl.col("who").str.starts_with(f"{wanted}/")
        agents = agents.filter(number.str.starts_with(wanted) | named)  # respondents may have numbers for names
    elif ":" in wanted:
        agents = agents.filter(pl.col("agent").is_in(queries.who_answered(of, wanted).implode()))
    elif wanted:
        agents = agents.filter(pl.col("who").str.to_lowercase().str.contains(wanted, literal=True))
    key = pl.col("change").abs() if by == "change" else pl.col(by)
    return agents.sort([key, pl.col("agent")], descending=[by != "agent", False], nulls_last=True)


def posts_asked_for(of: Snapshot, asked: Asked) -> pl.DataFrame:
    """Return roots of one ``veracity`` whose text contains ``find``, ordered by ``sort``."""
    total = pl.sum_horizontal("likes", "dislikes", "shares", "comments")
    rows = post_queries.post_list(of).with_columns(total.alias("engagement"))
    wanted, by = asked.word("find").lower(), asked.one_of("sort", _POST_ORDER)
    if asked.word("veracity"):
        rows = rows.filter(pl.col("veracity") == asked.word("veracity"))
    if wanted:
        rows = rows.filter(pl.col("content").str.to_lowercase().str.contains(wanted, literal=True))
    return rows.sort([by, "root"], descending=[by != "step", False])


def run_table(rows: Sequence[Mapping[str, Any]], comparisons: Sequence[Mapping[str, Any]] = ()) -> pl.DataFrame:
    """Return the list of runs as a table, with the comparison and outcome of each; problems and errors as text."""
    names = ("id", "scenario", "arm", "seed", "state", "health", "step", "steps", "agents", "rule", "moderation",
             "refused_share")  # fmt: skip
    of_run = {run: (of, member) for of in comparisons for run, member in of["members"].items()}
    flat = []
    for row in rows:
        of, member = of_run.get(row["id"], ({}, {}))
        compared = {"comparison": of.get("id"), "outcome": of.get("outcome"), "value": member.get("value")}
        problems = "; ".join(row.get("problems") or []) or (row["error"] or {}).get("got", "")
        flat.append({name: row.get(name) for name in names} | compared | {"problems": problems})
    return pl.DataFrame(flat, infer_schema_length=None)


def _measure(of: Snapshot, asked: Asked) -> pl.DataFrame:
    """Return the table of the measure ``name``: every registered one can be asked for."""
    ((_, frame),) = analyze(of.cached, [asked.word("name", "outcomes")])
    if isinstance(frame, MissingExtra):
        raise frame
    return frame


def _records(of: Snapshot, agent: int, step: int, proposition: str) -> pl.DataFrame:
    return pl.DataFrame(list(agents.records(of, agent, step, proposition)["records"]), infer_schema_length=None)


TABLES: Mapping[str, TableOf] = {
    "measure": _measure,
    "course": measured(belief_course),
    "distribution": measured(stance_bins),
    "engagement": measured(engagement),
    "moderation": measured(moderation_events),
    "participation": measured(participation),
    "network": asks(network.node_table, "step", "number"),
    "reach": asks(network.reach_table, "root"),
    "claim": asks(network.claim_table, "step", "number"),
    "agents": agents_asked_for,
    "posts": posts_asked_for,
    "beliefs": asks(queries.beliefs_of, "agent"),
    "persona": asks(queries.persona, "agent"),
    "exposures": asks(queries.exposures_of, "agent", "step"),
    "memories": asks(queries.memories_of, "agent", "step"),
    "actions": asks(queries.actions_of, "agent", "step"),
    "why": asks(agents.cause_table, "agent", "step", "proposition"),
    "claims": asks(agents.claim_table, "agent"),
    "records": asks(_records, "agent", "step", "proposition"),
    "cascade": cascade.cascade_table,
    "thread": asks(lambda of, root: post_queries.thread_of(of.cached, root), "root"),
    "notes": asks(lambda of, root: post_queries.notes_of(of.cached, root), "root"),
    "plane": asks(notes.plane, "step"),
    "raters": asks(notes.raters, "step", "number"),
    "verdicts": asks(posts.findings, "root"),
    "seen": asks(post_queries.shown_to, "root"),
    "moved": asks(posts.moved, "root"),
}
"""The table behind each part of a view, by the last part of its address."""
