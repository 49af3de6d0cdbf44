"""Do like follow like? Homophily of traits and stances against a null model, communities, echo chambers over time.

MOSAIC gives the share of follows between accounts with the same answer. Where six in ten give that answer, chance alone
makes many such follows, so each number stands against graphs with the same degrees in which who follows whom is chance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import scipy

from townsquare.analysis import statistics
from townsquare.analysis.beliefs import belief_moves, names, person_beliefs
from townsquare.analysis.contract import Reads, columns
from townsquare.analysis.follow_graph import FollowGraph, against, follow_graph, measured_steps, null_draws, rewired
from townsquare.analysis.groups import trait_groups
from townsquare.analysis.network import community_of
from townsquare.core.frames import collected

HOMOPHILY = columns("step:row attribute:str measure:str unit:str n:int value null low high z p p_corrected draws:int")
ECHO = columns("step:row proposition:str measure:str unit:str n:int value low high null")
COMMUNITIES = columns("community:int measure:str unit:str n:int value low high")
_TAKES_PART = "share of exposures"


def homophily(run: Reads) -> pl.DataFrame:
    """Whether persons follow similar persons, compared with a null model, at step 0 and the last step.

    Returns
    -------
    DataFrame
        One row per step, attribute and measure: ``step`` (int32), ``attribute`` (a trait, or ``stance:<proposition>``),
        ``measure`` (of traits ``same``: the share of follows between persons with the same answer, and
        ``assortativity``: Newman's coefficient, 1 if all are; of stances ``assortativity``: the correlation over
        follows of the stances of either end), ``unit``, ``n`` (follows between persons who both have the attribute),
        ``value``; ``null`` (mean over null graphs of all follows between persons), ``low``, ``high`` (95% of null
        graphs lie between), ``z``, ``p`` (two-sided), ``p_corrected`` (Benjamini and Hochberg over the rows of a
        step and measure), ``draws``.

    Raises
    ------
    MissingExtra
        igraph is not installed.
    """
    rows: list[tuple[object, ...]] = []
    for step in measured_steps(run, 2):
        follows = follow_graph(run, step).of_persons()
        attributes = _attributes(run, follows)
        graph = follows.directed()
        draws = null_draws(graph.ecount())
        draws = draws if step == run.last_step else (draws // 2 if draws >= 20 else 0)
        observed = _likeness(graph, attributes)
        drawn = [_likeness(null_graph, attributes) for null_graph in rewired(graph, draws)]
        for (attribute, measure), (value, n) in observed.items():
            null = against(value, [null_graph[attribute, measure][0] for null_graph in drawn])
            unit = "share of follows" if measure == "same" else "correlation"
            rows.append((step, attribute, measure, unit, n, value, *null, None, draws))
    return statistics.with_corrected(statistics.tidy(rows, HOMOPHILY), by=["step", "measure"])


def _attributes(run: Reads, follows: FollowGraph) -> dict[str, np.ndarray]:
    """Return the code (traits, -1 for none) or stance (NaN for none) of each node, by attribute."""
    nodes = pl.DataFrame({"agent": follows.agents}, schema={"agent": pl.Int32})
    codes_of: dict[str, np.ndarray] = {}
    for (label,), rows in trait_groups(run).group_by("grouping", maintain_order=True):
        codes = nodes.join(rows.with_columns(pl.col("group").rank("dense").cast(pl.Int64)), on="agent", how="left")
        codes_of[str(label)] = codes["group"].fill_null(-1).cast(pl.Int32).to_numpy()
    return codes_of | _stances(run, follows)


def _stances(run: Reads, follows: FollowGraph) -> dict[str, np.ndarray]:
    """Return the stance of each node after the step, by ``stance:<proposition>``; NaN for none."""
    nodes = pl.DataFrame({"agent": follows.agents}, schema={"agent": pl.Int32})
    beliefs = person_beliefs(run).filter(pl.col("step") == follows.step).pipe(collected)
    by_name = {
        f"stance:{name}": beliefs.filter(pl.col("proposition") == proposition).select("agent", "stance")
        for proposition, name, _ in names(run).iter_rows()
    }
    of_nodes = {name: nodes.join(stances, on="agent", how="left")["stance"] for name, stances in by_name.items()}
    return {name: stances.fill_null(math.nan).to_numpy() for name, stances in of_nodes.items()}


def _likeness(graph: Any, attributes: dict[str, np.ndarray]) -> dict[tuple[str, str], tuple[float, int]]:
    """Return value and number of follows by attribute and measure."""
    edges = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    follower, followed = np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1])
    values_of: dict[tuple[str, str], tuple[float, int]] = {}
    for name, values in attributes.items():
        near, far = values[follower], values[followed]
        known = ~(np.isnan(near) | np.isnan(far)) if values.dtype.kind == "f" else (near >= 0) & (far >= 0)
        if not known.all():
            near, far = near[known], far[known]
        if values.dtype.kind == "f":
            values_of[name, "assortativity"] = (statistics.correlation(near, far), near.size)
            continue
        same, assortativity = equal_ends(near, far)
        values_of[name, "same"] = (same, near.size)
        values_of[name, "assortativity"] = (assortativity, near.size)
    return values_of


def equal_ends(follower: np.ndarray, followed: np.ndarray) -> tuple[float, float]:
    """Return the share of follows with equal codes at both ends, and Newman's assortativity; NaN for a single code.

    The second is what ``assortativity_nominal`` of igraph gives; from the ends, so that follows of unknown ends can be
    left out, and both come from one count.

    >>> equal_ends(np.array([0, 1]), np.array([0, 1]))
    (1.0, 1.0)
    """
    if not follower.size:
        return math.nan, math.nan
    width = int(max(follower.max(), followed.max())) + 1
    pairs = np.bincount(follower.astype(np.int64) * width + followed, minlength=width * width)
    mixing = pairs.reshape(width, width) / follower.size
    same, chance = float(mixing.trace()), float(mixing.sum(axis=0) @ mixing.sum(axis=1))
    return same, ((same - chance) / (1.0 - chance) if chance < 1.0 else math.nan)


def communities(run: Reads) -> pl.DataFrame:
    """Size, cohesion and mean stance of the communities of the follow graph.

    Returns
    -------
    DataFrame
        One row per community of at least three persons and measure: ``community`` (0 for the largest), ``measure``,
        ``unit``, ``n`` (persons, or follows), ``value``, ``low``, ``high``. Measures: ``size`` (persons),
        ``inside`` (share of the follows of its members that stay inside, Wilson's interval), ``stance:<proposition>``
        (mean stance of its members, Student's interval).

    Raises
    ------
    MissingExtra
        igraph is not installed.
    """
    follows = follow_graph(run).of_persons()
    members = community_of(run).filter(pl.col("agent").is_in(pl.Series(follows.agents).cast(pl.Int32).implode()))
    member = members["community"].to_numpy()
    if not member.size:
        return statistics.tidy([], COMMUNITIES)
    beliefs = person_beliefs(run).filter(pl.col("step") == run.last_step).pipe(collected).join(members, on="agent")
    rows: list[tuple[object, ...]] = []
    for community in np.flatnonzero(np.bincount(member) >= 3).tolist():
        size = int((member == community).sum())
        rows.append((community, "size", "persons", size, float(size), math.nan, math.nan))
        out = member[follows.follower] == community
        stays = int((out & (member[follows.followed] == community)).sum())
        rows.append((community, "inside", "share of follows", int(out.sum()), *statistics.share(stays, int(out.sum()))))
        for proposition, name, _ in names(run).iter_rows():
            its = beliefs.filter((pl.col("community") == community) & (pl.col("proposition") == proposition))["stance"]
            rows.append((community, f"stance:{name}", "stance", its.len(), *statistics.mean(its.to_numpy())))
    return statistics.tidy(rows, COMMUNITIES)


def echo_chambers(run: Reads) -> pl.DataFrame:
    """Agreement of the stances of persons with those of the persons they follow and of the posts they see, by step.

    Returns
    -------
    DataFrame
        One row per step, proposition and measure: ``step`` (int32), ``proposition`` (its name), ``measure``, ``unit``,
        ``n``, ``value``, ``low``, ``high``, ``null``. Measures: ``neighbors`` (correlation of a person's stance with
        the mean stance of the persons it follows, the measure of Cinelli and others 2021; n persons, Fisher's
        interval, 0 by chance; up to six steps); ``own_side`` (share of follows between persons of opposite or equal
        stance signs that are equal; Wilson's interval; ``null``: the share if followed and follower were drawn apart;
        up to six steps); ``congenial`` (share of exposures to posts on the viewer's side, of those in which post and
        viewer have a side, by the stance before the step; Wilson's interval, which takes them as independent;
        ``null``: the share if the same posts met the same viewers at random; every step).
    """
    rows: list[tuple[object, ...]] = []
    for step in measured_steps(run):
        follows = follow_graph(run, step).of_persons()
        attributes = _stances(run, follows)
        for _, name, _ in names(run).iter_rows():
            stance = attributes[f"stance:{name}"]
            rows.append((step, name, "neighbors", "correlation", *_neighbors(follows, stance)))
            rows.append((step, name, "own_side", "share of follows", *_own_side(follows, stance)))
    return pl.concat([statistics.tidy(rows, ECHO), _congenial(run)]).sort("measure", "proposition", "step")


def _neighbors(follows: FollowGraph, stance: np.ndarray) -> tuple[float, ...]:
    known = ~np.isnan(stance[follows.follower]) & ~np.isnan(stance[follows.followed])
    follower, followed = follows.follower[known], follows.followed[known]
    count = np.bincount(follower, minlength=stance.size)
    total = np.bincount(follower, weights=stance[followed], minlength=stance.size)
    has = count > 0
    own, near = stance[has], total[has] / count[has]
    if own.size < 4 or np.ptp(own) == 0 or np.ptp(near) == 0:
        return (own.size, *statistics.UNKNOWN, 0.0)
    test = scipy.stats.pearsonr(own, near)
    ends = test.confidence_interval(statistics.LEVEL)
    return (own.size, float(test.statistic), float(ends.low), float(ends.high), 0.0)


def _own_side(follows: FollowGraph, stance: np.ndarray) -> tuple[float, ...]:
    follower, followed = np.sign(stance[follows.follower]), np.sign(stance[follows.followed])
    sided = (follower * followed != 0) & ~np.isnan(follower * followed)
    follower, followed = follower[sided], followed[sided]
    same = int((follower == followed).sum())
    return (follower.size, *statistics.share(same, follower.size), _chance(follower > 0, followed > 0))


def _chance(follower: np.ndarray, followed: np.ndarray) -> float:
    if not follower.size:
        return math.nan
    a, b = float(follower.mean()), float(followed.mean())
    return a * b + (1 - a) * (1 - b)


def _congenial(run: Reads) -> pl.DataFrame:
    sides = run.table("post_stances").lazy().filter(pl.col("stance") != 0)
    posts = sides.select(pl.col("post").alias("root"), "proposition", (pl.col("stance") > 0).alias("says"))
    readers = belief_moves(run).filter(pl.col("before") != 0).with_columns((pl.col("before") > 0).alias("holds"))
    shown = run.lazy("exposures").select("step", "agent", "root").join(posts, on="root")
    met = shown.join(readers, on=["step", "agent", "proposition"]).group_by("step", "proposition")
    same = (pl.col("says") == pl.col("holds")).sum().alias("same")
    sums = met.agg(pl.len().alias("n"), same, pl.col("says", "holds").mean()).pipe(collected)
    counts = sums.join(names(run).select("proposition", "name"), on="proposition")
    rows = []
    for row in counts.iter_rows(named=True):
        chance = row["says"] * row["holds"] + (1 - row["says"]) * (1 - row["holds"])
        share = statistics.share(row["same"], row["n"])
        rows.append((row["step"], row["name"], "congenial", _TAKES_PART, row["n"], *share, chance))
    return statistics.tidy(rows, ECHO)
