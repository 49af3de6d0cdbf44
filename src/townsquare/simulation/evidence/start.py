"""Starts agents under rules of evidence: from a stated stance, or from seed records of the scenario's bank.

Under ``start: records`` every new person gets, for each proposition, seeds that bring it as near as they can to the
stance that it was drawn (:mod:`townsquare.beliefs.evidence.seeds`); the bank's arguments are claims without a post.
Either way the rows of the table starts say which stance was wanted and which was attained. Seeds are taken as they are:
conflict resolution is for what comes later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from townsquare.beliefs.checks import check_state
from townsquare.beliefs.contract import (
    AgentParams,
    BeliefInputs,
    BeliefRule,
    BeliefState,
    Holdings,
    Records,
    no_authors,
    no_exposures,
    no_holdings,
    no_own,
    per_agent,
    rows_of,
)
from townsquare.beliefs.evidence.seeds import choose_for_many
from townsquare.beliefs.log_odds import Params
from townsquare.core import schema
from townsquare.core.array_types import Array, Float, Int64
from townsquare.core.draws import U64, Draws, Stage, text_key
from townsquare.core.enums import HoldingChange, Origin
from townsquare.core.pairs import spans
from townsquare.core.schema import NONE
from townsquare.scenario.contents import Scenario
from townsquare.settings.config import MemberParams
from townsquare.simulation.evidence.claims import Judges, claim_rows, of_bank
from townsquare.simulation.world import World


class Start(NamedTuple):
    """The beliefs that new agents start with, and the rows that belong to them; no rows where stances are stances."""

    state: BeliefState
    rows: schema.ByTable


class Newcomers(NamedTuple):
    """The agents that start.

    Attributes
    ----------
    agents : (n,) int
        Their rows of agents; the first of ``state``, which may go on with sources.
    wanted : (n, P) float64
        The stances they were drawn, [-1, 1].
    state : BeliefState
        As the ``init`` of the rule gives it.
    own : mapping of str to array
        Settings that they have of their own, by name, as long as ``state``; NaN for sources.
    """

    agents: Int64
    wanted: Float
    state: BeliefState
    own: Mapping[str, Float]


def started(
    world: World,
    scenario: Scenario,
    judges: Judges,
    rule: tuple[BeliefRule, MemberParams],
    new: Newcomers,
    draws: Draws,
    texts: Sequence[str],
) -> Start:
    """Return what new agents start with.

    Parameters
    ----------
    world : World
        As it is before they join.
    rule : (BeliefRule, MemberParams)
        The rule in use and its settings.
    new : Newcomers
    draws : Draws
        Of the run; seeds are drawn by agent and text, regardless of the step.
    texts : sequence of str
        Texts by row: those that there are, and those that come with these rows.

    Raises
    ------
    DataError
        The bank has no argument on one side of a proposition.
    SettingError
        The bank has fewer arguments on a proposition than there are to be seeds.
    """
    member, params = rule
    agents, wanted, state, own = new
    if member.unit != "log odds":
        return Start(state, {})
    rows: schema.ByTable = {}
    if isinstance(params, Params) and params.start == "records":
        if not world.claims.n:
            row = {text: k for k, text in enumerate(texts)}
            rows |= claim_rows(world, of_bank(scenario.arguments), judges, row, len(texts))
        claims = rows.get("claims") or {name: world.claims[name] for name in schema.empty("claims")}
        bank = _bank(claims, texts)
        settings = per_agent(params, state.stance.shape[0], own)
        records = _choose(bank, scenario, params, settings["anchoring"], new, draws)
        rows["holdings"] = _rows(records, agents, draws.step)
        state = _with_records(member, settings, state, records, int(agents[0]) if agents.size else 0, draws)
    n, p = wanted.shape
    rows["starts"] = schema.rows(
        "starts", n * p, step=draws.step, agent=np.repeat(agents, p), proposition=np.tile(np.arange(p), n),
        wanted=wanted.ravel(), attained=state.stance[:n].ravel(),
    )  # fmt: skip
    return Start(state, rows)


def _bank(claims: schema.Columns, texts: Sequence[str]) -> dict[str, Array]:
    """Return the claims that agents can start with, each the first of its kind, with a key by text for draws."""
    columns = {name: np.asarray(column) for name, column in claims.items()}
    at = np.flatnonzero((columns["post"] == NONE) & (columns["same_as"] == columns["claim"]))
    keys = [text_key(texts[row]) for row in columns["text"][at]]
    return {**{name: column[at] for name, column in columns.items()}, "key": np.array(keys, U64)}


def _choose(
    bank: Mapping[str, Array], scenario: Scenario, params: Params, anchoring: Float, new: Newcomers, draws: Draws
) -> Records:
    """Return the seeds of each agent as records, by claim."""
    agents, parts = new.agents, []
    for k, proposition in enumerate(scenario.propositions):
        at = np.flatnonzero(bank["proposition"] == k)
        chosen = [np.empty((0, params.seed_records), np.int64)]
        for _, first, stop in spans(max(agents.size, 1)):
            some = agents[first:stop]
            pairs = np.repeat(some, at.size), np.tile(bank["key"][at], some.size)
            keys = draws(Stage.EVIDENCE).bits("seeds", *pairs, lasting=True).reshape(some.size, at.size)
            seeds = choose_for_many(
                bank["polarity"][at], bank["strength"][at], new.wanted[first:stop, k], anchoring[first:stop], keys,
                number=params.seed_records, prior_scale=params.prior_scale,
                where=f"scenario {scenario.name}, arguments on {proposition.name}",
            )  # fmt: skip
            chosen.append(seeds)
        parts.append(at[np.concatenate(chosen)])
    places = np.concatenate(parts, axis=1) if parts else np.empty((agents.size, 0), np.int64)
    places = np.sort(places, axis=1)  # rows of the bank ascend with their claims
    flat, (n, width) = places.ravel(), places.shape
    of_bank = {name: bank[name][flat] for name in ("claim", "proposition", "polarity", "strength")}
    indptr = np.arange(n + 1, dtype=np.int64) * width
    return rows_of(Records, indptr, **of_bank, origin=Origin.SEED, active=True, agreed=False)


def _rows(records: Records, agents: Int64, step: int) -> schema.Columns:
    return schema.rows(
        "holdings", records.claim.size, step=step, agent=np.repeat(agents, np.diff(records.indptr)),
        claim=records.claim, origin=Origin.SEED, change=HoldingChange.ACCEPTED, by=NONE, post=NONE, rank=NONE,
        agreed=False,
    )  # fmt: skip


def _with_records(
    rule: BeliefRule, settings: AgentParams, state: BeliefState, records: Records, first: int, draws: Draws
) -> BeliefState:
    """Return the beliefs that follow from the seeds alone, by a step of the rule without exposures."""
    n, p = state.stance.shape
    more = np.full(n - (records.indptr.size - 1), records.indptr[-1])  # sources hold none
    none = no_holdings(n)
    extended = records._replace(indptr=np.r_[records.indptr, more])
    holdings = Holdings(extended, none.changes, none.claim_exposures)
    inputs = BeliefInputs(first, no_exposures(n), no_own(n, p), holdings, no_authors(n))
    after, _ = rule.step(state, inputs, settings, draws(Stage.BELIEF))
    check_state(rule, state, after, first)
    return replace(after, start=after.stance.copy())
