"""The post view: thread, cascade, verdicts, notes, who saw it, whom it moved."""

from __future__ import annotations

from typing import Any

import polars as pl

from townsquare.analysis.contract import row_count
from townsquare.core.errors import SettingError
from townsquare.pages.view import post_queries, queries
from townsquare.pages.view.answers import columns
from townsquare.pages.view.library import Snapshot

MOST_ROWS = 200
"""Rows of a table that a page takes at most; the CSV has all."""


def post(of: Snapshot, number: int) -> dict[str, Any]:
    """Return all that is known of the root that a post leads to."""
    root = root_of(of, number)
    texts = queries.post_texts(of.cached).filter(pl.col("post") == root)
    row = of.cached.table("posts").filter(pl.col("post") == root).row(0, named=True)
    who = queries.agent_names(of.cached).filter(pl.col("agent") == row["author"])
    shown = post_queries.shown_to(of, root)
    return {
        "post": root,
        "content": texts["content"][0],
        "kind": texts["root_kind"][0],
        "veracity": texts["veracity"][0],
        "plausibility": row["plausibility"],
        "author": row["author"],
        "who": who["who"][0] if who.height else f"agent {row['author']}",
        "step": row["step"],
        "parent": row["parent"],
        "stances": stances_of_post(of, root).to_dicts(),
        "counts": _counts(of, root),
        "thread": post_queries.thread_of(of.cached, root).to_dicts(),
        "verdicts": post_queries.verdicts(of.cached).filter(pl.col("root") == root).to_dicts(),
        "acts": post_queries.moderation_of(of.cached, [root]).to_dicts(),
        "notes": post_queries.notes_of(of.cached, root).to_dicts(),
        "seen": columns(seen_by_step(shown)),
        "seen_by": first_seen(of, shown).head(MOST_ROWS).to_dicts(),
        "reach": shown["agent"].n_unique(),
        "moved": moved(of, root).head(MOST_ROWS).to_dicts(),
        "moved_by_step": columns(moved_by_step(of, root)),
    }


def root_of(of: Snapshot, number: int) -> int:
    """Return the root of a post. Raises ``SettingError`` if there is no such post."""
    posts = of.cached.table("posts")
    rows = posts.filter(pl.col("post") == number)
    root = int(rows["root"][0]) if rows.height else number
    if not (posts["post"] == root).any():
        raise SettingError("post", got=str(root), allowed=f"0 to {posts.height - 1}")
    return root


def stances_of_post(of: Snapshot, root: int) -> pl.DataFrame:
    """Return ``proposition`` (name), ``stance``, ``strength`` that a root takes."""
    names = queries.propositions(of.cached).select("proposition", "name")
    rows = of.cached.table("post_stances").filter(pl.col("post") == root).join(names, on="proposition")
    return rows.select(pl.col("name").alias("proposition"), "stance", "strength")


def seen_by_step(shown: pl.DataFrame) -> pl.DataFrame:
    """Return ``step``, ``exposures``, ``first``, ``labeled``, and ``reach``: distinct agents up to the step."""
    label = (pl.col("verdict") == "false") | pl.col("noted")
    steps = shown.group_by("step").agg(row_count("exposures"), label.sum().cast(pl.Int64).alias("labeled"))
    new = shown.group_by("agent").agg(pl.col("step").min()).group_by("step").agg(row_count("new"))
    joined = steps.join(new, on="step", how="left").with_columns(pl.col("new").fill_null(0)).sort("step")
    return joined.with_columns(pl.col("new").cum_sum().alias("reach"))


def moved(of: Snapshot, root: int) -> pl.DataFrame:
    """Return whom a root moved, over all steps, most moved first: agent, who, proposition, amount, times."""
    who = queries.agent_names(of.cached).select("agent", "who")
    return (
        post_queries.moved_by(of, root)
        .group_by("agent", "proposition")
        .agg(pl.col("amount").sum(), row_count("times"),
             pl.col("step").sort_by(pl.col("amount").abs()).last().alias("most_at"))
        .filter(pl.col("amount") != 0)
        .join(who, on="agent", how="left")
        .sort([pl.col("amount").abs(), "agent"], descending=[True, False])
    )  # fmt: skip


def moved_by_step(of: Snapshot, root: int) -> pl.DataFrame:
    """Return ``step``, ``toward`` and ``away``: sums of positive and of negative contributions, in the rule's unit."""
    amount = pl.col("amount")
    sides = amount.filter(amount > 0).sum().alias("toward"), amount.filter(amount < 0).sum().alias("away")
    return post_queries.moved_by(of, root).group_by("step").agg(*sides).sort("step")


def findings(of: Snapshot, root: int) -> pl.DataFrame:
    """Return every act of a moderator on a root, with verdict, confidence and explanation where it was a verdict."""
    verdicts = post_queries.verdicts(of.cached).filter(pl.col("root") == root).drop("root")
    acts = post_queries.moderation_of(of.cached, [root]).filter(pl.col("what") != "verdict")
    both = [verdicts.with_columns(pl.lit("verdict").alias("what")), acts]
    return pl.concat(both, how="diagonal_relaxed").sort("step")


def first_seen(of: Snapshot, shown: pl.DataFrame) -> pl.DataFrame:
    """Return everybody exposed to a root by first exposure: ``agent``, ``first`` (step), ``times``, ``who``."""
    who = queries.agent_names(of.cached).select("agent", "who")
    first = shown.group_by("agent").agg(pl.col("step").min().alias("first"), row_count("times"))
    return first.join(who, on="agent", how="left").sort("first", "agent")


def _counts(of: Snapshot, root: int) -> dict[str, int]:
    rows = post_queries.engagement_by_root(of).filter(pl.col("root") == root)
    return rows.drop("root").row(0, named=True) if rows.height else {}
