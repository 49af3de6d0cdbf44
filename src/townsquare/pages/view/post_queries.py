"""What a recorded run says of posts: lists, threads, notes, verdicts, who saw them and whom they moved.

Rows are asked for through :mod:`townsquare.pages.view.queries`, where the SQL stands.
"""

from __future__ import annotations

import polars as pl

from townsquare.analysis.contract import CachedRun
from townsquare.analysis.engagement import accepted_engagement
from townsquare.core.actions import COUNTED
from townsquare.core.enums import LogKind, PostKind
from townsquare.core.frames import collected
from townsquare.pages.view import queries
from townsquare.pages.view.library import Snapshot

_ENGAGING = {column: COUNTED[column] for column in ("likes", "dislikes", "shares", "comments", "flags")}


OUTSIDE = "outside the simulated public"
"""Who wrote a note with author -1."""


def engagement_by_root(of: Snapshot) -> pl.DataFrame:
    """Return ``root`` with counts of accepted likes, dislikes, shares, comments, flags."""

    def count() -> pl.DataFrame:
        return collected(accepted_engagement(of.cached, _ENGAGING).group_by("root").agg(pl.col(*_ENGAGING).sum()))

    return of.cached.once("engagement by root", count)


def post_list(of: Snapshot) -> pl.DataFrame:
    """Roots but comments: ``root``, ``step``, ``kind``, ``who``, ``veracity``, ``verdict``, ``noted``, ``taken_down``,
    counts of engagement, ``content``; untrusted texts.
    """
    run = of.cached
    listed = (pl.col("post") == pl.col("root")) & (pl.col("root_kind") != "comment")
    posts = queries.post_texts(run).filter(listed).join(run.table("posts").select("post", "step"), on="post")
    last = verdicts(run).group_by("root", maintain_order=True).agg(pl.col("verdict").last())
    log = run.table("moderation_log")
    frame = queries.with_who(posts, run, "root_author").join(engagement_by_root(of), on="root", how="left")
    acts = {
        name: pl.col("root").is_in(log.filter(pl.col("kind") == kind)["post"].implode()).alias(name)
        for name, kind in (("noted", LogKind.NOTE_SHOWN), ("taken_down", LogKind.TAKEDOWN))
    }
    return (
        frame.join(last, on="root", how="left")
        .select("root", "step", pl.col("root_kind").alias("kind"), "who", "veracity", pl.col("verdict").fill_null(""),
                acts["noted"], acts["taken_down"], pl.col(*_ENGAGING).fill_null(0), "content")
        .sort("root")
    )  # fmt: skip


def verdicts(run: CachedRun) -> pl.DataFrame:
    """Return ``root``, ``step``, ``verdict`` (word), ``confidence``, ``explanation``, ``sources``; untrusted texts."""
    posts = run.table("posts").select("post", "root")
    rows = queries.worded(run.table("verdicts"), "verdicts").join(posts, on="post", maintain_order="left")
    rows = queries.with_text(queries.with_text(rows, run, "explanation", "said"), run, "sources", "read")
    explanation, sources = (pl.col(name).fill_null("") for name in ("said", "read"))
    return rows.select("root", "step", "verdict", "confidence", explanation=explanation, sources=sources)


def moderation_of(run: CachedRun, roots: list[int]) -> pl.DataFrame:
    """Return ``step``, ``what``, ``reason``, ``value``: every act of a moderator on some roots."""
    posts = run.table("posts").select("post", "root")
    log = queries.worded(run.table("moderation_log"), "moderation_log").join(posts, on="post", maintain_order="left")
    return log.filter(pl.col("root").is_in(roots)).select("step", pl.col("kind").alias("what"), "reason", "value")


