"""Finds the claims that reach each agent: those of the posts in its feed, in feed order, and its own."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from townsquare.core.array_types import Array, Bool, Int32, Int64
from townsquare.core.coded_rows import CodedRows
from townsquare.core.enums import PostKind
from townsquare.core.pairs import rows_between
from townsquare.core.threads import Part, in_parts
from townsquare.record.batches import Batches
from townsquare.simulation.world import World
from townsquare.simulation.world_kernels import offsets


def by_agent(out: Batches, table: str) -> dict[str, Array]:
    """Return the rows of a table of the step so far, sorted by agent; rows of an agent keep their order."""
    rows = {name: np.asarray(column) for name, column in out.get(table).items()}
    order = _order(rows["agent"])
    return rows if order is None else {name: column[order] for name, column in rows.items()}


def exposures_by_agent(out: Batches) -> CodedRows:
    """Return the exposures of the step, likewise."""
    rows = CodedRows.of(out.get("exposures"))
    order = _order(rows["agent"])
    return rows if order is None else rows.take(order)


def _order(agent: Array) -> Array | None:
    """Return what sorts rows by agent; None if they are."""
    sorted_ = not agent.size or bool((agent[1:] >= agent[:-1]).all())
    return None if sorted_ else np.argsort(agent, kind="stable")


class Reached(NamedTuple):
    """Claims that reach the agents of a block: a CSR by agent, (n + 1,) int64, then (m,) each.

    ``claim`` is the first of its kind, int32. ``row`` is the row of the exposures that showed it, or of the block's
    own posts if ``own``; int64.
    """

    indptr: Int64
    claim: Int32
    row: Int64
    own: Bool


class _Made(NamedTuple):
    """Which claims are made from what agents meet: those of ``n`` posts from ``first`` on, for each entry of ``what``.

    ``indptr`` (agents + 1,) and ``what`` (m,) say what each agent meets.
    """

    indptr: Array
    what: Array
    first: Array
    n: Array

    def offsets(self) -> Int64:
        """Count the claims before those of each agent, (agents + 1,)."""
        met = self.what[self.indptr[0] : self.indptr[-1]]
        before = np.zeros(met.size + 1, np.int64)
        np.cumsum(self.n.take(met), out=before[1:])
        offsets: Int64 = before[self.indptr - self.indptr[0]]
        return offsets


@nb.njit(nogil=True, cache=True)
def _spread(
    part: Part, shown: _Made, written: _Made, same_as: Array, out_indptr: Array, claim: Array, row: Array, own: Array,
) -> None:  # fmt: skip
    for i in range(part.start, part.stop):
        at = out_indptr[i]
        for e in range(shown.indptr[i], shown.indptr[i + 1]):
            k = shown.what[e]
            for x in range(shown.first[k], shown.first[k] + shown.n[k]):
                claim[at], row[at], own[at] = same_as[x], e, False
                at += 1
        for e in range(written.indptr[i], written.indptr[i + 1]):
            k = written.what[e]
            for x in range(written.first[k], written.first[k] + written.n[k]):
                claim[at], row[at], own[at] = same_as[x], e, True
                at += 1


def reached(world: World, exposures: CodedRows, first: int, stop: int, own_posts: Array) -> Reached:
    """Return claims that reach the agents ``first`` to ``stop``.

    Parameters
    ----------
    world : World
        With the claims of the posts of this step.
    exposures : CodedRows
        Rows of the table exposures, agents ascending.
    first, stop : int
        A block of agents.
    own_posts : (k,) int
        Rows of posts that become records of their authors, authors ascending; may be empty.
    """
    posts, n = world.posts, stop - first
    lo, hi = rows_between(exposures["agent"], first, stop)
    root = exposures.per_root["root"]
    indptr = lo + offsets(exposures["agent"][lo:hi], first, n)
    shown = _Made(indptr, exposures.index, posts["claims"][root], posts["n_claims"][root])
    author = posts["author"][own_posts]
    own_lo, own_hi = rows_between(author, first, stop)
    own_indptr = own_lo + offsets(author[own_lo:own_hi], first, n)
    written = _Made(own_indptr, np.ascontiguousarray(own_posts, np.int64), posts["claims"], posts["n_claims"])
    out_indptr = shown.offsets() + written.offsets()
    m = int(out_indptr[-1])
    claim, row, own = np.empty(m, np.int32), np.empty(m, np.int64), np.empty(m, np.bool_)
    in_parts(_spread, n, shown, written, world.claims["same_as"], out_indptr, claim, row, own)
    claims_of_block = Reached(out_indptr, claim, row, own)
    return _heard(claims_of_block, world.excluded_claims) if world.excluded_claims.size else claims_of_block


def _heard(all_: Reached, excluded_claims: Int32) -> Reached:
    """Return those that are not excluded."""
    keep = ~np.isin(all_.claim, excluded_claims)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(keep, dtype=np.int64)])
    return Reached(before[all_.indptr], all_.claim[keep], all_.row[keep], all_.own[keep])


def own_posts(world: World) -> Int64:
    """Return posts and comments of persons in the step that is being taken, by author and then in their order."""
    start = world.step_starts[-1]
    kind, author = world.posts["kind"][start:], world.posts["author"][start:]
    at = np.flatnonzero((kind == PostKind.ORIGINAL) | (kind == PostKind.COMMENT))
    return np.asarray(start + at[np.argsort(author[at], kind="stable")], np.int64)
