"""Lazy frames are joined as they are written, whatever their sizes."""

from __future__ import annotations

import polars as pl

from townsquare.core.frames import AS_WRITTEN, all_collected, collected

POSTS, SAY, TRAIL = 400, 230, 12_000


def _chain() -> pl.LazyFrame:
    """A trail joined with the posts it names, then with what their roots say.

    With these sizes and filters Polars joins by proposition first if it may: each row with every root that speaks.
    """
    rows = range(TRAIL)
    trail = {"step": [1 + row % 5 for row in rows], "kind": [0] * TRAIL, "post": [row % POSTS for row in rows]}
    posts = pl.DataFrame({"post": range(POSTS), "root": [post // 2 for post in range(POSTS)]})
    stances = pl.DataFrame({"root": range(SAY), "proposition": [0] * SAY, "stance": [0.1] * SAY})
    here = pl.DataFrame({**trail, "proposition": [row % 2 for row in rows]}).lazy()
    here = here.filter(pl.col("kind") == 0, pl.col("step").is_between(1, 5))
    return here.join(posts.lazy(), on="post").join(stances.lazy(), on=["root", "proposition"])


def test_joins_keep_their_order() -> None:
    plan = _chain().explain(optimizations=AS_WRITTEN)
    keys = [line.strip() for line in plan.splitlines() if "LEFT PLAN ON" in line]
    assert keys == [
        'LEFT PLAN ON: [col("root"), col("proposition")]',
        'LEFT PLAN ON: [col("post")]',
    ]


def test_rows_are_those_of_the_joins() -> None:
    assert collected(_chain()).height == TRAIL // 2  # every root of a post speaks, of one proposition of two
    counts, posts = all_collected(_chain().select(pl.len()), _chain().select(pl.col("post").n_unique()))
    assert counts.item() == TRAIL // 2
    assert posts.item() == POSTS // 2
