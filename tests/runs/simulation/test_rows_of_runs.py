"""What a whole run records points at rows that are there."""

from __future__ import annotations

from small_worlds import (
    run_of,
    settings_of,
)
from townsquare.core import schema
from townsquare.core.enums import PostKind
from townsquare.core.schema import NONE


def test_every_recorded_row_points_at_rows_that_are_there() -> None:
    """Rows of texts, posts, notes and agents, in every table of a run with everything switched on."""
    events = [{"step": 2, "message": {"text": "Look twice.", "source": "Made source 7"}}]
    settings = settings_of(growth={"max_per_step": 2}, moderation={"strategy": "hybrid"}, steps=8, events=events)
    run = run_of(settings)
    sizes = {name: run.table(name).height for name in ("texts", "posts", "notes", "agents")}
    points = {
        "text": "texts", "explanation": "texts", "sources": "texts", "reasoning": "texts", "topic": "texts",
        "post": "posts", "root": "posts", "parent": "posts", "under": "posts", "note": "notes", "offered": "notes",
        "agent": "agents", "author": "agents", "follower": "agents", "followed": "agents",
    }  # fmt: skip
    for table in schema.TABLES.values():
        for column in table.recorded:
            values = run.table(table.name)[column.name].to_numpy()
            if column.name in points and column.dtype != "str" and values.size:
                assert NONE <= values.min() <= values.max() < sizes[points[column.name]], (table.name, column.name)
    posts = run.table("posts")
    assert posts["post"].to_list() == list(range(posts.height))
    assert posts["key"].n_unique() == posts.height
    assert run.table("texts")["content"].n_unique() == sizes["texts"]  # every text once
    assert set(posts["kind"]) >= {PostKind.ORIGINAL, PostKind.SHARE, PostKind.COMMENT, PostKind.INJECTED}
