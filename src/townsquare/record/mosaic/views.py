"""The tables of MOSAIC's appendix D as SQL views over ours, so that queries written for that schema run.

Source: seeds/mosaic.txt, appendix D. Columns bear the names and the types of that schema; what a simulation of ours
does not have is NULL. What differs on purpose, and what every id, count and time means, stands in ``docs/record.md``.

Each view is computed once where a query names it (``AS MATERIALIZED``): SQLite can index the outcome for a join, which
it cannot do for ids that are put together from a word and a number. What SQLite and PostgreSQL
write differently is a :class:`Dialect`; all else is written so that both take it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from townsquare.core.actions import SPECS, ActionKind, On, kinds_where
from townsquare.core.schema import (
    EPOCH,
    ActionStatus,
    AgentKind,
    LogKind,
    MemoryKind,
    PostKind,
    Veracity,
    Verdict,
)

ACTION_WORDS = {kind: spec.mosaic for kind, spec in SPECS.items()}
"""``user_actions.action_type``; MOSAIC has no dislikes."""
NEWS_TYPES = {Veracity.TRUE: "real", Veracity.FALSE: "fake"}
"""``posts.news_type`` and ``fact_checks.groundtruth``."""
CHECKER = "fact-checker"
INFLUENCE = {"followers": 0.4, "likes": 0.3, "shares": 0.2, "comments": 0.1}
"""Weights of what an account received, each as a share of the most that any account did."""
INFLUENCER_ABOVE = 0.5
ROOT_POSTS = (PostKind.ORIGINAL, PostKind.INJECTED, PostKind.MESSAGE)
"""Kinds with rows in ``spread_metrics``: neither shares, which count for their root, nor comments."""
SPREAD = {
    "num_likes": ActionKind.LIKE,
    "num_shares": ActionKind.SHARE,
    "num_flags": ActionKind.FLAG,
    "num_comments": ActionKind.COMMENT,
    "num_notes": ActionKind.ADD_NOTE,
    "num_note_ratings": ActionKind.RATE_NOTE,
}
"""Columns of ``spread_metrics`` that count distinct users; ``total_interactions`` is their sum."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Parts of a SELECT that databases write differently.

    Attributes
    ----------
    day : callable
        From an expression of a step, the time that it stands for, as text: ``2025-01-02 00:00:00``.
    persona : str
        All of ``label: answer`` of a group, in the order of ``trait``, joined by ``"; "``.
    labels : str
        A JSON object of ``label`` and ``answer`` of a group; answers that are their own code are numbers.
    json_list : callable
        From an expression of a text, a JSON list of it alone.
    rounded : callable
        From an expression and a number of digits, the rounded real number.
    """

    day: Callable[[str], str]
    persona: str
    labels: str
    json_list: Callable[[str], str]
    rounded: Callable[[str, int], str]


_SQLITE = Dialect(
    day=lambda step: f"datetime('{EPOCH}', {step} || ' days')",
    persona="group_concat(label || ': ' || answer, '; ')",
    labels="json_group_object(label, CASE WHEN answer = CAST(value AS TEXT) THEN value ELSE answer END)",
    json_list=lambda text: f"json_array({text})",
    rounded=lambda value, digits: f"round({value}, {digits})",
)

# JSON is put together by hand: `json_object_agg` puts spaces where SQLite has none.
_POSTGRESQL = Dialect(
    day=lambda step: f"to_char(timestamp '{EPOCH}' + {step} * interval '1 day', 'YYYY-MM-DD HH24:MI:SS')",
    persona="string_agg(label || ': ' || answer, '; ' ORDER BY trait)",
    labels="'{' || string_agg(to_json(label) || ':' ||"
    " CASE WHEN answer = CAST(value AS TEXT) THEN answer ELSE CAST(to_json(answer) AS TEXT) END, ',' ORDER BY trait)"
    " || '}'",
    json_list=lambda text: f"'[' || to_json({text}) || ']'",
    rounded=lambda value, digits: f"CAST(round({value}, {digits}) AS DOUBLE PRECISION)",
)


def _case(column: str, words: Mapping[Any, str] | type[IntEnum]) -> str:
    pairs = words.items() if isinstance(words, Mapping) else [(word, word.name.lower()) for word in words]
    return f"CASE {column} " + " ".join(f"WHEN {int(word)} THEN '{name}'" for word, name in pairs) + " END"


def _among(kinds: tuple[IntEnum, ...]) -> str:
    return f"({', '.join(str(int(kind)) for kind in kinds)})"


def _done_to(on: On) -> str:
    return _among(kinds_where(lambda spec: spec.on == on))


def _n(column: str, kind: int) -> str:
    """How many rows have that kind; PostgreSQL does not sum comparisons."""
    return f"count(*) FILTER (WHERE {column} = {int(kind)})"


_ACCEPTED = f"status = {int(ActionStatus.ACCEPTED)}"
_TEXT = "LEFT JOIN ts_texts {0} ON {0}.text = {1}"
_ITEM = f"(CASE p.kind WHEN {int(PostKind.COMMENT)} THEN 'comment-' ELSE 'post-' END || p.post)"

_INFLUENCE = " + ".join(
    f"{weight} * coalesce(1.0 * c.{what} / nullif(m.{what}, 0), 0)" for what, weight in INFLUENCE.items()
)


_SEEN = -1  # a view, among the kinds of action


def _selects(sql: Dialect) -> dict[str, str]:
    """The SELECT of every view, in the order of appendix D."""
    return {
        "users": f"""
