"""``random``: the directed Erdős–Rényi graph G(n, p), named in MOSAIC's appendix F with p = 0.1."""

from __future__ import annotations

import numpy as np

from townsquare.core.draws import StageDraws
from townsquare.scenario.graphs.blocks_kernels import follow_by_block
from townsquare.scenario.graphs.contract import Edges, GraphKind, check_size
from townsquare.settings.config import MemberParams, setting


class RandomParams(MemberParams):
    """Settings of ``random``."""

    mean_followed: float = setting(10.0, "accounts that an agent follows on average", ge=0)
    p: float | None = setting(None, "probability that one agent follows another; replaces `mean_followed`", ge=0, le=1)


def _build(n: int, params: RandomParams, draws: StageDraws, **_: object) -> Edges:
    """Draw each of the n(n - 1) possible follows with the same probability, independently."""
    p = min(1.0, params.mean_followed / max(1, n - 1)) if params.p is None else params.p
    check_size("graph.mean_followed" if params.p is None else "graph.p", p * n * (n - 1), f"{p:.6g} for a follow")
    return follow_by_block(np.zeros(n, np.int64), np.array([p]), 0.0, draws.base("random", lasting=True))


def _at_birth(params: RandomParams, n: int) -> int:
    return round(params.mean_followed if params.p is None else params.p * (n - 1))


RANDOM = GraphKind("random", RandomParams, _build, _at_birth)
