"""Every table and column of a run, once; their code words stand in :mod:`townsquare.core.enums`.

Everything else follows from this page: the world's columns, the rows that stages return, the SQLite tables
(``ts_<name>``), the Parquet parts, the content hash, the docs. A column says its dtype, its range and unit, what it
means, and whether it is hashed. ``current=True`` marks a value that the world keeps up to date from the recorded rows
(a count, a status): it is state, never recorded, and can always be rebuilt from the rows.

Sources: MOSAIC appendix D for what a relational record of such a platform holds.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from townsquare.core import agent_tables
from townsquare.core.actions import ActionKind
from townsquare.core.columns import AGENT, POST, STEP, Column, Table, table
from townsquare.core.enums import (
    ActionStatus,
    AgentKind,
    CallOutcome,
    HoldingChange,
    LogKind,
    MemoryKind,
    NoteStatus,
    Origin,
    PostKind,
    PostStatus,
    PostType,
    Reason,
    Scorer,
    Slot,
    TrailKind,
    Veracity,
    Verdict,
)

__all__ = [
    "ActionKind",
    "ActionStatus",
    "AgentKind",
    "CallOutcome",
    "Column",
    "Columns",
    "EPOCH",
    "HoldingChange",
    "LogKind",
    "MemoryKind",
    "NONE",
    "NoteStatus",
    "Origin",
    "PostKind",
    "PostStatus",
    "PostType",
    "RECORD_VERSION",
    "Reason",
    "Scorer",
    "Slot",
    "TABLES",
    "Table",
    "TrailKind",
    "Veracity",
    "Verdict",
    "empty",
    "rows",
]

Columns = Mapping[str, npt.NDArray[np.generic] | list[str]]
NONE = -1  # in a column that points at a row: it points at none
EPOCH = "2025-01-01"  # what counts as the day of step 0 where a date is wanted; a step is a day


_C = Column
_STEP, _AGENT, _POST = STEP, AGENT, POST
_PROPOSITION = _C("proposition", "i2", "row of propositions")


def _count(name: str, what: str, *, current: bool = False, repeats: bool = False) -> Column:
    return _C(name, "i4", what, "count", current=current, repeats=repeats)


_TABLES = (
    table(
        "propositions",
        "the statements that beliefs are about; +1 is for, -1 against",
        _PROPOSITION,
        _C("name", "str", "short name, as settings and columns use it"),
        _C("text", "str", "the statement"),
    ),
    table(
        "trait_values",
        "the words behind the codes of `traits`",
        _C("trait", "i2", "number of the trait, in the order of the question bank"),
        _C("value", "i2", "code of the answer; for a number, the number itself"),
        _C("label", "str", "name of the trait"),
        _C("answer", "str", "the answer"),
    ),
    table(
        "texts",
        "every text once; other tables hold its row",
        _C("text", "i4", "row of texts"),
        _C("content", "str", "the text: untrusted, escape it wherever it is shown"),
        kept=True,
    ),
    table(
        "agents",
        "one row a simulated account; the row is its id",
        _AGENT,
        _C("kind", "u1", "person or source", words=AgentKind),
        _C("born", "i4", "the step in which it joined", "step"),
        _C("activity", "f8", "how active it is, relative to a mean of 1; at least 0", "ratio"),
        _C("policy", "i2", "member of the policy mix it belongs to; 0 without a mix"),
        _C("credibility", "f8", "of a source: the trust it starts with, 0 to 1; NaN for persons"),
        _C("name", "i4", "row of texts: the name of a source or of an imported account; -1 for none"),
        kept=True,
    ),
    table(
        "traits",
        "answers of each person to the question bank",
        _AGENT,
        _C("trait", "i2", "number of the trait"),
        _C("value", "i2", "code of the answer, see trait_values"),
        bulky=True,
    ),
    table(
        "treatments",
        "who was assigned to which treatment, at birth and for good; no rows in a run without treatments",
        _AGENT,
        _C("treatment", "i2", "number of the treatment in the run's settings, from 0"),
        _C("assigned", "?", "whether this agent gets its effects"),
        bulky=True,
    ),
    table(
        "profiles",
        "uptake and anchoring that agents have of their own, for life; no rows in a run without `beliefs.profiles`",
        _AGENT,
        _C("profile", "i4", "row of texts: the name of the profile it drew"),
        _C("uptake", "f8", "u"),
        _C("anchoring", "f8", "a"),
        bulky=True,
    ),
    table(
        "follows",
        "the follow graph as events: the first rows, with step 0, are the initial graph",
        _STEP,
        _C("follower", "i4", "row of agents: sees the posts of the followed"),
        _C("followed", "i4", "row of agents"),
        _C("change", "i1", "+1 follow, -1 unfollow"),
        bulky=True,
    ),
    table(
        "posts",
        "original posts, shares, comments, injected posts, messages of events",
        _POST,
        _C("key", "u8", "64-bit key by which draws are made"),
        _C("kind", "u1", "original, share, comment, injected or message", words=PostKind),
        _C("author", "i4", "row of agents: who wrote it, or passed it on"),
        _C("root", "i4", "row of posts: what a share passes on; else itself"),
        _C("parent", "i4", "row of posts: what a comment answers, or a share was made from; -1 for none"),
        _STEP,
        _C("text", "i4", "row of texts"),
        _C("type", "u1", "post or news", words=PostType),
        _C("topic", "i4", "row of texts: the topic given with an injected post; -1 for none"),
        _C("veracity", "u1", "ground truth; agents never see it", words=Veracity),
        _C("plausibility", "f8", "how believable a lay reader finds it, 0 to 1"),
        _C("status", "u1", "active or taken down", words=PostStatus, current=True),
        _C("verdict", "u1", "the verdict in force", words=Verdict, current=True),
        _C("confidence", "f8", "confidence of that verdict, 0 to 1", current=True),
        _C("note", "i4", "row of notes: the note shown as a label; -1 for none", current=True),
        _count("likes", "likes of the root", current=True),
        _count("dislikes", "dislikes of the root", current=True),
        _count("shares", "shares of the root", current=True),
        _count("comments", "comments under the root", current=True),
        _count("flags", "flags of the root", current=True),
        _count("notes", "notes on the root", current=True),
        _C("stances", "i4", "first row of post_stances", current=True),
        _C("n_stances", "u1", "how many rows of post_stances", "count", current=True),
        _C("claims", "i4", "first row of claims", current=True),
        _C("n_claims", "u1", "how many rows of claims", "count", current=True),
        kept=True,
        bulky=True,
    ),
    table(
        "post_stances",
        "what a post says of a proposition; no row is no stance, never stance 0",
        _POST,
        _PROPOSITION,
        _C("stance", "f8", "-1 against to +1 for"),
        _C("strength", "f8", "how good an argument it is, 0 to 1; NaN where nobody said"),
        _C("scorer", "u1", "given, declared in the action, or a text scorer", words=Scorer),
        kept=True,
        bulky=True,
    ),
    table(
        "claims",
        "arguments made from posts, once a post, and the bank's arguments that agents start with",
        _C("claim", "i4", "row of claims"),
        _C("post", "i4", "row of posts that it was made from; -1 for an argument of the bank"),
        _PROPOSITION,
        _C("text", "i4", "row of texts: the claim in its own words"),
        _C("snippet", "i4", "row of texts: the passage that it was taken from; -1 for none"),
        _C("tag", "i4", "row of texts: category; -1 for none"),
        _C("polarity", "i1", "+1 for the proposition, -1 against; never tone"),
        _C("strength", "f8", "the strength in use, 0 to 1"),
        _C("same_as", "i4", "row of claims: the first with this text, proposition, polarity and strength"),
        kept=True,
    ),
    table(
        "claim_strengths",
        "every estimate of the strength of a claim that is the first of its kind",
        _C("claim", "i4", "row of claims"),
        _C("judge", "str", "who judged: `given`, or a member of the family `strength`"),
        _C("strength", "f8", "estimate, 0 to 1"),
        _C("in_use", "?", "whether it is the strength in use"),
    ),
    table(
        "near_duplicates",
        "pairs of claims, each the first of its kind, of one proposition and polarity that say much the same",
        _C("claim", "i4", "row of claims: the later one"),
        _C("other", "i4", "row of claims: the earlier one"),
        _C("similarity", "f8", "cosine of their embeddings, at least the smallest threshold in use", "cosine"),
        kept=True,
    ),
    table(
        "exposures",
        "one row a root that an agent was shown, acted on or not",
        _STEP,
        _AGENT,
        _C("rank", "i2", "place in the feed, from 0; comments share the rank of their post"),
        _POST,
        _C("root", "i4", "row of posts: what is passed on; the post itself if it is no share", repeats=True),
        _C("author", "i4", "row of agents: the author of the row, so who passed it on"),
        _C("under", "i4", "row of posts: the root that a comment stands under; -1 for a post", repeats=True),
        _C("slot", "u1", "why it was shown", words=Slot),
        _count("likes", "likes of the root when the feed was built", repeats=True),
        _count("dislikes", "dislikes, likewise", repeats=True),
        _count("shares", "shares, likewise", repeats=True),
        _count("comments", "comments, likewise", repeats=True),
        _count("flags", "flags, likewise", repeats=True),
        _C("verdict", "u1", "verdict shown with it", words=Verdict, repeats=True),
        _C("note", "i4", "row of notes: note shown with it as a label; -1 for none", repeats=True),
        _C("offered", "i4", "row of notes: note offered for rating; -1 for none"),
        _C("first_seen", "?", "this agent was never shown this root before"),
        _C("weight", "f8", "label weight: how much it counts for beliefs, 0 to 1", repeats=True),
        bulky=True,
    ),
    table(
        "actions",
        "what agents did, and what they tried",
        _STEP,
        _AGENT,
        _C("ordinal", "i2", "order among this agent's actions of the step, from 0"),
        _C("kind", "u1", "kind of action", words=ActionKind),
        _C("rank", "i2", "rank of the row acted on; -1 for none"),
        _C("target", "i4", "row of posts, agents or notes, by what the kind acts on; -1 for none"),
        _C("text", "i4", "row of texts: what was written; -1 for nothing"),
        _C("helpful", "i1", "rating of a note: 1 helpful, 2 somewhat, 0 not, -1 no rating"),
        _C("reasoning", "i4", "row of texts: the policy's own explanation, never an input; -1 for none"),
        _C("status", "u1", "accepted or refused", words=ActionStatus),
        _C("reason", "u1", "why it was refused", words=Reason),
        _C("result", "i4", "row of posts or notes that it made; -1 for none"),
        bulky=True,
    ),
    table(
        "notes",
        "community notes",
        _C("note", "i4", "row of notes"),
        _POST,
        _C("author", "i4", "row of agents"),
        _STEP,
        _C("text", "i4", "row of texts"),
        _C("status", "u1", "pending, shown or not helpful", words=NoteStatus, current=True),
        _C("decided", "i4", "the step in which it got that status; -1: pending from the start", "step", current=True),
        _C("intercept", "f8", "what the note scorer found; NaN for no number", current=True),
        _C("factor", "f8", "likewise", current=True),
        _count("helpful", "ratings that found it helpful", current=True),
        _count("somewhat", "ratings that found it somewhat helpful", current=True),
        _count("not_helpful", "ratings that found it not helpful", current=True),
        kept=True,
        bulky=True,
    ),
    table(
        "note_ratings",
        "one rating an agent and note",
        _C("note", "i4", "row of notes"),
        _AGENT,
        _STEP,
        _C("helpful", "?", "found it helpful, and not only somewhat"),
        _C("rating", "f8", "1 helpful, 0.5 somewhat, 0 not; hashed if any is 0.5", since=3, refines="helpful"),
        kept=True,
        bulky=True,
    ),
    table(
        "verdicts",
        "findings of the fact-checker, seen from the next step on",
        _POST,
        _STEP,
        _C("verdict", "u1", "finding", words=Verdict),
        _C("confidence", "f8", "verdict confidence, 0 to 1"),
        _C("explanation", "i4", "row of texts"),
        _C("sources", "i4", "row of texts: what was consulted; -1 for nothing"),
        _C("veracity", "u1", "the truth beside it, where known", words=Veracity),
    ),
    table(
        "moderation_log",
        "every act of a moderator",
        _STEP,
        _POST,
        _C("kind", "u1", "what was done", words=LogKind),
        _C("reason", "str", "why"),
        _C("value", "f8", "verdict confidence, row of notes, or the count of flags or notes that took it down"),
    ),
    table(
        "note_scores",
        "what the note scorer found: a row for each change but those between pending and shown without a number",
        _STEP,
        _C("note", "i4", "row of notes"),
        _C("status", "u1", "pending, shown or not helpful", words=NoteStatus),
        _C("intercept", "f8", "how helpful it is, in the scorer's own unit; NaN for no number"),
        _C("factor", "f8", "which raters find it so, in the scorer's own unit; NaN for no number"),
        bulky=True,
    ),
    table(
        "holdings",
        "what happened to the argument records of each agent; nothing is deleted",
        _STEP,
        _AGENT,
        _C("claim", "i4", "row of claims: the record, named by the first claim of its kind"),
        _C("origin", "u1", "where the record came from", words=Origin),
        _C("change", "u1", "what happened to it", words=HoldingChange),
        _C("by", "i4", "row of claims: the near-duplicate that replaced or stopped it; -1 if none did"),
        _C("post", "i4", "row of posts that brought it about, as in the exposure, or the own post; -1 for a seed"),
        _C("rank", "i2", "rank of that exposure; -1 if it is none"),
        _C("agreed", "?", "its polarity was the sign of the agent's stance when it was accepted"),
        bulky=True,
    ),
    table(
        "beliefs",
        "the belief of every person toward every proposition after each step; step 0 is the start",
        _STEP,
        _AGENT,
        _PROPOSITION,
        _C("stance", "f8", "-1 against to +1 for"),
        _C("confidence", "f8", "how firmly it is held, 0 to 1"),
        bulky=True,
    ),
    table(
        "starts",
        "where agents were to start and where they did, under rules that count in log odds",
        _STEP,
        _AGENT,
        _PROPOSITION,
        _C("wanted", "f8", "the stance that was drawn or given, -1 to 1", "stance"),
        _C("attained", "f8", "the stance of the prior, or of the seed records, -1 to 1", "stance"),
        bulky=True,
    ),
    table(
        "trail",
        "why a belief moved: the rows of an agent, proposition and step sum to the move, in the rule's own unit",
        _STEP,
        _AGENT,
        _PROPOSITION,
        _C("kind", "u1", "what moved it", words=TrailKind),
        _C("rank", "i2", "rank of the exposure; -1 if it is none"),
        _C("post", "i4", "row of posts as in the exposure, or the own post; -1 if it is none"),
        _C("amount", "f8", "contribution", "stance, or log odds"),
        _C("trust", "f8", "trust in the author of the row when it was read, 0 to 1; NaN where the rule has none"),
        bulky=True,
    ),
    *agent_tables.TABLES,
    table(
        "steps",
        "committed steps; a row of another table counts only if its step stands here",
        _STEP,
        _C("hash", "str", "content hash of all steps up to this one (SHA-256, hexadecimal)", hashed=False),
        _C("seconds", "f8", "wall time of taking the step, without hashing and writing it", "s", hashed=False),
        _C("agents", "i4", "persons at the end of the step", "count", hashed=False),
        _C("online", "i4", "persons that had a feed", "count", hashed=False),
        _C("exposures", "i8", "rows shown", "count", hashed=False),
        _C("actions", "i8", "actions tried", "count", hashed=False),
        _C("refused", "i8", "actions refused", "count", hashed=False),
        _C("first_sights", "f8", "rows whose root the reader saw for the first time", "share", hashed=False, since=3),
    ),
)

TABLES: dict[str, Table] = {one.name: one for one in _TABLES}
RECORD_VERSION = max(column.since for one in _TABLES for column in one.columns)
"""The version of the record that is written: that of the newest column. Version 2 brought ``run_hash``.

