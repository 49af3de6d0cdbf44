"""Memories of agents as they stood in a step: when each was last accessed, and how relevant it still was."""

from __future__ import annotations

import polars as pl

from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import Reads, setting


def days_per_step(run: Reads) -> float:
    """Return the length of a step in days: of the run's clock, else ``memory.days_per_step``."""
    hours = clock_of(run).hours
    return float(setting(run, "memory", "days_per_step", default=1.0)) if hours is None else hours / 24


def remembered(
    memories: pl.DataFrame, accesses: pl.DataFrame, decay: float, days_per_step: float, now: int
) -> pl.DataFrame:
    """Return memories with their relevance in a step: importance times the decay that is left (MOSAIC, appendix E.1).

    Parameters
    ----------
    memories, accesses : DataFrame
        Rows of ``agent_memories`` and ``memory_accesses`` up to the step.
    decay, days_per_step : float
        As in the settings of memory; see :func:`days_per_step`.
    now : int
        The step.

    Returns
    -------
    DataFrame
        The memories in their order, with ``accessed`` (the step in which its clock began anew), ``decay`` (at that
        access) and ``relevance`` (0 to 1).
    """
    last = pl.col("step").last().alias("accessed"), pl.col("decay").last()
    own = accesses.filter(pl.col("memory").is_in(memories["memory"].implode()))
    touched = own.sort("step", maintain_order=True).group_by("memory", maintain_order=True).agg(*last)
    days = (now - pl.col("accessed")) * days_per_step
    left = (pl.col("decay") - decay * days).clip(lower_bound=0.0)
    rows = memories.join(touched, on="memory", how="left", maintain_order="left")
    begun = rows.with_columns(pl.col("accessed").fill_null(pl.col("step")), pl.col("decay").fill_null(1.0))
    return begun.with_columns((pl.col("importance") * left).alias("relevance"))
