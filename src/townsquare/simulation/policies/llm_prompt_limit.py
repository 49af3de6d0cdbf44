"""Keep prompts within a number of tokens: what is shortened, and in which order.

Tokens are counted as characters / ``characters_per_token``. Only a prompt that is too long is shortened, in this order:
memories and own posts, the persona, long texts of the feed, comments (the lowest first), all texts of the feed, and
last posts (the lowest first). Instructions and stances stay as they are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from townsquare.core.errors import SettingError
from townsquare.simulation.policies.llm_params import Params

WRAPPED = 40
"""Characters reserved for what a server adds to a prompt."""
MEMORY_SHARE, POSTED_SHARE, PERSONA_SHARE = 0.08, 0.04, 0.12
"""Shares of the limit that memories with reflections, own posts and the persona keep in a prompt that is too long."""
KEPT, LEAST = 140, 40
"""Characters of a text in the feed: the length of comments, and the shortest length of posts."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def character_limit(params: Params) -> int | None:
    """Return the maximum number of characters of a prompt; None for no maximum."""
    if params.prompt_tokens is None:
        return None
    return int(params.prompt_tokens * params.characters_per_token) - WRAPPED


def tokens_of(characters: int, params: Params) -> int:
    """Return the tokens that a prompt counts for, with what a server adds; rounded up."""
    return int(-(-(characters + WRAPPED) // params.characters_per_token))


def too_small(params: Params, least: int) -> SettingError:
    """Return the error for a limit below the length of the instructions alone."""
    allowed = f"at least {tokens_of(least, params) + 50} here"
    return SettingError("policy.prompt_tokens", got=str(params.prompt_tokens), allowed=allowed)


def kept_lines(lines: Sequence[str], limit: int) -> list[str]:
    """Return the first lines that fit as items of a list; the very first is cut if it is too long.

    >>> kept_lines(["abcdef", "gh", "ij"], 14), kept_lines(["abcdefghi"], 9)
    (['abcdef', 'gh'], ['abcde…'])
    """
    out: list[str] = []
    for line in lines:
        if len(line) + 3 > limit:
            if not out and limit > 3 + 5:
                out.append(line[: limit - 4] + "…")
            break
        out.append(line)
        limit -= len(line) + 3
    return out


def first_sentences(text: str, limit: int) -> str:
    """Return the first whole sentences of a text that fit; of the very first as much as fits.

    >>> first_sentences("I am old. I like music. I vote.", 24)
    'I am old. I like music.'
    """
    if len(text) <= limit:
        return text
    out = ""
    for sentence in _SENTENCE.split(text):
        longer = f"{out} {sentence}" if out else sentence
        if len(longer) > limit:
            break
        out = longer
    return out or text[: max(0, limit - 1)] + "…"


class Size(NamedTuple):
    """A row of a feed in characters: what it takes without its texts, and how long each of them is."""

    bare: int
    texts: tuple[int, ...]

    def at(self, longest: int) -> int:
        """Its size where no text is longer than that."""
        return self.bare + sum(min(length, longest) for length in self.texts)


def longest_texts(sizes: Sequence[Size], limit: int, most: int) -> int:
    """Return the largest length of texts with which all rows fit, at most ``most``.

    >>> longest_texts([Size(10, (100,)), Size(10, (30,))], 100, 400)
    50
    """
    lengths = sorted(length for size in sizes for length in size.texts)
    left = limit - sum(size.bare for size in sizes)
    if sum(lengths) <= left or not lengths:
        return most
    shorter = [0, *accumulate(lengths)]
    # The shortest k stay whole, the others get an equal share of what is left; the largest such k is the one that fits.
    counts = range(len(lengths))
    k = bisect_right(counts, left, key=lambda k: shorter[k] + (len(lengths) - k) * lengths[k])
    return max(0, min(most, (left - shorter[k]) // (len(lengths) - k)))
