"""Who follows whom at the start, and whom a newcomer follows: the family ``graph``.

A follow is directed: the follower sees the posts of the followed. Every graph is a pure function of its parameters
and of keyed draws, has no follow of oneself and no follow twice.

``scale_free`` is preferential attachment by degree (Barabási and Albert 1999, "Emergence of scaling in random
networks") whose edges point from the newer agent to the older. In theory degrees have a power-law tail of exponent 3,
and 2/(m + 2) of all agents have no follower. ``random`` is the directed
Erdős–Rényi G(n, p). MOSAIC names the first in its main text and a follow probability of 10 % in its appendix F; both
can be had here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numba as nb
import numpy as np
import numpy.typing as npt
from pydantic import Field

from townsquare.config import MemberParams
from townsquare.draws import U64, StageDraws, key2, u01
from townsquare.edge_list import read_edges
from townsquare.errors import SettingError

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

MAX_FOLLOWS = 2**31 - 1


class Edges(NamedTuple):
    """Follows: ``follower`` (e,) int32 sees the posts of ``followed`` (e,) int32; both are rows of agents."""

    follower: Int32
    followed: Int32


class Build(Protocol):
    """How a member of the family makes a graph."""

    def __call__(
        self,
        n: int,
        params: MemberParams,
        draws: StageDraws,
        *,
        folder: Path | None = None,
        names: Sequence[str] = (),
    ) -> Edges:
        """Follows among agents 0 to ``n`` - 1.

        ``folder`` is where relative paths are looked for first; ``names`` are the agents' names from outside, if they
        have any. Raises ``SettingError`` or ``DataError``.
        """


@dataclass(frozen=True, slots=True)
class GraphKind:
    """A member of the family ``graph``: its name, the type of its settings, and what builds it."""

    name: str
    params: type[MemberParams]
    build: Build


class ScaleFreeParams(MemberParams):
    """Settings of ``scale_free``."""

    m: int = Field(10, ge=1, le=1000, description="accounts that each agent follows; 3 in MOSAIC's code")


class RandomParams(MemberParams):
    """Settings of ``random``."""

    mean_followed: float = Field(10.0, ge=0, description="accounts that an agent follows on average")
    p: float | None = Field(
        None, ge=0, le=1, description="chance that one agent follows another; where given, instead of the mean"
    )


class FileParams(MemberParams):
    """Settings of ``file``."""

    path: str = Field(description="edge list: CSV with the columns follower and followed, or two columns of rows")


# --- scale-free --------------------------------------------------------------------------------------------


@nb.njit(cache=True, error_model="numpy")
def _grow(n: int, m: int, base: U64, followed: Int32) -> None:
    """Fill ``followed`` (n, m). Of all slots, an earlier agent holds one for each end of a follow that is its own."""
    for i in range(m + 1):
        for q in range(m):
            followed[i, q] = q if q < i else q + 1
    taken_by = np.full(n, -1, np.int32)
    for i in range(m + 1, n):
        found = 0
        tried = 0
        while found < m:
            slot = np.int64(u01(key2(base, i, U64(tried))) * (i * 2 * m))
            tried += 1
            owner = slot // (2 * m)
            at = slot - owner * 2 * m
            chosen = owner if at >= m else np.int64(followed[owner, at])
            if taken_by[chosen] != i:
                taken_by[chosen] = i
                followed[i, found] = chosen
                found += 1


def _build_scale_free(
    n: int,
    params: MemberParams,
    draws: StageDraws,
    *,
    folder: Path | None = None,
    names: Sequence[str] = (),
) -> Edges:
    """Agent ``i`` follows ``m`` distinct earlier agents, each with probability in proportion to its degree.

    The degree counts follows in both directions. The first m + 1 agents follow one another; with fewer agents than that, everyone follows everyone.
    """
    assert isinstance(params, ScaleFreeParams)
    m = max(0, min(params.m, n - 1))
    _check_size("graph.m", n * m, f"{params.m}")
    followed = np.empty((n, m), np.int32)
    _grow(n, m, draws.base("follow", lasting=True), followed)
    return Edges(np.repeat(np.arange(n, dtype=np.int32), m), followed.reshape(-1))


# --- random ------------------------------------------------------------------------------------------------


@nb.njit(parallel=True, cache=True, error_model="numpy")
def _skip(n: int, p: float, base: U64, offsets: Int64, followed: Int32, fill: bool) -> None:
    """Walk each agent's n - 1 possible follows in geometric leaps; count them, or fill them in.

    Batagelj and Brandes 2005, "Efficient generation of large random networks": the gap to the next success of a row
    of Bernoulli trials is geometric, so that the cost is in line with follows and not with n squared.
    """
    log_miss = np.log1p(-p)  # -inf at p = 1, where every leap is one
    for i in nb.prange(n):
        at = -1.0
        leap = 0
        count = 0
        while True:
            u = u01(key2(base, i, U64(leap)))
            leap += 1
            at += 1.0 + np.floor(np.log1p(-u) / log_miss)
            if not at < n - 1:
                break
            if fill:
                other = np.int32(at)
                followed[offsets[i] + count] = other if other < i else other + 1
            count += 1
        if not fill:
            offsets[i + 1] = count


def _build_random(
    n: int,
    params: MemberParams,
    draws: StageDraws,
    *,
    folder: Path | None = None,
    names: Sequence[str] = (),
) -> Edges:
    """Each of the n(n - 1) possible follows is there with the same probability, independently."""
    assert isinstance(params, RandomParams)
    p = min(1.0, params.mean_followed / max(1, n - 1)) if params.p is None else params.p
    expected = p * n * (n - 1)
    _check_size("graph.mean_followed" if params.p is None else "graph.p", expected, f"{p:.6g} for a follow")
    offsets = np.zeros(n + 1, np.int64)
    followed = np.empty(0, np.int32)
    if p > 0:
        base = draws.base("random", lasting=True)
        _skip(n, p, base, offsets, followed, False)
        np.cumsum(offsets, out=offsets)
        followed = np.empty(int(offsets[-1]), np.int32)
        _skip(n, p, base, offsets, followed, True)
    return Edges(np.repeat(np.arange(n, dtype=np.int32), np.diff(offsets)), followed)


# --- file --------------------------------------------------------------------------------------------------


def _build_file(
    n: int,
    params: MemberParams,
    draws: StageDraws,
    *,
    folder: Path | None = None,
    names: Sequence[str] = (),
) -> Edges:
    """The follows of an edge list; see :func:`townsquare.edge_list.read_edges`."""
    assert isinstance(params, FileParams)
    return Edges(*read_edges(params.path, n, folder=folder, names=names))


def _check_size(where: str, follows: float, got: str) -> None:
    if follows > MAX_FOLLOWS:
        allowed = f"settings that give at most {MAX_FOLLOWS:,} follows"
        raise SettingError(where, got=f"{got}, so {follows:,.0f} follows", allowed=allowed)


SCALE_FREE = GraphKind("scale_free", ScaleFreeParams, _build_scale_free)
RANDOM = GraphKind("random", RandomParams, _build_random)
FILE = GraphKind("file", FileParams, _build_file)


# --- newcomers ---------------------------------------------------------------------------------------------


@nb.njit(parallel=True, cache=True, error_model="numpy")
def _attach(new: Int64, before: Int64, m: int, base: U64, followed: Int32) -> None:
    """Draw ``m`` distinct agents for each newcomer, each by its weight among those not yet drawn.

    ``before`` (N + 1,) holds the weights summed up. Exactly one draw a follow: a number below the weight that is
    left, shifted past those drawn already in order of their rows.
    """
    n = before.shape[0] - 1
    for i in nb.prange(new.shape[0]):
        drawn = np.empty(m, np.int64)
        left = before[n]
        for q in range(m):
            spot = np.int64(u01(key2(base, new[i], U64(q))) * left)
            for x in range(q):
                if spot >= before[drawn[x]]:
                    spot += before[drawn[x] + 1] - before[drawn[x]]
            chosen = np.searchsorted(before, spot, side="right") - 1
            left -= before[chosen + 1] - before[chosen]
            followed[i * m + q] = chosen
            y = q
            while y > 0 and drawn[y - 1] > chosen:
                drawn[y] = drawn[y - 1]
                y -= 1
            drawn[y] = chosen


def attach(new: Int64, in_degree: npt.NDArray[np.integer], m: int, draws: StageDraws) -> Edges:
    """Whom newcomers follow: ``m`` distinct agents, each with probability in proportion to in-degree + 1.

    Parameters
    ----------
    new : (k,) int64
        Rows of the newcomers. A newcomer's draws are keyed by its row: others who join do not change them.
    in_degree : (N,) int
        Followers of each agent that was there before; -1 for one that nobody new may follow. All newcomers of a step
        see the same in-degrees and do not follow one another.
    m : int
        Follows a newcomer; all that may be followed if they are fewer.
    draws : StageDraws
        Of the stage ``GRAPH``; drawn as lasting.

    Returns
    -------
    Edges
        k * m follows, in the order of ``new``. Source: DESIGN §2, "Defaults".
    """
    weight = np.asarray(in_degree, np.int64) + 1
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(weight)])
    m = min(m, int(np.count_nonzero(weight > 0)))
    new = np.ascontiguousarray(new, np.int64)
    followed = np.empty(new.shape[0] * m, np.int32)
    _attach(new, before, m, draws.base("attach", lasting=True), followed)
    return Edges(np.repeat(new.astype(np.int32), m), followed)
