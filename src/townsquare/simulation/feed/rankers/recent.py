"""Newest first."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from townsquare.core.table import GrowingTable
from townsquare.settings.config import MemberParams
from townsquare.simulation.feed.rankers.contract import Ranker


class Params(MemberParams):
    """No settings."""


def score(posts: GrowingTable, step: int, params: MemberParams) -> npt.NDArray[np.float64]:
    """The step in which the row was made: a share is as new as the sharing."""
    return posts["step"].astype(np.float64)


RANKER = Ranker("recent", Params, score)
