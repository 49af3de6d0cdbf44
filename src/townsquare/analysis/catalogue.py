"""Every analysis of a recorded run, by name: what ``townsquare analyze`` writes and reports draw from.

An analysis takes a run and returns a tidy frame. One for which a run has nothing (no injected posts, no proposition,
one agent, no actions) returns a frame without rows or with NaN, of the
same columns. ``docs/analysis.md`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import polars as pl

from townsquare.analysis.belief_groups import belief_change_by, exposure_groups
from townsquare.analysis.belief_paths import crossing_counts, crossings, distance_to_start, persistence
from townsquare.analysis.belief_spread import accuracy_course, convergence, polarization_course
from townsquare.analysis.beliefs import belief_change, belief_course, stance_bins
from townsquare.analysis.causes.attribution import BY, attribution
from townsquare.analysis.contract import CachedRun, MissingExtra, Reads, setting
from townsquare.analysis.diffusion import (
    cascade_growth,
    cascades,
    diffusion_by_veracity,
    diffusion_tests,
    spread_metrics,
)
from townsquare.analysis.engagement import engagement, engagement_by_post
from townsquare.analysis.engagement_time import engagement_gaps, engagement_levels, engagement_rates
from townsquare.analysis.groups import GROUPS, stance_groups, trait_groups
from townsquare.analysis.health import belief_movement, participation, refusals, rule_health
from townsquare.analysis.homophily import communities, echo_chambers, homophily
from townsquare.analysis.influence import inequality, influence, popularity_ranks, popularity_sizes
from townsquare.analysis.moderation import labels, moderation, moderation_events
from townsquare.analysis.moderation_effects import (
    implied_truth,
    moderation_by_group,
    moderation_effects,
    moderation_effects_by_group,
    time_to_moderation,
)
from townsquare.analysis.network import centralities, community_of, network_over_time
from townsquare.analysis.people import acted
from townsquare.analysis.reach import reach_over_time
from townsquare.analysis.reasoning import reasoning_agreement, reasoning_motives, reasoning_tone
from townsquare.analysis.topics import time_of_posting, topic_engagement, topic_tests, topics
from townsquare.analysis.traits import trait_engagement, trait_levels
from townsquare.analysis.treatments import treatment_effect
from townsquare.analysis.vocabulary import reasoning_terms, reasoning_words
from townsquare.core.errors import UnknownName
from townsquare.core.registry import did_you_mean

Analysis = Callable[[Reads], pl.DataFrame]
PairAnalysis = Callable[[Reads, Reads], pl.DataFrame]

_FAMILIES: tuple[tuple[Analysis, ...], ...] = (
    (cascades, diffusion_by_veracity, diffusion_tests, cascade_growth, spread_metrics, reach_over_time),
    (engagement, engagement_by_post, engagement_levels, engagement_gaps, engagement_rates),
    (labels, moderation, moderation_events, time_to_moderation, moderation_by_group),
    (influence, popularity_ranks, popularity_sizes, inequality, trait_engagement, trait_levels),
    (topics, topic_engagement, topic_tests, time_of_posting),
    (network_over_time, centralities, homophily, communities, echo_chambers),
    (reasoning_tone, reasoning_motives, reasoning_agreement, reasoning_words, reasoning_terms, acted),
    (belief_course, belief_change, belief_movement, participation, refusals),
)
ANALYSES: dict[str, Analysis] = {one.__name__: one for family in _FAMILIES for one in family}
"""Analyses of one run."""

_PAIRED: tuple[PairAnalysis, ...] = (moderation_effects, moderation_effects_by_group, implied_truth)
PAIR_ANALYSES: dict[str, PairAnalysis] = {one.__name__: one for one in _PAIRED}
"""Analyses of a run beside the paired run without moderation."""


def every_analysis(run: Reads) -> dict[str, Analysis]:
    """:data:`ANALYSES` and those of beliefs; without attribution where the run kept no trail."""
    kept = setting(run, "record", "trail", default=True)
    beliefs = {name: one for name, one in BELIEF_ANALYSES.items() if kept or not name.startswith("attribution")}
    return {**ANALYSES, **beliefs}


def analyze(
    run: Reads,
    only: Sequence[str] | None = None,
    without: Reads | None = None,
    among: Mapping[str, Analysis] = ANALYSES,
) -> Iterator[tuple[str, pl.DataFrame | MissingExtra]]:
    """Every analysis of a run, one after the other; tables are read once for all.

    Parameters
    ----------
    run : Reads
    only : sequence of str, optional
        Names of ``among`` and :data:`PAIR_ANALYSES`; by default all.
    without : Reads, optional
        The paired run without moderation, for :data:`PAIR_ANALYSES`; left out if there is none.
    among : mapping of str to function, optional
        Analyses of one run to choose from.

    Yields
    ------
    (str, DataFrame or MissingExtra)
        The name with its frame, or with what is not installed.

    Raises
    ------
    UnknownName
        For a name that there is none of, or one that needs ``without``.
    """
    allowed = {**among, **(PAIR_ANALYSES if without is not None else {})}
    for name in only or ():
        if name not in allowed:
            needs = "it needs the paired run: give --without" if name in PAIR_ANALYSES else ""
            raise UnknownName(
                "analysis", got=repr(name), allowed=", ".join(allowed), do=needs or did_you_mean(name, list(allowed))
            )
    kept = CachedRun(run, large=True)
    other = None if without is None else CachedRun(without, large=True)
    for name in allowed if only is None else dict.fromkeys(only):
        try:
            if name in among:
                yield name, among[name](kept)
            elif other is not None:
                yield name, PAIR_ANALYSES[name](kept, other)
        except MissingExtra as missing:
            yield name, missing


# Every analysis of beliefs, by name, as :mod:`townsquare.analysis.catalogue` has the others.


def community_groups(run: Reads) -> pl.DataFrame:
    """Communities of the follow graph, as :func:`~townsquare.analysis.groups.trait_groups`."""
    word = pl.col("community").cast(pl.String)
    groups = community_of(run).select("agent", pl.lit("community").alias("grouping"), word.alias("group"))
    return groups.cast(GROUPS)


def _change_by(groups: Analysis, run: Reads) -> pl.DataFrame:
    """:func:`~townsquare.analysis.belief_groups.belief_change_by` the groups that ``groups`` finds."""
    return belief_change_by(run, groups(run))


_GROUPINGS: dict[str, Analysis] = {
    "trait": trait_groups, "start": stance_groups, "exposure": exposure_groups, "community": community_groups,
}  # fmt: skip


def treatment_effects(run: Reads) -> pl.DataFrame:
    """:func:`~townsquare.analysis.treatments.treatment_effect` of every treatment, with its ``treatment`` first."""
    listed = list(setting(run, "treatments", default=()))
    parts = [
        treatment_effect(run, at).select(pl.lit(str(one["name"])).alias("treatment"), pl.all())
        for at, one in enumerate(listed)
    ]
    return pl.concat(parts) if parts else pl.DataFrame()


_OF_BELIEFS: tuple[Analysis, ...] = (
    stance_bins, polarization_course, convergence, accuracy_course, distance_to_start, crossings, crossing_counts,
    persistence,
)  # fmt: skip
BELIEF_ANALYSES: dict[str, Analysis] = {
    **{one.__name__: one for one in _OF_BELIEFS},
    "persistence_false": partial(persistence, veracity="false"),
    **{f"belief_change_by_{name}": partial(_change_by, groups) for name, groups in _GROUPINGS.items()},
    **{one.__name__: one for one in (rule_health, treatment_effects)},
    **{f"attribution_by_{kind}": partial(attribution, by=kind) for kind in BY},
}
"""Analyses of one run; those of attribution need a trail."""
