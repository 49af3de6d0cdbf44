"""Votes by their order of magnitude, new posts ahead: the hot rank that Reddit published.

Source: ``_hot`` in ``r2/r2/lib/db/_sorts.pyx`` of Reddit's open-sourced site (reddit-archive/reddit): with
s = ups - downs, ``sign(s) log10(max(|s|, 1)) + seconds / 45000``, where the seconds are those of posting. Here likes
and dislikes of the root are the votes and steps the clock. At a day a step, as the record's dates have it, 45,000 s
are 0.52 steps. Its rounding to seven decimals and its epoch change no order and are left out.
"""

from __future__ import annotations

import numpy as np

from townsquare.core.array_types import Float
from townsquare.settings.config import MemberParams, setting
from townsquare.simulation.feed.rankers.contract import Ranker
from townsquare.simulation.feed.ranking_view import RankingView

_SECONDS_A_TENFOLD, _SECONDS_A_STEP = 45_000, 86_400


class Params(MemberParams):
    """Settings of the ranker `hot`."""

    tenfold: float = setting(
        _SECONDS_A_TENFOLD / _SECONDS_A_STEP, "difference in age that offsets a tenfold number of votes (likes minus "
        "dislikes); the default is 12.5 h if a step is a day", gt=0, unit="steps",
    )  # fmt: skip


def score(view: RankingView, params: Params) -> Float:
    """Return ``sign(s) log10(max(|s|, 1)) + step of the row / tenfold``; a share is as new as the sharing."""
    posts = view.posts
    votes = (posts["likes"] - posts["dislikes"])[posts["root"]]
    size = np.abs(votes)
    # Few distinct counts: logarithms are taken once each, so that they are the same wherever the count stands.
    logarithms = np.log10(np.maximum(np.arange(int(size.max(initial=0)) + 1), 1))
    new = posts["step"].astype(np.float64) / params.tenfold
    return np.asarray(np.sign(votes) * logarithms[size] + new)


RANKER = Ranker("hot", Params, score)
