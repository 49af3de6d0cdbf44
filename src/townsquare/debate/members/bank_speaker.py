"""``bank``: an embedded speaker, which says arguments of the pool ``debate``, each once in a debate.

It says what has not been said and stands nearest to its own stance, with a leaning to what its evidence is about:

    score = −|stance of the argument − S| + e · (largest cosine with a retrieved record of the argument's polarity)
            + t · (2U − 1)                                                   U uniform, by side, round and text

and says the arguments with the highest scores. So what it says goes as far as its stance does, and when its own side
is exhausted it turns to the mildest of the other. It is no language model: it answers nobody, and cannot say one thing
in two ways. When all has been said it says so, which is no argument.
"""

from __future__ import annotations

import numpy as np

from townsquare.beliefs.evidence.bank_files import ArgumentBank
from townsquare.beliefs.evidence.near import Vectors, cosines
from townsquare.core.array_types import Float, Int64
from townsquare.core.draws import U64, text_key
from townsquare.debate.contract import ActiveRecord, Claim, DebateContext, Speaker, Turn, Utterance, few_uniform
from townsquare.settings.base import MemberParams, setting

NOTHING_LEFT = "No further points."


class Params(MemberParams):
    """How it chooses."""

    arguments: int = setting(1, "arguments in a message", ge=1, le=10)
    evidence: float = setting(0.5, "e: weight of a cosine of 1 with its evidence, in stance units", ge=0)
    spread: float = setting(0.1, "t: half the width of the uniform noise, in stance units", ge=0)


def say(turn: Turn, context: DebateContext, params: Params) -> Utterance:
    """Say the arguments with the highest scores that nobody has used."""
    bank = context.bank
    left = np.flatnonzero(~bank.seed & ~np.array([text in context.used_texts for text in bank.text]))
    if not left.size:
        return Utterance(NOTHING_LEFT, ())
    keys = np.array([text_key(bank.text[at]) for at in left], U64)
    noise = 2.0 * few_uniform(context.draws, "argument", turn.side, keys) - 1.0
    near = nearness(bank, left, turn.retrieved, context.vectors)
    score = -np.abs(bank.stance[left] - turn.stance) + params.evidence * near + params.spread * noise
    chosen = left[np.argsort(-score, kind="stable")[: params.arguments]]
    return said_of(bank, chosen)


def nearness(bank: ArgumentBank, places: Int64, retrieved: tuple[ActiveRecord, ...], vectors: Vectors) -> Float:
    """Return the largest cosine of each argument with a retrieved record of its polarity, at least 0; (n,) float64."""
    out = np.zeros(places.size)
    if not retrieved:
        return out
    texts = [bank.text[at] for at in places] + [record.text for record in retrieved]
    n, k = places.size, len(retrieved)
    rows = vectors.of(texts)
    similar = cosines(rows, np.repeat(np.arange(n), k), np.tile(np.arange(n, n + k), n)).reshape(n, k)
    same = bank.polarity[places][:, None] == np.array([record.polarity for record in retrieved])[None, :]
    nearest: Float = np.where(same, similar, 0.0).max(axis=1)
    return np.maximum(out, nearest)


def said_of(bank: ArgumentBank, places: Int64) -> Utterance:
    """Make a message from arguments of a bank, with its claims declared."""
    claims = tuple(Claim.of(bank, int(at)) for at in places)
    return Utterance(" ".join(claim.text for claim in claims), claims)


SPEAKER = Speaker("bank", Params, say)
