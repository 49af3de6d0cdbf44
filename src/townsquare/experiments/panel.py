"""Fixed panels: everybody reacts once to given feeds (MOSAIC, section 2.2).

A file of posts is one feed, or several by its column ``feed``. Each feed becomes a run of one step in which every agent
is shown all its posts, in the order of the file, and nothing else: nobody follows anybody. So a panel is recorded,
replayed and analyzed as any run is, and any policy can take part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from townsquare.core import tabular
from townsquare.core.actions import ON_POSTS, WORDS
from townsquare.core.enums import ActionStatus, PostKind
from townsquare.core.errors import DataError, SettingError
from townsquare.record.run import Run
from townsquare.scenario.load import load_scenario
from townsquare.scenario.settings import resolve_with_scenario
from townsquare.settings.resolve import Settings, parse_set

COLUMN = "feed"
LARGEST = 1000  # posts of one feed: the most that a feed can hold


def split_feeds(posts: Path, folder: Path) -> dict[str, Path]:
    """Return the feeds of a file: the file itself if it names none, else one file per feed in ``folder``.

    Raises
    ------
    DataError
        The file cannot be read, or a row names no feed.
    """
    if posts.suffix.lower() != ".csv":
        return {"1": posts}
    records = tabular.read_csv(posts)
    if COLUMN not in records.columns:
        return {"1": posts}
    feeds: dict[str, list[Mapping[str, object]]] = {}
    for record in records.records:
        name = str(record.cells.get(COLUMN) or "").strip()
        if not name:
            raise DataError(record.where(COLUMN), got="nothing", allowed="the name of a feed")
        feeds.setdefault(name, []).append(record.cells)
    folder.mkdir(parents=True, exist_ok=True)
    columns = [name for name in records.columns if name != COLUMN]
    out = {name: folder / f"feed-{number}.csv" for number, name in enumerate(feeds, 1)}
    for name, rows in feeds.items():
        pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String)).write_csv(out[name])
    return out


def panel_settings(feed: Path, people: int, personas: Path | None, sets: Sequence[str], seed: int | None) -> Settings:
    """Return the settings of one panel; ``sets`` override the settings of a panel.

    Raises
    ------
    SettingError
        The feed is longer than a feed can be, or a setting is wrong.
    """
    size = len(load_scenario(str(feed)).posts)
    if not 0 < size <= LARGEST:
        raise SettingError(str(feed), got=f"{size} posts", allowed=f"1 to {LARGEST}")
    base: dict[str, Any] = {"scenario": str(feed), "agents": people, "steps": 1}
    base["graph"] = {"kind": "random", "p": 0.0}
    base["feed"] = {"ranker": "oldest", "followed": 0, "others": size, "pool": max(256, 2 * size), "comments": 0}
    base["injection"] = {"start_step": 1, "posts_per_step": size, "order": "file"}
    if personas is not None:
        base["population"] = {"file": str(personas)}
    if seed is not None:
        base["seed"] = seed
    return resolve_with_scenario(base, *map(parse_set, sets))


def reactions(runs: Mapping[str, Run]) -> pl.DataFrame:
    """Count reactions by feed and post: ``feed``, ``position`` from 1, ``text``, ``people``, one column per kind."""
    kinds = [WORDS[kind] for kind in ON_POSTS]
    counted = [(pl.col("kind") == kind).sum().cast(pl.Int64).alias(kind) for kind in kinds]
    parts = []
    for name, run in runs.items():
        done = run.words("actions").filter(pl.col("status") == ActionStatus.ACCEPTED.name.lower())
        counts = done.group_by(pl.col("target").alias("post")).agg(counted)
        posts = run.table("posts").filter(pl.col("kind") == PostKind.INJECTED).select("post", "text")
        texts = run.table("texts").select("text", "content")
        shown = posts.join(texts, on="text").join(counts, on="post", how="left").sort("post")
        where = pl.lit(name).alias("feed"), pl.int_range(1, pl.len() + 1).alias("position")
        people = pl.lit(int(run.steps["agents"][-1])).alias("people")
        parts.append(shown.select(*where, pl.col("content").alias("text"), people, pl.col(kinds).fill_null(0)))
    return pl.concat(parts)
