"""Relevance: whether a passage is about a proposition, by the words of its bank, whatever its side.

A word speaks for a topic by how much more often it is in the topic's arguments than in arguments at large
(the log of the ratio, from 0 to 4). A passage is relevant by the sum over its distinct words divided by the root of
their number. Without a bank only the words of the proposition can speak.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache

import numpy as np

from townsquare.beliefs.evidence.examples import NO_EXAMPLES, Examples
from townsquare.beliefs.evidence.fitted import fitted
from townsquare.beliefs.evidence.ngrams import PLACES, slot_of
from townsquare.beliefs.evidence.proposition import read_proposition
from townsquare.beliefs.evidence.text import stem, words
from townsquare.beliefs.evidence.words import word_lists
from townsquare.core.array_types import Float

WITH_BANK, WITHOUT_BANK = 0.8, 0.5
"""Relevance from which a passage counts: about one in twenty arguments on other topics reaches it."""

_PRIOR_TEXTS = 10.0  # arguments at large that are mixed into a bank
_STATEMENT_TEXTS = 10.0  # how many arguments the words of the proposition count for
_ACTION_TEXTS = 3.0
_RAREST = 0.005
_ONCE = 0.5  # taken off every count: a word that one argument used says little
_MOST = 4.0


@lru_cache(maxsize=128)
def topic_words(statement: str, bank: Examples = NO_EXAMPLES) -> Float:
    """Return what each place of a stem says for a proposition, (32768,) float64 in [0, 4]."""
    counted = Counter(at for text in bank.texts for at in set(content(text)))
    share = np.zeros(PLACES)
    share[list(counted)] = [count - _ONCE for count in counted.values()]
    frame = read_proposition(statement)
    named = np.zeros(PLACES)
    named[[slot_of(root) for root in sorted(frame.actions)]] = _ACTION_TEXTS
    named[[slot_of(root) for root in sorted(frame.subject)]] = _STATEMENT_TEXTS
    at_large = fitted().background + _RAREST
    here = (share + _PRIOR_TEXTS * at_large + named) / (len(bank.texts) + _PRIOR_TEXTS + named)
    return np.asarray(np.clip(np.log(here / at_large), 0.0, _MOST))


def content(text: str) -> list[int]:
    """Return slots of the distinct stems of a text's content words, in order of first appearance.

    >>> len(content("The tax on sugar is a tax.")), content("It is what it is.")
    (2, [])
    """
    function = word_lists()["function"]
    roots = (stem(word) for word in words(text) if word not in function and not word.isdigit())
    return list(dict.fromkeys(slot_of(root) for root in roots))


def relevance(text: str, statement: str, bank: Examples = NO_EXAMPLES) -> float:
    """Return how much a text is about a proposition, 0 or more.

    >>> statement = "We should ban human cloning"
    >>> relevance("Cloning people is playing god.", statement) > WITHOUT_BANK
    True
    >>> relevance("The weather was fine.", statement)
    0.0
    """
    slots = content(text)
    if not slots:
        return 0.0
    weights: list[float] = topic_words(statement, bank)[slots].tolist()
    return sum(weights) / math.sqrt(len(slots))
