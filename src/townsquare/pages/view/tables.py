"""Long lists in pages, and the CSV file behind every view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from townsquare.analysis.beliefs import belief_course, stance_bins, stance_lines
from townsquare.analysis.engagement import engagement
from townsquare.analysis.health import participation
from townsquare.analysis.moderation import moderation_events
from townsquare.core.errors import SettingError
from townsquare.pages.view import agent as agents
from townsquare.pages.view import network, overview, post_queries, queries
from townsquare.pages.view import post as posts
from townsquare.pages.view.library import Snapshot
from townsquare.pages.view.query_string import Asked

PAGE = 50
"""Rows of a page of a list."""

TableOf = Callable[[Snapshot, Asked], pl.DataFrame]


_AGENT_ORDER: Mapping[str, list[pl.Expr]] = {
    "change": [pl.col("change").abs()],
    "followers": [pl.col("followers")],
    "start": [pl.col("start")],
    "end": [pl.col("end")],
    "agent": [],
}
_POST_ORDER = ("engagement", "step", "flags")


def page_of_agents(of: Snapshot, asked: Asked) -> dict[str, Any]:
    """A page of :func:`agents_asked_for`."""
    return _page(agents_asked_for(of, asked), asked)


def page_of_posts(of: Snapshot, asked: Asked) -> dict[str, Any]:
    """A page of :func:`posts_asked_for`."""
    return _page(posts_asked_for(of, asked), asked)


def agents_asked_for(of: Snapshot, asked: Asked) -> pl.DataFrame:
    """Persons by ``sort`` (``change``, ``followers``, ``start``, ``end``, ``agent``), of those that ``find`` names."""
    found = queries.agent_list(of, _number(of, asked))
    wanted, by = asked.word("find").strip().lower(), asked.word("sort", "change")
    if by not in _AGENT_ORDER:
        raise SettingError("sort", got=repr(by), allowed=", ".join(_AGENT_ORDER))
    if wanted.isdigit():
        found = found.filter(pl.col("agent").cast(pl.String).str.starts_with(wanted))
    elif wanted:
        found = found.filter(pl.col("who").str.to_lowercase().str.contains(wanted, literal=True))
    keys = _AGENT_ORDER[by]
    return found.sort([*keys, pl.col("agent")], descending=[*(True for _ in keys), False], nulls_last=True)


def posts_asked_for(of: Snapshot, asked: Asked) -> pl.DataFrame:
    """Roots by ``sort`` (``engagement``, ``step``, ``flags``), of one ``veracity`` and with ``find`` in their text."""
    total = pl.sum_horizontal("likes", "dislikes", "shares", "comments")
    found = post_queries.post_list(of).with_columns(total.alias("engagement"))
    wanted, by = asked.word("find").lower(), asked.word("sort", "engagement")
    if by not in _POST_ORDER:
        raise SettingError("sort", got=repr(by), allowed=", ".join(_POST_ORDER))
    if asked.word("veracity"):
        found = found.filter(pl.col("veracity") == asked.word("veracity"))
    if wanted:
        found = found.filter(pl.col("content").str.to_lowercase().str.contains(wanted, literal=True))
    return found.sort([by, "root"], descending=[by != "step", False])


def _page(found: pl.DataFrame, asked: Asked) -> dict[str, Any]:
    first = max(0, asked.whole("from", 0))
    return {"total": found.height, "from": first, "page": PAGE, "rows": found.slice(first, PAGE).to_dicts()}


def run_table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The list of runs as a table; problems and errors as text."""
    names = ("id", "scenario", "arm", "seed", "state", "health", "step", "steps", "agents", "rule", "moderation",
             "refused_share")  # fmt: skip
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


def _seen_by(of: Snapshot, root: int) -> pl.DataFrame:
    return posts.first_seen(of, post_queries.shown_to(of, root))


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
    "agents": agents_asked_for,
    "posts": posts_asked_for,
    "beliefs": lambda of, asked: queries.beliefs_of(of, asked.whole("agent")),
    "persona": lambda of, asked: queries.persona(of, asked.whole("agent")),
    "exposures": lambda of, asked: queries.exposures_of(of, asked.whole("agent"), asked.step(of)),
    "memories": lambda of, asked: queries.memories_of(of, asked.whole("agent"), asked.step(of)),
    "actions": lambda of, asked: queries.actions_of(of, asked.whole("agent"), asked.step(of)),
    "why": _why,
    "records": _records,
    "thread": lambda of, asked: post_queries.thread_of(of.kept, posts.root_of(of, asked.whole("post"))),
    "notes": lambda of, asked: post_queries.notes_of(of.kept, posts.root_of(of, asked.whole("post"))),
    "verdicts": lambda of, asked: posts.findings(of, posts.root_of(of, asked.whole("post"))),
    "seen": lambda of, asked: post_queries.shown_to(of, posts.root_of(of, asked.whole("post"))),
    "seen-by": lambda of, asked: _seen_by(of, posts.root_of(of, asked.whole("post"))),
    "moved": lambda of, asked: posts.moved(of, posts.root_of(of, asked.whole("post"))),
}
"""The table behind each part of a view, by the last part of its address."""
