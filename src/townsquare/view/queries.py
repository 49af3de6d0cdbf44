"""Every question that the viewer puts to a recorded run: the one file with SQL and lazy frames.

Rows of one agent, post or step are asked for by SQL where a table is in SQLite, whose indexes find them, and by a scan
where it is in Parquet, which skips what a filter rules out. Whole courses come from :mod:`townsquare.analysis`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from townsquare import registry, schema
from townsquare.analysis.contract import Kept, setting
from townsquare.errors import SettingError
from townsquare.record.frames import frame_schema
from townsquare.record.run import Run
from townsquare.schema import ActionKind, ActionStatus, AgentKind, PostKind
from townsquare.view.library import Snapshot

_ENGAGING = {
    "likes": (ActionKind.LIKE, ActionKind.LIKE_COMMENT),
    "dislikes": (ActionKind.DISLIKE,),
    "shares": (ActionKind.SHARE,),
    "comments": (ActionKind.COMMENT,),
    "flags": (ActionKind.FLAG,),
}


def rows_where(run: Run, table: str, **wanted: int | Sequence[int]) -> pl.DataFrame:
    """Rows of a table whose columns have these values (or one of these), with the dtypes of the schema, in order."""
    listed = {name: [value] if isinstance(value, int) else list(value) for name, value in wanted.items()}
    if run.header.bulky and schema.TABLES[table].bulky:
        tests = [pl.col(name).is_in(values) for name, values in listed.items()]
        return run.lazy(table).filter(*tests).collect()
    tests_sql = " AND ".join(f"{name} IN ({', '.join(str(int(v)) for v in values)})" for name, values in listed.items())
    return _typed(table, run.sql(f"SELECT * FROM ts_{table} WHERE {tests_sql} ORDER BY rowid"))


def _typed(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """What SQLite gave, with the dtypes of the schema: NULL is NaN, 0 and 1 are booleans."""
    columns = schema.TABLES[table].recorded
    made = []
    for column in columns:
        value = pl.col(column.name)
        if column.dtype == "u8":
            value = value.cast(pl.Int64).reinterpret(signed=False)
        elif column.dtype.startswith("f"):
            value = value.cast(pl.Float64).fill_null(float("nan"))
        elif column.dtype != "str":
            value = value.cast(pl.Int64)
        made.append(value.cast(frame_schema([column])[column.name]))
    return frame.select(made)


class OfAgent:
    """A run as :class:`townsquare.analysis.contract.Reads`, in which large tables hold the rows of one agent only."""

    _CUT = frozenset({"exposures", "trail", "beliefs", "holdings", "starts", "traits"})

    def __init__(self, of: Snapshot, agent: int) -> None:
        self._run, self._kept, self._agent = of.run, of.kept, agent
        self.settings: Mapping[str, Any] = of.run.settings
        self.version, self.last_step = of.run.version, of.last_step
        self.state, self.content_hash = of.kept.state, of.kept.content_hash

    def table(self, name: str) -> pl.DataFrame:
        """Rows of a table: of this agent, or all."""
        if name not in self._CUT:
            return self._kept.table(name)
        rows = rows_where(self._run, name, agent=self._agent)
        return rows.filter(pl.col("step") <= self.last_step) if "step" in rows.columns else rows

    def lazy(self, name: str) -> pl.LazyFrame:
        """The same, to be collected."""
        return self.table(name).lazy()


# --- names -------------------------------------------------------------------------------------------------


def propositions(kept: Kept) -> pl.DataFrame:
    """``proposition``, ``name``, ``text``; in order."""
    return kept.table("propositions").select("proposition", "name", "text").sort("proposition")


def proposition_number(kept: Kept, name: str) -> int:
    """The number of a proposition; of the first for the empty name. Raises ``SettingError`` for another."""
    known = {row["name"]: row["proposition"] for row in propositions(kept).iter_rows(named=True)}
    if not name and known:
        return int(next(iter(known.values())))
    if name not in known:
        raise SettingError("proposition", got=repr(name), allowed=", ".join(known) or "none: this run has none")
    return int(known[name])


def agent_names(kept: Kept) -> pl.DataFrame:
    """``agent``, ``who`` (its name, or ``agent 17``), ``kind`` (word), ``born``; untrusted names."""
    texts = kept.table("texts").select(pl.col("text").alias("name"), pl.col("content"))
    words = {int(kind): kind.name.lower() for kind in AgentKind}
    return (
        kept.table("agents")
        .join(texts, on="name", how="left", maintain_order="left")
        .select(
            "agent",
            pl.coalesce(pl.col("content"), "agent " + pl.col("agent").cast(pl.String)).alias("who"),
            pl.col("kind").replace_strict(words, return_dtype=pl.String),
            "born",
        )
    )


def post_texts(kept: Kept) -> pl.DataFrame:
    """``post``, ``root``, ``content`` (of the root, untrusted), ``root_kind``, ``veracity`` (words), ``root_author``."""
    texts = kept.table("texts")
    posts = kept.table("posts")
    kinds = {int(kind): kind.name.lower() for kind in PostKind}
    words = {int(truth): truth.name.lower() for truth in schema.Veracity}
    of_root = posts.select(
        pl.col("post").alias("root"),
        "text",
        pl.col("kind").replace_strict(kinds, return_dtype=pl.String).alias("root_kind"),
        pl.col("veracity").replace_strict(words, return_dtype=pl.String),
        pl.col("author").alias("root_author"),
    )
    return (
        posts.select("post", "root")
        .join(of_root, on="root", how="left", maintain_order="left")
        .join(texts, on="text", how="left", maintain_order="left")
        .select("post", "root", pl.col("content").fill_null(""), "root_kind", "veracity", "root_author")
    )


def unit(run: Run) -> str:
    """Unit of the trail; a rule that is not registered here is taken to count in stance, as ``townsquare why`` does."""
    rule = str(setting(run, "beliefs", "rule", default=""))
    return str(registry.get("beliefs", rule).unit) if rule in registry.names("beliefs") else "stance"


def has_memories() -> bool:
    """Whether records of this version hold memories of agents."""
    return "memories" in schema.TABLES


# --- many agents -------------------------------------------------------------------------------------------


def stances_at(run: Run, step: int, proposition: int) -> pl.DataFrame:
    """``agent``, ``stance``, ``confidence`` after a step."""
    rows = run.table("beliefs", (step, step))
    return rows.filter(pl.col("proposition") == proposition).select("agent", "stance", "confidence")


def follows_at_end(of: Snapshot) -> pl.DataFrame:
    """``follower``, ``followed`` of those follows that stand after the last step, by both."""
    return of.once("follows", lambda: _follows_at_end(of))


def _follows_at_end(of: Snapshot) -> pl.DataFrame:
    events = of.run.table("follows").filter(pl.col("step") <= of.last_step)
    pair = ["follower", "followed"]
    return (
        events.group_by(pair, maintain_order=True)
        .agg(pl.col("change").last())
        .filter(pl.col("change") > 0)
        .select(pair)
        .sort(pair)
    )


def agent_list(of: Snapshot, proposition: int) -> pl.DataFrame:
    """Persons: ``agent``, ``who``, ``born``, ``start``, ``end``, ``change``, ``confidence``, ``followers``."""
    names = agent_names(of.kept).filter(pl.col("kind") == "person").drop("kind")
    end = stances_at(of.run, of.last_step, proposition).rename({"stance": "end"})
    births = names["born"].unique().to_list()
    starts = [
        stances_at(of.run, step, proposition).join(names.filter(pl.col("born") == step).select("agent"), on="agent")
        for step in sorted(births)
        if step <= of.last_step
    ]
    start = pl.concat(starts).select("agent", pl.col("stance").alias("start")) if starts else None
    followers = follows_at_end(of).group_by(pl.col("followed").alias("agent")).len("followers")
    frame = names.join(end, on="agent", how="left")
    if start is not None:
        frame = frame.join(start, on="agent", how="left")
    return frame.join(followers, on="agent", how="left").select(
        "agent",
        "who",
        "born",
        "start",
        "end",
        (pl.col("end") - pl.col("start")).alias("change"),
        "confidence",
        pl.col("followers").fill_null(0).cast(pl.Int64),
    )


# --- one agent ---------------------------------------------------------------------------------------------


def persona(of: Snapshot, agent: int) -> pl.DataFrame:
    """``label`` and ``answer`` of each trait, in the order of the question bank; untrusted."""
    mine = rows_where(of.run, "traits", agent=agent)
    values = of.kept.table("trait_values")
    return mine.join(values, on=["trait", "value"], how="inner").sort("trait").select("label", "answer")


def beliefs_of(of: Snapshot, agent: int) -> pl.DataFrame:
    """``step``, ``proposition`` (name), ``stance``, ``confidence`` of one agent."""
    names = propositions(of.kept).select("proposition", "name")
    return (
        rows_where(of.run, "beliefs", agent=agent)
        .filter(pl.col("step") <= of.last_step)
        .join(names, on="proposition")
        .sort("proposition", "step")
        .select("step", pl.col("name").alias("proposition"), "stance", "confidence")
    )


def exposures_of(of: Snapshot, agent: int, step: int) -> pl.DataFrame:
    """What an agent was shown in a step, in feed order, with the text of the root and who passed it on."""
    table = schema.TABLES["exposures"]
    words = {column.name: column.words for column in table.recorded if column.words}
    rows = rows_where(of.run, "exposures", agent=agent, step=step)
    labels = [
        pl.col(name).replace_strict({int(w): w.name.lower() for w in kind}, return_dtype=pl.String)
        for name, kind in words.items()
    ]
    who = agent_names(of.kept).select(pl.col("agent").alias("author"), "who")
    texts = post_texts(of.kept).select("post", "content", "root_kind")
    return (
        rows.with_columns(labels)
        .join(who, on="author", how="left", maintain_order="left")
        .join(texts, on="post", how="left", maintain_order="left")
        .drop("agent")
    )


def actions_of(of: Snapshot, agent: int, step: int) -> pl.DataFrame:
    """What an agent did or tried in a step and why, with the texts; untrusted."""
    rows = rows_where(of.run, "actions", agent=agent, step=step)
    texts = of.kept.table("texts")
    written = texts.rename({"content": "written"})
    reasons = texts.rename({"text": "reasoning", "content": "why"})
    words = [
        pl.col(name).replace_strict({int(w): w.name.lower() for w in kind}, return_dtype=pl.String)
        for name, kind in (("kind", ActionKind), ("status", ActionStatus), ("reason", schema.Reason))
    ]
    notes = (
        of.kept.table("notes")
        .select("note", "text")
        .join(texts, on="text")
        .select("note", pl.col("content").alias("noted"))
    )
    on_post = ~pl.col("kind").is_in(["follow", "unfollow", "rate_note"])
    return (
        rows.with_columns(words)
        .join(written, on="text", how="left", maintain_order="left")
        .join(reasons, on="reasoning", how="left", maintain_order="left")
        .with_columns(
            pl.when(on_post).then(pl.col("target")).otherwise(-1).alias("post"),
            pl.when(pl.col("kind") == "rate_note").then(pl.col("target")).otherwise(-1).alias("note"),
        )
        .join(notes, on="note", how="left", maintain_order="left")
        .join(post_texts(of.kept).select("post", "root", "content"), on="post", how="left", maintain_order="left")
        .select("step", "ordinal", "kind", "rank", "target", "root", "content", "written", pl.col("noted").alias("note"),
                "helpful", "why", "status", "reason")
    )  # fmt: skip


# --- posts -------------------------------------------------------------------------------------------------


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
        .collect()
    )


def post_list(of: Snapshot) -> pl.DataFrame:
    """Roots but comments: ``root``, ``step``, ``kind``, ``who``, ``veracity``, ``verdict``, ``taken_down``, counts, ``content``."""
    kept = of.kept
    who = agent_names(kept).select(pl.col("agent").alias("root_author"), "who")
    posts = (
        post_texts(kept)
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
            pl.col("verdict").replace_strict(words, return_dtype=pl.String),
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
        .select("step", pl.col("kind").replace_strict(words, return_dtype=pl.String).alias("what"), "reason", "value")
    )


def notes_of(kept: Kept, root: int) -> pl.DataFrame:
    """Notes on a root: ``note``, ``step``, ``author``, ``who``, ``content``, ``helpful``, ``not_helpful``, ``shown``."""
    found = (pl.col("helpful").sum().cast(pl.Int64), (~pl.col("helpful")).sum().cast(pl.Int64).alias("not_helpful"))
    ratings = kept.table("note_ratings").group_by("note").agg(*found)
    log = kept.table("moderation_log")
    # The log names a note in `value`; the last of showing and withdrawing decides.
    states = log.filter(pl.col("kind").is_in([int(schema.LogKind.NOTE_SHOWN), int(schema.LogKind.NOTE_WITHDRAWN)]))
    last = states.group_by(pl.col("value").cast(pl.Int32).alias("note"), maintain_order=True).agg(
        (pl.col("kind").last() == int(schema.LogKind.NOTE_SHOWN)).alias("shown"), pl.col("step").last().alias("decided")
    )
    who = agent_names(kept).select(pl.col("agent").alias("author"), "who")
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
    """Shares of a root and comments under it, in order: ``post``, ``kind``, ``parent``, ``step``, ``author``, ``who``, ``content``."""
    posts = kept.table("posts")
    kinds = {int(kind): kind.name.lower() for kind in PostKind}
    shares = (pl.col("root") == root) & (pl.col("kind") == int(PostKind.SHARE))
    passed_on = posts.filter((pl.col("root") == root) | (pl.col("post") == root))["post"]
    comments = (pl.col("kind") == int(PostKind.COMMENT)) & pl.col("parent").is_in(passed_on.implode())
    who = agent_names(kept).select(pl.col("agent").alias("author"), "who")
    return (
        posts.filter(shares | comments)
        .join(kept.table("texts"), on="text", how="left", maintain_order="left")
        .join(who, on="author", how="left", maintain_order="left")
        .select(
            "post",
            pl.col("kind").replace_strict(kinds, return_dtype=pl.String),
            "parent",
            "step",
            "author",
            "who",
            pl.col("content").fill_null(""),
        )
    )


def shown_to(of: Snapshot, root: int) -> pl.DataFrame:
    """Every exposure to a root: ``step``, ``agent``, ``rank``, ``author``, ``verdict`` (word), ``noted``, ``first_seen``, ``weight``."""
    words = {int(word): word.name.lower() for word in schema.Verdict}
    rows = rows_where(of.run, "exposures", root=root)
    return (
        rows.filter(pl.col("step") <= of.last_step)
        .sort("step", "agent", "rank")
        .select("step", "agent", "rank", "author", "likes", "shares",
                pl.col("verdict").replace_strict(words, return_dtype=pl.String),
                (pl.col("note") >= 0).alias("noted"), "first_seen", "weight")
    )  # fmt: skip


def moved_by(of: Snapshot, root: int) -> pl.DataFrame:
    """What a root moved: ``step``, ``agent``, ``proposition`` (name), ``kind``, ``amount`` in the unit of the rule."""
    posts = of.kept.table("posts").filter(pl.col("root") == root)["post"].to_list()
    if not posts:
        return pl.DataFrame(
            schema={"step": pl.Int32, "agent": pl.Int32, "proposition": pl.String, "amount": pl.Float64}
        )
    names = propositions(of.kept).select("proposition", "name")
    rows = rows_where(of.run, "trail", post=posts)
    return (
        rows.filter(pl.col("step") <= of.last_step)
        .join(names, on="proposition", maintain_order="left")
        .select("step", "agent", pl.col("name").alias("proposition"), "amount")
        .sort("step", "agent")
    )
