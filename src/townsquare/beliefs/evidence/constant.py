"""``constant``: every claim without a given strength has the same strength. The baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from townsquare.beliefs.evidence.contract import StrengthJudge
from townsquare.core.array_types import Float
from townsquare.settings.config import MemberParams


class Params(MemberParams):
    """The common strength."""

    value: float = Field(0.5, ge=0, le=1, description="strength of claims without a given strength")


def estimate(claims: Sequence[str], statements: Sequence[str], params: Params) -> Float:
    """Return the same strength for all, (n,)."""
    return np.full(len(claims), params.value)


JUDGE = StrengthJudge("constant", Params, estimate)
