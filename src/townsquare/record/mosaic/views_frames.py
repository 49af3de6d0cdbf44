"""Those views of appendix D that need tables of which large runs keep Parquet parts, as lazy frames.

They hold what :data:`townsquare.record.mosaic.views.VIEWS` says in SQL; a test compares the two. Those about posts,
actions and notes stand in :mod:`townsquare.record.mosaic.views_posts`; the other views read tables that are in SQLite
in every run.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from townsquare.core.frames import collected
from townsquare.core.schema import ActionKind, ActionStatus, AgentKind, LogKind, PostKind
from townsquare.record.mosaic.views import COLUMNS, INFLUENCE, INFLUENCER_ABOVE, NUMBERS, ROOT_POSTS, SPREAD
from townsquare.record.mosaic.views_posts import (
    Tables,
    comments,
    community_notes,
    day,
    moderation_logs,
    named,
    note_ratings,
    posts,
    user_actions,
)

_RECEIVED = {"likes": ActionKind.LIKE, "shares": ActionKind.SHARE, "comments": ActionKind.COMMENT}


def follows(tables: Tables) -> pl.LazyFrame:
    """Who follows whom at the end of the run, and since when."""
    return _follows(tables).select(
        named("user", "follower").alias("follower_id"),
        named("user", "followed").alias("followed_id"),
        day(pl.col("step")).alias("created_at"),
    )


def feed_exposures(tables: Tables) -> pl.LazyFrame:
    """Who was shown which post in which step; comments under a post are left out."""
    return (
        tables("exposures")
        .filter(pl.col("under") < 0)
        .select(
            named("user", "agent").alias("user_id"),
            named("post", "post").alias("post_id"),
            pl.col("step").alias("time_step"),
            day(pl.col("step")).alias("created_at"),
        )
    )


def users(tables: Tables) -> pl.LazyFrame:
    """Accounts, with what they received by the end of the run."""
    followers = _follows(tables).group_by(pl.col("followed").alias("agent")).agg(pl.len().alias("followers"))
    joined = (
        tables("agents")
        .join(followers, on="agent", how="left")
        .join(_received(tables), on="agent", how="left")
        .join(_answers(tables), on="agent", how="left")
        .join(tables("texts").rename({"text": "name"}), on="name", how="left")
        .with_columns(pl.col(list(INFLUENCE)).fill_null(0).cast(pl.Int64))
        .with_columns(_influence().alias("influence_score"))
    )
    last = tables("steps").select(day(pl.col("step").max()).alias("last_influence_update"))
    is_source = pl.col("kind") == AgentKind.SOURCE
    return joined.join(last, how="cross").select(
        named("user", "agent").alias("user_id"),
        pl.when(is_source).then(pl.col("content")).otherwise(pl.col("persona")).alias("persona"),
        pl.col("labels").fill_null("{}").alias("background_labels"),
        day(pl.col("born")).alias("creation_time"),
        pl.col("followers").alias("follower_count"),
        *(pl.col(what).alias(f"total_{what}_received") for what in _RECEIVED),
        "influence_score",
        (pl.col("influence_score") > INFLUENCER_ABOVE).cast(pl.Int64).alias("is_influencer"),
        "last_influence_update",
    )


def spread_metrics(tables: Tables) -> pl.LazyFrame:
    """How far each post, shares and comments aside, had come by each step."""
    is_root = pl.col("kind").is_in([int(kind) for kind in ROOT_POSTS])
    roots = tables("posts").filter(is_root).select(pl.col("post").alias("root"), pl.col("step").alias("since"))
    counts = ["views", *SPREAD]
    gone = (
        tables("moderation_log")
        .filter(pl.col("kind") == LogKind.TAKEDOWN)
        .group_by(pl.col("post").alias("root"))
        .agg(pl.col("step").first().alias("gone"), pl.col("reason").first())
    )
    is_gone = pl.col("gone") <= pl.col("step")
    return (
        roots.join(tables("steps").select("step"), how="cross")
        .filter(pl.col("step") >= pl.col("since"))
        .join(_firsts(tables, roots), on=["root", "step"], how="left")
        .join(_depths(tables), on=["root", "step"], how="left")
        .join(gone, on="root", how="left")
        .sort("root", "step")
        .with_columns(pl.col(counts).fill_null(0).cast(pl.Int64).cum_sum().over("root"))
        .with_columns(pl.col("depth").fill_null(0).cast(pl.Int64).cum_max().over("root"))
        .select(
            named("post", "root").alias("post_id"),
            pl.col("step").alias("time_step"),
            "views",
            pl.col("depth").alias("diffusion_depth"),
            *SPREAD,
            pl.sum_horizontal(list(SPREAD)).alias("total_interactions"),
            is_gone.fill_null(False).cast(pl.Int64).alias("should_takedown"),
            pl.when(is_gone).then(pl.col("reason")).alias("takedown_reason"),
            is_gone.fill_null(False).cast(pl.Int64).alias("takedown_executed"),
            day(pl.col("step")).alias("created_at"),
        )
    )


FRAMES: dict[str, Callable[[Tables], pl.LazyFrame]] = {
    "users": users,
    "posts": posts,
    "follows": follows,
    "user_actions": user_actions,
    "comments": comments,
    "community_notes": community_notes,
    "note_ratings": note_ratings,
    "moderation_logs": moderation_logs,
    "spread_metrics": spread_metrics,
    "feed_exposures": feed_exposures,
}


def typed(view: str, frame: pl.DataFrame) -> pl.DataFrame:
    """A view as SQLite answered it, with the dtypes of its columns even where they hold nothing but NULL."""
    kinds = {int: pl.Int64, float: pl.Float64, str: pl.String}
    return frame.cast({name: kinds[NUMBERS.get(name, str)] for name in COLUMNS[view]})


def _follows(tables: Tables) -> pl.LazyFrame:
    """``follower``, ``followed`` and the ``step`` of the last follow, of pairs that were not undone."""
    since = pl.col("step").filter(pl.col("change") > 0).max()
    pairs = tables("follows").group_by("follower", "followed").agg(pl.col("change").sum(), since)
    return pairs.filter(pl.col("change") > 0)


def _received(tables: Tables) -> pl.LazyFrame:
    accepted = (pl.col("status") == ActionStatus.ACCEPTED) & pl.col("kind").is_in([int(k) for k in _RECEIVED.values()])
    counts = [(pl.col("kind") == kind).sum().alias(what) for what, kind in _RECEIVED.items()]
    authors = tables("posts").select(pl.col("post").alias("target"), "author")
    acts = tables("actions").filter(accepted).select("target", "kind").join(authors, on="target")
    return acts.group_by(pl.col("author").alias("agent")).agg(counts)


def _answers(tables: Tables) -> pl.LazyFrame:
    """``persona`` and ``labels`` (JSON) of every agent that answered anything."""
    answer, value = pl.col("answer"), pl.col("value").cast(pl.String)
    quoted = pl.format(
        '"{}"', answer.str.replace_all("\\", "\\\\", literal=True).str.replace_all('"', '\\"', literal=True)
    )
    label = pl.format('"{}":{}', pl.col("label"), pl.when(answer == value).then(value).otherwise(quoted))
    return (
        tables("traits")
        .join(tables("trait_values"), on=["trait", "value"])
        .sort("agent", "trait")
        .group_by("agent", maintain_order=True)
        .agg(
            pl.format("{}: {}", pl.col("label"), answer).str.join("; ").alias("persona"),
            (pl.lit("{") + label.str.join(",") + "}").alias("labels"),
        )
    )


def _influence() -> pl.Expr:
    parts = [
        weight * pl.when(pl.col(what).max() > 0).then(pl.col(what) / pl.col(what).max()).otherwise(0.0)
        for what, weight in INFLUENCE.items()
    ]
    return (parts[0] + parts[1] + parts[2] + parts[3]).round(3)


def _firsts(tables: Tables, roots: pl.LazyFrame) -> pl.LazyFrame:
    """By ``root`` and ``step``, how many agents saw it, or did something about it, for the first time."""
    on_roots = [kind for kind in SPREAD.values() if kind != ActionKind.RATE_NOTE]
    accepted = (pl.col("status") == ActionStatus.ACCEPTED) & pl.col("kind").is_in([int(kind) for kind in on_roots])
    columns = ("root", "agent", "step")
    did = tables("actions").filter(accepted).rename({"target": "root"})
    notes = tables("notes").select("note", pl.col("post").alias("root"))
    happened = {name: did.filter(pl.col("kind") == kind) for name, kind in SPREAD.items()}
    happened["num_note_ratings"] = tables("note_ratings").join(notes, on="note")
    happened["views"] = tables("exposures").filter(pl.col("under") < 0)
    parts = []
    for name, rows in happened.items():
        of_roots = rows.select(columns).join(roots, on="root", how="semi")
        first = of_roots.group_by("root", "agent").agg(pl.col("step").min())
        counts = [pl.lit(1 if name == one else 0, pl.Int64).alias(one) for one in ("views", *SPREAD)]
        parts.append(first.select("root", "step", *counts))
    return pl.concat(parts).group_by("root", "step").agg(pl.col("views", *SPREAD).sum())


def _depths(tables: Tables) -> pl.LazyFrame:
    """By ``root`` and ``step``, the longest chain of shares that was made in that step."""
    rows = tables("posts").select("post", "root", "parent", "step", "kind").pipe(collected)
    is_share = (rows["kind"] == PostKind.SHARE).to_numpy()
    parent = rows["parent"].to_numpy()
    depth = is_share.astype(np.int64)
    while True:  # one pass a link of the longest chain
        deeper = np.where(is_share, depth[parent] + 1, 0)
        if np.array_equal(deeper, depth):
            break
        depth = deeper
    made = rows.select("root", "step", pl.Series("depth", depth)).lazy()
    return made.group_by("root", "step").agg(pl.col("depth").max())
