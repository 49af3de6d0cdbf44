"""Influence and popularity: who receives how much, how unequally, and what their distribution is like.

MOSAIC's score weighs followers, likes, shares and comments received, each against the largest; its popularity is their
plain sum. Its figure 6 fits a curve to the fifty most popular, by rank: see :mod:`~townsquare.analysis.power_law` for
why such a fit cannot show a power law, and for tests that can speak against one.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from townsquare.analysis import statistics
from townsquare.analysis.contract import Reads, columns, once_a_run
from townsquare.analysis.follow_graph import standing_follows
from townsquare.analysis.posts import accepted
from townsquare.analysis.power_law import rank_fits, size_models
from townsquare.core.actions import ActionKind
from townsquare.core.enums import AgentKind
from townsquare.core.frames import collected
from townsquare.record.mosaic.views import INFLUENCE, INFLUENCER_ABOVE

RECEIVED = {"likes": ActionKind.LIKE, "shares": ActionKind.SHARE, "comments": ActionKind.COMMENT}
"""What others do to an account's posts that counts as influence; a share counts for the author of its root."""
TOP = 50
"""Accounts that the curve over ranks is fitted to, as in MOSAIC's figure 5."""
INEQUALITY = columns("measure:str unit:str of:str n:int value low high")


@once_a_run
def influence(run: Reads) -> pl.DataFrame:
    """Likes, shares, comments and followers of each account, with MOSAIC's influence score.

    Returns
    -------
    DataFrame
        One row per account, most popular first: ``agent`` (int32), ``kind`` (``person`` or ``source``), ``followers``,
        ``likes``, ``shares``, ``comments`` (int64; of its posts, not its comments), ``popularity`` (their sum),
        ``influence`` (0 to 1: 0.4, 0.3, 0.2 and 0.1 times each over the largest of any account), ``influencer``
        (bool, above 0.5), ``rank`` (1 for the first; ties by number of the account), ``made`` (accepted actions).
    """
    is_source = pl.col("kind") == AgentKind.SOURCE
    kind = pl.when(is_source).then(pl.lit("source")).otherwise(pl.lit("person")).alias("kind")
    frame = run.table("agents").select("agent", kind)
    followers = standing_follows(run, run.last_step).group_by(agent="followed").len("followers")
    made = accepted(run).group_by("agent").agg(made=pl.len()).pipe(collected)
    for counts in (followers, _received(run), made):
        frame = frame.join(counts, on="agent", how="left")
    frame = frame.with_columns(pl.col(*INFLUENCE, "made").fill_null(0).cast(pl.Int64))
    parts = [
        weight * pl.when(pl.col(name).max() > 0).then(pl.col(name) / pl.col(name).max()).otherwise(0.0)
        for name, weight in INFLUENCE.items()
    ]
    scores = pl.sum_horizontal(list(INFLUENCE)).alias("popularity"), pl.sum_horizontal(parts).alias("influence")
    ordered = frame.with_columns(*scores).sort(["popularity", "agent"], descending=[True, False])
    above = (pl.col("influence") > INFLUENCER_ABOVE).alias("influencer")
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("rank")
    return ordered.select("agent", "kind", *INFLUENCE, "popularity", "influence", above, rank, "made")


def _received(run: Reads) -> pl.DataFrame:
    posts = run.table("posts").select("post", "root")
    authors = posts.join(run.table("posts").select(pl.col("post").alias("root"), "author"), on="root")
    acts = accepted(run, RECEIVED.values()).select(pl.col("target").alias("post"), "kind")
    counts = [(pl.col("kind") == kind).sum().alias(name) for name, kind in RECEIVED.items()]
    return acts.join(authors.lazy(), on="post").group_by(pl.col("author").alias("agent")).agg(counts).pipe(collected)


def _popularity(run: Reads) -> np.ndarray:
    """Return popularity of persons, most first. Sources are left out: a few of them receive most of everything."""
    return influence(run).filter(pl.col("kind") == "person")["popularity"].to_numpy().astype(np.float64)


def popularity_ranks(run: Reads) -> pl.DataFrame:
    """Curves fitted to popularity by rank of the 50 most popular persons: MOSAIC's fit and alternatives.

    Returns
    -------
    DataFrame
        As :func:`~townsquare.analysis.power_law.rank_fits`.
    """
    return rank_fits(_popularity(run), TOP)


def popularity_sizes(run: Reads) -> pl.DataFrame:
    """Power law of popularity by maximum likelihood, compared with other distributions.

    Returns
    -------
    DataFrame
        As :func:`~townsquare.analysis.power_law.size_models`.
    """
    return size_models(_popularity(run))


def inequality(run: Reads) -> pl.DataFrame:
    """Inequality of popularity, followers and activity among persons.

    Returns
    -------
    DataFrame
        One row per measure and amount: ``measure`` (``gini``; ``top_tenth``: the share that the tenth with the most
        has; ``none``: the share of persons with nothing), ``unit`` (0 to 1), ``of`` (``popularity``, ``followers`` or
        ``made``, accepted actions), ``n`` (persons), ``value``, ``low``, ``high`` (percentile
        bootstrap over persons; Wilson's for ``none``).
    """
    return unequal(influence(run).filter(pl.col("kind") == "person"), ("popularity", "followers", "made"))


def unequal(frame: pl.DataFrame, columns: tuple[str, ...]) -> pl.DataFrame:
    """Return :func:`inequality` of columns of amounts of at least 0."""
    rows = []
    for name in columns:
        values = frame[name].cast(pl.Float64).to_numpy()
        nothing = int((values == 0).sum())
        for measure, estimate in (
            ("gini", statistics.bootstrap(values, statistics.gini)),
            ("top_tenth", statistics.bootstrap(values, top_tenth)),
            ("none", statistics.share(nothing, values.size)),
        ):
            rows.append((measure, "0 to 1", name, values.size, *estimate))
    return statistics.tidy(rows, INEQUALITY)


def top_tenth(values: np.ndarray) -> float:
    """Return the share of a total that the tenth of its holders with the most has, at least one; NaN for a total of 0.

    >>> top_tenth(np.array([9.0, 1, 0, 0, 0, 0, 0, 0, 0, 0]))
    0.9
    """
    total = float(values.sum())
    most = max(1, values.size // 10)
    return float(np.partition(values, -most)[-most:].sum()) / total if total > 0 else float("nan")
