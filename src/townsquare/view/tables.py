"""Long lists in pages, and the CSV file behind every view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from townsquare.analysis.beliefs import belief_course, stance_bins, stance_lines
from townsquare.analysis.engagement import engagement
from townsquare.analysis.health import participation
from townsquare.analysis.moderation import moderation_events
from townsquare.errors import SettingError
from townsquare.view import agent as agents
from townsquare.view import network, overview, queries
from townsquare.view import post as posts
from townsquare.view.library import Snapshot
from townsquare.view.query_string import Asked

PAGE = 50
"""Rows of a page of a list."""

TableOf = Callable[[Snapshot, Asked], pl.DataFrame]


def page_of_agents(of: Snapshot, asked: Asked) -> dict[str, Any]:
    """Persons by ``sort`` (``change``, ``followers``, ``start``, ``end``, ``agent``), of those that ``find`` names."""
    found = _agents(of, asked)
    order = {
        "change": [pl.col("change").abs()],
        "followers": [pl.col("followers")],
        "start": [pl.col("start")],
        "end": [pl.col("end")],
    }.get(asked.word("sort", "change"), [])
    if order:
        found = found.sort([*order, pl.col("agent")], descending=[True, False], nulls_last=True)
    return _page(found, asked)


def page_of_posts(of: Snapshot, asked: Asked) -> dict[str, Any]:
    """Roots by ``sort`` (``engagement``, ``step``, ``flags``), of one ``veracity`` and with ``find`` in their text."""
    total = pl.sum_horizontal("likes", "dislikes", "shares", "comments")
    found = queries.post_list(of).with_columns(total.alias("engagement"))
    if asked.word("veracity"):
        found = found.filter(pl.col("veracity") == asked.word("veracity"))
    if asked.word("find"):
        found = found.filter(
            pl.col("content").str.to_lowercase().str.contains(asked.word("find").lower(), literal=True)
        )
    by = asked.word("sort", "engagement")
    if by not in {"engagement", "step", "flags"}:
        raise SettingError("sort", got=repr(by), allowed="engagement, step, flags")
    return _page(found.sort([by, "root"], descending=[by != "step", False]), asked)


def _agents(of: Snapshot, asked: Asked) -> pl.DataFrame:
    found = queries.agent_list(of, queries.proposition_number(of.kept, asked.word("proposition")))
    wanted = asked.word("find").strip().lower()
    if wanted.isdigit():
        return found.filter(pl.col("agent").cast(pl.String).str.starts_with(wanted))
    return found.filter(pl.col("who").str.to_lowercase().str.contains(wanted, literal=True)) if wanted else found


def _page(found: pl.DataFrame, asked: Asked) -> dict[str, Any]:
    first = max(0, asked.whole("from", 0))
    return {"total": found.height, "from": first, "page": PAGE, "rows": found.slice(first, PAGE).to_dicts()}


def run_table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The list of runs as a table; problems and errors as text."""
    names = ("id", "scenario", "arm", "seed", "state", "step", "steps", "agents", "rule", "moderation", "refused_share")
    flat = [
        {
            **{name: row.get(name) for name in names},
            "problems": "; ".join(row.get("problems") or []) or (row["error"] or {}).get("got", ""),
        }
        for row in rows
    ]
    return pl.DataFrame(flat, infer_schema_length=None)


def _number(of: Snapshot, asked: Asked) -> int:
    return queries.proposition_number(of.kept, asked.word("proposition"))


def _name(of: Snapshot, asked: Asked) -> str:
    return str(queries.propositions(of.kept).filter(pl.col("proposition") == _number(of, asked))["name"][0])


def _why(of: Snapshot, asked: Asked) -> pl.DataFrame:
    return agents.cause_table(of, asked.whole("agent"), asked.step(of), _name(of, asked))


def _records(of: Snapshot, asked: Asked) -> pl.DataFrame:
    found = agents.records(of, asked.whole("agent"), asked.step(of), _name(of, asked))
    return pl.DataFrame(list(found["records"]), infer_schema_length=None)


TABLES: Mapping[str, TableOf] = {
    "course": lambda of, asked: belief_course(of.kept),
    "lines": lambda of, asked: stance_lines(of.kept, overview.LINES),
    "distribution": lambda of, asked: stance_bins(of.kept),
    "engagement": lambda of, asked: engagement(of.kept),
    "moderation": lambda of, asked: moderation_events(of.kept),
    "participation": lambda of, asked: participation(of.kept),
    "network": lambda of, asked: network.node_table(of, asked.step(of), _number(of, asked)),
    "agents": _agents,
    "posts": lambda of, asked: queries.post_list(of),
    "beliefs": lambda of, asked: queries.beliefs_of(of, asked.whole("agent")),
    "persona": lambda of, asked: queries.persona(of, asked.whole("agent")),
    "exposures": lambda of, asked: queries.exposures_of(of, asked.whole("agent"), asked.step(of)),
    "actions": lambda of, asked: queries.actions_of(of, asked.whole("agent"), asked.step(of)),
    "why": _why,
    "records": _records,
    "thread": lambda of, asked: queries.thread_of(of.kept, posts.root_of(of, asked.whole("post"))),
    "notes": lambda of, asked: queries.notes_of(of.kept, posts.root_of(of, asked.whole("post"))),
    "verdicts": lambda of, asked: posts.findings(of, posts.root_of(of, asked.whole("post"))),
    "seen": lambda of, asked: queries.shown_to(of, posts.root_of(of, asked.whole("post"))),
    "moved": lambda of, asked: posts.moved(of, posts.root_of(of, asked.whole("post"))),
}
"""The table behind each part of a view, by the last part of its address."""
