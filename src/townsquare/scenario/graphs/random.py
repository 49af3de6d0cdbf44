"""``random``: the directed Erdős–Rényi graph G(n, p), named in MOSAIC's appendix F with p = 0.1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numba as nb
import numpy as np
from pydantic import Field

from townsquare.core.draws import U64, StageDraws, key2, u01
from townsquare.scenario.graphs.contract import Edges, GraphKind, Int32, Int64, check_size
from townsquare.scenario.population.sample import People
from townsquare.settings.config import MemberParams


class RandomParams(MemberParams):
    """Settings of ``random``."""

    mean_followed: float = Field(10.0, ge=0, description="accounts that an agent follows on average")
    p: float | None = Field(
        None, ge=0, le=1, description="chance that one agent follows another; where given, instead of the mean"
    )


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


def _build(
    n: int,
    params: MemberParams,
    draws: StageDraws,
    *,
    folder: Path | None = None,
    names: Sequence[str] = (),
    people: People | None = None,
) -> Edges:
    """Each of the n(n - 1) possible follows is there with the same probability, independently."""
    assert isinstance(params, RandomParams)
    p = min(1.0, params.mean_followed / max(1, n - 1)) if params.p is None else params.p
    expected = p * n * (n - 1)
    check_size("graph.mean_followed" if params.p is None else "graph.p", expected, f"{p:.6g} for a follow")
    offsets = np.zeros(n + 1, np.int64)
    followed = np.empty(0, np.int32)
    if p > 0:
        base = draws.base("random", lasting=True)
        _skip(n, p, base, offsets, followed, False)
        np.cumsum(offsets, out=offsets)
        followed = np.empty(int(offsets[-1]), np.int32)
        _skip(n, p, base, offsets, followed, True)
    return Edges(np.repeat(np.arange(n, dtype=np.int32), np.diff(offsets)), followed)


def _at_birth(params: MemberParams, n: int) -> int:
    assert isinstance(params, RandomParams)
    return round(params.mean_followed if params.p is None else params.p * (n - 1))


RANDOM = GraphKind("random", RandomParams, _build, _at_birth)
