"""The columns of MOSAIC's tables, as its appendix D lists them, with their types."""

from __future__ import annotations

import polars as pl

COLUMNS: dict[str, tuple[str, ...]] = {
    "users": (
        "user_id", "persona", "background_labels", "creation_time", "follower_count", "total_likes_received",
        "total_shares_received", "total_comments_received", "influence_score", "is_influencer", "last_influence_update",
    ),
    "posts": (
        "post_id", "content", "author_id", "created_at", "num_likes", "num_shares", "num_flags", "num_comments",
        "original_post_id", "is_news", "news_type", "status", "takedown_timestamp", "takedown_reason",
        "fact_check_status", "fact_checked_at",
    ),
    "follows": ("follower_id", "followed_id", "created_at"),
    "user_actions": ("id", "user_id", "action_type", "target_id", "content", "reasoning", "created_at"),
    "comments": ("comment_id", "content", "post_id", "author_id", "created_at", "num_likes"),
    "community_notes": (
        "note_id", "post_id", "author_id", "content", "helpful_ratings", "not_helpful_ratings", "created_at",
    ),
    "note_ratings": ("note_id", "user_id", "rating", "created_at"),
    "moderation_logs": ("log_id", "post_id", "action_type", "reason", "timestamp"),
    "fact_checks": (
        "post_id", "checker_id", "verdict", "explanation", "confidence", "sources", "groundtruth", "created_at",
    ),
    "agent_memories": (
        "memory_id", "user_id", "memory_type", "content", "importance_score", "created_at", "last_accessed",
        "decay_factor",
    ),
    "spread_metrics": (
        "post_id", "time_step", "views", "diffusion_depth", "num_likes", "num_shares", "num_flags", "num_comments",
        "num_notes", "num_note_ratings", "total_interactions", "should_takedown", "takedown_reason",
        "takedown_executed", "created_at",
    ),
    "feed_exposures": ("user_id", "post_id", "time_step", "created_at"),
}  # fmt: skip
"""Columns of every view, in the order of appendix D."""
_COUNTS = (
    "id", "log_id", "time_step", "follower_count", "total_likes_received", "total_shares_received",
    "total_comments_received", "is_influencer", "num_likes", "num_shares", "num_flags", "num_comments", "num_notes",
    "num_note_ratings", "is_news", "helpful_ratings", "not_helpful_ratings", "views", "diffusion_depth",
    "total_interactions", "should_takedown", "takedown_executed",
)  # fmt: skip
_MEASURES = ("influence_score", "confidence", "importance_score", "decay_factor")
NUMBERS: dict[str, type[int | float]] = {**dict.fromkeys(_COUNTS, int), **dict.fromkeys(_MEASURES, float)}
"""Columns that hold numbers, whole or real; all others hold texts."""


def typed(view: str, frame: pl.DataFrame) -> pl.DataFrame:
    """A view with the dtypes of its columns even where they hold nothing but NULL."""
    kinds = {int: pl.Int64, float: pl.Float64, str: pl.String}
    return frame.cast({name: kinds[NUMBERS.get(name, str)] for name in COLUMNS[view]})
