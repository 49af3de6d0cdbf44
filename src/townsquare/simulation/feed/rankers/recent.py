"""Newest first."""

from __future__ import annotations

import numpy as np

from townsquare.core.array_types import Float
from townsquare.settings.config import MemberParams
from townsquare.simulation.feed.rankers.contract import Ranker
from townsquare.simulation.feed.ranking_view import RankingView


def score(view: RankingView, params: MemberParams) -> Float:
    """Return the step in which the row was made: a share is as new as the sharing."""
    return view.posts["step"].astype(np.float64)


RANKER = Ranker("recent", MemberParams, score)
