"""``block``: a stochastic block model, with communities drawn by chance or made of people who are alike.

Holland, Laskey and Leinhardt 1983, "Stochastic blockmodels: first steps", directed: whether one agent follows another
depends on their blocks alone. Given as two chances, or as a mean number of follows and a homophily h. Then each agent
has h of its expected follows in its own block and the rest spread over everyone without regard to blocks, so that h is
Coleman's index of inbreeding homophily (Coleman 1958): (H - w)/(1 - w), where H is the share of follows inside the
block and w the share of others that stand in it. 0 is a random graph; at 1 nobody follows anyone outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numba as nb
import numpy as np
import numpy.typing as npt
from pydantic import Field

from townsquare.core.draws import U64, StageDraws, key2, u01
from townsquare.core.errors import SettingError, UnknownName
from townsquare.core.registry import did_you_mean
from townsquare.scenario.graphs.contract import Edges, GraphKind, Int32, Int64, check_size
from townsquare.scenario.population.question_bank import bundled_bank
from townsquare.scenario.population.sample import People
from townsquare.settings.config import MemberParams

CHANCE = "chance"
STANCE = "stance:"


class BlockParams(MemberParams):
    """Settings of ``block``."""

    by: str = Field(
        CHANCE, description="what makes a block: `chance`, a trait of the question bank, or stance:<proposition>"
    )
    n_blocks: int = Field(
        2, ge=1, le=1000, description="blocks drawn by chance, or bands of equal width that stances are cut into"
    )
    mean_followed: float = Field(10.0, ge=0, description="accounts that an agent follows on average")
    homophily: float = Field(
        0.5, ge=0, le=1, description="share of the follows kept in one's own block; the others go anywhere"
    )
    p_within: float | None = Field(
        None,
        ge=0,
        le=1,
        description="chance of a follow inside a block; with `p_between`, instead of mean and homophily",
    )
    p_between: float | None = Field(None, ge=0, le=1, description="chance of a follow between blocks")


def blocks_of(n: int, params: BlockParams, draws: StageDraws, people: People | None) -> Int64:
    """The block of each agent, (n,) int64 from 0; people without an answer are a block of their own.

    Raises
    ------
    UnknownName
        ``by`` names no trait and no proposition.
    """
    if params.by == CHANCE:
        return draws.integers("block", np.arange(n), 0, params.n_blocks, lasting=True)
    if people is None:
        raise SettingError("graph.by", got=repr(params.by), allowed=CHANCE, do="a graph without people has no traits")
    if params.by.startswith(STANCE):
        name = params.by.removeprefix(STANCE)
        if name not in people.propositions:
            allowed = ", ".join(STANCE + one for one in people.propositions) or "no proposition, as there is none"
            raise UnknownName(
                "graph.by", got=repr(params.by), allowed=allowed, do=did_you_mean(name, people.propositions)
            )
        stance = people.stance[:, people.propositions.index(name)]
        return np.minimum(((stance + 1) / 2 * params.n_blocks).astype(np.int64), params.n_blocks - 1)
    bank = bundled_bank()
    if params.by not in bank.labels:
        words = [CHANCE, *bank.labels, *(STANCE + one for one in people.propositions)]
        do = did_you_mean(params.by, words)
        raise UnknownName("graph.by", got=repr(params.by), allowed=", ".join(words), do=do)
    trait = bank.number_of(params.by)
    return bank.group_of(trait, people.traits[:, trait]) + 1


def _chances(n: int, size: Int64, params: BlockParams) -> tuple[npt.NDArray[np.float64], float]:
    """The chance of a follow inside each block (B,), and between blocks."""
    if params.p_within is not None and params.p_between is not None:
        return np.full(size.shape[0], params.p_within), params.p_between
    if params.p_within is not None or params.p_between is not None:
        given, missing = ("p_within", "p_between") if params.p_between is None else ("p_between", "p_within")
        do = "give both, or neither for mean_followed and homophily"
        raise SettingError(f"graph.{missing}", got=f"nothing, but {given} is given", do=do)
    anywhere = params.mean_followed * (1 - params.homophily) / max(1, n - 1)
    own = params.mean_followed * params.homophily / np.maximum(1, size - 1)
    return np.minimum(1.0, anywhere + own), min(1.0, anywhere)


@nb.njit(inline="always", cache=True)
def _leap(base: U64, agent: int, key: U64, p: float) -> float:
    """How far the next follow is in a row of trials of chance p; see ``scenario/graphs/random.py``."""
    return float(1.0 + np.floor(np.log1p(-u01(key2(base, agent, key))) / np.log1p(-p)))


@nb.njit(parallel=True, cache=True, error_model="numpy")
def _follow_blocks(
    order: Int64, place: Int64, start: Int64, size: Int64, block: Int64, within: npt.NDArray[np.float64],
    between: float, base: U64, offsets: Int64, followed: Int32, fill: bool,
) -> None:  # fmt: skip
    """Walk the agents of one's own block, then all others; count the follows, or fill them in.

    ``order`` (n,) lists agents block by block, ``place`` (n,) is its inverse; ``start`` and ``size`` (B,) are the
    stretch of each block.
    """
    n = order.shape[0]
    for i in nb.prange(n):
        first, many = start[block[i]], size[block[i]]
        count = 0
        for part in range(2):
            p = within[block[i]] if part == 0 else between
            end = many - 1 if part == 0 else n - many
            at, leap = -1.0, 0
            while p > 0:
                at += _leap(base, i, (U64(part) << U64(32)) + U64(leap), p)
                leap += 1
                if not at < end:
                    break
                if fill:
                    spot = np.int64(at)
                    if part == 0:
                        spot += first
                        spot += spot >= place[i]
                    else:
                        spot += many * (spot >= first)
                    followed[offsets[i] + count] = np.int32(order[spot])
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
    """The graph of this file's heading. In a block too small for its share, everyone follows everyone."""
    assert isinstance(params, BlockParams)
    block = blocks_of(n, params, draws, people)
    size = np.bincount(block)
    within, between = _chances(n, size, params)
    expected = float((size * ((size - 1) * within + (n - size) * between)).sum())
    check_size("graph.mean_followed", expected, f"{params.mean_followed:g}")
    order = np.argsort(block, kind="stable")
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(size)[:-1]])
    base = draws.base("block follow", lasting=True)
    offsets, followed = np.zeros(n + 1, np.int64), np.empty(0, np.int32)
    _follow_blocks(order, place, start, size, block, within, between, base, offsets, followed, False)
    np.cumsum(offsets, out=offsets)
    followed = np.empty(int(offsets[-1]), np.int32)
    _follow_blocks(order, place, start, size, block, within, between, base, offsets, followed, True)
    return Edges(np.repeat(np.arange(n, dtype=np.int32), np.diff(offsets)), followed)


def _at_birth(params: MemberParams, n: int) -> int:
    """The mean over agents; for two chances, that of blocks of equal size."""
    assert isinstance(params, BlockParams)
    if params.p_within is None or params.p_between is None:
        return round(params.mean_followed)
    return round((n - 1) * (params.p_within / params.n_blocks + params.p_between * (1 - 1 / params.n_blocks)))


BLOCK = GraphKind("block", BlockParams, _build, _at_birth)
