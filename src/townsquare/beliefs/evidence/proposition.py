"""Direction of a proposition toward its subject: "We should ban X" is against X, so praise of X speaks against it.

Two signs carry what judges learn on some propositions over to others. The **direction** says whether who is for the
proposition is for its subject; **coercion** says whether it would forbid or compel (+1) or lift a rule (-1).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from townsquare.beliefs.evidence.text import stem, words
from townsquare.beliefs.evidence.words import action, word_lists

_MORE_HARM = (("more", "harm", "than", "good"), ("more", "bad", "than", "good"))


class Frame(NamedTuple):
    """Direction of a proposition toward its subject.

    Attributes
    ----------
    direction : int
        +1 if who is for the proposition is for its subject, else -1.
    coercion : int
        +1 if it would forbid or compel, -1 if it would lift a rule, else 0.
    subject : frozenset of str
        Stems of the words that name what it is about.
    actions : frozenset of str
        Stems of the words that name what is to be done.
    """

    direction: int
    coercion: int
    subject: frozenset[str]
    actions: frozenset[str]


@lru_cache(maxsize=1024)
def read_proposition(statement: str) -> Frame:
    """Return the frame of a statement; +1, 0 and whatever words it has where nothing is recognized.

    >>> frame = read_proposition("We should ban human cloning")
    >>> frame.direction, frame.coercion, sorted(frame.subject), sorted(frame.actions)
    (-1, 1, ['clon', 'human'], ['ban'])
    >>> read_proposition("We should end the ban on cannabis").direction
    1
    >>> read_proposition("Social media brings more harm than good").direction
    -1
    """
    known, terms = word_lists(), words(statement)
    signs = [_sign(terms, at) for at in range(len(terms))]
    direction = -1 if sum(sign < 0 for sign in signs) % 2 else 1
    rule = [word for word in terms if word in known["coercive"] or word in known["permissive"]]
    coercion = (1 if rule[-1] in known["coercive"] else -1) if rule else 0
    if coercion and rule[-1] not in known["against"] and _lifts(terms, rule[-1]):
        coercion = -coercion
    named = [word for word, sign in zip(terms, signs, strict=True) if not sign and not action(word)]
    subject = [stem(word) for word in named if word not in known["function"] and not word.isdigit()]
    actions = [stem(word) for word, sign in zip(terms, signs, strict=True) if sign or action(word)]
    return Frame(direction, coercion, frozenset(subject), frozenset(actions) - {stem("not")})


def _sign(terms: list[str], at: int) -> int:
    """Return -1 for a word that turns the proposition against its subject, +1 for one that furthers it, else 0."""
    known, word = word_lists(), terms[at]
    if word in known["negations"] or word in known["harms"]:
        return -1
    if any(tuple(terms[at : at + 4]) == phrase for phrase in _MORE_HARM):
        return -1
    if word == "fight" and terms[at + 1 : at + 2] == ["for"]:
        return 1
    if word in known["faults"] and not action(word) and at and terms[at - 1] in known["links"]:
        return -1
    return action(word)


def _lifts(terms: list[str], rule: str) -> bool:
    """Return whether what comes before a word of rule ends or denies it, as in "end mandatory retirement"."""
    known = word_lists()
    before = terms[: terms.index(rule)]
    return sum(word in known["negations"] or action(word) < 0 for word in before) % 2 == 1
