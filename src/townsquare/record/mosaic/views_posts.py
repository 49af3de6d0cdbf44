"""Views of appendix D about posts, actions and notes as lazy frames, for runs that keep those tables in Parquet.

They hold what :data:`townsquare.record.mosaic.views.VIEWS` says in SQL; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import IntEnum
from typing import Any

import polars as pl

from townsquare.core.schema import EPOCH, ActionKind, ActionStatus, LogKind, PostKind, Verdict
from townsquare.record.mosaic.views import ACTION_WORDS, NEWS_TYPES

Tables = Callable[[str], pl.LazyFrame]
"""Gives a table of ``schema`` by its name, with values as SQLite holds them."""

_COUNTED = {
    "num_likes": ActionKind.LIKE,
    "num_shares": ActionKind.SHARE,
    "num_flags": ActionKind.FLAG,
    "num_comments": ActionKind.COMMENT,
}

_ON_POSTS = (ActionKind.LIKE, ActionKind.DISLIKE, ActionKind.SHARE, ActionKind.COMMENT, ActionKind.ADD_NOTE)


def posts(tables: Tables) -> pl.LazyFrame:
    """Posts and shares, with what was done to them by the end of the run."""
    counts = _accepted(tables, *_COUNTED.values()).group_by(pl.col("target").alias("post"))
    gone = (
        tables("moderation_log")
        .filter(pl.col("kind") == LogKind.TAKEDOWN)
        .group_by(pl.col("post").alias("root"))
        .agg(pl.col("step").first().alias("gone"), pl.col("reason").first())
    )
    checked = tables("verdicts").group_by("post").agg(pl.col("step").last().alias("checked"), pl.col("verdict").last())
    is_news, is_share = pl.col("kind") == PostKind.INJECTED, pl.col("kind") == PostKind.SHARE
    verdicts = {verdict: verdict.name.lower() for verdict in Verdict if verdict != Verdict.NONE}
    return (
        tables("posts")
        .filter(pl.col("kind") != PostKind.COMMENT)
        .join(counts.agg(_how_many(_COUNTED)), on="post", how="left")
        .join(gone, on="root", how="left")
        .join(checked, on="post", how="left")
        .join(tables("texts"), on="text", how="left")
        .select(
            named("post", "post").alias("post_id"),
            "content",
            named("user", "author").alias("author_id"),
            day(pl.col("step")).alias("created_at"),
            *(pl.col(name).fill_null(0).cast(pl.Int64) for name in _COUNTED),
            pl.when(is_share).then(named("post", "parent")).alias("original_post_id"),
            is_news.cast(pl.Int64).alias("is_news"),
            pl.when(is_news).then(_words("veracity", NEWS_TYPES)).alias("news_type"),
            pl.when(pl.col("gone").is_null()).then(pl.lit("active")).otherwise(pl.lit("taken_down")).alias("status"),
            day(pl.col("gone")).alias("takedown_timestamp"),
            pl.col("reason").alias("takedown_reason"),
            _words("verdict", verdicts).alias("fact_check_status"),
            day(pl.col("checked")).alias("fact_checked_at"),
        )
    )


def comments(tables: Tables) -> pl.LazyFrame:
    """Comments, with their likes by the end of the run."""
    liked = _accepted(tables, ActionKind.LIKE_COMMENT).group_by(pl.col("target").alias("post"))
    return (
        tables("posts")
        .filter(pl.col("kind") == PostKind.COMMENT)
        .join(liked.agg(pl.len().alias("num_likes")), on="post", how="left")
        .join(tables("texts"), on="text", how="left")
        .select(
            named("comment", "post").alias("comment_id"),
            "content",
            named("post", "parent").alias("post_id"),
            named("user", "author").alias("author_id"),
            day(pl.col("step")).alias("created_at"),
            pl.col("num_likes").fill_null(0).cast(pl.Int64),
        )
    )


def user_actions(tables: Tables) -> pl.LazyFrame:
    """Accepted actions, numbered among all."""
    kind, target = pl.col("kind"), pl.col("target")
    target_id = (
        pl.when(kind.is_in([int(one) for one in _ON_POSTS]))
        .then(pl.format("post-{}", target))
        .when(kind == ActionKind.LIKE_COMMENT)
        .then(pl.format("comment-{}", target))
        .when(kind == ActionKind.FLAG)
        .then(pl.format("{}-{}", "word", target))
        .when(kind.is_in([int(ActionKind.FOLLOW), int(ActionKind.UNFOLLOW)]))
        .then(pl.format("user-{}", target))
        .when(kind == ActionKind.RATE_NOTE)
        .then(pl.format("note-{}", target))
        .when(kind == ActionKind.POST)
        .then(pl.format("post-{}", pl.col("result")))
    )
    reasons = tables("texts").rename({"text": "reasoning", "content": "reasons"})
    return (
        tables("actions")
        .with_row_index("id", offset=1)
        .filter(pl.col("status") == ActionStatus.ACCEPTED)
        .join(_kinds_of_posts(tables, "target"), on="target", how="left")
        .join(tables("texts"), on="text", how="left")
        .join(reasons, on="reasoning", how="left")
        .select(
            pl.col("id").cast(pl.Int64),
            named("user", "agent").alias("user_id"),
            _words("kind", ACTION_WORDS).alias("action_type"),
            target_id.alias("target_id"),
            "content",
            pl.col("reasons").alias("reasoning"),
            day(pl.col("step")).alias("created_at"),
        )
    )


def community_notes(tables: Tables) -> pl.LazyFrame:
    """Notes, with their ratings by the end of the run."""
    helpful = pl.col("helpful").sum()
    rated = tables("note_ratings").group_by("note")
    counts = rated.agg(helpful.alias("helpful_ratings"), (pl.len() - helpful).alias("not_helpful_ratings"))
    return (
        tables("notes")
        .join(counts, on="note", how="left")
        .join(tables("texts"), on="text", how="left")
        .select(
            named("note", "note").alias("note_id"),
            named("post", "post").alias("post_id"),
            named("user", "author").alias("author_id"),
            "content",
            pl.col("helpful_ratings", "not_helpful_ratings").fill_null(0).cast(pl.Int64),
            day(pl.col("step")).alias("created_at"),
        )
    )


def note_ratings(tables: Tables) -> pl.LazyFrame:
    """Who rated which note, and how."""
    rating = pl.when(pl.col("helpful") != 0).then(pl.lit("helpful")).otherwise(pl.lit("not_helpful"))
    return tables("note_ratings").select(
        named("note", "note").alias("note_id"),
        named("user", "agent").alias("user_id"),
        rating.alias("rating"),
        day(pl.col("step")).alias("created_at"),
    )


def moderation_logs(tables: Tables) -> pl.LazyFrame:
    """What moderators did, in order."""
    return (
        tables("moderation_log")
        .with_row_index("log_id", offset=1)
        .join(_kinds_of_posts(tables, "post"), on="post", how="left")
        .select(
            pl.col("log_id").cast(pl.Int64),
            pl.format("{}-{}", "word", "post").alias("post_id"),
            _words("kind", LogKind).alias("action_type"),
            "reason",
            day(pl.col("step")).alias("timestamp"),
        )
    )


def named(word: str, column: str) -> pl.Expr:
    """An id: a word and the number in a column."""
    return pl.format(f"{word}-{{}}", pl.col(column))


def day(step: pl.Expr) -> pl.Expr:
    """The day of a step, as SQLite writes it."""
    return (pl.lit(datetime.fromisoformat(EPOCH)) + pl.duration(days=step)).dt.strftime("%Y-%m-%d %H:%M:%S")


def _accepted(tables: Tables, *kinds: ActionKind) -> pl.LazyFrame:
    wanted = (pl.col("status") == ActionStatus.ACCEPTED) & pl.col("kind").is_in([int(kind) for kind in kinds])
    return tables("actions").filter(wanted)


def _how_many(kinds: Mapping[str, ActionKind]) -> list[pl.Expr]:
    return [(pl.col("kind") == kind).sum().alias(name) for name, kind in kinds.items()]


def _kinds_of_posts(tables: Tables, column: str) -> pl.LazyFrame:
    """The ``word`` that begins the id of a post or comment, for a join on ``column``."""
    is_comment = pl.col("kind") == PostKind.COMMENT
    word = pl.when(is_comment).then(pl.lit("comment")).otherwise(pl.lit("post"))
    return tables("posts").select(pl.col("post").alias(column), word.alias("word"))


def _words(column: str, words: Mapping[Any, str] | type[IntEnum]) -> pl.Expr:
    """Code words for their numbers; null for a number without one."""
    pairs = words.items() if isinstance(words, Mapping) else [(word, word.name.lower()) for word in words]
    names = {int(word): name for word, name in pairs}
    return pl.col(column).cast(pl.Int64).replace_strict(names, default=None, return_dtype=pl.String)
