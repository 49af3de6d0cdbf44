"""Facts of a sitting: what random people do with random posts, whomever they follow, as in a survey."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.analysis.facts.contract import Reading, Unmeasured, at_least
from townsquare.analysis.facts.people import FEWEST, top_share
from townsquare.analysis.statistics import correlation
from townsquare.core.array_types import Bool, Float

FALSE_POSTS, FEED = 12, 30
"""Posts of either truth that everybody is shown in the sittings about sharing, and posts of a mixed feed."""


@dataclass(frozen=True, slots=True)
class Sitting:
    """One sitting: each of n people was shown 12 false and 12 true posts, and a feed of 30 at another time.

    Attributes
    ----------
    false, true : (n, 12) bool
        Whether the person shared each of the posts.
    false_side, true_side : (n, 12) float64
        1 for a post on the person's side, -1 for one on the other, 0 where either takes no side.
    acted : (n,) bool
        Whether the person liked, shared, commented on or noted anything in the feed of 30 posts.
    """

    false: Bool
    true: Bool
    false_side: Float
    true_side: Float
    acted: Bool


def _joined(sittings: Sequence[Sitting], column: str) -> npt.NDArray[Any]:
    return np.concatenate([getattr(sitting, column) for sitting in sittings])


def _mean(sittings: Sequence[Sitting], of: Callable[[Sitting], float]) -> float:
    return float(np.nanmean([of(sitting) for sitting in sittings]))


def share_ratio_false_true(sittings: Sequence[Sitting]) -> Reading:
    """Measure the rate of sharing of false posts divided by that of true posts, and both."""
    false, true = (_joined(sittings, name) for name in ("false", "true"))
    at_least(FEWEST, min(false.sum(), true.sum()), "shares of false or of true posts")
    rates = {"true": float(true.mean()), "false": float(false.mean())}
    also = {f"shares of {word} posts per showing": rate for word, rate in rates.items()}
    return Reading(float(false.mean() / true.mean()), also)


def share_concordance(sittings: Sequence[Sitting]) -> Reading:
    """Measure the log odds of sharing true posts on one's side minus those of posts on the other side."""

    def gap(name: str) -> float:
        shared, side = _joined(sittings, name), _joined(sittings, f"{name}_side")
        rates = [shared[side == sign].mean() if (side == sign).any() else 0.0 for sign in (1.0, -1.0)]
        if not all(0 < rate < 1 for rate in rates):
            return math.nan
        return float(np.log(rates[0] / (1 - rates[0])) - np.log(rates[1] / (1 - rates[1])))

    value, of_false = gap("true"), gap("false")
    if not math.isfinite(value):
        raise Unmeasured("no true post with a stance on either side was shared")
    return Reading(value, {"the same for false posts": of_false} if math.isfinite(of_false) else {})


def false_share_top10_survey(sittings: Sequence[Sitting]) -> Reading:
    """Measure the proportion of shares of false posts by the tenth of the people who share most of them."""
    at_least(FEWEST, _joined(sittings, "false").sum(), "shares of false posts")
    nothing = _mean(sittings, lambda sitting: float((sitting.false.sum(axis=1) == 0).mean()))
    top = _mean(sittings, lambda sitting: top_share(sitting.false.sum(axis=1).astype(np.float64), 0.1))
    return Reading(top, {"proportion of people who share no false post": nothing})


def sharing_is_a_trait(sittings: Sequence[Sitting]) -> Reading:
    """Measure the correlation over people of rates of sharing in two halves of the false posts."""
    halves = [correlation(*(sitting.false[:, at::2].mean(axis=1) for at in (0, 1))) for sitting in sittings]
    if not all(map(math.isfinite, halves)):
        raise Unmeasured("rates of sharing false posts do not differ between people")
    return Reading(float(np.mean(halves)))


def silent_in_a_sitting(sittings: Sequence[Sitting]) -> Reading:
    """Measure the proportion of people who do nothing with a feed."""
    return Reading(_mean(sittings, lambda sitting: float(1 - sitting.acted.mean())))
