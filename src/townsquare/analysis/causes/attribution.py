"""Who and what changed minds: contributions of the trail, summed by post, author, veracity or label.

Every change is accounted for: what was shown, own posts, the anchor and the bounds of the scale are groups of their
own, so that the groups of a person sum to its change, and those of everybody to the population's, to 1e-9 (tested for
every rule that records a trail). An attribution says what the rule counted. It does not say what would have happened
without: that is a counterfactual, whose parts need not sum (:mod:`townsquare.experiments.counterfactual`).
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from townsquare.analysis.beliefs import names
from townsquare.analysis.causes.contributions import agent_names, changes, contributions
from townsquare.analysis.contract import Reads, fits, row_count
from townsquare.core.documents import bundled_labels
from townsquare.core.enums import AgentKind
from townsquare.core.errors import SettingError
from townsquare.core.frames import ORDERED, collected
from townsquare.core.registry import check_known
from townsquare.core.schema import NONE

LONGEST_WHAT = 300
"""Characters of a text that a frame carries."""
CAUSES = {
    "anchor": "anchor (pull toward initial stance)",
    "bounds": "clipping to the allowed range",
    "taken back": "claims believed less than before",
}
"""Causes of belief change other than what was shown, in words."""
SUMMED_BY: dict[str, str] = bundled_labels("attributions")
BY = tuple(SUMMED_BY)
"""What contributions can be summed by. ``author`` passed the row on, ``writer`` wrote what was passed on."""
_READS_SHOWN = {"author", "label"}
_SHOWN = pl.col("cause") == "shown"
_NO_NUMBER, _NO_WORD = pl.lit(NONE), pl.lit("")


def _number(column: str) -> tuple[pl.Expr, pl.Expr]:
    return pl.when(_SHOWN).then(column).otherwise(NONE), _NO_WORD


def _word(column: str) -> tuple[pl.Expr, pl.Expr]:
    return _NO_NUMBER, pl.when(_SHOWN).then(column).otherwise(_NO_WORD).fill_null("")


_KEYS: dict[str, tuple[pl.Expr, pl.Expr]] = {
    "post": (pl.col("root"), _NO_WORD),
    "step": (pl.col("step"), _NO_WORD),
    **{name: _number(name) for name in ("author", "writer")},
    **{name: _word(name) for name in ("veracity", "label", "cause")},
}
"""Number and word of the group of a row; causes other than what was shown are groups of their own."""


def attributions(run: Reads, kinds: Sequence[str] = BY) -> dict[str, pl.DataFrame]:
    """Return :func:`attribution` by several kinds; the trail of a run that is not large is read once for all."""
    rows = _of_those(changes(run), contributions(run, shown=bool(_READS_SHOWN & set(kinds))))
    if fits(run, "trail"):
        rows = rows.pipe(collected, ORDERED).lazy()
    return {kind: _summed(run, kind, changes(run), rows) for kind in kinds}


def attribution(run: Reads, by: str = "author", agent: int | None = None) -> pl.DataFrame:
    """Contributions to belief changes, summed by post, author, writer, veracity, label, cause or step.

    Parameters
    ----------
    run : Reads
        Recorded with a trail.
    by : str
        One of :data:`BY`.
    agent : int, optional
        One person; without it, everybody who was there at the end.

    Returns
    -------
    DataFrame
        One row per proposition and group, largest first: ``proposition``, ``name``; ``cause`` (``shown``, ``own
        posts``, ``anchor``, ``bounds``, ``taken back``), ``key`` (int32: row of posts or agents, the step; -1 where the
        group has none), ``what`` (the group in words: text of a post, name of an author; untrusted); ``rows`` (of the
        trail), ``agents`` (persons moved); ``amount`` (stance: sum over persons), ``per_person`` = amount over persons,
        which sums to the mean change; ``gross`` (sum of sizes: how much it pulled either way).

    Raises
    ------
    SettingError
        ``by`` or ``agent`` is none that there is.
    RecordError
        The run was recorded without a trail.
    """
    check_known("by", by, BY)
    check_person(run, agent)
    moved = changes(run)
    there = moved if agent is None else moved.filter(pl.col("agent") == agent)
    return _summed(run, by, there, _of_those(there, contributions(run, agent, shown=by in _READS_SHOWN)))


def _of_those(there: pl.DataFrame, rows: pl.LazyFrame) -> pl.LazyFrame:
    return rows.join(there.lazy().select("agent", "proposition"), on=["agent", "proposition"])


def _summed(run: Reads, by: str, there: pl.DataFrame, rows: pl.LazyFrame) -> pl.DataFrame:
    many = there.group_by("proposition").agg(pl.len().alias("persons"))
    key, word = _KEYS[by]
    groups = rows.with_columns(key.cast(pl.Int32).alias("key"), word.alias("word"))
    counts = row_count("rows"), pl.col("agent").n_unique().cast(pl.Int64).alias("agents")
    amounts = pl.col("amount").sum(), pl.col("amount").abs().sum().alias("gross")
    sums = groups.group_by("proposition", "cause", "key", "word").agg(*counts, *amounts).pipe(collected, ORDERED)
    named = sums.join(many, on="proposition").join(names(run).select("proposition", "name"), on="proposition")
    each = (pl.col("amount") / pl.col("persons")).alias("per_person")
    columns = ["proposition", "name", "cause", "key", "what", "rows", "agents", "amount", each, "gross"]
    order = ["proposition", pl.col("amount").abs(), "cause", "key", "what"]
    return _in_words(run, named, by).select(columns).sort(order, descending=[False, True, False, False, False])


def attribution_error(run: Reads) -> float:
    """Return the largest difference, in stance, between a person's recorded change and the sum of its contributions.

    Raises
    ------
    RecordError
        The run was recorded without a trail.
    """
    rows = contributions(run, shown=False).group_by("agent", "proposition")
    sums = rows.agg(pl.col("amount").sum()).pipe(collected, ORDERED)
    both = changes(run).join(sums, on=["agent", "proposition"], how="left")
    apart = (both["change"] - both["amount"].fill_null(0.0)).abs().max()
    return float(apart) if isinstance(apart, float) else 0.0


def check_person(run: Reads, agent: int | None) -> None:
    """Raise ``SettingError`` unless ``agent`` is a person of the run, or None."""
    if agent is None:
        return
    agents = run.table("agents")
    people = agents.filter(pl.col("kind") == AgentKind.PERSON)["agent"]
    if agent not in people and agent in agents["agent"]:
        raise SettingError("agent", got=f"{agent}, a source", allowed="a person", do="sources have no beliefs")
    if agent not in people:
        allowed = f"a person: 0 to {people.to_numpy().max()}" if people.len() else "none: the run has no persons"
        raise SettingError("agent", got=str(agent), allowed=allowed)


def _in_words(run: Reads, sums: pl.DataFrame, by: str) -> pl.DataFrame:
    """Add ``what``: the text of a post, the name of an author, the word of a class, or else the cause."""
    texts = run.table("texts").select("text", pl.col("content").str.slice(0, LONGEST_WHAT))
    if by == "post":
        called = run.table("posts").select(pl.col("post").alias("key"), "text").join(texts, on="text", how="left")
        words = called.select("key", pl.col("content").alias("called"))
    elif by in ("author", "writer"):
        numbered = pl.concat_str(pl.lit("agent "), pl.col("agent").cast(pl.String))
        named = pl.coalesce(pl.col("name").str.slice(0, LONGEST_WHAT), numbered)
        words = agent_names(run).select(pl.col("agent").alias("key"), named.alias("called"))
    elif by == "step":
        words = sums.select("key").unique()
        words = words.with_columns(pl.concat_str(pl.lit("step "), pl.col("key").cast(pl.String)).alias("called"))
    else:
        return sums.with_columns(pl.when(pl.col("word") == "").then("cause").otherwise("word").alias("what"))
    return sums.join(words, on="key", how="left").with_columns(pl.coalesce("called", "cause").alias("what"))
