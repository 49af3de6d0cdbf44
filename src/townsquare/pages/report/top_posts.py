"""The posts that drew most, with their texts: untrusted, so bounded here and escaped by the page."""

from __future__ import annotations

from typing import Any

import polars as pl

from townsquare.analysis.causes.contributions import agent_names
from townsquare.analysis.clock import Clock, clock_of
from townsquare.analysis.contract import Reads
from townsquare.analysis.engagement import engagement_by_post
from townsquare.analysis.moderation import marks
from townsquare.analysis.posts import roots
from townsquare.analysis.reach import reach
from townsquare.core.enums import PostKind
from townsquare.core.words import count, printable

LONGEST_TEXT = 420
MOST = 10


def top_posts(run: Reads) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the posts with most engagement, of any kind, and the false ones with most.

    Parameters
    ----------
    run : Reads

    Returns
    -------
    (list, list)
        Posts as a page shows them: ``text``, ``author``, ``veracity``, ``when``, ``numbers``, ``moderation``.
        ``MOST`` of each at most, most engagement first, then most reach, then by row.
    """
    every = roots(run)
    reached = reach(run).select("root", "reach", "exposures")
    counted = every.join(engagement_by_post(run), on="root", how="left").join(reached, on="root")
    counted = counted.with_columns(pl.col("likes", "dislikes", "shares", "comments", "engagement").fill_null(0))
    ranked = counted.sort(["engagement", "reach", "root"], descending=[True, True, False])
    most = ranked.filter(pl.col("engagement") > 0).head(MOST)
    false = ranked.filter(pl.col("veracity") == "false").head(MOST)
    return _shown(run, most), _shown(run, false)


def _shown(run: Reads, posts: pl.DataFrame) -> list[dict[str, Any]]:
    texts = dict(run.table("texts").filter(pl.col("text").is_in(posts["text"].implode())).rows())
    acts = {row["root"]: row for row in marks(run).filter(pl.col("root").is_in(posts["root"].implode())).to_dicts()}
    authors, clock = _authors(run, posts), clock_of(run)
    return [
        {
            "text": printable(str(texts.get(row["text"], "")), LONGEST_TEXT) or "(no text)",
            "author": authors.get(row["author"], f"account {row['author']}"),
            "veracity": row["veracity"] if row["injected"] else _KINDS.get(row["kind"], "post"),
            "when": clock.says(row["step"]),
            "numbers": (
                f"{count(row['likes'], 'like')}, {count(row['dislikes'], 'dislike')}, {count(row['shares'], 'share')}, "
                f"{count(row['comments'], 'comment')}; reached {count(row['reach'], 'person', 'people')}"
            ),
            "moderation": _moderation(acts.get(row["root"], {}), clock),
        }
        for row in posts.iter_rows(named=True)
    ]


_KINDS = {int(PostKind.ORIGINAL): "written by an agent", int(PostKind.COMMENT): "comment"}


def _authors(run: Reads, posts: pl.DataFrame) -> dict[int, str]:
    rows = agent_names(run).filter(pl.col("agent").is_in(posts["author"].implode())).rows()
    return {agent: printable(f"agent {agent}" if name is None else name, 80) for agent, name in rows}


def _moderation(mark: dict[str, int | None], clock: Clock) -> str:
    events = {
        "note_step": "note shown", "false_verdict_step": "verdict false", "downrank_step": "downranked",
        "takedown_step": "taken down",
    }  # fmt: skip
    by = "in" if clock.hours is None else "at"
    known = [(words, step) for name, words in events.items() if (step := mark.get(name)) is not None]
    return ", ".join(f"{words} {by} {clock.says(step)}" for words, step in known)
