"""What a recorded run says of posts: lists, threads, notes, verdicts, who saw them and whom they moved.

Rows are asked for through :mod:`townsquare.pages.view.queries`, where the SQL stands.
"""

from __future__ import annotations

import polars as pl

from townsquare.analysis.contract import Kept
from townsquare.core import schema
from townsquare.core.frames import as_words, collected
from townsquare.core.schema import ActionKind, ActionStatus, PostKind
from townsquare.pages.view import queries
from townsquare.pages.view.library import Snapshot

_ENGAGING = {
    "likes": (ActionKind.LIKE, ActionKind.LIKE_COMMENT),
    "dislikes": (ActionKind.DISLIKE,),
    "shares": (ActionKind.SHARE,),
    "comments": (ActionKind.COMMENT,),
    "flags": (ActionKind.FLAG,),
}


def engagement_by_root(of: Snapshot) -> pl.DataFrame:
    """``root`` with counts of accepted likes, dislikes, shares, comments, flags."""
    return of.once("engagement by root", lambda: _engagement_by_root(of))


def _engagement_by_root(of: Snapshot) -> pl.DataFrame:
    roots = of.kept.table("posts").select("post", "root")
    counts = [
        pl.col("kind").is_in([int(kind) for kind in kinds]).sum().cast(pl.Int64).alias(name)
        for name, kinds in _ENGAGING.items()
    ]
    wanted = [int(kind) for kinds in _ENGAGING.values() for kind in kinds]
    return (
        of.kept.lazy("actions")
        .filter(pl.col("status") == int(ActionStatus.ACCEPTED), pl.col("kind").is_in(wanted))
        .join(roots.lazy(), left_on="target", right_on="post")
        .group_by("root")
        .agg(counts)
        .pipe(collected)
    )


def post_list(of: Snapshot) -> pl.DataFrame:
    """Roots but comments: ``root``, ``step``, ``kind``, ``who``, ``veracity``, ``verdict``, ``noted``, ``taken_down``,
    counts of engagement, ``content``; untrusted texts.
    """
    kept = of.kept
    who = queries.agent_names(kept).select(pl.col("agent").alias("root_author"), "who")
    posts = (
        queries.post_texts(kept)
        .filter((pl.col("post") == pl.col("root")) & (pl.col("root_kind") != "comment"))
        .join(kept.table("posts").select("post", "step"), on="post")
        .join(who, on="root_author", how="left")
    )
    last = verdicts(kept).group_by("root", maintain_order=True).agg(pl.col("verdict").last())
    gone = kept.table("moderation_log").filter(pl.col("kind") == schema.LogKind.TAKEDOWN)
    shown = kept.table("moderation_log").filter(pl.col("kind") == schema.LogKind.NOTE_SHOWN)
    frame = posts.join(engagement_by_root(of), on="root", how="left").join(last, on="root", how="left")
    counts = [pl.col(name).fill_null(0) for name in _ENGAGING]
    return frame.select(
        "root",
        "step",
        pl.col("root_kind").alias("kind"),
        "who",
        "veracity",
        pl.col("verdict").fill_null(""),
        pl.col("root").is_in(shown["post"].implode()).alias("noted"),
        pl.col("root").is_in(gone["post"].implode()).alias("taken_down"),
        *counts,
        "content",
    ).sort("root")


def verdicts(kept: Kept) -> pl.DataFrame:
    """``root``, ``step``, ``verdict`` (word), ``confidence``, ``explanation``, ``sources``; untrusted texts."""
    words = {int(word): word.name.lower() for word in schema.Verdict}
    texts = kept.table("texts")
    return (
        kept.table("verdicts")
        .join(kept.table("posts").select("post", "root"), on="post", maintain_order="left")
        .join(
            texts.rename({"text": "explanation", "content": "said"}),
            on="explanation",
            how="left",
            maintain_order="left",
        )
        .join(texts.rename({"text": "sources", "content": "read"}), on="sources", how="left", maintain_order="left")
        .select(
            "root",
            "step",
            as_words("verdict", words),
            "confidence",
            pl.col("said").fill_null("").alias("explanation"),
            pl.col("read").fill_null("").alias("sources"),
        )
    )


def moderation_of(kept: Kept, root: int) -> pl.DataFrame:
    """``step``, ``what``, ``reason``, ``value``: every act of a moderator on a root."""
    words = {int(word): word.name.lower() for word in schema.LogKind}
    posts = kept.table("posts").select("post", "root")
    return (
        kept.table("moderation_log")
        .join(posts, on="post", maintain_order="left")
        .filter(pl.col("root") == root)
        .select("step", as_words("kind", words).alias("what"), "reason", "value")
    )


