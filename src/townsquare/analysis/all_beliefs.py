"""Every analysis of beliefs, by name, as :mod:`townsquare.analysis.all` has the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import polars as pl

from townsquare.analysis.attribution import BY, attribution
from townsquare.analysis.belief_groups import belief_change_by, exposure_groups
from townsquare.analysis.belief_paths import crossing_counts, crossings, distance_to_start, persistence
from townsquare.analysis.belief_spread import accuracy_course, convergence, polarization_course
from townsquare.analysis.beliefs import stance_bins
from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.groups import GROUPS, stance_groups, trait_groups
from townsquare.analysis.network import community_of
from townsquare.analysis.rule_health import rule_health
from townsquare.analysis.treatments import treatment_effect


def belief_change_by_trait(run: Reads) -> pl.DataFrame:
    """:func:`~townsquare.analysis.belief_groups.belief_change_by` answers to the question bank."""
    return belief_change_by(run, trait_groups(run))


def belief_change_by_start(run: Reads) -> pl.DataFrame:
    """:func:`~townsquare.analysis.belief_groups.belief_change_by` the side on which people started."""
    return belief_change_by(run, stance_groups(run))


def belief_change_by_exposure(run: Reads) -> pl.DataFrame:
    """:func:`~townsquare.analysis.belief_groups.belief_change_by` what people were shown."""
    return belief_change_by(run, exposure_groups(run))


def belief_change_by_community(run: Reads) -> pl.DataFrame:
    """:func:`~townsquare.analysis.belief_groups.belief_change_by` communities of the follow graph."""
    word = pl.col("community").cast(pl.String)
    groups = community_of(run).select("agent", pl.lit("community").alias("grouping"), word.alias("group"))
    return belief_change_by(run, groups.cast(GROUPS))  # type: ignore[arg-type]


def treatment_effects(run: Reads) -> pl.DataFrame:
    """:func:`~townsquare.analysis.treatments.treatment_effect` of every treatment, with its ``treatment`` first."""
    listed = list(setting(run, "treatments", default=()))
    parts = [
        treatment_effect(run, at).select(pl.lit(str(one["name"])).alias("treatment"), pl.all())
        for at, one in enumerate(listed)
    ]
    return pl.concat(parts) if parts else pl.DataFrame()


BELIEF_ANALYSES: dict[str, Callable[[Reads], pl.DataFrame]] = {
    "stance_bins": stance_bins,
    "polarization_course": polarization_course,
    "convergence": convergence,
    "accuracy_course": accuracy_course,
    "distance_to_start": distance_to_start,
    "crossings": crossings,
    "crossing_counts": crossing_counts,
    "persistence": persistence,
    "persistence_false": partial(persistence, veracity="false"),
    "belief_change_by_trait": belief_change_by_trait,
    "belief_change_by_start": belief_change_by_start,
    "belief_change_by_exposure": belief_change_by_exposure,
    "belief_change_by_community": belief_change_by_community,
    "rule_health": rule_health,
    "treatment_effects": treatment_effects,
    **{f"attribution_by_{kind}": partial(attribution, by=kind) for kind in BY},
}
"""Analyses of one run; those of attribution need a trail."""