WITH received AS (
  SELECT p.author AS agent, {_n("a.kind", ActionKind.LIKE)} AS likes,
    {_n("a.kind", ActionKind.SHARE)} AS shares, {_n("a.kind", ActionKind.COMMENT)} AS comments
  FROM ts_actions a JOIN ts_posts p ON p.post = a.target
  WHERE a.{_ACCEPTED} AND a.kind IN {_among((ActionKind.LIKE, ActionKind.SHARE, ActionKind.COMMENT))}
  GROUP BY p.author
), followed AS (
  SELECT followed AS agent, count(*) AS followers
  FROM (SELECT followed FROM ts_follows GROUP BY follower, followed HAVING sum(change) > 0) still GROUP BY followed
), answered AS (
  SELECT agent, {sql.persona} AS persona, {sql.labels} AS labels
  FROM (
    SELECT t.agent, t.trait, t.value, v.label, v.answer FROM ts_traits t
    JOIN ts_trait_values v ON v.trait = t.trait AND v.value = t.value ORDER BY t.agent, t.trait
  ) given GROUP BY agent
), counted AS MATERIALIZED (
  SELECT a.agent, a.kind, a.born, a.name, coalesce(f.followers, 0) AS followers, coalesce(r.likes, 0) AS likes,
    coalesce(r.shares, 0) AS shares, coalesce(r.comments, 0) AS comments
  FROM ts_agents a LEFT JOIN followed f ON f.agent = a.agent LEFT JOIN received r ON r.agent = a.agent
), most AS (
  SELECT max(followers) AS followers, max(likes) AS likes, max(shares) AS shares, max(comments) AS comments
  FROM counted
), scored AS MATERIALIZED (
  SELECT c.*, {sql.rounded(_INFLUENCE, 3)} AS influence
  FROM counted c, most m
)
SELECT 'user-' || c.agent AS user_id,
  CASE c.kind WHEN {AgentKind.SOURCE:d} THEN n.content ELSE t.persona END AS persona,
  coalesce(t.labels, '{{}}') AS background_labels, {sql.day("c.born")} AS creation_time,
  c.followers AS follower_count, c.likes AS total_likes_received, c.shares AS total_shares_received,
  c.comments AS total_comments_received, c.influence AS influence_score,
  c.influence > {INFLUENCER_ABOVE} AS is_influencer,
  {sql.day("(SELECT max(step) FROM ts_steps)")} AS last_influence_update
FROM scored c LEFT JOIN answered t ON t.agent = c.agent {_TEXT.format("n", "c.name")}
""",
        "posts": f"""
WITH counts AS (
  SELECT target AS post, {_n("kind", ActionKind.LIKE)} AS likes, {_n("kind", ActionKind.SHARE)} AS shares,
    {_n("kind", ActionKind.FLAG)} AS flags, {_n("kind", ActionKind.COMMENT)} AS comments
  FROM ts_actions
  WHERE {_ACCEPTED}
    AND kind IN {_among((ActionKind.LIKE, ActionKind.SHARE, ActionKind.FLAG, ActionKind.COMMENT))}
  GROUP BY target
), gone AS (
  SELECT post, step, reason FROM ts_moderation_log
  WHERE rowid IN (SELECT min(rowid) FROM ts_moderation_log WHERE kind = {LogKind.TAKEDOWN:d} GROUP BY post)
), checked AS (
  SELECT post, step, verdict FROM ts_verdicts WHERE rowid IN (SELECT max(rowid) FROM ts_verdicts GROUP BY post)
)
SELECT 'post-' || p.post AS post_id, t.content, 'user-' || p.author AS author_id, {sql.day("p.step")} AS created_at,
  coalesce(c.likes, 0) AS num_likes, coalesce(c.shares, 0) AS num_shares,
  coalesce(c.flags, 0) AS num_flags, coalesce(c.comments, 0) AS num_comments,
  CASE p.kind WHEN {PostKind.SHARE:d} THEN 'post-' || p.parent END AS original_post_id,
  p.kind = {PostKind.INJECTED:d} AS is_news,
  CASE p.kind WHEN {PostKind.INJECTED:d} THEN {_case("p.veracity", NEWS_TYPES)} END AS news_type,
  CASE WHEN g.post IS NULL THEN 'active' ELSE 'taken_down' END AS status,
  {sql.day("g.step")} AS takedown_timestamp, g.reason AS takedown_reason,
  nullif({_case("v.verdict", Verdict)}, 'none') AS fact_check_status, {sql.day("v.step")} AS fact_checked_at
