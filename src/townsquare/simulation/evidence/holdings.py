"""Updates the argument records of agents by the claims of a step (appendix B).

Claims reach exactly the agents that were shown their post in this step; an agent's own claims reach it too if
``evidence.own_claims`` is on. Rows of the table holdings record each change of a record.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from townsquare.beliefs.evidence.holding_kernels import (
    AGREED,
    Claims,
    HeldRecords,
    Incoming,
    Outcome,
    Thresholds,
    has_flag,
    origin_of,
    receive,
    room_for,
)
from townsquare.beliefs.evidence.holding_kernels import NOTHING as UNCHANGED
from townsquare.core import schema
from townsquare.core.array_types import Array, Int64
from townsquare.core.coded_rows import CodedRows
from townsquare.core.pairs import spans, upsert
from townsquare.core.schema import NONE
from townsquare.core.threads import in_parts
from townsquare.record.batches import Batches
from townsquare.settings.config import Evidence
from townsquare.simulation.change import NOTHING, Change
from townsquare.simulation.evidence.claims import Judges
from townsquare.simulation.evidence.reached import Reached, exposures_by_agent, own_posts, reached
from townsquare.simulation.world import World
from townsquare.simulation.world_kernels import offsets


def update(world: World, out: Batches, judges: Judges, settings: Evidence) -> Change:
    """Return what the claims that agents were shown in the step so far change among their records.

    Reads the world after :func:`townsquare.simulation.evidence.claims.make` of the step, with the stances from before
    it.
    """
    exposures = exposures_by_agent(out)
    own = own_posts(world) if settings.own_claims else np.empty(0, np.int64)
    claims, at = claim_columns(world), Thresholds(judges.theta, judges.theta_self, settings.archive_weight)
    parts = []
    for number, first, stop in spans(world.n_agents):
        incoming = reached(world, exposures, first, stop, own)
        if incoming.claim.size:
            outcome = _resolve(world, number, incoming, exposures, claims, at)
            parts.append(_events(first, incoming, outcome, exposures, own))
    if not parts:
        return NOTHING
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    n = rows["agent"].size
    return Change({"holdings": schema.rows("holdings", n, step=world.step + 1, **rows)}) if n else NOTHING


def claim_columns(world: World) -> Claims:
    """Return the columns of claims that the kernel reads, with the near-duplicates of each claim."""
    pairs = world.near_duplicates
    claim = np.r_[pairs["claim"], pairs["other"]].astype(np.int32)
    other = np.r_[pairs["other"], pairs["claim"]].astype(np.int32)
    order = np.lexsort((other, claim))
    columns = {name: world.claims[name] for name in ("proposition", "polarity", "strength")}
    indptr, similarity = offsets(claim, 0, world.claims.n), np.r_[pairs["similarity"], pairs["similarity"]][order]
    return Claims(**columns, near_indptr=indptr, near_claim=other[order], near_similarity=similarity)


def _resolve(
    world: World, number: int, incoming: Reached, exposures: CodedRows, claims: Claims, at: Thresholds
) -> Outcome:
    """Take the claims in on a copy of the block's records; the world changes by the rows that follow."""
    none = np.zeros(incoming.claim.size, np.uint8)
    block, slot, _ = upsert(world.holdings.blocks[number], incoming.indptr, incoming.claim, none)
    weight = np.ones(incoming.claim.size)
    weight[~incoming.own] = exposures.at("weight", incoming.row[~incoming.own])
    flags: Any = block.value
    rows, records = Incoming(incoming.indptr, slot, incoming.own, weight), HeldRecords(block.indptr, block.key, flags)
    stance, out = np.ascontiguousarray(world.belief[number].stance), room_for(incoming.claim.size)
    in_parts(receive, rows.indptr.shape[0] - 1, rows, claims, records, stance, at, out)
    return out


def _events(first: int, incoming: Reached, outcome: Outcome, exposures: CodedRows, own: Array) -> dict[str, Array]:
    """Return columns of the table holdings: each claim that changed something, and then the record that it replaced."""
    agent = np.repeat(np.arange(incoming.indptr.size - 1), np.diff(incoming.indptr))
    changed = np.flatnonzero(outcome.change != UNCHANGED)
    at, flags = changed // 2, outcome.flags[changed]
    return {
        **{name: getattr(outcome, name)[changed] for name in ("claim", "change", "by")},
        "agent": first + agent[at],
        "origin": origin_of(flags),
        "post": _source(incoming, at, exposures["post"], own),
        "rank": _source(incoming, at, exposures["rank"], np.full(own.size, NONE)),
        "agreed": has_flag(flags, AGREED),
    }


def _source(incoming: Reached, at: Array, of_exposures: Array, of_own: Array) -> Int64:
    """Return a column of the exposures, or of the own posts, for the claims ``at``."""
    own, row = incoming.own[at], incoming.row[at]
    out = np.empty(at.size, np.int64)
    out[own] = of_own[row[own]]
    out[~own] = of_exposures[row[~own]]
    return out