def note_states(run: CachedRun, step: int) -> pl.DataFrame:
    """Return notes as they stood after a step: ``note``, ``helpful``, ``somewhat``, ``not_helpful`` (ratings),
    ``shown``, ``decided`` (step of the last decision, or null), ``status`` (word), and ``intercept`` and ``factor``
    (null for no number).
    """
    tables = ("notes", "note_ratings", "moderation_log", "note_scores")
    notes, given_ratings, log, scored = (run.table(name).filter(pl.col("step") <= step) for name in tables)
    given = pl.col("rating").fill_nan(None).fill_null(pl.col("helpful").cast(pl.Float64))
    ratings_by_word = {"helpful": given == 1, "somewhat": given == 0.5, "not_helpful": given == 0}
    counted = [condition.sum().cast(pl.Int64).alias(name) for name, condition in ratings_by_word.items()]
    # The log names a note in `value`; the last of showing and withdrawing decides.
    states = log.filter(pl.col("kind").is_in([int(LogKind.NOTE_SHOWN), int(LogKind.NOTE_WITHDRAWN)]))
    last = states.group_by(pl.col("value").cast(pl.Int32).alias("note"), maintain_order=True).agg(
        (pl.col("kind").last() == int(LogKind.NOTE_SHOWN)).alias("shown"), pl.col("step").last().alias("decided")
    )
    scores = queries.worded(scored.group_by("note").last(), "note_scores")
    ratings = given_ratings.group_by("note").agg(counted)
    rows = queries.joined(notes.select("note"), "note", ratings, last, scores.rename({"status": "scored"}))
    shown = pl.col("shown").fill_null(False)
    other = pl.when(pl.col("scored") == "not_helpful").then(pl.lit("not_helpful")).otherwise(pl.lit("pending"))
    status = pl.when(shown).then(pl.lit("shown")).otherwise(other).alias("status")
    numbers = pl.col("intercept", "factor").fill_nan(None)
    return rows.select("note", pl.col(*ratings_by_word).fill_null(0), shown, "decided", status, numbers)


def note_list(run: CachedRun) -> pl.DataFrame:
    """Return notes: ``note``, ``root``, ``step``, ``author``, ``who``, ``content``; untrusted texts."""
    posts = run.table("posts").select("post", "root")
    rows = queries.joined(run.table("notes"), "post", posts)
    named = queries.with_who(queries.with_text(rows, run), run)
    who, text = pl.col("who").fill_null(OUTSIDE), pl.col("content").fill_null("")
    return named.select("note", "root", "step", "author", who, text)


def notes_of(run: CachedRun, root: int) -> pl.DataFrame:
    """Return notes on a root, with what :func:`note_list` and :func:`note_states` have of them after the last step."""
    states = note_states(run, run.last_step)
    return note_list(run).filter(pl.col("root") == root).drop("root").join(states, on="note", maintain_order="left")


def thread_of(run: CachedRun, root: int) -> pl.DataFrame:
    """Return shares of a root and comments under it, in order: ``post``, ``kind``, ``parent``, ``step``,
    ``author``, ``who``, ``content``.
    """
    posts = run.table("posts")
    shares = (pl.col("root") == root) & (pl.col("kind") == int(PostKind.SHARE))
    passed_on = posts.filter((pl.col("root") == root) | (pl.col("post") == root))["post"]
    comments = (pl.col("kind") == int(PostKind.COMMENT)) & pl.col("parent").is_in(passed_on.implode())
    rows = queries.with_text(queries.worded(posts.filter(shares | comments), "posts"), run)
    text = pl.col("content").fill_null("")
    return queries.with_who(rows, run).select("post", "kind", "parent", "step", "author", "who", text)


def shown_to(of: Snapshot, root: int) -> pl.DataFrame:
    """Return every exposure to a root: ``step``, ``agent``, ``rank``, ``author``, ``verdict`` (word), ``noted``,
    ``first_seen``, ``weight``.
    """
    rows = queries.worded(of.run.rows_where("exposures", root=root), "exposures")
    columns = ("step", "agent", "rank", "author", "likes", "shares", "verdict", (pl.col("note") >= 0).alias("noted"))
    shown = rows.filter(pl.col("step") <= of.last_step).sort("step", "agent", "rank")
    return shown.select(*columns, "first_seen", "weight")


def moved_by(of: Snapshot, root: int) -> pl.DataFrame:
    """Return contributions of a root: ``step``, ``agent``, ``proposition``, ``kind``, ``amount`` in the rule's unit."""
    posts = of.cached.table("posts").filter(pl.col("root") == root)["post"].to_list()
    if not posts:
        columns = {"step": pl.Int32, "agent": pl.Int32, "proposition": pl.String, "amount": pl.Float64}
        return pl.DataFrame(schema=columns)
    names = queries.propositions(of.cached).select("proposition", "name")
    rows = of.run.rows_where("trail", post=posts).filter(pl.col("step") <= of.last_step)
    named = rows.join(names, on="proposition", maintain_order="left").sort("step", "agent")
    return named.select("step", "agent", pl.col("name").alias("proposition"), "amount")
