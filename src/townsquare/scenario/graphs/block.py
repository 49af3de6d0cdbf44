"""``block``: a stochastic block model, with communities drawn by chance or made of people who are alike.

Holland, Laskey and Leinhardt 1983, "Stochastic blockmodels: first steps", directed: whether one agent follows another
depends on their blocks alone. Given as two chances, or as a mean number of follows and a homophily h. Then each agent
has h of its expected follows in its own block and the rest spread over everyone without regard to blocks, so that h is
Coleman's index of inbreeding homophily (Coleman 1958): (H - w)/(1 - w), where H is the share of follows inside the
block and w the share of others that are in it. 0 is a random graph; at 1 nobody follows anyone outside.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Int64
from townsquare.core.draws import StageDraws
from townsquare.core.errors import SettingError
from townsquare.core.registry import check_known
from townsquare.scenario.graphs.blocks_kernels import follow_by_block
from townsquare.scenario.graphs.contract import Edges, GraphKind, check_size
from townsquare.scenario.population.sample import People
from townsquare.settings.config import MemberParams, setting

CHANCE = "chance"
STANCE = "stance:"


class BlockParams(MemberParams):
    """Settings of ``block``."""

    by: str = setting(CHANCE, "definition of blocks: `chance`, a trait, or stance:<proposition>")
    n_blocks: int = setting(2, "number of random blocks, or of stance ranges of equal width", ge=1, le=1000)
    mean_followed: float = setting(10.0, "accounts that an agent follows on average", ge=0)
    homophily: float = setting(
        0.5,
        "share of follows drawn inside the agent's block; the others are drawn from all agents, its block included",
        ge=0, le=1,
    )  # fmt: skip
    p_within: float | None = setting(None, "probability of a follow inside a block; needs `p_between`", ge=0, le=1)
    p_between: float | None = setting(
        None, "probability of a follow between blocks; with `p_within`, replaces `mean_followed` and `homophily`",
        ge=0, le=1,
    )  # fmt: skip


def blocks_of(n: int, params: BlockParams, draws: StageDraws, people: People | None) -> Int64:
    """Return the block of each agent, (n,) int64 from 0; people without an answer are a separate block.

    Raises
    ------
    UnknownName
        ``by`` names no trait and no proposition.
    """
    if params.by == CHANCE:
        return draws.integers("block", np.arange(n), 0, params.n_blocks, lasting=True)
    if people is None:
        raise SettingError("graph.by", got=repr(params.by), allowed=CHANCE, do="a graph without people has no traits")
    known = [STANCE + proposition for proposition in people.propositions]
    if params.by.startswith(STANCE):
        name = params.by.removeprefix(STANCE)
        check_known("graph.by", params.by, known, nothing="no proposition, as there is none")
        stance = people.stance[:, people.propositions.index(name)]
        return np.minimum(((stance + 1) / 2 * params.n_blocks).astype(np.int64), params.n_blocks - 1)
    bank = people.bank
    check_known("graph.by", params.by, [CHANCE, *bank.labels, *known])
    trait = bank.number_of(params.by)
    return bank.group_of(trait, people.traits[:, trait]) + 1


def _chances(n: int, size: Int64, params: BlockParams) -> tuple[npt.NDArray[np.float64], float]:
    """Return the chance of a follow inside each block (B,), and between blocks."""
    if params.p_within is not None and params.p_between is not None:
        return np.full(size.shape[0], params.p_within), params.p_between
    if params.p_within is not None or params.p_between is not None:
        given, missing = ("p_within", "p_between") if params.p_between is None else ("p_between", "p_within")
        do = "give both, or neither for mean_followed and homophily"
        raise SettingError(f"graph.{missing}", got=f"nothing, but {given} is given", do=do)
    anywhere = params.mean_followed * (1 - params.homophily) / max(1, n - 1)
    own = params.mean_followed * params.homophily / np.maximum(1, size - 1)
    return np.minimum(1.0, anywhere + own), min(1.0, anywhere)


def _build(n: int, params: BlockParams, draws: StageDraws, *, people: People | None = None, **_: object) -> Edges:
    """Return the graph of this file's heading. In a block too small for its share, everyone follows everyone."""
    block = blocks_of(n, params, draws, people)
    size = np.bincount(block)
    within, between = _chances(n, size, params)
    expected = float((size * ((size - 1) * within + (n - size) * between)).sum())
    check_size("graph.mean_followed", expected, f"{params.mean_followed:g}")
    return follow_by_block(block, within, between, draws.base("block follow", lasting=True))


def _at_birth(params: BlockParams, n: int) -> int:
    """Return the mean over agents; for two chances, that of blocks of equal size."""
    if params.p_within is None or params.p_between is None:
        return round(params.mean_followed)
    return round((n - 1) * (params.p_within / params.n_blocks + params.p_between * (1 - 1 / params.n_blocks)))


BLOCK = GraphKind("block", BlockParams, _build, _at_birth)
