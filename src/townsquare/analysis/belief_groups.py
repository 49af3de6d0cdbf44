"""Changes of belief by group: by trait, by starting stance, by community, by what people were exposed to."""

from __future__ import annotations

import polars as pl

from townsquare.analysis.beliefs import moves_by, starts_and_ends, with_accuracy
from townsquare.analysis.contract import Reads
from townsquare.analysis.groups import GROUPS, number_bands, persons
from townsquare.analysis.posts import CARRIED_LABEL, roots
from townsquare.core.frames import collected

BANDS_OF_EXPOSURE = 3


def exposure_groups(run: Reads) -> pl.DataFrame:
    """Return each person by how often it was shown posts of each class of veracity, and labeled ones.

    Returns
    -------
    DataFrame
        As :func:`~townsquare.analysis.groups.trait_groups`: ``agent``, ``grouping`` (``shown:true``, ``shown:false``,
        ``shown:unknown``, ``shown:labeled``), ``group`` (a band of counts, about a third of the persons each; equal
        counts stay together).
    """
    exposures = run.lazy("exposures").select("agent", "root", CARRIED_LABEL.alias("labeled"))
    shown = exposures.join(roots(run).lazy().select("root", "veracity"), on="root")
    by_class = shown.group_by("agent", "veracity").len("n").pipe(collected)
    labeled = shown.filter("labeled").group_by("agent").len("n").pipe(collected)
    parts = []
    counts = {f"shown:{word}": by_class.filter(pl.col("veracity") == word) for word in ("true", "false", "unknown")}
    for grouping, shown_to in {**counts, "shown:labeled": labeled}.items():
        everybody = persons(run).join(shown_to.select("agent", "n"), on="agent", how="left")
        everybody = everybody.with_columns(pl.col("n").fill_null(0).cast(pl.Int64))
        if everybody["n"].sum():
            bands = pl.Series("group", number_bands(everybody["n"].to_numpy(), BANDS_OF_EXPOSURE), dtype=pl.String)
            parts.append(everybody.select("agent", pl.lit(grouping).alias("grouping")).with_columns(bands))
    return pl.concat(parts).cast(GROUPS) if parts else pl.DataFrame(schema=GROUPS)


def belief_change_by(run: Reads, groups: pl.DataFrame) -> pl.DataFrame:
    """Return how far the persons of each group moved.

    Parameters
    ----------
    run : Reads
    groups : DataFrame
        ``agent``, ``grouping``, ``group``: of :func:`~townsquare.analysis.groups.trait_groups`, ``stance_groups``,
        :func:`exposure_groups`, of communities, or one's own. A person may be in one group of each grouping.

    Returns
    -------
    DataFrame
        One row per proposition, grouping and group, with the columns of
        :func:`~townsquare.analysis.beliefs.belief_change`.
    """
    by = ["proposition", "name", "grouping", "group"]
    moves = moves_by(starts_and_ends(run).join(groups.lazy(), on="agent"), "proposition", "grouping", "group")
    first_number = pl.col("group").str.extract(r"^([\d,]+)").str.replace_all(",", "").cast(pl.Int64, strict=False)
    return with_accuracy(run, moves).sort(*by[:-1], first_number, "group")
