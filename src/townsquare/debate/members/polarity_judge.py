"""``embedded``: a judge that has never seen the arguments of a debate, and reads which side a text is on.

It is the polarity judge of :mod:`townsquare.beliefs.evidence.polarity` with the arguments of the pool ``seed`` as its
bank, from which no speaker says anything. Its reading is the expected polarity: −1 or +1, times how sure it is. So it
tells sides, not how far a text goes, and what it is unsure of is drawn toward the middle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from townsquare.beliefs.evidence.bank_files import ArgumentBank
from townsquare.beliefs.evidence.examples import Examples
from townsquare.beliefs.evidence.near import Vectors
from townsquare.beliefs.evidence.polarity import judge_polarity
from townsquare.core.array_types import Float
from townsquare.debate.contract import StanceJudge
from townsquare.settings.base import MemberParams


def read(texts: Sequence[str], bank: ArgumentBank, vectors: Vectors, params: MemberParams) -> Float:
    """Return (n,) expected polarities in [-1, 1]; NaN for a text without a word."""
    known = np.flatnonzero(bank.seed)
    seeds = Examples(tuple(bank.text[at] for at in known), tuple(bank.polarity[known].tolist()))
    worded = [any(letter.isalnum() for letter in text) for text in texts]
    stance = judge_polarity(texts, bank.statement, seeds).stance
    return np.where(worded, stance, np.nan)


JUDGE = StanceJudge("embedded", MemberParams, read)