FROM ts_posts p LEFT JOIN counts c ON c.post = p.post LEFT JOIN gone g ON g.post = p.root
  LEFT JOIN checked v ON v.post = p.post {_TEXT.format("t", "p.text")}
WHERE p.kind <> {PostKind.COMMENT:d}
""",
        "follows": f"""
SELECT 'user-' || follower AS follower_id, 'user-' || followed AS followed_id,
  {sql.day("max(CASE WHEN change > 0 THEN step END)")} AS created_at
FROM ts_follows GROUP BY follower, followed HAVING sum(change) > 0
""",
        "user_actions": f"""
SELECT a.rowid AS id, 'user-' || a.agent AS user_id, {_case("a.kind", ACTION_WORDS)} AS action_type,
  CASE
    WHEN a.kind IN {_done_to(On.POST)} THEN 'post-' || a.target
    WHEN a.kind IN {_done_to(On.COMMENT)} THEN 'comment-' || a.target
    WHEN a.kind IN {_done_to(On.ITEM)} THEN {_ITEM}
    WHEN a.kind IN {_done_to(On.AUTHOR)} THEN 'user-' || a.target
    WHEN a.kind IN {_done_to(On.NOTE)} THEN 'note-' || a.target
    WHEN a.kind = {ActionKind.POST:d} THEN 'post-' || a.result
  END AS target_id,
  t.content, r.content AS reasoning, {sql.day("a.step")} AS created_at
FROM ts_actions a LEFT JOIN ts_posts p ON p.post = a.target
  {_TEXT.format("t", "a.text")} {_TEXT.format("r", "a.reasoning")}
WHERE a.{_ACCEPTED}
""",
        "comments": f"""
WITH liked AS (
  SELECT target AS post, count(*) AS likes FROM ts_actions
  WHERE {_ACCEPTED} AND kind = {ActionKind.LIKE_COMMENT:d} GROUP BY target
)
SELECT 'comment-' || p.post AS comment_id, t.content, 'post-' || p.parent AS post_id,
  'user-' || p.author AS author_id, {sql.day("p.step")} AS created_at, coalesce(l.likes, 0) AS num_likes
FROM ts_posts p LEFT JOIN liked l ON l.post = p.post {_TEXT.format("t", "p.text")}
WHERE p.kind = {PostKind.COMMENT:d}
""",
        "community_notes": f"""
WITH rated AS (
  SELECT note, sum(helpful) AS helpful, sum(CASE WHEN rating = 0.5 THEN 0 ELSE 1 - helpful END) AS not_helpful
  FROM ts_note_ratings GROUP BY note
)
SELECT 'note-' || n.note AS note_id, 'post-' || n.post AS post_id, 'user-' || n.author AS author_id,
  t.content, coalesce(r.helpful, 0) AS helpful_ratings,
  coalesce(r.not_helpful, 0) AS not_helpful_ratings, {sql.day("n.step")} AS created_at
FROM ts_notes n LEFT JOIN rated r ON r.note = n.note {_TEXT.format("t", "n.text")}
""",
        "note_ratings": f"""
SELECT 'note-' || note AS note_id, 'user-' || agent AS user_id,
  CASE WHEN rating = 0.5 THEN 'somewhat_helpful' WHEN helpful = 0 THEN 'not_helpful' ELSE 'helpful' END AS rating,
  {sql.day("step")} AS created_at
FROM ts_note_ratings
""",
        "moderation_logs": f"""
SELECT l.rowid AS log_id, {_ITEM} AS post_id, {_case("l.kind", LogKind)} AS action_type, l.reason,
  {sql.day("l.step")} AS timestamp
FROM ts_moderation_log l LEFT JOIN ts_posts p ON p.post = l.post
""",
        "fact_checks": f"""
SELECT 'post-' || v.post AS post_id, '{CHECKER}' AS checker_id, {_case("v.verdict", Verdict)} AS verdict,
  coalesce(e.content, '') AS explanation, v.confidence,
  CASE WHEN s.text IS NULL THEN '[]' ELSE {sql.json_list("s.content")} END AS sources,
  {_case("v.veracity", NEWS_TYPES)} AS groundtruth, {sql.day("v.step")} AS created_at
