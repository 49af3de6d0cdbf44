"""Votes by their order of magnitude, new posts ahead: the hot rank that Reddit published.

Source: ``_hot`` in ``r2/r2/lib/db/_sorts.pyx`` of Reddit's open-sourced site (reddit-archive/reddit): with
s = ups - downs, ``sign(s) log10(max(|s|, 1)) + seconds / 45000``, where the seconds are those of posting. Here likes
and dislikes of the root are the votes and steps the clock. At a day a step, as the record's dates have it, 45,000 s
are 0.52 steps. Its rounding to seven decimals and its epoch change no order and are left out.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt

from townsquare.core.table import GrowingTable
from townsquare.settings.config import MemberParams, setting
from townsquare.simulation.feed.rankers.contract import Ranker

_SECONDS_A_TENFOLD, _SECONDS_A_STEP = 45_000, 86_400


class Params(MemberParams):
    """Settings of the ranker `hot`."""

    tenfold: float = setting(
        _SECONDS_A_TENFOLD / _SECONDS_A_STEP,
        "being newer by this much counts as ten times the votes",
        gt=0,
        unit="steps",
    )


def score(posts: GrowingTable, step: int, params: MemberParams) -> npt.NDArray[np.float64]:
    """``sign(s) log10(max(|s|, 1)) + step of the row / tenfold``; a share is as new as the sharing."""
    votes = (np.asarray(posts["likes"]) - np.asarray(posts["dislikes"]))[np.asarray(posts["root"])]
    size = np.abs(votes)
    # Few distinct counts: logarithms are taken once each, so that they are the same wherever the count stands.
    logarithms = np.log10(np.maximum(np.arange(int(size.max(initial=0)) + 1), 1))
    new = posts["step"].astype(np.float64) / cast("Params", params).tenfold
    return cast("npt.NDArray[np.float64]", np.sign(votes) * logarithms[size] + new)


RANKER = Ranker("hot", Params, score)
