"""Finds names that look alike and differ, and texts without a visible character."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

_CONFUSABLE = str.maketrans(
    # Cyrillic, then Greek: a small choice of Unicode's confusables, above the Latin letters that they look like.
    "аеорсухіјѕԁһӏкмтвн" + "АЕОРСУХІЈЅКМТВНӀ" + "αορυνικτε" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijsdhlkmtbh" + "AEOPCYXIJSKMTBHl" + "aopuvikte" + "ABEZHIKMNOPTYX",
)
MOST = 5
"""Pairs of names that are listed."""
_UNSEEN = frozenset(("Cf", "Cc", "Cn", "Cs", "Co", "Zs", "Zl", "Zp", "Mn", "Me"))
_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Fillers and the blank of Braille: letters and a sign by their category, of which nothing is seen."""


def is_visible(text: str) -> bool:
    """Return whether a text has a visible character.

    >>> is_visible("a"), is_visible("\u200b\u00a0"), is_visible("\u3164")
    (True, False, False)
    """
    return any(character not in _BLANKS and unicodedata.category(character) not in _UNSEEN for character in text)


def skeleton(name: str) -> str:
    """Return a form of a name that is equal for names that look alike.

    Composed and decomposed letters, compatible forms (NFKC), case, signs without a form, and the Cyrillic and Greek
    letters that look like Latin ones make no difference.

    >>> skeleton("Cafe\u0301") == skeleton("CAFÉ"), skeleton("Сity") == skeleton("City")
    (True, True)
    """
    if name.isascii():
        return name.casefold()
    plain = unicodedata.normalize("NFKC", name).translate(_CONFUSABLE).casefold().translate(_CONFUSABLE)
    composed = unicodedata.normalize("NFKC", plain)
    return "".join(character for character in composed if unicodedata.category(character) != "Cf")


def lookalike_notices(kind: str, names: Iterable[str]) -> Sequence[str]:
    """Sentences on names that look alike and represent different things; at most 5, and a count of the others.

    Parameters
    ----------
    kind : str
        What has these names, in the plural.
    names : iterable of str

    >>> lookalike_notices("sources", ["City", "Сity", "Other"])
    ["two sources look alike and are not the same: 'City' and '\\\\u0421ity'"]
    """
    first: dict[str, str] = {}
    pairs = []
    for name in dict.fromkeys(names):
        before = first.setdefault(skeleton(name), name)
        if before != name:
            pairs.append(f"two {kind} look alike and are not the same: {_spelled(before)} and {_spelled(name)}")
    more = [f"{len(pairs) - MOST:,} more {kind} look like others"] if len(pairs) > MOST else []
    return pairs[:MOST] + more


def _spelled(name: str) -> str:
    """Return a name with escapes for all but ASCII, which show the difference."""
    return ascii(name)[:100]
