"""Facts about how posts spread: sizes and shapes of cascades, and how fast posts are shared and seen.

A cascade is a root and its shares; a conversation is a root, its shares and the comments below it. Both count if the
root came after the warm-up and, where steps have a length, 48 hours before the end or earlier. Conversations are held
against published ones of their own size, ``data/conversations.yaml``.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from townsquare.analysis import statistics
from townsquare.analysis.contract import Reads, once_a_run
from townsquare.analysis.diffusion import depths, shape_frame, share_trees, tops
from townsquare.analysis.facts.contract import FOLLOWED_HOURS, Reading, at_least, hours_of, window_of
from townsquare.analysis.follow_graph import standing_follows
from townsquare.analysis.posts import roots
from townsquare.analysis.reach import exposure_counts
from townsquare.core.array_types import Float, Int64
from townsquare.core.documents import read_yaml
from townsquare.core.enums import AgentKind, PostKind
from townsquare.core.files import bundled_folder

LARGE = 10
"""Posts of a cascade that counts as noticed."""
FEWEST, FEWEST_OF_A_CLASS = 5, 3
"""Large cascades that a median needs, of all posts and of false or true ones."""
FEWEST_POSTS = 20
_LARGE, _CONVERSATIONS = f"cascades of at least {LARGE} posts", f"conversations of at least {LARGE} posts"


@once_a_run
def followed_cascades(run: Reads) -> pl.DataFrame:
    """Return every cascade that can be followed for 48 hours.

    Returns
    -------
    DataFrame
        One row per root that is no comment: ``root``, ``kind``, ``author``, ``step``, ``injected``, ``veracity``;
        ``size`` (posts, the root included), ``early`` (posts within 48 hours; ``size`` where steps have no length),
        ``depth`` (links of the longest chain), ``virality`` (mean links between two posts), ``direct`` (proportion of
        shares made from the root), ``half`` (steps from the root to the share in the middle).
    """
    return _followed(run, comments=False)


@once_a_run
def followed_conversations(run: Reads) -> pl.DataFrame:
    """Return the same of conversations, in which comments count as shares do."""
    return _followed(run, comments=True)


def _followed(run: Reads, *, comments: bool) -> pl.DataFrame:
    window = window_of(run)
    followed = window.steps(FOLLOWED_HOURS)
    posts, parent = share_trees(run, comments=comments)
    shape = shape_frame(posts, parent).drop("breadth")
    came = roots(run).filter(pl.col("kind") != PostKind.COMMENT)
    came = came.select("root", "kind", "author", "step", "injected", "veracity")
    top = pl.Series("root", posts["post"].to_numpy()[tops(parent)], pl.Int32)
    answers = posts.with_columns(top, pl.Series("depth", depths(parent))).filter(pl.col("depth") > 0)
    after = answers.select("root", "depth", at="step").join(came.select("root", "step"), on="root")
    after = after.with_columns(after=pl.col("at") - pl.col("step")).sort("root", "after")
    in_time = pl.lit(value=True) if window.hours is None else pl.col("after") <= followed
    early, half = in_time.sum().cast(pl.Int64) + 1, pl.col("after").get(pl.len() // 2)
    answered = after.group_by("root").agg(early=early, direct=(pl.col("depth") == 1).mean(), half=half)
    in_window = pl.col("step").is_between(window.first, window.last - followed)
    frame = came.filter(in_window).join(shape, on="root").join(answered, on="root", how="left")
    return frame.with_columns(pl.col("early").fill_null(1)).sort("root")


@cache
def _published() -> dict[str, tuple[Int64, Float]]:
    """Return by measure the smallest sizes of the published classes, and the median of each."""
    table: Any = read_yaml(bundled_folder() / "conversations.yaml")
    sizes = np.array([row["from"] for row in table["classes"]], np.int64)
    return {name: (sizes, np.array([row[name] for row in table["classes"]], float)) for name in table["measures"]}


def _less_published(large: pl.DataFrame, name: str, column: str, unit: float = 1.0) -> tuple[float, float]:
    """Return the median of a column less the published median at the same size, and the median itself."""
    sizes, medians = _published()[name]
    at = np.searchsorted(sizes, large["size"].to_numpy(), side="right") - 1
    values = large[column].to_numpy() * unit
    return float(np.median(values - medians[at])), float(np.median(values))


def _by_persons(run: Reads) -> pl.Expr:
    """Return the condition that a cascade began with a post that a person wrote."""
    persons = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON)["agent"]
    return (pl.col("kind") == PostKind.ORIGINAL) & pl.col("author").is_in(persons.implode())


def unshared_posts(run: Reads) -> Reading:
    """Measure the proportion of posts by persons that nobody shared within 48 hours."""
    hours_of(run)  # or there are no 48 hours
    own = followed_cascades(run).filter(_by_persons(run))
    at_least(FEWEST_POSTS, own.height, "posts of people that can be followed for 48 hours")
    return Reading(float((own["early"] == 1).mean()))  # type: ignore[arg-type]


def _conversations(run: Reads) -> pl.DataFrame:
    """Return large conversations, if there are enough."""
    large = followed_conversations(run).filter(pl.col("size") >= LARGE)
    at_least(FEWEST, large.height, _CONVERSATIONS)
    return large


def conversation_size_gini(run: Reads) -> Reading:
    """Measure the Gini coefficient of sizes of large conversations within 48 hours, of all sizes and of small ones."""
    sizes = followed_conversations(run).filter(pl.col("early") >= LARGE)["early"].to_numpy()
    at_least(FEWEST, sizes.size, _CONVERSATIONS)
    small = sizes[sizes < 4 * LARGE]
    which = f"the same, of conversations of {LARGE} to {4 * LARGE - 1} posts"
    return Reading(statistics.gini(sizes), {which: statistics.gini(small)} if small.size >= FEWEST else {})


def structural_virality(run: Reads) -> Reading:
    """Measure structural virality of large conversations less that of published ones of equal size, median."""
    large = _conversations(run)
    size, virality = (large[name].rank().to_numpy() for name in ("size", "virality"))
    difference, median = _less_published(large, "structural_virality", "virality")
    with_size = statistics.correlation(size, virality)
    return Reading(difference, {"median, nothing subtracted": median, "rank correlation with size": with_size})


def conversation_depth(run: Reads) -> Reading:
    """Measure the depth of large conversations less that of published ones of equal size, median."""
    large = _conversations(run)
    difference, median = _less_published(large, "conversation_depth", "depth")
    also = {"median, nothing subtracted": median, "proportion of answers to the root, median": _median(large["direct"])}
    return Reading(difference, also)


def conversation_half_life(run: Reads) -> Reading:
    """Measure the hours in which large conversations had half of their answers, less the published at equal size."""
    hours, large = hours_of(run), _conversations(run)
    difference, median = _less_published(large, "conversation_half_life", "half", hours)
    return Reading(difference, {"median, nothing subtracted": median})


def impression_half_life(run: Reads) -> Reading:
    """Measure the median of the minutes in which posts of persons had half of their first exposures of 48 hours.

    A post is seen from the step after its own: it comes at the end of its step, and is seen in the middle of a later.
    """
    hours = hours_of(run)
    own = followed_cascades(run).filter(_by_persons(run)).select("root", came="step")
    seen = exposure_counts(run).filter(pl.col("newly") > 0).join(own, on="root")
    seen = seen.with_columns(after=pl.col("step") - pl.col("came")).sort("root", "after")
    seen = seen.filter(pl.col("after") <= window_of(run).steps(FOLLOWED_HOURS))
    so_far, in_all = pl.col("newly").cum_sum().over("root"), pl.col("newly").sum().over("root")
    halves = seen.filter(so_far * 2 >= in_all).group_by("root").agg(pl.col("after").min())
    views = seen.group_by("root").agg(pl.col("newly").sum())
    halves = halves.join(views, on="root").with_columns(minutes=(pl.col("after") - 0.5) * hours * 60)
    at_least(FEWEST_POSTS, halves.height, "posts of people with an exposure within 48 hours")
    often = halves.filter(pl.col("newly") >= LARGE)["minutes"]
    also = {f"posts with at least {LARGE} views": _median(often)} if often.len() else {}
    return Reading(_median(halves["minutes"]), also)


def false_size_ratio(run: Reads) -> Reading:
    """Measure the median size of large false cascades divided by that of true ones, also at equal followers."""
    large = _known(run)
    false, true = (_median(large.filter(pl.col("veracity") == word)["size"]) for word in ("false", "true"))
    followers = standing_follows(run, run.last_step).group_by(author=pl.col("followed")).agg(followers=pl.len())
    matched = large.join(followers, on="author", how="left").with_columns(pl.col("followers").fill_null(0))
    at_equal = _coefficient_of_false(matched, np.log(matched["size"].to_numpy()), matched["followers"].to_numpy() + 1.0)
    return Reading(false / true, {"at equal followers": math.exp(at_equal)})


def false_structure_at_equal_size(run: Reads) -> Reading:
    """Measure how much deeper large false cascades are than true ones of equal size, in links."""
    large = _known(run)
    depth, size = (large[name].to_numpy().astype(np.float64) for name in ("depth", "size"))
    return Reading(_coefficient_of_false(large, depth, size))


def _known(run: Reads) -> pl.DataFrame:
    """Return large cascades of injected posts of known veracity, if there are enough of either."""
    known = pl.col("injected") & (pl.col("veracity") != "unknown")
    large = followed_cascades(run).filter(pl.col("size") >= LARGE, known)
    for word in ("false", "true"):
        at_least(FEWEST_OF_A_CLASS, large.filter(pl.col("veracity") == word).height, f"{word} {_LARGE}")
    return large


def _coefficient_of_false(large: pl.DataFrame, outcome: Float, amount: Float) -> float:
    """Return the coefficient of false in a regression on it and on the logarithm of an amount."""
    false = (large["veracity"] == "false").cast(pl.Float64).to_numpy()
    covariates = np.column_stack([np.ones(large.height), np.log(amount), false])
    return float(np.linalg.lstsq(covariates, outcome, rcond=None)[0][2])


def _median(values: pl.Series) -> float:
    return float(np.median(values.drop_nulls().to_numpy()))
