"""Word lists of the embedded judges (``data/judges/words.yaml``) and the valence of words.

The lists were written for this project. Words that they do not hold take half their value in VADER's lexicon (Hutto and
Gilbert 2014, MIT license), clipped to [-1, 1]: tone alone is no stance, but "cruel" speaks against whatever it is
said of, and :mod:`townsquare.beliefs.evidence.scopes` says what it is said of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from townsquare.beliefs.evidence.text import stem
from townsquare.beliefs.stance.vader import analyzer
from townsquare.core import documents

JUDGES = Path(__file__).resolve().parents[2] / "data" / "judges"
"""The folder of the word lists and fitted numbers."""

_SHORT = 3


@dataclass(frozen=True, slots=True)
class WordLists:
    """The lists of ``words.yaml`` by name, ready to look up.

    Attributes
    ----------
    lists : mapping of str to frozenset of str
        Words of each list as they are written.
    shifting : frozenset of str
        Short shifters as written, longer ones as stems.
    values : mapping of str to float
        +1 or -1 by word for ``good`` and ``bad``.
    stem_values : mapping of str to float
        The same by stem.
    tags : mapping of str to frozenset of str
        Words of each category of claims, in the order in which ties are decided.
    """

    lists: Mapping[str, frozenset[str]]
    shifting: frozenset[str]
    values: Mapping[str, float]
    stem_values: Mapping[str, float]
    tags: Mapping[str, frozenset[str]]

    def __getitem__(self, name: str) -> frozenset[str]:
        return self.lists[name]


@lru_cache(maxsize=1)
def word_lists() -> WordLists:
    """Return the lists that come with Townsquare."""
    document: Any = documents.read_yaml(JUDGES / "words.yaml")
    tags = {tag: frozenset(words.split()) for tag, words in document.pop("tags").items()}
    lists = {name: frozenset(words.split()) for name, words in document.items()}
    values = {**dict.fromkeys(sorted(lists["good"]), 1.0), **dict.fromkeys(sorted(lists["bad"]), -1.0)}
    stem_values = {stem(word): value for word, value in values.items()}
    shifting = frozenset(word if len(word) <= _SHORT else stem(word) for word in lists["shifters"])
    return WordLists(lists, shifting, values, stem_values, tags)


@lru_cache(maxsize=65536)
def value(word: str) -> float:
    """Return how good what a word names is, in [-1, 1]; 0.0 for words that are neither.

    >>> value("beneficial"), value("unhealthy"), value("table")
    (1.0, -1.0, 0.0)
    """
    known, root = word_lists(), stem(word)
    if word in known.values:
        return known.values[word]
    if len(root) > _SHORT and root in known.stem_values:
        return known.stem_values[root]
    lexicon: Mapping[str, float] = analyzer().lexicon
    if word in lexicon:
        return max(-1.0, min(1.0, lexicon[word] / 2.0))
    return -known.stem_values.get(stem(word[2:]), 0.0) if word.startswith("un") else 0.0


def action(word: str) -> int:
    """Return what an action does to what it names: +1 to start, permit or further it, -1 to end or forbid it, else 0.

    >>> action("legalize"), action("banned"), action("tax")
    (1, -1, 0)
    """
    known = word_lists()
    return int(word in known["toward"]) - int(word in known["against"])


def is_shifter(word: str) -> bool:
    """Return whether a word turns the good that follows into bad, as in "to lose freedom".

    >>> is_shifter("prevents"), is_shifter("brings")
    (True, False)
    """
    known = word_lists()
    return (word if len(word) <= _SHORT else stem(word)) in known.shifting
