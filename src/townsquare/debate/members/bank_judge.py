"""``bank``: an embedded judge, which reads the stance of a text from the arguments it resembles.

The stance is the mean of the stances of the nearest arguments of the bank, weighted by a power of their cosines:

    J = Σ cᵢ^p stanceᵢ / Σ cᵢ^p        over the n arguments with the largest cosines cᵢ, all at or above a least one

A text that resembles none takes no stance. The judge knows every argument that a ``bank`` speaker can say, and so reads
off how far it goes, as it is in the file: this tells whether what is said fits the stance, and nothing about
reading. The judge ``embedded`` has not seen them, and seldom gets further than chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from townsquare.beliefs.evidence.bank_files import ArgumentBank
from townsquare.beliefs.evidence.near import Vectors, cosines
from townsquare.core.array_types import Float
from townsquare.debate.contract import StanceJudge
from townsquare.settings.base import MemberParams, setting


class Params(MemberParams):
    """How it weighs what it knows."""

    nearest: int = setting(5, "n, arguments that count", ge=1, le=1000)
    power: int = setting(4, "p: with a large power only the nearest counts", ge=1, le=16)
    least: float = setting(0.2, "lowest cosine at which an argument counts", gt=0, le=1)


def read(texts: Sequence[str], bank: ArgumentBank, vectors: Vectors, params: Params) -> Float:
    """Return (n,) stances in [-1, 1]; NaN for texts that resemble no argument."""
    m = len(bank)
    out = np.full(len(texts), np.nan)
    for at, text in enumerate(texts):
        rows = vectors.of([text, *bank.text])
        near = cosines(rows, np.zeros(m, np.int64), np.arange(1, m + 1))
        near[[argument == text for argument in bank.text]] = 1.0
        best = np.argsort(-near, kind="stable")[: params.nearest]
        best = best[near[best] >= params.least]
        weight = near[best] ** params.power
        if best.size:
            out[at] = float((weight * bank.stance[best]).sum() / weight.sum())
    return out


JUDGE = StanceJudge("bank", Params, read)