def notes_of(kept: Kept, root: int) -> pl.DataFrame:
    """Notes on a root: ``note``, ``step``, ``author``, ``who``, ``content``, ``helpful``, ``not_helpful``, ``shown``,
    ``decided`` (step of the last decision, or null).
    """
    found = (pl.col("helpful").sum().cast(pl.Int64), (~pl.col("helpful")).sum().cast(pl.Int64).alias("not_helpful"))
    ratings = kept.table("note_ratings").group_by("note").agg(*found)
    log = kept.table("moderation_log")
    # The log names a note in `value`; the last of showing and withdrawing decides.
    states = log.filter(pl.col("kind").is_in([int(schema.LogKind.NOTE_SHOWN), int(schema.LogKind.NOTE_WITHDRAWN)]))
    last = states.group_by(pl.col("value").cast(pl.Int32).alias("note"), maintain_order=True).agg(
        (pl.col("kind").last() == int(schema.LogKind.NOTE_SHOWN)).alias("shown"), pl.col("step").last().alias("decided")
    )
    who = queries.agent_names(kept).select(pl.col("agent").alias("author"), "who")
    posts = kept.table("posts").select("post", "root")
    return (
        kept.table("notes")
        .join(posts, on="post", maintain_order="left")
        .filter(pl.col("root") == root)
        .join(kept.table("texts"), on="text", how="left", maintain_order="left")
        .join(who, on="author", how="left", maintain_order="left")
        .join(ratings, on="note", how="left", maintain_order="left")
        .join(last, on="note", how="left", maintain_order="left")
        .select("note", "step", "author", "who", pl.col("content").fill_null(""), pl.col("helpful").fill_null(0),
                pl.col("not_helpful").fill_null(0), pl.col("shown").fill_null(False), "decided")
    )  # fmt: skip


def thread_of(kept: Kept, root: int) -> pl.DataFrame:
    """Shares of a root and comments under it, in order: ``post``, ``kind``, ``parent``, ``step``,
    ``author``, ``who``, ``content``.
    """
    posts = kept.table("posts")
    kinds = {int(kind): kind.name.lower() for kind in PostKind}
    shares = (pl.col("root") == root) & (pl.col("kind") == int(PostKind.SHARE))
    passed_on = posts.filter((pl.col("root") == root) | (pl.col("post") == root))["post"]
    comments = (pl.col("kind") == int(PostKind.COMMENT)) & pl.col("parent").is_in(passed_on.implode())
    who = queries.agent_names(kept).select(pl.col("agent").alias("author"), "who")
    return (
        posts.filter(shares | comments)
        .join(kept.table("texts"), on="text", how="left", maintain_order="left")
        .join(who, on="author", how="left", maintain_order="left")
        .select(
            "post",
            as_words("kind", kinds),
            "parent",
            "step",
            "author",
            "who",
            pl.col("content").fill_null(""),
        )
    )


def shown_to(of: Snapshot, root: int) -> pl.DataFrame:
    """Every exposure to a root: ``step``, ``agent``, ``rank``, ``author``, ``verdict`` (word), ``noted``,
    ``first_seen``, ``weight``.
    """
    words = {int(word): word.name.lower() for word in schema.Verdict}
    rows = of.run.rows_where("exposures", root=root)
    return (
        rows.filter(pl.col("step") <= of.last_step)
        .sort("step", "agent", "rank")
        .select("step", "agent", "rank", "author", "likes", "shares",
                as_words("verdict", words),
                (pl.col("note") >= 0).alias("noted"), "first_seen", "weight")
    )  # fmt: skip


def moved_by(of: Snapshot, root: int) -> pl.DataFrame:
    """What a root moved: ``step``, ``agent``, ``proposition`` (name), ``kind``, ``amount`` in the unit of the rule."""
    posts = of.kept.table("posts").filter(pl.col("root") == root)["post"].to_list()
    if not posts:
        return pl.DataFrame(
            schema={"step": pl.Int32, "agent": pl.Int32, "proposition": pl.String, "amount": pl.Float64}
        )
    names = queries.propositions(of.kept).select("proposition", "name")
    rows = of.run.rows_where("trail", post=posts)
    return (
        rows.filter(pl.col("step") <= of.last_step)
        .join(names, on="proposition", maintain_order="left")
        .select("step", "agent", pl.col("name").alias("proposition"), "amount")
        .sort("step", "agent")
    )
