"""Counts words of a post for the statistical policy: a few features, no topics and no meaning.

Only the beginning counts, as a reader who scrolls sees it. Every count is of a kind that any English text has; none
knows a subject, a name or a post.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

import numpy as np

from townsquare.core.array_types import Float

WORDS_READ = 40
"""Words at the beginning of a text that are read."""

FEATURES = ("people", "address", "names", "numbers")
"""``people``: words for persons close to one; ``address``: you and we; ``names``: capitals; ``numbers``: figures."""

_PEOPLE = re.compile(
    r"\b(?:wom[ae]n|m[ae]n|girls?|boys?|parents?|mothers?|mums?|moms?|fathers?|dads?|sisters?|brothers?|wi(?:fe|ves)"
    r"|husbands?|child(?:ren)?|kids?|bab(?:y|ies)|famil(?:y|ies)|daughters?|sons?|friends?|boyfriends?|girlfriends?"
    r"|neighbou?rs?|people|persons?|teachers?|nurses?|patients?|students?|workers?|survivors?|victims?)\b"
)
_ADDRESS = re.compile(r"\b(?:you|your|yours|we|us|our|ours|let's|i|my|me)\b")
_NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")
_TAG = re.compile(r"^\s*\[[A-Z ]{1,20}\]\s*")


@lru_cache(maxsize=65_536)
def features(text: str) -> tuple[float, ...]:
    """Return one number for each of ``FEATURES``; an empty text has none of them.

    Counts enter as ln(1 + count); ``names`` is the share of words that begin with a capital, all but the first.

    >>> [round(x, 2) for x in features("We met two nurses, Ann and Bo, at 5.30.")]
    [0.69, 0.69, 0.25, 0.69]
    """
    words = _TAG.sub("", text).split()[:WORDS_READ]
    beginning = " ".join(words).lower()
    capital = [word[0].isupper() for word in words[1:]]
    patterns = (_PEOPLE, _ADDRESS, _NUMBERS)
    people, address, numbers = (float(np.log1p(len(pattern.findall(beginning)))) for pattern in patterns)
    return people, address, sum(capital) / len(capital) if capital else 0.0, numbers


def feature_table(texts: list[str]) -> Float:
    """Return the features of each text, (n, 4) float64."""
    return np.fromiter(chain.from_iterable(map(features, texts)), np.float64).reshape(-1, len(FEATURES))
