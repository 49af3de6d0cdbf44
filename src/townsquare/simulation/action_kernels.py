"""Compiled: accepts or refuses each proposed action. :func:`_why` gives the reason, the first that applies."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from townsquare.core.array_types import Array
from townsquare.core.enums import PostStatus, Rating, Reason, Slot
from townsquare.core.pairs import PairBlock, has
from townsquare.core.schema import NONE

_NONE, _RATINGS = int(NONE), len(Rating)
_ACTIVE, _COMMENT_SLOT = int(PostStatus.ACTIVE), int(Slot.COMMENT)

_OK, _DISABLED, _NOT_SHOWN, _GONE = (int(r) for r in (Reason.NONE, Reason.DISABLED, Reason.NOT_SHOWN, Reason.GONE))
_OWN, _SELF, _EMPTY, _TOO_LONG = (int(r) for r in (Reason.OWN, Reason.SELF, Reason.EMPTY, Reason.TOO_LONG))
_REPEATED, _NOT_FOLLOWING, _HIDDEN = int(Reason.REPEATED), int(Reason.NOT_FOLLOWING), int(Reason.HIDDEN)
_NOT_EXAMINED = int(Reason.NOT_EXAMINED)

# What can hold for a kind of action, as bits.
ALLOWED = 1 << 0  # in this run
ON_ROWS = 1 << 1  # is done to what stands in a row of the feed: one of the five that follow
ON_ROOTS = 1 << 2  # to the post, or to the root of the share
ON_POSTS = 1 << 3  # likewise, but not to comments
ON_COMMENTS = 1 << 4  # likewise, and to nothing else
ON_AGENTS = 1 << 5  # to the author of the row
ON_NOTES = 1 << 6  # to the note that is offered, which it rates
WRITES = 1 << 7  # has a text
ONCE = 1 << 8  # counts once an agent and what it is done to
STARTS = 1 << 9  # begins to follow the author
ENDS = 1 << 10  # stops following the author
HIDES = 1 << 11  # the author is not shown to the agent any more, which ends a follow


class Kinds(NamedTuple):
    """The properties of each kind of action by its number, also for unused numbers: (256,) each.

    ``traits`` int64 are the bits above; ``bit`` uint8 represents the kind in the store of reactions, 0 for none;
    ``longest`` int64 is how many characters it may have.
    """

    traits: Array
    bit: Array
    longest: Array


class Choices(NamedTuple):
    """What agents propose, (m,) each, by agent; see :class:`townsquare.simulation.views.ProposedActions` for dtypes."""

    agent: Array
    kind: Array
    row: Array
    target: Array
    text: Array
    helpful: Array
    reasoning: Array


class Shown(NamedTuple):
    """The feeds: a :class:`townsquare.simulation.feed.build.Feed`, with columns of its exposures.

    ``agents`` (k,) int32 and ``indptr`` (k + 1,) int64 as there. By row of the exposures: ``code``, ``post``,
    ``author``, ``offered`` int32, ``slot`` uint8, ``rank`` int16, and whether the row was ``examined`` bool, which is
    empty where every row was; ``root`` int32 by code.
    """

    agents: Array
    indptr: Array
    code: Array
    root: Array
    post: Array
    author: Array
    slot: Array
    offered: Array
    rank: Array
    examined: Array


class Past(NamedTuple):
    """Earlier actions of the agents of the block that starts at ``first``; ``reactions`` are bits, ``hidden`` authors.

    With that, the same for every block, ``status`` uint8 and ``author`` int32 of posts, and ``note_author`` int32.
    """

    first: int
    follows: PairBlock
    reactions: PairBlock
    ratings: PairBlock
    hidden: PairBlock
    status: Array
    author: Array
    note_author: Array


class Texts(NamedTuple):
    """``known`` texts are there already; ``new_row`` (given,) int32 are the rows of those that choices bring along.

    ``length`` (known + given,) int32 is of texts that actions write, 0 for one that says nothing.
    """

    known: int
    new_row: Array
    length: Array


class Judged(NamedTuple):
    """Columns of actions, (m,) each: choices without what does not belong to their kind, and why each is refused.

    Dtypes are those of the table actions.
    """

    reason: Array
    ordinal: Array
    rank: Array
    target: Array
    text: Array
    helpful: Array
    reasoning: Array


@nb.njit(inline="always", cache=True)
def _why(
    traits: int,
    gone: bool,
    own: bool,
    to_self: bool,
    length: int,
    longest: int,
    helpful: int,
    follows: bool,
    hidden: bool,
    did: bool,
) -> int:
    """Return why an action on a row of the feed is refused: the first reason that holds, or none.

    ``length`` is of the text, 0 for none and for one that says nothing; ``follows`` and ``hidden`` are about the author
    where it is acted on; ``did`` is whether the agent did this before.
    """
    if gone:
        return _GONE
    if own:
        return _OWN
    if to_self:
        return _SELF
    if traits & WRITES and length == 0:
        return _EMPTY
    if traits & WRITES and length > longest:
        return _TOO_LONG
    if traits & ON_NOTES and not 0 <= helpful < _RATINGS:
        return _EMPTY
    if traits & STARTS and hidden:
        return _HIDDEN
    if traits & STARTS and follows:
        return _REPEATED
    if traits & ENDS and not follows:
        return _NOT_FOLLOWING
    return _REPEATED if did or (traits & HIDES and hidden) else _OK


@nb.njit(inline="always", cache=True)
def _stands(traits: int, target: int, root: int, author: int, offered: int, is_comment: bool) -> bool:
    """Return whether the target is in a row and fits this kind of action."""
    if traits & ON_ROOTS:
        return bool(target == root and not traits & (ON_POSTS if is_comment else ON_COMMENTS))
    if traits & ON_AGENTS:
        return bool(target == author)
    return bool(not traits & ON_NOTES or (target >= 0 and target == offered))


@nb.njit(inline="always", cache=True)
def _acted(traits: int, row: int, lo: int, hi: int, author: Array, acted: Array) -> int:
    """Return what the agent did in this step, a bit for each kind: to the row, or to any row of the author.

    ``acted`` has these bits for each of its rows, ``lo`` to ``hi``. A feed shows a root once, and authors often.
    """
    bits = acted[row - lo]
    if traits & ON_AGENTS:
        for other in range(lo, hi):
            if author[other] == author[row]:
                bits |= acted[other - lo]
    return int(bits)


@nb.njit(inline="always", cache=True)
def _row_of(number: int, texts: Texts) -> int:
    """Return the row that a text has, or will have; -1 for none."""
    if number < 0 or number - texts.known >= texts.new_row.shape[0]:
        return _NONE
    return int(number if number < texts.known else texts.new_row[number - texts.known])


@nb.njit(nogil=True, cache=True)
def judge(chosen: Choices, kinds: Kinds, shown: Shown, texts: Texts, past: Past, out: Judged) -> None:
    """Judge the choices of agents of one block, who act in the order of their choices, row by row.

    The agents and offsets of ``shown`` are those of the block. Arrays are taken out of their tuples once: to do it for
    each action took eight times as long.
    """
    agents, kind_of, rows, targets, text_of, helpful_of, reasoning_of = chosen
    with_feed, indptr, code_of, root_of, post_of, author_of, slot_of, offered_of, rank_of, examined = shown
    first, (follow_ptr, followed, _), (reaction_ptr, reacted, bits), (rating_ptr, rated, _), _, _, _, _ = past
    _, _, _, _, (hidden_ptr, hidden_from, _), status, wrote, wrote_note = past
    traits_of, bit_of, longest_of = kinds
    hiding = np.int64(0)
    for k in range(64):
        hiding |= np.int64((traits_of[k] & HIDES) != 0) << k
    reasons, ordinals, ranks, out_targets, out_texts, out_helpful, out_reasoning = out
    acted = np.zeros(64, np.int64)
    reader, begin, lo, hi = 0, 0, _NONE, _NONE
    for x in range(agents.shape[0]):
        agent, kind, row, target = agents[x], kind_of[x], rows[x], targets[x]
        traits, text, rank, me = traits_of[kind], text_of[x], _NONE, agent - first
        if x == 0 or agent != agents[x - 1]:
            while reader < with_feed.shape[0] and with_feed[reader] < agent:
                reader += 1
            begin, lo, hi = x, _NONE, _NONE
            if reader < with_feed.shape[0] and with_feed[reader] == agent:
                lo, hi = indptr[reader], indptr[reader + 1]
            if hi - lo > acted.shape[0]:
                acted = np.zeros(2 * (hi - lo), np.int64)
            acted[: hi - lo] = 0
        stands, absent = lo >= 0, _NOT_SHOWN
        if not traits & ON_ROWS:
            target = _NONE
        elif lo <= row < hi:
            rank, root, is_comment = rank_of[row], root_of[code_of[row]], slot_of[row] == _COMMENT_SLOT
            if traits & ON_ROOTS and target == post_of[row]:
                target = root  # a share that was shown stands for its root
            stands = _stands(traits, target, root, author_of[row], offered_of[row], is_comment)
            if examined.shape[0] > 0 and not examined[row]:
                stands, absent = False, _NOT_EXAMINED
        else:
            stands = False
        reason = absent if traits & ALLOWED else _DISABLED
        if stands and traits & ALLOWED:
            gone = own = follows = hidden = did = False
            before = _acted(traits, row, lo, hi, author_of, acted) if traits & ONCE else np.int64(0)
            if traits & ON_ROOTS:
                gone, own = status[target] != _ACTIVE, wrote[target] == agent
                a, b = reaction_ptr[me], reaction_ptr[me + 1]
                if has(reacted, a, b, target):
                    did = (bits[a + np.searchsorted(reacted[a:b], target)] & bit_of[kind]) != 0
            elif traits & ON_NOTES:
                own = wrote_note[target] == agent
                did = has(rated, rating_ptr[me], rating_ptr[me + 1], target)
            elif traits & ON_AGENTS:
                hidden = (before & hiding) != 0 or has(hidden_from, hidden_ptr[me], hidden_ptr[me + 1], target)
                follows = not hidden and has(followed, follow_ptr[me], follow_ptr[me + 1], target)
            did |= (before >> kind & 1) != 0
            to_self = (traits & ON_AGENTS) != 0 and target == agent
            length = texts.length[text] if 0 <= text < texts.length.shape[0] else 0
            longest, helpful = longest_of[kind], helpful_of[x]
            reason = _why(traits, gone, own, to_self, length, longest, helpful, follows, hidden, did)
            if reason == _OK and traits & ONCE:
                acted[row - lo] |= np.int64(1) << kind
        reasons[x], ordinals[x], ranks[x], out_targets[x] = reason, x - begin, rank, target
        out_texts[x] = _row_of(text, texts) if traits & WRITES else _NONE
        out_helpful[x] = helpful_of[x] if traits & ON_NOTES else _NONE
        out_reasoning[x] = _row_of(reasoning_of[x], texts)
