"""A different random order for every reader, post and step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from townsquare.core.table import GrowingTable
from townsquare.settings.config import MemberParams
from townsquare.simulation.feed.rankers.contract import Ranker


class Params(MemberParams):
    """No settings."""


def score(posts: GrowingTable, step: int, params: MemberParams) -> npt.NDArray[np.float64]:
    """The same for every row, so that the keyed draw alone decides."""
    return np.zeros(posts.n)


RANKER = Ranker("random", Params, score)
