"""Analyses of a recorded run: what ``townsquare analyze`` writes, from every registered measure that gives a table.

An analysis takes a run and returns a tidy frame. One for which a run has nothing (no injected posts, no proposition,
one agent, no actions) returns a frame without rows or with NaN, of the same columns. Members that take arguments of
others stand here; ``docs/analysis.md`` lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import polars as pl

from townsquare.analysis.belief_groups import belief_change_by, exposure_groups
from townsquare.analysis.belief_paths import persistence
from townsquare.analysis.causes.attribution import SUMMED_BY, attribution
from townsquare.analysis.contract import (
    FAMILY,
    CachedRun,
    Measure,
    Reads,
    TableOf,
    definition_of,
    described,
    given_to,
    measure,
    setting,
)
from townsquare.analysis.groups import GROUPS, stance_groups, trait_groups
from townsquare.analysis.moderation_effects import implied_truth, moderation_effects, moderation_effects_by_group
from townsquare.analysis.network import community_of
from townsquare.analysis.notes import note_effects
from townsquare.analysis.treatments import BY_GROUP, EFFECTS, effects_by_group, treatment_effect
from townsquare.core import registry
from townsquare.core.errors import UnknownName
from townsquare.core.extras import MissingExtra
from townsquare.core.member_errors import breach, call_member
from townsquare.core.registry import did_you_mean


def measures() -> list[Measure]:
    """Return every registered measure."""
    return [measure(name) for name in registry.names(FAMILY)]


def analyze(
    run: Reads, only: Sequence[str] | None = None, without: Reads | None = None
) -> Iterator[tuple[str, pl.DataFrame | MissingExtra]]:
    """Return every analysis of a run, one after the other; tables are read once for all.

    Parameters
    ----------
    run : Reads
    only : sequence of str, optional
        Names of measures that give a table; by default all, without those of the trail where the run kept none.
    without : Reads, optional
        The paired run without moderation, for measures of two runs; these are left out if none exists.

    Yields
    ------
    (str, DataFrame or MissingExtra)
        The name with its frame, or with the library that is not installed.

    Raises
    ------
    UnknownName
        The name is unknown, or the analysis needs ``without``.
    ContractError
        A measure does not return a frame; the error names it.
    """
    trail, other = setting(run, "record", "trail", default=True), without and CachedRun(without, large=True)
    tables = {what.name: what for what in measures() if what.table or what.paired}
    allowed = {name: what for name, what in tables.items() if (what.table or other) and (trail or not what.needs_trail)}
    for name in only or ():
        if name not in allowed:
            needs = "it needs the paired run: give --without" if name in tables and tables[name].paired else ""
            do = needs or did_you_mean(name, list(allowed))
            raise UnknownName("analysis", got=repr(name), allowed=", ".join(allowed), do=do)
    cached = CachedRun(run, large=True)
    for name in allowed if only is None else dict.fromkeys(only):
        try:
            yield name, _table(allowed[name], cached, other)
        except MissingExtra as missing:
            yield name, missing


def _table(what: Measure, run: Reads, other: Reads | None) -> pl.DataFrame:
    """Return the frame of one measure."""
    run = given_to(FAMILY, what.name, run)
    if what.table is not None:
        frame: object = call_member(FAMILY, what.name, "table", partial(what.table, run))
    elif what.paired is not None and other is not None:
        frame = call_member(FAMILY, what.name, "paired", partial(what.paired, run, given_to(FAMILY, what.name, other)))
    if not isinstance(frame, pl.DataFrame):
        raise breach(FAMILY, what.name, f"a {type(frame).__name__}", "a polars DataFrame")
    return frame


# Measures that are made of functions with arguments.


def community_groups(run: Reads) -> pl.DataFrame:
    """Communities of the follow graph, as :func:`~townsquare.analysis.groups.trait_groups`."""
    word = pl.col("community").cast(pl.String)
    return community_of(run).select("agent", pl.lit("community").alias("grouping"), word.alias("group")).cast(GROUPS)


def _change_by(groups: TableOf, run: Reads) -> pl.DataFrame:
    """Change of stance from the end of the warm-up to the last step, per proposition and group of persons."""
    return belief_change_by(run, groups(run))


def _after_false_posts(run: Reads) -> pl.DataFrame:
    """Part of the stance change since step 0 that remains after the last exposure to a false post, by steps since."""
    return persistence(run, veracity="false")


_GROUPINGS: dict[str, tuple[TableOf, str]] = {
    "trait": (trait_groups, "by answer to each trait"),
    "start": (stance_groups, "by stance at step 0 or on joining (against, undecided, for)"),
    "exposure": (exposure_groups, "by number of exposures to true, false and unknown posts, and with a label"),
    "community": (community_groups, "by community of the follow graph"),
}


def treatment_effects(run: Reads) -> pl.DataFrame:
    """Direct effects and spillover of every treatment."""
    return _of_each_treatment(run, partial(treatment_effect, run), EFFECTS)


def treatment_effects_by_group(run: Reads) -> pl.DataFrame:
    """Differences between treated and untreated persons, by treatment and by answer to each trait."""
    return _of_each_treatment(run, partial(effects_by_group, run, groups=trait_groups(run)), BY_GROUP)


def _of_each_treatment(run: Reads, effect: Callable[[int], pl.DataFrame], columns: pl.Schema) -> pl.DataFrame:
    names = [str(treatment["name"]) for treatment in setting(run, "treatments", default=())]
    parts = [effect(at).insert_column(0, pl.lit(name).alias("treatment")) for at, name in enumerate(names)]
    return pl.concat(parts) if parts else pl.DataFrame(schema={"treatment": pl.String(), **columns})


def _measures() -> Iterator[Measure]:
    yield described("persistence_false", _after_false_posts)
    for name, (groups, by) in _GROUPINGS.items():
        what = f"Change of stance from the end of the warm-up to the last step, per proposition, {by}."
        yield described(f"belief_change_by_{name}", partial(_change_by, groups), definition=what)
    for kind, words in SUMMED_BY.items():
        what = f"Contributions to belief changes, summed by {words}."
        yield described(f"attribution_by_{kind}", partial(attribution, by=kind), definition=what, needs_trail=True)
    for of in (moderation_effects, moderation_effects_by_group, note_effects, implied_truth):
        yield Measure(of.__name__, "by column", "neither", definition_of(of), paired=of)


MEASURES = {each.name: each for each in _measures()}
"""As the registry has them."""
