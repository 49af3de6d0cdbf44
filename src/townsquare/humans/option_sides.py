"""Detect whether a message supports or rejects a named option, for data whose messages have no side.

In a group that decides which of some things to take (cards of a Wason task, candidates), people name them: "I think A
and 7", "we don't need to turn 2", "all of them". A name speaks for the option, unless a negation is in the same
clause. Words only: no model, nothing fitted. A list of two or more that leaves an option out says nothing of it, unless
``exclusive`` is set.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from townsquare.beliefs.evidence.text import MAX_CHARACTERS
from townsquare.beliefs.evidence.words import word_lists

FOR, AGAINST, NEITHER = 1, -1, 0

_REFERENCE = re.compile(r"@?\s?\[[^\]]{0,40}\]")  # a person, as the data write names
_CLAUSE = re.compile(r"[.;!?,]|\b(?:but|because|becuase|cause|since|although|however|if)\b", re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?|\d+")
_ALL = re.compile(
    r"\b(?:all (?:of )?(?:them|the cards|cards|the|4|four|5|five|3|three)|every (?:card|one)|them all|all cards"
    r"|(?:turn|flip|check|pick|choose|select) all)\b",
    re.IGNORECASE,
)
BEFORE, AFTER = 7, 5
"""How many words before and after a name a negation may stand."""


def option_sides(
    texts: Sequence[str], option: str, others: Sequence[str] = (), *, exclusive: bool = False
) -> list[int]:
    """Return +1, -1 or 0 for each text: for an option, against it, or neither.

    Parameters
    ----------
    texts : sequence of str
        Messages.
    option : str
        One word, as a card or a name.
    others : sequence of str
        The other options that there are; they help to tell the letter A from the article.
    exclusive : bool
        A text that speaks for other options and does not name this one speaks against it.

    >>> says = ["I think A and 7", "we don't need to turn 7", "a vowel must have an even number", "all of them"]
    >>> option_sides(says, "7", ["A"]), option_sides(says, "A", ["7"])
    ([1, -1, 0, 1], [1, 0, 0, 1])
    """
    return [_side(text, option, [*others, option], exclusive=exclusive) for text in texts]


def _side(text: str, option: str, options: Sequence[str], *, exclusive: bool) -> int:
    plain = _REFERENCE.sub(" ", text[:MAX_CHARACTERS].replace("’", "'"))
    counts = dict.fromkeys(options, 0)
    for clause in _CLAUSE.split(plain):
        tokens = _TOKEN.findall(clause)
        named = _named(tokens, options)
        for at, name in named:
            near = [*tokens[max(0, at - BEFORE) : at], *tokens[at + 1 : at + 1 + AFTER]]
            counts[name] += AGAINST if _has_negation(near) else FOR
        if not named and _ALL.search(clause):
            counts[option] += AGAINST if _has_negation(tokens) else FOR
    if counts[option]:
        return FOR if counts[option] > 0 else AGAINST
    if exclusive and any(count > 0 for count in counts.values()):
        return AGAINST
    return NEITHER


def _named(tokens: Sequence[str], options: Sequence[str]) -> list[tuple[int, str]]:
    """Return places of tokens that name an option, with the option."""
    known = {name.casefold(): name for name in options}
    named = []
    for at, token in enumerate(tokens):
        name = known.get(token.casefold())
        if name is not None and (len(name) > 1 or not name.isalpha() or _is_letter(tokens, at, known)):
            named.append((at, name))
    return named


def _is_letter(tokens: Sequence[str], at: int, known: dict[str, str]) -> bool:
    """Return whether a one-letter token is a name, not a word such as ``a``, ``I`` or ``u``."""
    token = tokens[at]
    after = tokens[at + 1].casefold() if at + 1 < len(tokens) else ""
    before = tokens[at - 1].casefold() if at else ""
    if after in word_lists()["after_article"]:
        return False
    if token.isupper() and token != "I":
        return True
    neighbors = {before, after}
    near = {*tokens[max(0, at - 2) : at], *tokens[at + 1 : at + 3]}
    joined = neighbors & (word_lists()["option_joins"] | known.keys())
    listed = any(word.casefold() in known for word in near) and bool(joined)
    return listed or before in ("card", "cards") or len(tokens) == 1


def _has_negation(tokens: Sequence[str]) -> bool:
    return any(word.casefold().replace("'", "") in word_lists()["option_negations"] for word in tokens)