A column that a release adds says so by ``since``, one more than the version of the release before. Runs of every
version from 1 on are read: what they lack is null.
"""


def empty(name: str) -> dict[str, npt.NDArray[np.generic] | list[str]]:
    """Return no rows of a table, with the right dtypes.

    >>> empty("note_ratings")["helpful"].dtype
    dtype('bool')
    """
    return {
        column.name: [] if column.dtype == "str" else np.empty(0, dtype=column.dtype)
        for column in TABLES[name].recorded
    }


def rows(table: str, n: int, **columns: object) -> dict[str, npt.NDArray[np.generic] | list[str]]:
    """``n`` rows of a table from arrays and scalars; every recorded column of version 1 must be given.

    Columns that were added later hold their missing value unless they are given.

    Raises ``KeyError`` for a missing or unknown column and ``ValueError`` for a wrong length: both are faults of the
    calling code, not of a user.

    >>> rows("note_ratings", 2, note=0, agent=[3, 4], step=1, helpful=True)["agent"]
    array([3, 4], dtype=int32)
    """
    recorded = TABLES[table].recorded
    unknown = set(columns) - {column.name for column in recorded}
    if unknown:
        raise KeyError(f"{table} has no column {sorted(unknown)}")
    out: dict[str, npt.NDArray[np.generic] | list[str]] = {}
    for column in recorded:
        value = columns[column.name] if column.since == 1 else columns.get(column.name, column.missing)
        if column.dtype == "str":
            out[column.name] = [value] * n if isinstance(value, str) else list(value)  # type: ignore[call-overload]
        else:
            out[column.name] = np.ascontiguousarray(np.broadcast_to(np.asarray(value, dtype=column.dtype), (n,)))
        if len(out[column.name]) != n:
            raise ValueError(f"{table}.{column.name}: {len(out[column.name])} values for {n} rows")
    return out
