"""What the viewer asks of a recorded run: the one file with SQL. What it asks of posts, in frames: ``post_queries``.

Rows of one agent, post or step are asked for by SQL where a table is in a database, whose indexes find them, and by a
scan where it is in Parquet, which skips what a filter rules out. Whole courses come from :mod:`townsquare.analysis`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from townsquare.analysis.beliefs import names, of_proposition
from townsquare.analysis.contract import CachedRun, setting
from townsquare.analysis.follow_graph import standing_follows
from townsquare.analysis.memories import days_per_step, remembered
from townsquare.core import schema
from townsquare.core.actions import SPECS, WORDS, On
from townsquare.core.enums import HoldingChange
from townsquare.core.errors import TownsquareError
from townsquare.core.frames import ORDERED, as_words, collected
from townsquare.pages.view.library import Snapshot
from townsquare.record.run import Run
from townsquare.scenario.population.sample import sample_people
from townsquare.scenario.settings import contents_now
from townsquare.settings.named_files import check_contents
from townsquare.settings.resolve import resolve
from townsquare.simulation.scenario_copy import recorded_scenario


class OfAgent:
    """A run as :class:`townsquare.analysis.contract.Reads`, in which large tables hold the rows of one agent only."""

    _CUT = frozenset({"exposures", "trail", "beliefs", "holdings", "starts", "traits", "veracities"})

    def __init__(self, of: Snapshot, agent: int) -> None:
        self._run, self._cached, self._agent = of.run, of.cached, agent
        self.settings: Mapping[str, Any] = of.run.settings
        self.version, self.last_step = of.run.version, of.last_step
        self.state, self.content_hash = of.cached.state, of.cached.content_hash

    def table(self, name: str) -> pl.DataFrame:
        """Return rows of a table: of this agent, or all."""
        if name not in self._CUT:
            return self._cached.table(name)
        rows = self._run.rows_where(name, agent=self._agent)
        return rows.filter(pl.col("step") <= self.last_step) if "step" in rows.columns else rows

    def lazy(self, name: str) -> pl.LazyFrame:
        """Return the same, to be collected."""
        return self.table(name).lazy()


# --- names -------------------------------------------------------------------------------------------------


def joined(frame: pl.DataFrame, on: str, *parts: pl.DataFrame) -> pl.DataFrame:
    """Return all rows of a frame in their order, with what others have of each; null where they have none."""
    for part in parts:
        frame = frame.join(part, on=on, how="left", maintain_order="left")
    return frame


def worded(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """Return rows of a table of the record, with its codes in words."""
    kinds = {column.name: column.words for column in schema.TABLES[table].recorded if column.words}
    words = {name: {int(word): word.name.lower() for word in kind} for name, kind in kinds.items()}
    return frame.with_columns(as_words(name, words[name]) for name in words if name in frame.columns)


def with_text(frame: pl.DataFrame, run: CachedRun, column: str = "text", name: str = "content") -> pl.DataFrame:
    """Return rows with the text that a column points to, as a further column; null if none exists; untrusted."""
    texts = run.table("texts").select(pl.col("text").alias(column), pl.col("content").alias(name))
    return joined(frame, column, texts)


def with_who(frame: pl.DataFrame, run: CachedRun, column: str = "author") -> pl.DataFrame:
    """Return rows with the name of an agent as a further column ``who``; untrusted."""
    who = agent_names(run).select(pl.col("agent").alias(column), "who")
    return joined(frame, column, who)


propositions = names
"""Number, name and text of each proposition of a run."""


def proposition_number(run: CachedRun, name: str) -> int:
    """Return the number of a proposition; of the first for the empty name. Raises ``UnknownName`` for another."""
    every = propositions(run)
    named = of_proposition(run, every, name) if name or every.is_empty() else every
    return int(named["proposition"][0])


def agent_names(run: CachedRun) -> pl.DataFrame:
    """Return ``agent``, ``who`` (its name, or ``agent 17``), ``kind`` (word), ``born``; untrusted names."""
    unnamed = "agent " + pl.col("agent").cast(pl.String)
    rows = with_text(worded(run.table("agents"), "agents"), run, "name")
    return rows.select("agent", pl.coalesce("content", unnamed).alias("who"), "kind", "born")


def post_texts(run: CachedRun) -> pl.DataFrame:
    """Return ``post``, ``root``, ``content`` (of the root, untrusted), ``root_kind``, ``veracity``, ``root_author``."""
    posts = worded(run.table("posts"), "posts")
    roots = posts.select("text", "veracity", root="post", root_kind="kind", root_author="author")
    rows = joined(posts.select("post", "root"), "root", roots)
    columns = "post", "root", pl.col("content").fill_null(""), "root_kind", "veracity", "root_author"
    return with_text(rows, run).select(columns)


# --- many agents -------------------------------------------------------------------------------------------


def stances_at(run: Run, step: int, proposition: int) -> pl.DataFrame:
    """Return ``agent``, ``stance``, ``confidence`` after a step."""
    rows = run.table("beliefs", (step, step))
    return rows.filter(pl.col("proposition") == proposition).select("agent", "stance", "confidence")


def follows_at_end(of: Snapshot) -> pl.DataFrame:
    """Return ``follower``, ``followed`` of those follows that stand after the last step, by both."""
    return of.cached.once("follows", lambda: standing_follows(of.cached, of.last_step).drop("since"))


def agent_list(of: Snapshot, proposition: int) -> pl.DataFrame:
    """Return persons: ``agent``, ``who``, ``born``, ``start``, ``end``, ``change``, ``confidence``, ``followers``."""
    names = agent_names(of.cached).filter(pl.col("kind") == "person").drop("kind")
    end = stances_at(of.run, of.last_step, proposition).rename({"stance": "end"})
    births = names["born"].unique().to_list()
    starts = [
        stances_at(of.run, step, proposition).join(names.filter(pl.col("born") == step).select("agent"), on="agent")
        for step in sorted(births)
        if step <= of.last_step
    ]
    at_birth = pl.concat(starts) if starts else end.clear().rename({"end": "stance"})
    start = at_birth.select("agent", start="stance")
    followers = follows_at_end(of).group_by(pl.col("followed").alias("agent")).len("followers")
    names = joined(names, "agent", end, start, followers)
    change, followed = (pl.col("end") - pl.col("start")).alias("change"), pl.col("followers").fill_null(0)
    return names.select("agent", "who", "born", "start", "end", change, "confidence", followed.cast(pl.Int64))


def influence(of: Snapshot) -> pl.DataFrame:
    """Return ``agent`` and ``moved``: how far its posts and shares moved others in total, in the unit of the rule.

    Sizes of contributions of every row that others were shown, whatever their sign, over all steps and propositions.
    """
    return of.cached.once("influence by agent", lambda: _influence(of))


def _influence(of: Snapshot) -> pl.DataFrame:
    authors = of.cached.table("posts").select("post", pl.col("author").alias("agent"))
    if of.run.stored("trail") in ("Parquet", "packed"):
        size = pl.col("amount").abs().sum().alias("moved")
        shown = of.cached.lazy("trail").filter(pl.col("rank") >= 0)
        by_post = shown.group_by("post").agg(size).pipe(collected, ORDERED)
    else:  # summed where the rows are: they need not all be read
        sums = "SELECT post, SUM(ABS(amount)) AS moved FROM ts_trail WHERE rank >= 0 AND step <= {} GROUP BY post"
        by_post = of.run.sql(sums.format(int(of.last_step))).cast({"post": pl.Int32, "moved": pl.Float64})
    return by_post.join(authors, on="post").group_by("agent").agg(pl.col("moved").sum()).sort("agent")


# --- one agent ---------------------------------------------------------------------------------------------


def persona(of: Snapshot, agent: int) -> pl.DataFrame:
    """Return ``label`` and ``answer`` of each trait, in the order of the question bank; untrusted."""
    traits = of.run.rows_where("traits", agent=agent)
    values = of.cached.table("trait_values")
    return traits.join(values, on=["trait", "value"], how="inner").sort("trait").select("label", "answer")


def who_answered(of: Snapshot, wanted: str) -> pl.Series:
    """Return agents with an answer to a trait; ``wanted`` is ``trait: answer`` in small letters, or an end of it."""
    label, _, answer = (part.strip() for part in wanted.partition(":"))
    given = pl.col("answer").str.to_lowercase()
    of_trait = of.cached.table("trait_values").filter(pl.col("label").str.to_lowercase() == label)
    exact = of_trait.filter(given == answer)
    values = exact if exact.height else of_trait.filter(given.str.starts_with(answer))
    return of.run.table("traits").join(values, on=["trait", "value"], how="semi")["agent"].unique()


def persona_text(of: Snapshot, agent: int) -> str:
    """Return the persona in words, as members of the run read it, untrusted; empty where none was written."""
    texts = with_text(of.cached.table("personas").filter(pl.col("agent") == agent), of.cached).drop_nulls("content")
    return str(texts["content"][-1]) if texts.height else ""


def survey_text(of: Snapshot, agent: int) -> str:
    """Return the text of a person in the file of the population where the run recorded none, untrusted; else empty."""
    texts = of.cached.once("survey texts", lambda: _survey_texts(of))
    return texts[agent] if agent < len(texts) else ""


def _survey_texts(of: Snapshot) -> tuple[str, ...]:
    """Return texts of the first people, read again from the files of the run; none where these are gone or changed."""
    if not of.cached.table("personas").is_empty():
        return ()
    try:
        settings = resolve(of.run.settings)
        scenario = recorded_scenario(settings, of.run.folder)
        check_contents(settings.file_contents, contents_now(settings, scenario.folder))
        config, accounts = settings.config, scenario.accounts
        if config.population.file is None and accounts is None:
            return ()
        known = None if accounts is None else accounts.personas
        names, folder = scenario.proposition_names, scenario.folder
        people = sample_people(
            0, config.agents, config.population, names, config.seed, ordinal=0, folder=folder, accounts=known
        )
    except TownsquareError:
        return ()
    return tuple(people.texts)


def traits(of: Snapshot) -> list[dict[str, Any]]:
    """Return each trait of the population with its answers and the persons who gave them; untrusted texts."""
    values = of.cached.table("trait_values").select("trait", "value", "label", "answer")
    given = of.cached.table("traits").group_by("trait", "value").len("persons")
    rows = given.join(values, on=["trait", "value"]).sort("trait", "value")
    parts = rows.group_by("label", maintain_order=True)
    return [{"trait": label, "answers": part.select("answer", "persons").to_dicts()} for (label,), part in parts]


def memories_of(of: Snapshot, agent: int, step: int) -> pl.DataFrame:
    """Return what an agent remembers after a step, the most relevant first.

    ``memory``, ``step``, ``kind`` and ``action`` (words), ``post`` (root, or -1), ``content`` (untrusted),
    ``importance`` in [0, 1], ``accessed`` (step in which its clock began again) and ``relevance`` in [0, 1]: importance
    times what is left after the decay since then, as MOSAIC's appendix E.1 has it.
    """
    rows = of.cached.table("agent_memories").filter((pl.col("agent") == agent) & (pl.col("step") <= step))
    accesses = of.cached.table("memory_accesses").filter(pl.col("step") <= step)
    decay = float(setting(of.run, "memory", "decay", default=0.0))
    known = worded(remembered(rows, accesses, decay, days_per_step(of.run), step), "agent_memories")
    return (
        with_text(known, of.cached)
        .with_columns(pl.col("content").fill_null(""))
        .select("memory", "step", "kind", "action", "post", "content", "importance", "accessed", "relevance")
        .sort(["relevance", "step", "memory"], descending=True)
    )


def beliefs_of(of: Snapshot, agent: int) -> pl.DataFrame:
    """Return ``step``, ``proposition`` (name), ``stance``, ``confidence`` of one agent."""
    rows = of.run.rows_where("beliefs", agent=agent).filter(pl.col("step") <= of.last_step)
    known = propositions(of.cached).select("proposition", "name")
    named = rows.join(known, on="proposition").sort("proposition", "step")
    return named.select("step", pl.col("name").alias("proposition"), "stance", "confidence")


def exposures_of(of: Snapshot, agent: int, step: int) -> pl.DataFrame:
    """Return what an agent was shown in a step, in feed order, with the text of the root and who passed it on."""
    rows = worded(of.run.rows_where("exposures", agent=agent, step=step), "exposures")
    texts = post_texts(of.cached).select("post", "content", "root_kind")
    return joined(with_who(rows, of.cached), "post", texts).drop("agent")


def actions_of(of: Snapshot, agent: int, step: int) -> pl.DataFrame:
    """Return what an agent did or tried in a step and why, with the texts; untrusted."""
    rows = worded(of.run.rows_where("actions", agent=agent, step=step), "actions")
    rows = with_text(with_text(rows, of.cached, name="written"), of.cached, "reasoning", "why")
    target, done_to = pl.col("target"), {word: str(SPECS[kind].on) for kind, word in WORDS.items()}
    rows = rows.with_columns(pl.col("kind").replace_strict(done_to, default="", return_dtype=pl.String).alias("on"))
    on_post = pl.when(pl.col("on").is_in([On.AUTHOR, On.NOTE])).then(-1).otherwise(target)
    rows = rows.with_columns(post=on_post, note=pl.when(pl.col("on") == On.NOTE).then(target).otherwise(-1))
    notes = with_text(of.cached.table("notes"), of.cached, name="noted").select("note", "noted").drop_nulls("noted")
    posts = post_texts(of.cached).select("post", "root", "content")
    rows = joined(joined(rows, "note", notes), "post", posts)
    return rows.select(
        "step", "ordinal", "kind", "on", "rank", "target", "root", "content", "written", pl.col("noted").alias("note"),
        "helpful", "why", "status", "reason",
    )  # fmt: skip


def record_changes(of: Snapshot, agent: int, step: int, proposition: int) -> list[dict[str, Any]]:
    """Return what happened to an agent's argument records in a step, refusals left out; in the order of the record.

    Each has ``kind`` (of the row of the trail), ``rank``, ``post``, ``claim``, ``text`` (untrusted), ``polarity``,
    ``strength``, and ``by``: the text of the record that replaced it, or None.
    """
    rows = of.run.rows_where("holdings", agent=agent, step=step)
    rows = rows.filter(pl.col("change") != int(HoldingChange.REFUSED))
    claims = of.cached.table("claims").select("claim", "proposition", "text", "polarity", "strength")
    others = with_text(claims, of.cached, name="by_text").drop_nulls("by_text")
    kinds = {int(HoldingChange.ARCHIVED): "archived", int(HoldingChange.RESTORED): "restored"}
    accepted = pl.when(pl.col("rank") >= 0).then(pl.lit("exposure")).otherwise(pl.lit("own"))
    kind = pl.col("change").replace_strict(kinds, default=None, return_dtype=pl.String).fill_null(accepted)
    changed = rows.join(claims.filter(pl.col("proposition") == proposition), on="claim", maintain_order="left")
    return (
        with_text(changed, of.cached)
        .join(others.select(pl.col("claim").alias("by"), "by_text"), on="by", how="left", maintain_order="left")
        .select(kind.alias("kind"), "rank", "post", "claim", pl.col("content").fill_null("").alias("text"),
                pl.col("polarity").cast(pl.Int64), "strength", pl.col("by_text").alias("by"))
        .to_dicts()
    )  # fmt: skip
