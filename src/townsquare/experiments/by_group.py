"""What arms do to the final stances of groups: above all of people with one answer to a question of the survey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from townsquare.analysis.beliefs import last_stances, names
from townsquare.analysis.causes.contributions import agent_names
from townsquare.analysis.contract import CachedRun, Reads, columns, setting
from townsquare.analysis.groups import in_groups, trait_answers
from townsquare.core.frames import collected
from townsquare.experiments.paired import corrected, t_interval

LEAST = 10
"""Agents of a group in a run below which nothing is estimated."""
TABLE = columns(
    "arm:str proposition:str trait:str answer:str agents respondents value low high p p_holm p_fdr seeds:int"
)


def effects_by_group(runs: Mapping[tuple[str, int], Reads], baseline: str) -> pl.DataFrame:
    """Measure the effect of each arm on mean final stances, within each answer to each trait of a survey.

    Parameters
    ----------
    runs : mapping of (str, int) to Reads
        Runs by arm and seed.
    baseline : str
        The arm that the others are compared with.

    Returns
    -------
    DataFrame
        One row per proposition, trait, answer in order (of numbers a band, the same in all runs) and arm other than the
        baseline: ``arm``, ``proposition``, ``trait``, ``answer``; ``agents`` and ``respondents`` that they are drawn
        from (mean numbers per seed); ``value`` (mean stance in the arm less that of the same agents in the baseline)
        with ``low`` and ``high`` (95% t interval over ``seeds``) and ``p``, corrected over all rows: ``p_holm``,
        ``p_fdr``. Runs in which a group has under ten agents are left out. Empty where people come from no survey.
    """
    read = {key: CachedRun(run) for key, run in runs.items() if setting(run, "population", "file", default=None)}
    bases = {seed: run for (arm, seed), run in read.items() if arm == baseline}
    at_end = {key: final_stances(run) for key, run in read.items() if key[1] in bases}
    ids = pl.col("name").str.replace(r"/\d+$", "").alias("respondent")
    called = {seed: agent_names(run).select("agent", ids) for seed, run in bases.items()}
    parts = []
    for label in dict.fromkeys(label for run in bases.values() for label in run.table("trait_values")["label"]):
        answers = (trait_answers(run, label).with_columns(seed=pl.lit(seed)) for seed, run in bases.items())
        people = in_groups(pl.concat(answers), "seed", "value")
        for (arm, seed), after in at_end.items():
            if arm != baseline:
                groups = people.filter(seed=seed).join(called[seed], on="agent", maintain_order="left")
                of_group = pl.n_unique("respondent").alias("respondents"), pl.min("value").alias("code")
                moved = changes(at_end[baseline, seed], after, groups, *of_group)
                parts.append(moved.with_columns(arm=pl.lit(arm), trait=pl.lit(label)))
    if not parts:
        return pl.DataFrame(schema=TABLE)
    large = pl.concat(parts).filter(pl.col("agents") >= LEAST).rename({"group": "answer"}).sort("code", "arm")
    made = over_seeds(large, ["arm", "proposition", "trait", "answer"], ["agents", "respondents"])
    return corrected(made).select(list(TABLE)).sort("proposition", "trait", maintain_order=True)


def final_stances(run: Reads) -> pl.DataFrame:
    """Return the stance of each person after the last step: ``agent``, ``proposition`` (name), ``end``."""
    ends = collected(last_stances(run)).join(names(run), on="proposition")
    return ends.select("agent", proposition="name", end="end")


def changes(before: pl.DataFrame, after: pl.DataFrame, groups: pl.DataFrame, *also: pl.Expr) -> pl.DataFrame:
    """Return the mean change from one frame of :func:`final_stances` to another, of the agents of each group in both.

    ``groups`` has columns ``agent`` and ``group``. One row per group and proposition: ``proposition``, ``group``,
    ``value``, ``agents``, and what else is asked of the members.
    """
    both = before.join(after, on=["agent", "proposition"], suffix="_arm", maintain_order="left")
    value = (pl.col("end_arm") - pl.col("end")).mean().alias("value")
    members = groups.join(both, on="agent", maintain_order="left_right")
    by = members.group_by("proposition", "group", maintain_order=True)
    return by.agg(value, pl.len().cast(pl.Float64).alias("agents"), *also)


def over_seeds(each: pl.DataFrame, by: Sequence[str], means: Sequence[str]) -> pl.DataFrame:
    """Return the mean of ``value`` over seeds with 95% t interval and p, means of other columns, and ``seeds``."""
    kinds = columns(f"{' '.join(f'{name}:str' for name in by)} {' '.join(means)} value low high p seeds:int")
    rows = []
    for key, part in each.group_by(by, maintain_order=True):
        value, low, high, p, _ = t_interval(part["value"].to_numpy().astype(np.float64))
        rows.append((*key, *(part[name].mean() for name in means), value, low, high, p, part.height))
    return pl.DataFrame(rows, schema=kinds, orient="row")
