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
    by_trait = trait_answers(run).group_by("label", maintain_order=True)
    parts = [in_groups(rows).with_columns(pl.lit(label).alias("grouping")) for (label,), rows in by_trait]
    groups = pl.concat(parts).select(list(GROUPS)) if parts else pl.DataFrame(schema=GROUPS)
    return groups.cast(GROUPS).sort("grouping", "agent")


def trait_answers(run: Reads, label: str | None = None) -> pl.DataFrame:
    """Return who gave which answer, to one trait or to all: the columns of ``traits`` and ``trait_values``."""
    values = run.table("trait_values")
    return run.table("traits").join(values if label is None else values.filter(label=label), on=["trait", "value"])


def in_groups(answers: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Return the answers to one trait as groups: ``keys``, ``agent``, ``group``; bands are those of all rows."""
    code, number = answers["value"].cast(pl.String), answers["answer"].cast(pl.Float64, strict=False)
    group = answers["answer"]
    if ((code == group) | (number == answers["number"]).fill_null(value=False)).all():
        values = answers["value" if code.equals(group) else "number"]
        group = pl.Series(number_bands(values.to_numpy()), dtype=pl.String)
    return answers.select(*keys, "agent", group.alias("group"))


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
    rows = first_stances(run).join(names(run).lazy(), on="proposition")
    groups = rows.select("agent", grouping="stance:" + pl.col("name"), group=band)
    return groups.sort("grouping", "agent").pipe(collected).cast(GROUPS)


def all_groups(run: Reads) -> pl.DataFrame:
    """Return groups by trait and by starting stance, and ``all`` persons as one: as :func:`trait_groups`."""
    everyone = persons(run).with_columns(grouping=pl.lit("all"), group=pl.lit("all")).cast(GROUPS)
    return pl.concat([everyone, stance_groups(run), trait_groups(run)])
