"""``bank``: an embedded judge, which reads the stance of a text from the arguments it resembles.

The stance is the mean of the stances of the nearest arguments of the bank, weighted by a power of their cosines:

    J = Σ cᵢ^p stanceᵢ / Σ cᵢ^p        over the n arguments with the largest cosines cᵢ, all at or above a least one

A text that resembles none takes no stance. With ``pool: all`` it knows every argument a ``bank`` speaker can say, so
that it reads off how far the argument goes, as it stands in the file: it tells whether what is said fits the stance,
and nothing about reading. With ``pool: seed`` it has never seen the arguments of the debate and must go by shared
words, of which two arguments of one topic have few: it errs often, and its readings are drawn toward the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from townsquare.debate.contract import Float, StanceJudge
from townsquare.evidence.bank_files import Bank
from townsquare.evidence.near import Vectors, cosines
from townsquare.settings_base import MemberParams


class Params(MemberParams):
    """What it knows, and how it weighs."""

    pool: Literal["all", "seed"] = Field("all", description="arguments it knows: all, or those of no debate")
    nearest: int = Field(5, ge=1, le=1000, description="n, arguments that count")
    power: int = Field(4, ge=1, le=16, description="p: a large one leaves the nearest alone")
    least: float = Field(0.05, gt=0, le=1, description="cosine below which an argument does not count")


def read(texts: Sequence[str], bank: Bank, vectors: Vectors, params: Params) -> Float:
    """(n,) stances in [-1, 1], NaN for texts that resemble no argument."""
    known = np.flatnonzero(bank.seed) if params.pool == "seed" else np.arange(len(bank))
    arguments, stance = [bank.text[at] for at in known], bank.stance[known]
    out = np.full(len(texts), np.nan)
    for at, text in enumerate(texts):
        rows = vectors.of([text, *arguments])
        near = cosines(rows, np.zeros(known.size, np.int64), np.arange(1, known.size + 1))
        near[[argument == text for argument in arguments]] = 1.0
        best = np.argsort(-near, kind="stable")[: params.nearest]
        best = best[near[best] >= params.least]
        weight = near[best] ** params.power
        if best.size:
            out[at] = float((weight * stance[best]).sum() / weight.sum())
    return out


JUDGE = StanceJudge("bank", Params, read)
