"""``embedded``: rate how convincing an argument is, by a linear model of crowd ratings of argument quality.

It rates the writing of an argument and its bearing on the proposition: a weak guide to how much it should move a
reader. ``docs/judges.md`` says how weak.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from townsquare.beliefs.evidence.contract import StrengthJudge
from townsquare.beliefs.evidence.fitted import fitted
from townsquare.beliefs.evidence.linear import predict
from townsquare.beliefs.evidence.ngrams import Rows
from townsquare.beliefs.evidence.proposition import read_proposition
from townsquare.beliefs.evidence.strength_features import StrengthBlocks, read_strength
from townsquare.core.array_types import Float
from townsquare.core.errors import DataError
from townsquare.settings.base import MemberParams

STRENGTH_PENALTY = 10.0
_COUNTS_SCALE = 0.1
_FARTHEST = 4.0  # spreads from the mean; what lies farther out is unlike anything that was rated
_DIGITS = 6


def judge_strength(texts: Sequence[str], statements: Sequence[str]) -> Float:
    """Return strength of n arguments, each on the proposition next to it: (n,) float64 in [0, 1], to six decimals.

    Raises
    ------
    DataError
        Not one statement for each text.

    >>> weak, strong = judge_strength(
    ...     ["idk its just bad", "Gambling ruins families, because people who are addicted to it spend their savings."],
    ...     ["Gambling should be banned"] * 2,
    ... )
    >>> bool(weak < strong)
    True
    """
    if len(texts) != len(statements):
        raise DataError("strength", got=f"{len(texts)} texts, {len(statements)} statements", allowed="one for each")
    known = fitted()
    blocks = read_strength(texts, [read_proposition(statement) for statement in statements])
    rated = predict(known.strength, strength_rows(blocks, known.strength_mean, known.strength_spread))
    return np.asarray(np.round(np.clip(rated, 0.0, 1.0), _DIGITS), np.float64)


def strength_rows(blocks: StrengthBlocks, mean: Float, spread: Float) -> Rows:
    """Return blocks side by side, the counts in units of their spread in the training data."""
    counts = np.clip((blocks.counts - mean) / spread, -_FARTHEST, _FARTHEST) * _COUNTS_SCALE
    return Rows(sparse.hstack([blocks.words, blocks.characters, Rows(counts)], format="csr"))


def estimate(claims: Sequence[str], statements: Sequence[str], params: MemberParams) -> Float:
    """Return strengths by :func:`judge_strength`."""
    return judge_strength(claims, statements)


JUDGE = StrengthJudge("embedded", MemberParams, estimate)
