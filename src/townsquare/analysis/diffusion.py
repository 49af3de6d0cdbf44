"""Diffusion: how far, how deep, how widely and how fast posts spread, by the truth of what they say.

A *cascade* is a root and its shares, linked by which row each share was made from. Comments are roots of their own and
no part of the cascade of the post above them; their own cascades are left out. The measures are those of Vosoughi, Roy
and Aral (2018, *Science* 359) and Goel and others (2016, *Management Science* 62).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from townsquare.analysis import statistics
from townsquare.analysis.contract import Reads, columns, once_a_run, row_count
from townsquare.analysis.posts import VERACITIES, measured_roots, roots
from townsquare.analysis.reach import exposure_counts
from townsquare.core.array_types import Int64
from townsquare.core.documents import bundled_labels
from townsquare.core.enums import PostKind
from townsquare.core.schema import Table
from townsquare.record.query import query_frames

MEASURES: dict[str, str] = bundled_labels("units_of_cascades")
"""Measures of a cascade, with their units."""
_ESTIMATE = columns("n:int value low high")
BY_VERACITY = columns("measure:str unit:str veracity:str") | _ESTIMATE | columns("median")
TESTS = columns("measure:str unit:str n_true:int n_false:int value low high p_welch p_rank ks p_ks")


@once_a_run
def cascades(run: Reads) -> pl.DataFrame:
    """Size, depth, breadth and speed of the cascade of each root other than comments.

    Returns
    -------
    DataFrame
        One row per root: ``root`` (int32), ``veracity``, ``injected`` (bool), ``step`` (int32, when it came); ``reach``
        (distinct agents that were shown it in any form), ``exposures``, ``shares`` (int64 counts); ``depth`` (links
        of the longest chain of shares), ``breadth`` (most posts at one depth), ``structural_virality`` (mean links
        between two posts; NaN without shares); ``half_reach`` (steps from its coming until half of its reach was
        had; NaN while nobody saw it), ``lifetime`` (steps from its coming to its last share; NaN without one).
    """
    counts = exposure_counts(run)
    frame = roots(run).filter(pl.col("kind") != PostKind.COMMENT).select("root", "veracity", "injected", "step")
    shown = counts.group_by("root").agg(pl.col("newly").sum().alias("reach"), pl.col("exposures").sum())
    for part in (_shapes(run), shown, _half_reach(counts)):
        frame = frame.join(part, on="root", how="left")
    since = {"half_reach": pl.col("half") - pl.col("step"), "lifetime": pl.col("last_share") - pl.col("step")}
    return (
        frame.with_columns(pl.col("reach", "exposures", "shares", "depth").fill_null(0), pl.col("breadth").fill_null(1))
        .with_columns(**{name: steps.cast(pl.Float64) for name, steps in since.items()})
        .with_columns(pl.col("structural_virality", "half_reach", "lifetime").fill_null(float("nan")))
        .select("root", "veracity", "injected", "step", *MEASURES)
        .sort("root")
    )


def share_trees(run: Reads, *, comments: bool = False) -> tuple[pl.DataFrame, np.ndarray]:
    """Return roots that are no comments, and all shares, by row; and the place of each one's parent among them.

    With ``comments`` the trees are conversations: comments hang below what they answer, with their own shares.
    """
    posts = run.table("posts").select("post", "root", "parent", "kind", "step").sort("post")
    made = [PostKind.SHARE, PostKind.COMMENT] if comments else [PostKind.SHARE]
    if not comments:
        posts = posts.filter(pl.col("root").is_in(posts.filter(pl.col("kind") != PostKind.COMMENT)["root"].implode()))
    rows, hangs = posts["post"].to_numpy(), posts["kind"].is_in(made).to_numpy()
    parent = np.where(hangs, posts["parent"].to_numpy(), -1)
    # A share of a post without a row here counts as made from its root, and such a comment as a root.
    top = posts["root"].to_numpy()
    known = np.isin(parent, rows)
    parent_row = np.searchsorted(rows, np.where(known, parent, top))
    return posts, np.where(hangs & (known | (top != rows)), parent_row, -1)


def _shapes(run: Reads) -> pl.DataFrame:
    posts, parent = share_trees(run)
    last = posts.filter(pl.col("kind") == PostKind.SHARE).group_by("root").agg(pl.col("step").max().alias("last_share"))
    shapes = shape_frame(posts, parent).with_columns(shares=pl.col("size") - 1, structural_virality="virality")
    return shapes.join(last, on="root", how="left")


def shape_frame(posts: pl.DataFrame, parent: np.ndarray) -> pl.DataFrame:
    """Return one row per tree of :func:`share_trees`: ``root``, ``size``, ``depth``, ``breadth``, ``virality``."""
    shapes = tree_shapes(parent)
    whole = {name: shapes[name].astype(np.int64) for name in ("root", "size", "depth", "breadth")}
    frame = pl.DataFrame({**whole, "virality": shapes["virality"]})
    return frame.with_columns(root=posts["post"].gather(frame["root"]))


def _half_reach(counts: pl.DataFrame) -> pl.DataFrame:
    """Return ``half``: the step in which half of the agents that ever saw a root had seen it."""
    so_far = pl.col("newly").cum_sum().over("root")
    met = counts.filter(pl.col("newly") > 0).sort("root", "step").with_columns(so_far.alias("so_far"))
    enough = pl.col("so_far") * 2 >= pl.col("newly").sum().over("root")
    return met.filter(enough).group_by("root").agg(pl.col("step").min().alias("half"))


def diffusion_by_veracity(run: Reads) -> pl.DataFrame:
    """Means and medians of each measure of cascades, by veracity.

    Returns
    -------
    DataFrame
        One row per measure and class: ``measure``, ``unit``, ``veracity``, ``n`` (posts for which it is defined),
        ``value`` (mean), ``low``, ``high`` (Student's interval over posts), ``median``.
    """
    frame, rows = cascades(run), []
    for measure, unit in MEASURES.items():
        for veracity in VERACITIES:
            values = _known(frame, measure, veracity)
            middle = float(np.median(values)) if values.size else float("nan")
            rows.append((measure, unit, veracity, values.size, *statistics.mean(values), middle))
    return statistics.tidy(rows, BY_VERACITY)


def _known(frame: pl.DataFrame, measure: str, veracity: str) -> np.ndarray:
    values = frame.filter(pl.col("veracity") == veracity)[measure].cast(pl.Float64).to_numpy()
    return np.asarray(values[~np.isnan(values)])


def diffusion_tests(run: Reads) -> pl.DataFrame:
    """Tests of whether false posts spread differently from true posts.

    Returns
    -------
    DataFrame
        One row per measure: ``measure``, ``unit``, ``n_true``, ``n_false`` (posts), ``value`` (mean of false posts less
        mean of true ones) with ``low`` and ``high`` (Welch's interval), ``p_welch``, ``p_rank`` (Mann and Whitney),
        ``ks`` and ``p_ks`` (distance of Kolmogorov and Smirnov, the test of Vosoughi and others), ``p_corrected``
        (``p_rank``, Benjamini and Hochberg over the measures). All take posts as independent, which those that
        compete for the same feeds are not: to support a conclusion, compare seeds.
    """
    return veracity_tests(cascades(run))


def veracity_tests(frame: pl.DataFrame) -> pl.DataFrame:
    """Return :func:`diffusion_tests` from the frame of :func:`cascades`."""
    rows = []
    for measure, unit in MEASURES.items():
        true, false = (_known(frame, measure, word) for word in ("true", "false"))
        tests = [float("nan")] * 4
        if min(true.size, false.size) >= 2:
            ks = scipy.stats.ks_2samp(false, true)
            welch = statistics.t_test(false, true).p
            tests = [welch, float(scipy.stats.mannwhitneyu(false, true).pvalue), float(ks.statistic), float(ks.pvalue)]
        rows.append((measure, unit, true.size, false.size, *statistics.difference(false, true), *tests))
    table = statistics.with_corrected(statistics.tidy(rows, TESTS), "p_rank")
    return table.rename({"p_rank_corrected": "p_corrected"})


def cascade_growth(run: Reads) -> pl.DataFrame:
    """Reach, shares and depth of cascades by age of the post.

    Returns
    -------
    DataFrame
        One row per age (steps since the post came), class and measure: ``age`` (int32), ``veracity``, ``measure``
        (``reach``, ``shares`` or ``depth`` so far), ``unit``, ``n`` (posts that had reached this age at the last step:
        later ones are left out, so that young posts do not pull old ages down), ``value`` (mean), ``low``, ``high``.
    """
    every = measured_roots(run).filter(pl.col("kind") != PostKind.COMMENT).select("root", "veracity", came="step")
    too_young = (run.last_step + 1 - pl.col("came")).alias("age")  # the first age that a post did not reach
    rises = _rises(run).join(every, on="root").with_columns(age=pl.col("step") - pl.col("came"))
    leave = rises.group_by("root", "measure", "veracity", "came").agg(before=pl.col("value").last())
    leave = leave.with_columns(too_young, value=pl.lit(0, pl.Int64))
    keys, value, before = ("age", "veracity", "measure"), pl.col("value"), pl.col("before")
    changes = pl.concat([part.select(*keys, "before", "value") for part in (rises, leave)])
    sums = changes.group_by(keys).agg(sum=(value - before).sum(), squares=(value**2 - before**2).sum())
    alive = pl.concat([every.select("veracity", age=0, n=1), every.select("veracity", too_young, n=-1)])
    ages = pl.DataFrame({"age": range(run.last_step + 1)}, schema={"age": pl.Int32})
    n, total = pl.col("n"), pl.col("sum")
    means = (
        ages.join(every.select("veracity").unique(), how="cross")
        .join(alive.group_by("age", "veracity").agg(n.cast(pl.Int64).sum()), on=["age", "veracity"], how="left")
        .join(pl.DataFrame({"measure": ["depth", "reach", "shares"]}), how="cross")
        .join(sums, on=keys, how="left")
        .sort("measure", "age", "veracity")
        .with_columns(pl.col("n", "sum", "squares").fill_null(0).cum_sum().over("veracity", "measure"))
        .filter(n > 0)
        .with_columns(value=total / n, sd=((pl.col("squares") - total * total / n) / (n - 1)).clip(0).sqrt())
    )
    unit = pl.col("measure").replace_strict(MEASURES, return_dtype=pl.String).alias("unit")
    return _with_interval(means).select("age", "veracity", "measure", unit, "n", "value", "low", "high")


def _rises(run: Reads) -> pl.DataFrame:
    """Return ``value`` and ``before`` of each ``measure`` so far, at each ``step`` in which it rises for a ``root``."""
    posts, parent = share_trees(run)
    made = posts.with_columns(pl.Series("depth", depths(parent))).filter(pl.col("kind") == PostKind.SHARE)
    shared = made.group_by("root", "step").agg(row_count("shares"), pl.col("depth").max()).sort("step")
    parts = (
        exposure_counts(run).select("root", "step", reach=pl.col("newly").cum_sum().over("root")),
        shared.select("root", "step", pl.col("shares").cum_sum().over("root"), pl.col("depth").cum_max().over("root")),
    )
    long = pl.concat([part.unpivot(index=["root", "step"], variable_name="measure") for part in parts])
    long = long.cast({"value": pl.Int64}).sort("step")
    return long.with_columns(before=pl.col("value").shift(fill_value=0).over("root", "measure"))


def mean_by(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return mean of ``value`` by ``keys`` with Student's interval: ``n``, ``value``, ``low``, ``high``."""
    value = pl.col("value").cast(pl.Float64)
    grouped = frame.group_by(keys).agg(row_count("n"), value.mean().alias("value"), value.std().alias("sd"))
    return _with_interval(grouped).drop("sd")


def _with_interval(means: pl.DataFrame) -> pl.DataFrame:
    """Return means with ``low`` and ``high``: Student's interval of ``value`` from ``sd`` and ``n``."""
    n = means["n"].to_numpy()
    reach = statistics.student(np.maximum(n - 1, 1)) / np.sqrt(n)
    half = pl.Series(np.where(n > 1, reach, np.nan)) * means["sd"].fill_null(float("nan"))
    return means.with_columns(low=pl.col("value") - half, high=pl.col("value") + half)


@once_a_run
def spread_metrics(run: Reads) -> pl.DataFrame:
    """MOSAIC's spread metrics (appendix D): by post and step, how many agents saw it and took each action so far.

    Returns
    -------
    DataFrame
        One row per root that is no comment, and step since it came: ``step``, ``root`` (int64), ``veracity``, ``views``
        (distinct agents that were shown it), ``diffusion_depth`` (links), ``num_likes``, ``num_shares``,
        ``num_flags``, ``num_comments``, ``num_notes``, ``num_note_ratings`` (distinct agents), ``total_interactions``
        (their sum), ``taken_down`` (bool).
    """
    root = "CAST(substr(post_id, length('post-') + 1) AS INTEGER) AS root"
    selected = f"time_step AS step, {root}, {', '.join(_SPREAD)}, takedown_executed AS taken_down"
    rows = query_frames(f"SELECT {selected} FROM spread_metrics", lambda table: _first_shown(run, table))
    counts = rows.cast(columns("step:row root:int") | _SPREAD | {"taken_down": pl.Boolean()})
    known = roots(run).select(pl.col("root").cast(pl.Int64), "veracity")
    joined = counts.join(known, on="root", how="left").sort("root", "step")
    return joined.select("step", "root", "veracity", *_SPREAD, "taken_down")


def _first_shown(run: Reads, table: Table) -> pl.LazyFrame:
    """Return the rows of a table that spread is counted from: of exposures, the first of each root to each agent."""
    rows = run.lazy(table.name)
    if table.name != "exposures":
        return rows
    return rows.filter(pl.col("under") < 0).unique(["root", "agent"], keep="first", maintain_order=True)


_SPREAD = columns(
    "views:int diffusion_depth:int num_likes:int num_shares:int num_flags:int num_comments:int num_notes:int"
    " num_note_ratings:int total_interactions:int"
)


# The shape of share trees: depth, breadth and structural virality, for all cascades in a few passes over arrays.


def depths(parent: npt.ArrayLike) -> Int64:
    """Return links from each node up to its root.

    Parameters
    ----------
    parent : (n,) array of int
        Row of the parent; below 0 for a root. Parents may stand after their children, but not in a circle.

    Examples
    --------
    >>> depths([-1, 0, 1, 0, -1]).tolist()
    [0, 1, 2, 1, 0]
    """
    above = np.asarray(parent, np.int64)
    depth, at = np.zeros(above.size, np.int64), above.copy()
    while (at >= 0).any():  # one pass a link of the longest chain
        depth += at >= 0
        at = np.where(at >= 0, above[at], -1)
    return depth


def tops(parent: npt.ArrayLike) -> Int64:
    """Return the row of the root of each node's tree; parents are as in :func:`depths`.

    Examples
    --------
    >>> tops([-1, 0, 1, 0, -1]).tolist()
    [0, 0, 0, 0, 4]
    """
    above = np.asarray(parent, np.int64)
    at = np.arange(above.size)
    while (above[at] >= 0).any():
        at = np.where(above[at] >= 0, above[at], at)
    return at


def tree_shapes(parent: npt.ArrayLike) -> dict[str, npt.NDArray[np.float64]]:
    """Return measures of each tree of a forest.

    Parameters
    ----------
    parent : (n,) array of int
        As in :func:`depths`.

    Returns
    -------
    dict of str to (roots,) arrays
        In the order of the roots: ``root`` (its row), ``size`` (nodes, the root included), ``depth`` (links of the
        longest chain), ``breadth`` (most nodes at one depth) and ``virality``: structural virality, the mean number
        of links between two different nodes (Goel and others 2016, *Management Science* 62); NaN for one node. It is
        twice the Wiener index over n (n − 1), and the Wiener index of a tree is the sum of s (n − s) over its links,
        s being the nodes below a link.

    Examples
    --------
    >>> tree_shapes([-1, 0, 1])["virality"].round(4).tolist()
    [1.3333]
    """
    above = np.asarray(parent, np.int64)
    depth = depths(above)
    root, below = np.arange(above.size), np.ones(above.size)
    order = np.argsort(depth, kind="stable")
    levels = np.split(order, np.cumsum(np.bincount(depth))[:-1]) if above.size else []
    for level in levels[1:]:
        root[level] = root[above[level]]
    for level in reversed(levels[1:]):
        below += np.bincount(above[level], weights=below[level], minlength=above.size)
    roots = np.flatnonzero(above < 0)
    size = below[roots]
    linked = np.flatnonzero(above >= 0)
    paths = below[linked] * (below[root[linked]] - below[linked])
    wiener = np.bincount(root[linked], weights=paths, minlength=above.size)[roots]
    deepest = np.zeros(above.size)
    np.maximum.at(deepest, root, depth)
    pairs = size * (size - 1)
    return {
        "root": roots.astype(np.float64),
        "size": size,
        "depth": deepest[roots],
        "breadth": _breadth(root, depth)[roots],
        "virality": np.divide(2 * wiener, pairs, out=np.full(roots.size, np.nan), where=pairs > 0),
    }


def _breadth(root: Int64, depth: Int64) -> npt.NDArray[np.float64]:
    """Return most nodes at one depth, at the row of each root."""
    most = np.zeros(root.size)
    if root.size:
        width = int(depth.max()) + 1
        cell, count = np.unique(root * width + depth, return_counts=True)
        np.maximum.at(most, cell // width, count)
    return most
