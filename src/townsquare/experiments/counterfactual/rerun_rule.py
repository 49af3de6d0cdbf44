"""The belief rule of a run, executed again on what was recorded, with some of it taken away.

What people saw is held fixed: the recorded exposures with their likes, labels and first sights, the recorded posts,
reactions and newcomers. Of the past nothing else is needed, so the world is rebuilt from the record step by step, and
only the stages that move beliefs run: argument records, then the rule. Trust, confidence, records and all else that a
rule keeps follow from the rows that stay. With everything left in, that gives the recorded beliefs to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from townsquare.analysis.beliefs import names, person_beliefs
from townsquare.analysis.causes.claims import holds_claims, last_beliefs, truth_of_claims
from townsquare.analysis.contract import int_sum, row_count
from townsquare.core import schema
from townsquare.core.documents import bundled_labels
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import Verdict
from townsquare.core.frames import ORDERED, collected
from townsquare.core.schema import NONE
from townsquare.experiments.counterfactual.removal import Exclusion, Removal
from townsquare.experiments.run_folders import settings_of
from townsquare.record.batches import Batches
from townsquare.record.content_hash import ColumnsOf
from townsquare.record.run import Run
from townsquare.scenario.contents import Scenario
from townsquare.settings.config import LabelWeight
from townsquare.settings.resolve import Settings, check_version, resolve
from townsquare.simulation import belief_step
from townsquare.simulation.change import Change
from townsquare.simulation.evidence import holdings
from townsquare.simulation.feed.options import label_weight
from townsquare.simulation.scenario_copy import recorded_scenario
from townsquare.simulation.step import Setup, begin

HELD_FIXED: str = bundled_labels("counterfactuals")["rule"]
_KEPT = ("texts", "agents", "follows", "posts", "post_stances", "claims", "near_duplicates")
"""Tables of the record that the stages of belief look back at."""
_KEY = ["step", "agent", "proposition"]
_NO_CLAIMS = pl.DataFrame(dict(schema.empty("veracities"))).select("step", "agent", "claim", "judged")


@dataclass(frozen=True, slots=True)
class CounterfactualBeliefs:
    """Beliefs with and without the removed items; an effect is the recorded value minus the value without them.

    Attributes
    ----------
    removal : Removal
        The removed items.
    rows : int
        Number of exposures that were removed, lost all stances and claims, or lost a label.
    beliefs : DataFrame
        One row per step, person and proposition: ``step``, ``agent``, ``proposition``, ``recorded`` and ``without``
        (stances, -1 to 1).
    claims : DataFrame
        One row per person and claim that the person saw, at the last exposure: ``agent``, ``claim`` (row of texts),
        ``truth``, ``recorded`` and ``without`` (log odds that the person gives to the claim; ``without`` is null if the
        person would not have seen it); empty under a rule without beliefs in claims.
    """

    removal: Removal
    rows: int
    beliefs: pl.DataFrame
    claims: pl.DataFrame

    @property
    def effect(self) -> pl.DataFrame:
        """The effect on stances at the last step: one row per proposition.

        ``proposition``; ``agents``; ``mean_recorded``, ``mean_without``, ``effect`` (mean over persons, in stance),
        ``absolute_effect`` (mean of its size), ``affected`` (persons with an effect other than 0), ``largest`` (size of
        the largest effect), ``changed_side`` (persons whose stance would have the other sign).
        """
        recorded, without = pl.col("recorded"), pl.col("without")
        apart = recorded - without
        means = recorded.mean().alias("mean_recorded"), without.mean().alias("mean_without")
        effects = apart.mean().alias("effect"), apart.abs().mean().alias("absolute_effect")
        sizes = int_sum(apart != 0, "affected"), apart.abs().max().alias("largest")
        turned = int_sum(recorded * without < 0, "changed_side")
        last = self.beliefs.filter(pl.col("step") == pl.col("step").max()).group_by("proposition")
        return last.agg(row_count("agents"), *means, *effects, *sizes, turned).sort("proposition")

    @property
    def claim_effect(self) -> pl.DataFrame:
        """The effect on belief, at the last exposure, in claims that people would also have seen without the items.

        One row per veracity of claims: ``truth``; ``met`` (pairs of a person and a claim); ``believe_recorded``,
        ``believe_without`` (mean probability that people give to the claim), ``effect``;
        ``stopped`` and ``began`` (pairs that believe the claim only without the items, and only with them).
        """
        true, otherwise = pl.col("recorded") > 0, pl.col("without") > 0
        recorded, without = (1 / (1 + (-pl.col(name)).exp()) for name in ("recorded", "without"))
        means = recorded.mean().alias("believe_recorded"), without.mean().alias("believe_without")
        turned = int_sum(otherwise & ~true, "stopped"), int_sum(true & ~otherwise, "began")
        effect = (recorded - without).mean().alias("effect")
        by_truth = self.claims.drop_nulls("without").group_by("truth")
        return by_truth.agg(row_count("met"), *means, effect, *turned).sort("truth")

    def course(self, run: Run) -> pl.DataFrame:
        """Return mean stances by step: ``step``, ``proposition``, ``name``, ``recorded``, ``without``, ``effect``."""
        means = self.beliefs.group_by("step", "proposition").agg(pl.col("recorded", "without").mean())
        effects = means.with_columns(effect=pl.col("recorded") - pl.col("without"))
        return effects.join(names(run).select("proposition", "name"), on="proposition").sort("step", "proposition")


def without(run: Run, removal: Removal, scenario: Scenario | None = None) -> CounterfactualBeliefs:
    """Compute the beliefs that the rule gives without some rows, with what people saw unchanged.

    Parameters
    ----------
    run : Run
        Finished or not; its committed steps count.
    removal : Removal
        What to leave out.
    scenario : Scenario, optional
        The one that the run was made from; loaded by the name in its settings if it is not given.

    Raises
    ------
    SettingError
        The run holds no such post, agent or claim.
    WrongVersion, DataError
        Another version recorded it, or its scenario has changed or gone.
    """
    excluded = Exclusion.of(run, removal)
    recorded = person_beliefs(run).select(*_KEY, pl.col("stance").alias("recorded")).pipe(collected, ORDERED)
    rerun = rerun_beliefs(run, excluded, scenario)
    without = rerun.beliefs.select(*_KEY, pl.col("stance").alias("without"))
    both = recorded.join(without, on=_KEY, maintain_order="left")
    return CounterfactualBeliefs(removal, rerun.rows, both, _claims(run, rerun.claims))


def _claims(run: Run, rerun: pl.DataFrame) -> pl.DataFrame:
    key = ["agent", "claim"]
    without = rerun.sort("step").unique(key, keep="last").select(*key, pl.col("judged").alias("without"))
    recorded = last_beliefs(run) if holds_claims(run) else pl.DataFrame(schema=rerun.schema)
    both = recorded.join(without, on=key, how="left").join(truth_of_claims(run), on="claim", how="left")
    truth = pl.col("truth").fill_null("unknown")
    return both.sort(key).select(*key, truth, pl.col("judged").alias("recorded"), "without")


class RerunBeliefs(NamedTuple):
    """What the rule gave when it was executed again.

    ``beliefs`` is as the table of this name: ``step``, ``agent``, ``proposition``, ``stance``, ``confidence``;
    ``claims`` are ``step``, ``agent``, ``claim`` and ``judged`` of the table ``veracities``. ``rows`` counts the
    exposures that were taken away, whose root speaks to nothing any more, or that lost a label.
    """

    beliefs: pl.DataFrame
    claims: pl.DataFrame
    rows: int


def rerun_beliefs(run: Run, excluded: Exclusion | None = None, scenario: Scenario | None = None) -> RerunBeliefs:
    """Execute the rule again on what was recorded.

    Raises
    ------
    WrongVersion, DataError
        Another version recorded it, or its scenario has changed or gone.
    """
    settings = settings_of(run, str(run.folder or "run")) if scenario is None else _settings(run, scenario)
    made = _Rerun(run, settings, scenario or recorded_scenario(settings, run.folder), excluded or Exclusion())
    beliefs = pl.concat([pl.DataFrame(dict(rows)) for rows in made.beliefs()])
    return RerunBeliefs(beliefs, pl.concat([_NO_CLAIMS, *made.claims]), made.taken)


def _settings(run: Run, scenario: Scenario) -> Settings:
    check_version(run.settings, scenario.name)
    return resolve(run.settings)


class _Rerun:
    """One execution; ``taken`` counts the exposures that were changed so far, ``claims`` are beliefs in claims."""

    def __init__(self, run: Run, settings: Settings, scenario: Scenario, excluded: Exclusion) -> None:
        self._run, self._excluded, self.taken, self.claims = run, excluded, 0, list[pl.DataFrame]()
        self._setup, self._world, self._start = begin(settings, scenario)
        self._world.excluded_claims = excluded.claims.astype(np.int32)

    def beliefs(self) -> Iterator[schema.Columns]:
        """Yield the rows of beliefs after each committed step."""
        if self._run.last_step < 0:
            yield schema.empty("beliefs")
            return
        yield self._start.get("beliefs")
        for step in range(1, self._run.last_step + 1):
            yield self._advance(self._setup.under(self._setup.settings.at(step)), self._run.added(step))

    def _advance(self, setup: Setup, added: ColumnsOf) -> schema.Columns:
        world, config = self._world, setup.settings.config
        draw = Draws(config.seed, world.step + 1)
        newborn = setup.arrivals.arrive(world, draw(Stage.ARRIVE)).newborn
        names = _KEPT if world.traits is None else (*_KEPT, "traits")
        rows = {name: added(name) for name in names} | {"holdings": _seeds(added("holdings"))}
        filled = {name: columns for name, columns in rows.items() if len(next(iter(columns.values())))}
        world.append(Change(filled, newborn=newborn))
        self._silence()
        out = Batches(world.step + 1)
        weights = config.beliefs.label_weight
        out.add({"exposures": self._shown(added("exposures"), weights), "actions": added("actions")})
        if "holdings" in setup.rule.needs:
            out.add(world.append(holdings.update(world, out, setup.arrivals.judges, config.evidence)))
        belief, hours = draw(Stage.BELIEF), config.belief_hours
        moved = belief_step.advance(world, out, setup.rule, belief, with_trail=False, hours=hours)
        if "veracities" in moved.rows:
            met = moved.rows["veracities"]
            self.claims.append(pl.DataFrame({name: met[name] for name in _NO_CLAIMS.columns}))
        world.append(moved)
        world.finish(world.step + 1, config.feed.seen_cap, draw(Stage.FEED))
        return moved.rows["beliefs"]

    def _silence(self) -> None:
        """Clear the stances and claims of excluded root posts, as exposures and as own posts."""
        roots = self._excluded.roots[self._excluded.roots < self._world.posts.n]
        for column in ("n_stances", "n_claims"):
            self._world.posts.write(column)[roots] = 0

    def _shown(self, rows: schema.Columns, weights: LabelWeight) -> schema.Columns:
        """Return the exposures of a step that are not excluded, without the labels that are."""
        excluded = self._excluded
        away = np.isin(rows["post"], excluded.rows) | np.isin(rows["author"], excluded.authors)
        verdict, note = np.asarray(rows["verdict"]), np.asarray(rows["note"])
        unlabeled = np.zeros(away.size, np.bool_)
        if "verdict" in excluded.labels:
            unlabeled |= verdict != Verdict.NONE
        if "note" in excluded.labels:
            unlabeled |= note != NONE
        self.taken += int(np.count_nonzero(away | unlabeled | np.isin(rows["root"], excluded.roots)))
        if unlabeled.any():
            verdict = np.zeros_like(verdict) if "verdict" in excluded.labels else verdict
            note = np.full_like(note, NONE) if "note" in excluded.labels else note
            rows = {**rows, "verdict": verdict, "note": note, "weight": label_weight(verdict, note, weights)}
        return {name: np.asarray(column)[~away] for name, column in rows.items()} if away.any() else rows


def _seeds(rows: schema.Columns) -> schema.Columns:
    """Return the records that newcomers start with; all others follow from exposures."""
    is_seed = np.asarray(rows["post"]) == NONE
    return {name: np.asarray(column)[is_seed] for name, column in rows.items()}
