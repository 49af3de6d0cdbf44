"""The tables of MOSAIC's appendix D as SQL views over ours, so that queries written for that schema run.

Source: seeds/mosaic.txt, appendix D. Columns bear the names and the types of that schema; what a simulation of ours
does not have is NULL. ``docs/record.md`` states the deliberate differences, and what every id, count and time means.

``views.sql`` holds the SELECT of each view. A query that names a view computes it once (``AS MATERIALIZED``): SQLite
can index the outcome for a join, which it cannot do for ids that are combined from a word and a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import IntEnum
from importlib.resources import files as package_files
from typing import Any

from townsquare.core.actions import SPECS, ActionKind, On
from townsquare.core.enums import ActionStatus, AgentKind, LogKind, MemoryKind, PostKind, Veracity, Verdict
from townsquare.core.schema import EPOCH

ACTION_WORDS = {kind: spec.mosaic for kind, spec in SPECS.items()}
"""``user_actions.action_type``; MOSAIC has no dislikes."""
NEWS_TYPES = {Veracity.TRUE: "real", Veracity.FALSE: "fake"}
"""``posts.news_type`` and ``fact_checks.groundtruth``."""
INFLUENCE = {"followers": 0.4, "likes": 0.3, "shares": 0.2, "comments": 0.1}
"""Weights of what an account received, each as a share of the most that any account did."""
INFLUENCER_ABOVE = 0.5
ROOT_POSTS = (PostKind.ORIGINAL, PostKind.INJECTED, PostKind.MESSAGE)
"""Kinds with rows in ``spread_metrics``: neither shares, which count for their root, nor comments."""
SPREAD = {
    "num_likes": ActionKind.LIKE, "num_shares": ActionKind.SHARE, "num_flags": ActionKind.FLAG,
    "num_comments": ActionKind.COMMENT, "num_notes": ActionKind.ADD_NOTE, "num_note_ratings": ActionKind.RATE_NOTE,
}  # fmt: skip
"""Columns of ``spread_metrics`` that count distinct users; ``total_interactions`` is their sum."""


class _Macro(str):
    """A text whose ``?`` is what a placeholder says after its colon: ``{day:p.step}``."""

    def __format__(self, argument: str) -> str:
        return self.replace("?", argument)


# PostgreSQL puts JSON together by hand: `json_object_agg` puts spaces where SQLite has none.
_DIALECTS = {
    "sqlite": {
        "day": _Macro(f"datetime('{EPOCH}', ? || ' days')"),
        "persona": "group_concat(label || ': ' || answer, '; ')",
        "labels": "json_group_object(label, CASE WHEN answer = CAST(value AS TEXT) THEN value ELSE answer END)",
        "sources": "json_array(s.content)",
    },
    "postgresql": {
        "day": _Macro(f"to_char(timestamp '{EPOCH}' + ? * interval '1 day', 'YYYY-MM-DD HH24:MI:SS')"),
        "persona": "string_agg(label || ': ' || answer, '; ' ORDER BY trait)",
        "labels": "'{' || string_agg(to_json(label) || ':' || CASE WHEN answer = CAST(value AS TEXT) THEN answer"
        " ELSE CAST(to_json(answer) AS TEXT) END, ',' ORDER BY trait) || '}'",
        "sources": "'[' || to_json(s.content) || ']'",
    },
}


def _when(words: Mapping[Any, str] | type[IntEnum]) -> str:
    pairs = words.items() if isinstance(words, Mapping) else [(word, word.name.lower()) for word in words]
    return " ".join(f"WHEN {int(word)} THEN '{name}'" for word, name in pairs)


def _listed(kinds: Iterable[IntEnum]) -> str:
    return ", ".join(str(int(kind)) for kind in kinds)


_NAMES: dict[str, Any] = {
    **{kind.__name__: kind for kind in (ActionKind, ActionStatus, AgentKind, LogKind, PostKind, Verdict)},
    **{f"on_{on.name.lower()}": _listed(kind for kind, spec in SPECS.items() if spec.on == on) for on in On},
    "action_words": _when(ACTION_WORDS),
    "news_types": _when(NEWS_TYPES),
    "verdicts": _when(Verdict),
    "log_kinds": _when(LogKind),
    "memory_kinds": _when(MemoryKind),
    "item": f"(CASE p.kind WHEN {PostKind.COMMENT:d} THEN 'comment-' ELSE 'post-' END || p.post)",
    "influence": " + ".join(f"{w} * coalesce(1.0 * c.{x} / nullif(m.{x}, 0), 0)" for x, w in INFLUENCE.items()),
    "influencer_above": INFLUENCER_ABOVE,
    "roots": _listed(ROOT_POSTS),
    "spread_kinds": _listed(kind for kind in SPREAD.values() if kind != ActionKind.RATE_NOTE),
    "spread_counts": ", ".join(f"count(*) FILTER (WHERE kind = {kind:d}) AS {x}" for x, kind in SPREAD.items()),
    "spread_sums": ", ".join(f"CAST(sum(coalesce(n.{x}, 0)) OVER so_far AS BIGINT) AS {x}" for x in SPREAD),
    "spread_names": ", ".join(SPREAD),
    "spread_total": " + ".join(SPREAD),
}
_SECTION = re.compile(r"^-- view (\w+): (.*)\n((?:(?!-- ).*\n)+)", re.MULTILINE)
_SECTIONS = _SECTION.findall(package_files(__package__).joinpath("views.sql").read_text(encoding="utf-8"))


def _views(dialect: str) -> dict[str, str]:
    form, names = "WITH shown AS MATERIALIZED (\n{}\n) SELECT * FROM shown", {**_NAMES, **_DIALECTS[dialect]}
    return {view: form.format(select.strip().format(**names)) for view, _, select in _SECTIONS}


VIEWS = _views("sqlite")
"""The SELECT of every view, as SQLite has it, in the order of appendix D."""
POSTGRESQL_VIEWS = _views("postgresql")
"""The same for PostgreSQL."""
MEANINGS = {view: meaning for view, meaning, _ in _SECTIONS}
"""What one row of every view is."""


def tables_of(view: str) -> frozenset[str]:
    """Return the tables of ``schema`` that a view reads.

    >>> sorted(tables_of("follows"))
    ['follows']
    """
    return frozenset(re.findall(r"\bts_(\w+)", VIEWS[view]))
