"""``vader``: the tone of a text, which the SimSwarm preset uses as its stance.

Source: Hutto and Gilbert (2014), "VADER: a parsimonious rule-based model for sentiment analysis of social media text",
ICWSM; its compound score is what SimSwarm uses. It is **tone, not stance**: it knows English words and no proposition.
"Nobody here supports the closure" scores as praise, "I oppose the tax" as nothing. Outside the preset it has no use.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from townsquare.beliefs.stance.contract import StanceScorer
from townsquare.core.array_types import Float
from townsquare.settings.config import MemberParams


@lru_cache(maxsize=1)
def analyzer() -> SentimentIntensityAnalyzer:
    """Return the analyzer, read once."""
    return SentimentIntensityAnalyzer()


def score_text(text: str) -> float:
    """Return the compound score of a text in [-1, 1], to four decimals; 0.0 without any word of the lexicon.

    >>> score_text("I love this, it is wonderful!") > 0.5
    True
    >>> score_text("")
    0.0
    """
    return float(analyzer().polarity_scores(text)["compound"])


def score(texts: Sequence[str], propositions: Sequence[str]) -> Float:
    """Return tone of n texts as (n, P): the same number toward every proposition, and never NaN, as SimSwarm has it.

    >>> score(["Terrible."], ["Build the bridge", "Raise the tax"]).shape
    (1, 2)
    """
    once = {text: score_text(text) for text in set(texts)}
    tone = np.array([once[text] for text in texts], dtype=np.float64)
    return np.repeat(tone[:, None], len(propositions), axis=1)


SCORER = StanceScorer(name="vader", params=MemberParams, score=score, measures="tone")
