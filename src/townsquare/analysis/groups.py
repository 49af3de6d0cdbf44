"""Groups of persons: by their answers to the question bank, and by the stance they started with."""

from __future__ import annotations

import numpy as np
import polars as pl

from townsquare.analysis.beliefs import first_stances, names
from townsquare.analysis.contract import Reads, columns
from townsquare.core.enums import AgentKind
from townsquare.core.frames import collected

BANDS = 4
"""Groups that a trait answered by a number is cut into, of about equal size; equal numbers stay together."""
NEUTRAL = 0.2
"""Starting stances up to this far from 0 count as undecided."""
GROUPS = columns("agent:row grouping:str group:str")


def persons(run: Reads) -> pl.DataFrame:
    """Return every person: ``agent`` (int32)."""
    return run.table("agents").filter(pl.col("kind") == AgentKind.PERSON).select("agent").sort("agent")


def trait_groups(run: Reads) -> pl.DataFrame:
    """Return each person's answers as groups.

    Returns
    -------
    DataFrame
        One row per person and trait it answered: ``agent`` (int32), ``grouping`` (the trait's label), ``group`` (the
        answer; of a trait answered by a number a band, as ``25 to 34``).
    """
    answers = run.table("traits").join(run.table("trait_values"), on=["trait", "value"])
    is_code = pl.col("answer") == pl.col("value").cast(pl.String)
    is_number = (
        (is_code | (pl.col("answer").cast(pl.Float64, strict=False) == pl.col("number")).fill_null(False))
        .all()
        .over("label")
    )
    answers = answers.with_columns(is_number.alias("is_number"))
    parts = [answers.filter(~pl.col("is_number")).select("agent", pl.col("label").alias("grouping"), group="answer")]
    for (label,), rows in answers.filter("is_number").group_by("label", maintain_order=True):
        values = rows["value"] if rows["answer"].equals(rows["value"].cast(pl.String)) else rows["number"]
        bands = pl.Series("group", number_bands(values.to_numpy()), dtype=pl.String)
        parts.append(rows.select("agent", pl.lit(str(label)).alias("grouping")).with_columns(bands))
    return pl.concat(parts).cast(GROUPS).sort("grouping", "agent") if parts else pl.DataFrame(schema=GROUPS)


def number_bands(values: np.ndarray, bands: int = BANDS) -> list[str]:
    """Return each number as the band it falls into.

    >>> number_bands(np.array([18, 18, 30, 40, 50]), 2)
    ['18 to 29', '18 to 29', '30 to 50', '30 to 50', '30 to 50']
    """
    if not values.size:
        return []
    cuts = np.unique(np.quantile(values, np.arange(1, bands) / bands, method="higher"))
    cuts = cuts[cuts > values.min()]
    at = np.searchsorted(cuts, values, side="right")
    starts = np.r_[values.min(), cuts]
    whole = np.issubdtype(values.dtype, np.integer)
    ends = np.r_[cuts - 1 if whole else [values[values < cut].max() for cut in cuts], values.max()]
    form = ("{:,}" if whole else "{:,g}").format
    words = [f"{form(a)} to {form(b)}" if a != b else form(a) for a, b in zip(starts, ends, strict=True)]
    return [words[band] for band in at]


def stance_groups(run: Reads) -> pl.DataFrame:
    """Return each person's starting stance toward each proposition as a group.

    Returns
    -------
    DataFrame
        As :func:`trait_groups`: ``grouping`` is ``stance:<proposition>``; ``group`` is ``against``, ``undecided``
        (within 0.2 of 0) or ``for``. The start is the step in which a person joined.
    """
    band = (
        pl.when(pl.col("start") > NEUTRAL).then(pl.lit("for"))
        .when(pl.col("start") < -NEUTRAL).then(pl.lit("against"))
        .otherwise(pl.lit("undecided"))
    )  # fmt: skip
    return (
        first_stances(run)
        .join(names(run).lazy(), on="proposition")
        .select("agent", ("stance:" + pl.col("name")).alias("grouping"), band.alias("group"))
        .sort("grouping", "agent")
        .pipe(collected)
        .cast(GROUPS)
    )


def all_groups(run: Reads) -> pl.DataFrame:
    """Return groups by trait and by starting stance, and ``all`` persons as one: as :func:`trait_groups`."""
    everyone = persons(run).with_columns(grouping=pl.lit("all"), group=pl.lit("all")).cast(GROUPS)
    return pl.concat([everyone, stance_groups(run), trait_groups(run)])
