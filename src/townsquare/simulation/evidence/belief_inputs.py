"""Gathers the argument records of a block of agents, and their changes in the step, for belief rules."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from townsquare.beliefs.contract import Changes, ClaimExposures, Holdings, Records, no_rows
from townsquare.beliefs.evidence.holding_kernels import ACTIVE, AGREED, has_flag, origin_of
from townsquare.core.array_types import Array, Int32, Int64
from townsquare.core.coded_rows import CodedRows
from townsquare.core.pairs import PairBlock, lookup, rows_between
from townsquare.core.schema import NONE
from townsquare.simulation.evidence.reached import reached
from townsquare.simulation.world import World
from townsquare.simulation.world_kernels import offsets


def holdings_of(
    world: World, number: int, first: int, stop: int, changes: Mapping[str, Array], exposures: CodedRows | None
) -> Holdings:
    """Return records, changes and, if asked for, exposures to claims of agents ``first`` to ``stop``: block ``number``.

    Parameters
    ----------
    world : World
        After the changes of the step.
    changes : mapping of str to array
        Columns of the table holdings of the step, agents ascending.
    exposures : CodedRows, optional
        Rows of the table exposures of the step, agents ascending; None where exposures to claims are not asked for.
    """
    block, shown = world.holdings.blocks[number], no_rows(ClaimExposures, stop - first)
    if exposures is not None:
        shown = _claim_exposures(world, block, first, stop, exposures)
    return Holdings(records_of(world, block), _changes(block, first, stop, changes), shown)


def records_of(world: World, block: PairBlock) -> Records:
    """Return every record of a block of agents, active or not."""
    key, flags = block.key, np.asarray(block.value, np.uint8)
    of_claims = {name: world.claims[name][key] for name in ("proposition", "polarity", "strength")}
    return Records(
        indptr=block.indptr.view(), claim=key.view(), **of_claims, origin=origin_of(flags),
        active=has_flag(flags, ACTIVE), agreed=has_flag(flags, AGREED),
    )  # fmt: skip


def _changes(block: PairBlock, first: int, stop: int, rows: Mapping[str, Array]) -> Changes:
    lo, hi = rows_between(rows["agent"], first, stop)
    at = lo + np.flatnonzero(rows["post"][lo:hi] != NONE)  # the seeds of newcomers moved nobody
    indptr = offsets(rows["agent"][at], first, stop - first)
    record = _record(block, indptr, rows["claim"][at])
    return Changes(indptr, record, rows["change"][at], rows["post"][at], rows["rank"][at])


def _claim_exposures(world: World, block: PairBlock, first: int, stop: int, rows: CodedRows) -> ClaimExposures:
    shown = reached(world, rows, first, stop, np.empty(0, np.int64))
    columns = {name: rows.at(name, shown.row) for name in ("post", "rank", "author", "likes", "first_seen", "weight")}
    record, credibility = _record(block, shown.indptr, shown.claim), world.agents["credibility"][columns["author"]]
    return ClaimExposures(shown.indptr, record, credibility=credibility, **columns)


def _record(block: PairBlock, indptr: Int64, claim: Array) -> Int32:
    """Return which of the agent's records each claim is, from 0."""
    slot = lookup(block, indptr, np.ascontiguousarray(claim, np.int32))
    return (slot - np.repeat(block.indptr[:-1], np.diff(indptr))).astype(np.int32)
