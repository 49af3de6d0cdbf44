"""``constant``: every claim without a given strength has the same strength. The baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from townsquare.beliefs.evidence.contract import StrengthJudge
from townsquare.core.array_types import Float
from townsquare.settings.config import MemberParams, Share, setting


class Params(MemberParams):
    """The common strength."""

    value: Share = setting(0.5, "strength of claims without a given strength")


def estimate(claims: Sequence[str], statements: Sequence[str], params: Params) -> Float:
    """Return the same strength for all, (n,)."""
    return np.full(len(claims), params.value)


JUDGE = StrengthJudge("constant", Params, estimate)
