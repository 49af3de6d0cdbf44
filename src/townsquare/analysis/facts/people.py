"""Facts about people: how unequal sharing, exposure and activity are, whom people follow, how their opinions move."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from townsquare.analysis.beliefs import answers_to, person_beliefs
from townsquare.analysis.contract import Reads, once_a_run
from townsquare.analysis.facts.contract import Reading, Unmeasured, at_least, window_of
from townsquare.analysis.follow_graph import FollowGraph, follow_graph
from townsquare.analysis.groups import persons
from townsquare.analysis.posts import roots
from townsquare.analysis.reach import exposure_counts
from townsquare.analysis.statistics import correlation
from townsquare.core.array_types import Float
from townsquare.core.enums import PostKind, Slot
from townsquare.core.frames import collected

MOST = 0.8
"""Share of all shares or exposures whose makers are counted."""
CLOSE = 0.1
"""How far a stance moves at most that stays: a twentieth of the length of the scale."""
SIDE = 0.25
"""Size of a stance above which a person has a side."""
FEWEST, FEWEST_PEOPLE = 20, 10
"""Shares, exposures or posts, and people, that a measure needs."""


def _per_person(run: Reads, counted: pl.DataFrame) -> Float:
    """Return a count for every person, 0 for those without a row; ``counted`` has ``agent`` and ``n``."""
    everyone = persons(run).join(counted.select("agent", "n"), on="agent", how="left")
    return everyone["n"].fill_null(0).to_numpy().astype(np.float64)


def smallest_share(amounts: Float, part: float = MOST) -> float:
    """Return the smallest share of people who together have a part of all that there is.

    >>> smallest_share(np.array([8.0, 1.0, 1.0, 0.0]))
    0.25
    """
    so_far = np.cumsum(np.sort(amounts)[::-1])
    return float(np.count_nonzero(so_far < part * so_far[-1] - 1e-9) + 1) / amounts.size


def top_share(amounts: Float, people: float) -> float:
    """Return what share of all that there is the top share of people have; NaN if there is nothing.

    >>> top_share(np.array([8.0, 1.0, 1.0, 0.0]), 0.25)
    0.8
    """
    most = max(1, round(people * amounts.size))
    whole = amounts.sum()
    return float(np.sort(amounts)[::-1][:most].sum() / whole) if whole else math.nan


def supersharers(run: Reads) -> Reading:
    """Measure the smallest proportion of people who made 80% of the shares of false posts."""
    false = roots(run).filter(pl.col("veracity") == "false")["root"]
    shares = _posts(run).filter((pl.col("kind") == PostKind.SHARE) & pl.col("root").is_in(false.implode()))
    made = _per_person(run, shares.group_by(agent=pl.col("author")).agg(n=pl.len()))
    at_least(FEWEST, made.sum(), "shares of false posts")
    also = {"proportion of these shares by the top 0.1% of people": top_share(made, 0.001)}
    return Reading(smallest_share(made), also)


def _posts(run: Reads) -> pl.DataFrame:
    """Return posts, comments and shares after the warm-up."""
    return run.table("posts").filter(pl.col("step") >= window_of(run).first)


def exposure_concentration(run: Reads) -> Reading:
    """Measure the smallest proportion of people who had 80% of the exposures to false posts."""
    false = roots(run).filter(pl.col("veracity") == "false")["root"]
    rows = run.lazy("exposures").filter(pl.col("step") >= window_of(run).first, pl.col("root").is_in(false.implode()))
    direct = (pl.col("slot") == Slot.FOLLOWED) & (pl.col("post") == pl.col("root"))
    counted = rows.group_by("agent").agg(n=pl.len(), direct=direct.sum()).pipe(collected)
    seen = _per_person(run, counted)
    at_least(FEWEST, seen.sum(), "exposures to false posts")
    also = {
        "proportion of exposures to false posts that the top 1% of people have": top_share(seen, 0.01),
        "proportion of people without an exposure to a false post": float((seen == 0).mean()),
    }
    followed = _per_person(run, counted.select("agent", n="direct"))
    if followed.sum() >= FEWEST:
        also["the same, of exposures directly from followed sources"] = smallest_share(followed)
        also["proportion of the latter exposures that the top 1% of people have"] = top_share(followed, 0.01)
    return Reading(smallest_share(seen), also)


def false_share_of_diet(run: Reads) -> Reading:
    """Measure exposures to false posts divided by exposures to injected posts, and by all."""
    counts = exposure_counts(run).filter(pl.col("step") >= window_of(run).first)
    counts = counts.join(roots(run).select("root", "injected", "veracity"), on="root")
    of = (pl.lit(value=True), pl.col("injected"), pl.col("veracity") == "false")
    everything, news, false = (int(counts.filter(rows)["exposures"].sum()) for rows in of)
    at_least(FEWEST, news, "exposures to injected posts")
    return Reading(false / news, {"false posts as a proportion of all exposures": false / everything})


def activity_concentration(run: Reads) -> Reading:
    """Measure the proportion of posts, comments and shares that the most active tenth of the people made."""
    made = _posts(run).filter(pl.col("kind").is_in([PostKind.ORIGINAL, PostKind.COMMENT, PostKind.SHARE]))
    acts = _per_person(run, made.group_by(agent=pl.col("author")).agg(n=pl.len()))
    at_least(FEWEST_PEOPLE, acts.size, "people")
    at_least(FEWEST, acts.sum(), "posts, comments and shares")
    also = {"proportion of people without a post, comment or share": float((acts == 0).mean())}
    return Reading(top_share(acts, 0.1), also)


def reciprocity(run: Reads) -> Reading:
    """Measure the proportion of follow links between people whose reverse exists."""
    graph = follow_graph(run).of_persons()
    at_least(FEWEST, graph.follower.size, "follow links between people")
    n = graph.agents.size
    there, back = graph.follower * n + graph.followed, graph.followed * n + graph.follower
    return Reading(float(np.isin(back, there).mean()))


def cross_cutting_friends(run: Reads) -> Reading:
    """Measure the proportion of followed people with the other side, mean over people with a side and propositions."""
    graph = follow_graph(run).of_persons()

    def mean(cut: float, *, every: bool = True) -> Reading:
        return _over_propositions(run, lambda moves: _other_side(graph, moves, cut, every=every), asked=False)

    of_side, of_sign, of_sides = mean(SIDE), mean(0.0), mean(SIDE, every=False)
    also = {
        "the same, with any stance of the other sign": of_sign.value,
        "the same, among followed people with a side": of_sides.value,
    }
    return replace(of_side, also={name: value for name, value in also.items() if math.isfinite(value)})


def _other_side(graph: FollowGraph, moves: pl.DataFrame, cut: float, *, every: bool) -> float:
    """Return the mean proportion of followed people whose stance is opposed and above ``cut`` in size.

    It is of those followed whose stance is known, or, unless ``every``, above ``cut``; NaN with too few people.
    """
    known, stance = moves["agent"].to_numpy(), np.full(graph.agents.size, np.nan)
    present = np.isin(known, graph.agents)
    stance[np.searchsorted(graph.agents, known[present])] = moves["end"].to_numpy()[present]
    follower, followed = stance[graph.follower], stance[graph.followed]
    takes = np.abs(followed) > cut
    links = (np.abs(follower) > SIDE) & np.isfinite(followed) & (followed != 0) & (takes | every)
    who, other = graph.follower[links], ((follower * followed < 0) & takes)[links]
    n = np.bincount(who, minlength=stance.size)
    across = np.bincount(who, weights=other, minlength=stance.size)
    return float((across[n > 0] / n[n > 0]).mean()) if np.count_nonzero(n) >= FEWEST_PEOPLE else math.nan


# How opinions move, each person compared with itself: from the end of the warm-up to the last step.


@once_a_run
def moves_of(run: Reads) -> pl.DataFrame:
    """Return ``proposition``, ``agent``, ``start`` and ``end``: the stances of people who were there all along."""
    window = window_of(run)
    ends = person_beliefs(run).filter(pl.col("step").is_in([window.first - 1, window.last])).pipe(collected)
    ends = ends.filter(pl.col("stance").is_finite()).select("proposition", "agent", "step", "stance")
    start, end = (ends.filter(pl.col("step") == step).drop("step") for step in (window.first - 1, window.last))
    joined = start.rename({"stance": "start"}).join(end.rename({"stance": "end"}), on=["proposition", "agent"])
    return joined.sort("proposition", "agent")


def _over_propositions(run: Reads, statistic: Callable[[pl.DataFrame], float], *, asked: bool = True) -> Reading:
    """Return the mean of a statistic over the propositions for which it is defined.

    It is of answers, and also of stances; of stances alone unless people are ``asked``.
    """
    window = window_of(run)
    if window.last < window.first:
        raise Unmeasured("the run has no step after its warm-up")
    moves = moves_of(run)
    most = max((group.height for _, group in moves.group_by("proposition")), default=0)
    at_least(FEWEST_PEOPLE, most, "people with a stance at the start and the end")
    of_answers, of_stances = (
        [value for _, group in frame.group_by("proposition", maintain_order=True)
         if math.isfinite(value := statistic(group))]
        for frame in (answers_to(run, moves) if asked else moves, moves)
    )  # fmt: skip
    if not of_answers:
        return Reading(reason="too few people, or no differences between them")
    also = {"the same, of stances instead of answers": float(np.mean(of_stances))} if asked and of_stances else {}
    return Reading(float(np.mean(of_answers)), also)


def stay_put(run: Reads) -> Reading:
    """Measure the proportion of people whose answer ends within a twentieth of the scale of its start."""

    def close(moves: pl.DataFrame) -> float:
        return float(np.mean(np.abs(moves["end"].to_numpy() - moves["start"].to_numpy()) <= CLOSE + 1e-12))

    return _over_propositions(run, close)


def change_not_reversion(run: Reads) -> Reading:
    """Measure R squared of the change of answers on the answer at the start."""
    return _over_propositions(run, lambda moves: correlation(moves["start"], moves["end"] - moves["start"]) ** 2)


def spread_stays(run: Reads) -> Reading:
    """Measure the standard deviation of answers at the end divided by that at the start."""

    def ratio(moves: pl.DataFrame) -> float:
        start, end = (float(np.std(moves[name].to_numpy())) for name in ("start", "end"))
        return end / start if start > 0 else math.nan

    return _over_propositions(run, ratio)


def retest(run: Reads) -> Reading:
    """Measure the correlation over people of answers at the end and at the start."""
    return _over_propositions(run, lambda moves: correlation(moves["start"], moves["end"]))
