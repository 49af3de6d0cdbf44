"""Recorded runs written by hand: tables as rows of dicts, whatever is left out takes a plain default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from townsquare.core import schema
from townsquare.core.enums import AgentKind, PostKind, Veracity

_NONE_BY_DEFAULT = {
    "parent", "topic", "under", "note", "offered", "rank", "target", "text", "helpful", "reasoning", "result", "name",
    "explanation", "sources", "post",
}  # fmt: skip


def frame_of(table: str, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows of a table as it is recorded."""
    unknown = set().union(*rows) - {column.name for column in schema.TABLES[table].recorded}
    assert not unknown, f"{table} has no {unknown}"
    columns: dict[str, Any] = {}
    for column in schema.TABLES[table].recorded:
        default: Any = "" if column.dtype == "str" else (-1 if column.name in _NONE_BY_DEFAULT else 0)
        values = [row.get(column.name, default) for row in rows]
        columns[column.name] = (
            pl.Series(values, dtype=pl.String)
            if column.dtype == "str"
            else pl.Series(np.asarray(values, dtype=column.dtype))
        )
    return pl.DataFrame(columns)


@dataclass
class FrameRun:
    """A run whose tables are given as rows; satisfies :class:`townsquare.analysis.Reads`."""

    tables: Mapping[str, Sequence[Mapping[str, Any]] | pl.DataFrame]
    settings: Mapping[str, Any] = field(default_factory=dict)
    last_step: int = 2
    state: str = "finished"
    content_hash: str = "0" * 64
    version: str = "0.0.0"
    _made: dict[str, pl.DataFrame] = field(default_factory=dict, init=False, repr=False, compare=False)

    def table(self, name: str) -> pl.DataFrame:
        if name not in self._made:
            rows = self.tables.get(name, [])
            self._made[name] = rows if isinstance(rows, pl.DataFrame) else frame_of(name, rows)
        return self._made[name]

    def lazy(self, name: str) -> pl.LazyFrame:
        return self.table(name).lazy()


def settings(strategy: str = "none", rule: str = "exposure-bounded", **more: Any) -> dict[str, Any]:
    """A configuration with the keys that measures read."""
    return {
        "scenario": "by-hand",
        "seed": 1,
        "agents": 3,
        "steps": 2,
        "feed": {"seen_cap": 2000},
        "moderation": {"strategy": strategy},
        "beliefs": {"rule": rule},
        "policy": {"name": "statistical"},
        "record": {"trail": True},
        **more,
    }


def injected(post: int, veracity: Veracity, step: int = 1, **more: Any) -> dict[str, Any]:
    """A row of posts: injected by source 0."""
    return {
        "post": post, "kind": PostKind.INJECTED, "root": post, "step": step, "veracity": veracity, "text": post,
        "plausibility": 0.5, **more,
    }  # fmt: skip


def written(post: int, kind: PostKind, author: int, step: int = 1, **more: Any) -> dict[str, Any]:
    """A row of posts: an original, a share (give its root) or a comment."""
    return {"post": post, "kind": kind, "author": author, "root": post, "step": step, "text": post, **more}


def run_of_courses(courses: dict[int, list[float]], born: dict[int, int] | None = None, **tables: Any) -> FrameRun:
    """A run of one proposition; the list of an agent holds its stances from the step it was born in."""
    born = born or {}
    beliefs = [
        {"step": born.get(agent, 0) + i, "agent": agent, "stance": stance, "confidence": 0.5}
        for agent, course in courses.items()
        for i, stance in enumerate(course)
    ]
    agents = [{"agent": agent, "kind": AgentKind.PERSON, "born": born.get(agent, 0)} for agent in courses]
    last = max((int(row["step"]) for row in beliefs), default=0)
    named = [{"proposition": 0, "name": "tax", "text": "Tax it."}]
    return FrameRun({"agents": agents, "beliefs": beliefs, "propositions": named, **tables}, settings(), last_step=last)
