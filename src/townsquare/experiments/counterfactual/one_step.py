"""A step of one belief without one of the things that moved it, computed again on the spot.

For rules that read exposures, the rule itself is executed again on the recorded exposures of that agent and step: its
stance and confidence before the step, its start, the label weights, likes and novelty are on record, and the trust that
was read is in the trail. First with all rows: only if that gives the recorded stance is the answer without one row
called exact. For rules in log odds, whose contributions add, the contribution is taken off the recorded sum; what the
row had archived stays archived. Otherwise the contribution is taken off the stance, and the answer is called a
subtraction. What would have followed in later steps is not asked: that is another run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from townsquare.analysis.causes.contributions import unit_of
from townsquare.analysis.contract import CachedRun, setting
from townsquare.beliefs.contract import (
    DTYPES,
    Authors,
    BeliefInputs,
    BeliefRule,
    BeliefState,
    Exposed,
    Own,
    no_own,
    per_agent,
)
from townsquare.beliefs.equation import stances_of, start_log_odds
from townsquare.core import registry
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import PostKind, TrailKind
from townsquare.core.errors import SettingError
from townsquare.core.pairs import PairBlock
from townsquare.core.schema import NONE
from townsquare.record.run import Run
from townsquare.scenario.population.sample import people_bank
from townsquare.settings.resolve import resolve
from townsquare.simulation.belief_step import ChosenRule, group_trait
from townsquare.simulation.scenario_copy import recorded_scenario

EXACT, ADDITIVE, SUBTRACTED = "exact", "additive", "subtracted"
_AGREES = 1e-9
_NO_MARGIN = 1e-15


@dataclass(frozen=True, slots=True)
class WithoutRow:
    """The stance after a step without one row of its trail.

    ``method`` is ``exact`` (the rule executed again, which with all rows gives the recorded stance), ``additive``
    (contributions in log odds add) or ``subtracted`` (the contribution taken off; the others might have weighed more).
    """

    stance: float
    recorded: float
    method: str


def without(run: Run, cached: CachedRun, agent: int, step: int, proposition: int, rank: int, post: int) -> WithoutRow:
    """Return the stance after ``step`` had the agent not been shown a row, or not written a post.

    Parameters
    ----------
    rank, post : int
        Which row of the trail: as recorded there, ``rank`` -1 for an own post.

    Raises
    ------
    SettingError
        The trail of this step has no such row.
    """
    trail = run.rows_where("trail", agent=agent, step=step).filter(pl.col("proposition") == proposition)
    row = trail.filter((pl.col("rank") == rank) & (pl.col("post") == post) & (pl.col("post") != NONE))
    if row.is_empty():
        raise SettingError("row of the trail", got=f"rank {rank}, post {post}", allowed="a row of this step")
    recorded = _stance(run, agent, step, proposition)
    amount = float(row["amount"].sum())
    if unit_of(run) != "stance":
        log_odds = float(start_log_odds([recorded], margin=_NO_MARGIN)[0]) - amount
        return WithoutRow(float(stances_of([log_odds])[0]), recorded, ADDITIVE)
    name = str(setting(run, "beliefs", "rule", default=""))
    if name in registry.names("beliefs"):
        rerun = _Rerun(run, cached, registry.get("beliefs", name), agent, step)
        if abs(rerun.stance(proposition) - recorded) <= _AGREES:
            return WithoutRow(rerun.stance(proposition, leave_out=(rank, post)), recorded, EXACT)
    return WithoutRow(float(np.clip(recorded - amount, -1.0, 1.0)), recorded, SUBTRACTED)


def _stance(run: Run, agent: int, step: int, proposition: int) -> float:
    rows = run.rows_where("beliefs", agent=agent, step=step)
    return float(rows.filter(pl.col("proposition") == proposition)["stance"][0])


class _Rerun:
    """One step of one agent, executed again from what was recorded."""

    def __init__(self, run: Run, cached: CachedRun, rule: BeliefRule, agent: int, step: int) -> None:
        params: Any = resolve(run.settings).at(step).params["beliefs"]
        self._rule, self._agent, self._params = rule, agent, per_agent(params, 1)
        self._draw = Draws(int(run.settings["seed"]), step)(Stage.BELIEF)
        self._n = cached.table("propositions").height
        beliefs = run.rows_where("beliefs", agent=agent).sort("proposition")
        self._before = beliefs.filter(pl.col("step") == step - 1)
        self._start = beliefs.filter(pl.col("step") == beliefs["step"].min())
        self._rows = _weighed(run, cached, agent, step)
        self._own = _written(cached, agent, step)
        self._about = partial(_about, run, cached, ChosenRule(rule, params), agent, step)

    def stance(self, proposition: int, leave_out: tuple[int, int] | None = None) -> float:
        """Compute the stance after the step; NaN for the step in which the agent joined."""
        if self._before.height != self._n:
            return float("nan")
        rows, own = self._rows, self._own
        if leave_out is not None:
            rank, post = leave_out
            rows = rows.filter((pl.col("rank") != rank) | (pl.col("post") != post))
            own = own.filter(pl.col("post") != post) if rank == NONE else own
        exposed = Exposed(**_columns(rows, Exposed))
        # Reactions move confidence only, which is not asked for.
        written = no_own(1, self._n)._replace(**_columns(own, Own))
        inputs = BeliefInputs(self._agent, exposed, written, authors=self._about(exposed))
        after, _ = self._rule.step(self._state(rows), inputs, self._params, self._draw)
        return float(after.stance[0, proposition])

    def _state(self, rows: pl.DataFrame) -> BeliefState:
        stance, confidence, start = (
            frame[name].to_numpy().astype(np.float64).reshape(1, -1)
            for frame, name in ((self._before, "stance"), (self._before, "confidence"), (self._start, "stance"))
        )
        made = self._rule.init(start, confidence, self._params)
        # Trust is read as it stood at the start of the step, once for each author: the trail has it.
        known = rows.filter(pl.col("trust").is_not_nan()).unique("author", keep="first").sort("author")
        trust = PairBlock(np.array([0, known.height]), _column(known, "author"), _column(known, "trust"))
        return BeliefState(stance, confidence, start, made.arrays, dict.fromkeys(made.pairs, trust))


def _about(run: Run, cached: CachedRun, chosen: ChosenRule, agent: int, step: int, rows: Exposed) -> Authors:
    """Return what the rule read of the author of each row, from the record."""
    columns: dict[str, Any] = {}
    if "authors" in chosen.needs:
        asked = pl.DataFrame({"agent": rows.author, "proposition": rows.proposition})
        before = run.rows_where("beliefs", step=step - 1, agent=np.unique(rows.author).tolist())
        stances = asked.join(before, on=["agent", "proposition"], how="left", maintain_order="left")
        columns["stance"] = stances["stance"].fill_null(np.nan).to_numpy()
    if "ties" in chosen.needs:
        changes = run.rows_where("follows", follower=agent).filter(pl.col("step") <= step)
        follows = changes.group_by("followed").agg(pl.col("change").sum()).filter(pl.col("change") > 0)
        columns["tie"] = np.isin(rows.author, follows["followed"].to_numpy()).astype(np.float64)
    if "groups" in chosen.needs:
        settings = resolve(run.settings)
        bank = people_bank(settings.config.population, recorded_scenario(settings, run.folder).folder)
        answers = cached.table("traits").filter(pl.col("trait") == (trait := group_trait(chosen, bank)))
        group = np.full(cached.table("agents").height, NONE, np.int16)
        group[answers["agent"].to_numpy()] = bank.group_of(trait, answers["value"].to_numpy())
        columns["group"], columns["reader_group"] = group[rows.author], group[agent : agent + 1]
    return Authors(columns)


def _weighed(run: Run, cached: CachedRun, agent: int, step: int) -> pl.DataFrame:
    """Return the rows that the rule weighed, in its order, with what it read of each."""
    trail = run.rows_where("trail", agent=agent, step=step).filter(pl.col("kind") == TrailKind.EXPOSURE)
    shown = run.rows_where("exposures", agent=agent, step=step)
    seen = shown.select("rank", "post", "root", "author", "likes", "first_seen", "weight")
    stances = cached.table("post_stances").select(pl.col("post").alias("root"), "proposition", "stance")
    people = cached.table("agents").select(pl.col("agent").alias("author"), "credibility")
    rows = trail.select("proposition", "rank", "post", "trust").join(seen, on=["rank", "post"], maintain_order="left")
    rows = rows.join(stances, on=["root", "proposition"], maintain_order="left")
    return rows.join(people, on="author", maintain_order="left")


def _written(cached: CachedRun, agent: int, step: int) -> pl.DataFrame:
    wrote = pl.col("kind").is_in([int(PostKind.ORIGINAL), int(PostKind.COMMENT)])
    posts = cached.table("posts").filter((pl.col("author") == agent) & (pl.col("step") == step) & wrote)
    stances = cached.table("post_stances").select("post", "proposition", "stance")
    return posts.select("post").join(stances, on="post").sort("proposition", "post")


def _columns(rows: pl.DataFrame, kind: type[Exposed | Own]) -> dict[str, Any]:
    """Return the columns of ``kind`` that the rows have, for one agent."""
    names = [name for name in kind._fields if name in rows.columns]
    return {"indptr": np.array([0, rows.height]), **{name: _column(rows, name) for name in names}}


def _column(rows: pl.DataFrame, name: str) -> Any:
    return np.array(rows[name].to_list(), dtype=DTYPES[name])