FROM ts_verdicts v {_TEXT.format("e", "v.explanation")} {_TEXT.format("s", "v.sources")}
WHERE v.verdict <> {Verdict.NONE:d} AND v.rowid IN (SELECT max(rowid) FROM ts_verdicts GROUP BY post)
""",
        "agent_memories": f"""
WITH accessed AS MATERIALIZED (
  SELECT memory, step, decay FROM ts_memory_accesses
  WHERE rowid IN (SELECT max(rowid) FROM ts_memory_accesses GROUP BY memory)
)
SELECT 'memory-' || m.memory AS memory_id, 'user-' || m.agent AS user_id,
  {_case("m.kind", MemoryKind)} AS memory_type, coalesce(c.content, '') AS content,
  m.importance AS importance_score, {sql.day("m.step")} AS created_at,
  {sql.day("coalesce(a.step, m.step)")} AS last_accessed, coalesce(a.decay, 1.0) AS decay_factor
FROM ts_agent_memories m {_TEXT.format("c", "m.text")} LEFT JOIN accessed a ON a.memory = m.memory
""",
        "spread_metrics": f"""
WITH RECURSIVE happened AS (
  SELECT target AS root, kind, agent, step FROM ts_actions
  WHERE {_ACCEPTED} AND kind IN {_among(tuple(kind for kind in SPREAD.values() if kind != ActionKind.RATE_NOTE))}
  UNION ALL
  SELECT n.post, {ActionKind.RATE_NOTE:d}, r.agent, r.step
  FROM ts_note_ratings r JOIN ts_notes n ON n.note = r.note
  UNION ALL
  SELECT root, {_SEEN}, agent, step FROM ts_exposures WHERE under < 0
), firsts AS (
  SELECT root, kind, min(step) AS step FROM happened GROUP BY root, kind, agent
), chains AS (
  SELECT post, post AS root, step, 0 AS depth FROM ts_posts WHERE kind IN {_among(ROOT_POSTS)}
  UNION ALL
  SELECT s.post, c.root, s.step, c.depth + 1 FROM chains c JOIN ts_posts s ON s.parent = c.post
  WHERE s.kind = {PostKind.SHARE:d}
), new AS MATERIALIZED (
  SELECT root, step, {_n("kind", _SEEN)} AS views, {
            ", ".join(f"{_n('kind', kind)} AS {name}" for name, kind in SPREAD.items())
        }, 0 AS depth
  FROM firsts GROUP BY root, step
), deeper AS MATERIALIZED (
  SELECT root, step, max(depth) AS depth FROM chains GROUP BY root, step
), gone AS MATERIALIZED (
  SELECT post, step, reason FROM ts_moderation_log
  WHERE rowid IN (SELECT min(rowid) FROM ts_moderation_log WHERE kind = {LogKind.TAKEDOWN:d} GROUP BY post)
), far AS (
  SELECT p.post, s.step, max(coalesce(d.depth, 0)) OVER so_far AS diffusion_depth,
    {", ".join(f"CAST(sum(coalesce(n.{name}, 0)) OVER so_far AS BIGINT) AS {name}" for name in ("views", *SPREAD))}
  FROM ts_posts p JOIN ts_steps s ON s.step >= p.step
    LEFT JOIN new n ON n.root = p.post AND n.step = s.step
    LEFT JOIN deeper d ON d.root = p.post AND d.step = s.step
  WHERE p.kind IN {_among(ROOT_POSTS)}
  WINDOW so_far AS (PARTITION BY p.post ORDER BY s.step)
)
SELECT 'post-' || f.post AS post_id, f.step AS time_step, f.views, f.diffusion_depth, {", ".join(SPREAD)},
  {" + ".join(SPREAD)} AS total_interactions, g.post IS NOT NULL AS should_takedown, g.reason AS takedown_reason,
  g.post IS NOT NULL AS takedown_executed, {sql.day("f.step")} AS created_at
FROM far f LEFT JOIN gone g ON g.post = f.post AND g.step <= f.step
""",
        "feed_exposures": f"""
SELECT 'user-' || agent AS user_id, 'post-' || post AS post_id, step AS time_step, {sql.day("step")} AS created_at
FROM ts_exposures WHERE under < 0
""",
    }


def _views(sql: Dialect) -> dict[str, str]:
    """The SELECT of every view, computed once where a query names the view."""
    return {
        view: f"WITH shown AS MATERIALIZED ({select}) SELECT * FROM shown" for view, select in _selects(sql).items()
    }


VIEWS = _views(_SQLITE)
"""The SELECT of every view, as SQLite has it."""
POSTGRESQL_VIEWS = _views(_POSTGRESQL)
"""The same for PostgreSQL."""


def tables_of(view: str) -> frozenset[str]:
    """The tables of ``schema`` that a view reads.

    >>> sorted(tables_of("follows"))
    ['follows']
    """
    return frozenset(re.findall(r"\bts_(\w+)", VIEWS[view]))
