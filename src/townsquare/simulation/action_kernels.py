"""Compiled: what comes of each choice. :func:`_why` says why an action is refused, one reason after the other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.core.pairs import PairBlock, has
from townsquare.core.schema import (
    NONE,
    ActionKind,
    PostStatus,
    Reason,
    Slot,
)

Array = npt.NDArray[Any]
_NONE = int(NONE)
_FOLLOW, _UNFOLLOW = int(ActionKind.FOLLOW), int(ActionKind.UNFOLLOW)
_ACTIVE, _COMMENT_SLOT = int(PostStatus.ACTIVE), int(Slot.COMMENT)

_OK, _DISABLED, _NOT_SHOWN, _GONE = (int(r) for r in (Reason.NONE, Reason.DISABLED, Reason.NOT_SHOWN, Reason.GONE))
_OWN, _SELF, _EMPTY, _TOO_LONG = (int(r) for r in (Reason.OWN, Reason.SELF, Reason.EMPTY, Reason.TOO_LONG))
_REPEATED, _NOT_FOLLOWING = int(Reason.REPEATED), int(Reason.NOT_FOLLOWING)

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


class Kinds(NamedTuple):
    """What holds for each kind of action, by its number, also for those that there are not: (256,) each.

    ``traits`` int64 are the bits above; ``bit`` uint8 stands for the kind in the store of reactions, 0 for none;
    ``longest`` int64 is how many characters it may have.
    """

    traits: Array
    bit: Array
    longest: Array


class Choices(NamedTuple):
    """What agents chose, (m,) each, by agent: see :class:`townsquare.simulation.views.Chosen` for what they are and
    dtypes.
    """

    agent: Array
    kind: Array
    row: Array
    target: Array
    text: Array
    helpful: Array
    reasoning: Array


class Shown(NamedTuple):
    """Who was shown what: a :class:`townsquare.simulation.feed.build.Feed`, with columns of its exposures.

    ``agents`` (k,) int32 and ``indptr`` (k + 1,) int64 as there. By row of the exposures: ``code``, ``post``,
    ``author``, ``offered`` int32, ``slot`` uint8, ``rank`` int16; ``root`` int32 by code.
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


class Past(NamedTuple):
    """What the agents of the block that starts at ``first`` did before; ``reactions`` holds bits.

    With that, the same for every block, ``status`` uint8 and ``author`` int32 of posts, and ``note_author`` int32.
    """

    first: int
    follows: PairBlock
    reactions: PairBlock
    ratings: PairBlock
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


class Action(NamedTuple):
    """One action on something that stands in the feed; ``length`` is of the text, 0 for none."""

    agent: int
    kind: int
    target: int
    length: int
    helpful: int


@nb.njit(inline="always", cache=True)
def _has(pairs: PairBlock, agent: int, key: int) -> bool:
    return has(pairs.key, pairs.indptr[agent], pairs.indptr[agent + 1], key)


@nb.njit(inline="always", cache=True)
def _why(action: Action, kinds: Kinds, past: Past) -> int:
    """Why an action is refused, but for what its agent did in this step: the first reason that holds, or none."""
    traits, target, me = kinds.traits[action.kind], action.target, action.agent - past.first
    if traits & ON_ROOTS and past.status[target] != _ACTIVE:
        return _GONE
    if traits & ON_ROOTS and past.author[target] == action.agent:
        return _OWN
    if traits & ON_NOTES and past.note_author[target] == action.agent:
        return _OWN
    if traits & ON_AGENTS and target == action.agent:
        return _SELF
    if traits & WRITES and action.length == 0:
        return _EMPTY
    if traits & WRITES and action.length > kinds.longest[action.kind]:
        return _TOO_LONG
    if traits & ON_NOTES and action.helpful != 0 and action.helpful != 1:
        return _EMPTY
    if traits & ON_AGENTS:
        follows = _has(past.follows, me, target)
        if action.kind == _FOLLOW and follows:
            return _REPEATED
        if action.kind == _UNFOLLOW and not follows:
            return _NOT_FOLLOWING
    if traits & ON_ROOTS and _has(past.reactions, me, target):
        lo, hi = past.reactions.indptr[me], past.reactions.indptr[me + 1]
        at = lo + np.searchsorted(past.reactions.key[lo:hi], target)
        if past.reactions.value[at] & kinds.bit[action.kind]:
            return _REPEATED
    if traits & ON_NOTES and _has(past.ratings, me, target):
        return _REPEATED
    return _OK


@nb.njit(inline="always", cache=True)
def _stands(traits: int, target: int, row: int, shown: Shown) -> bool:
    """Whether what is acted on stands in a row, and is something that this kind of action is for."""
    if traits & ON_ROOTS:
        is_comment = shown.slot[row] == _COMMENT_SLOT
        return bool(target == shown.root[shown.code[row]] and not traits & (ON_POSTS if is_comment else ON_COMMENTS))
    if traits & ON_AGENTS:
        return bool(target == shown.author[row])
    return bool(not traits & ON_NOTES or (target >= 0 and target == shown.offered[row]))


@nb.njit(inline="always", cache=True)
def _acted(kind: int, traits: int, row: int, lo: int, author: Array, acted: Array) -> bool:
    """Whether the agent did this in this step: to the row or, if it is done to agents, to another row of the author.

    ``acted`` has a bit for each kind of what the agent did to each of its rows, from ``lo`` on. A feed shows a root
    once, and authors often.
    """
    bits = acted[row - lo]
    if traits & ON_AGENTS:
        for other in range(acted.shape[0]):
            if author[lo + other] == author[row]:
                bits |= acted[other]
    return bool(bits >> kind & 1)


@nb.njit(inline="always", cache=True)
def _row_of(number: int, texts: Texts) -> int:
    """The row that a text has, or will have; -1 for none."""
    if number < 0 or number - texts.known >= texts.new_row.shape[0]:
        return _NONE
    return int(number if number < texts.known else texts.new_row[number - texts.known])


@nb.njit(nogil=True, cache=True)
def judge(chosen: Choices, kinds: Kinds, shown: Shown, texts: Texts, past: Past, out: Judged) -> None:
    """Judge the choices of agents of one block, who act in the order of their choices, row by row.

    The agents and offsets of ``shown`` are those of the block.
    """
    acted = np.zeros(0, np.int64)
    place, begin, lo, hi = 0, 0, _NONE, _NONE
    for x in range(chosen.agent.shape[0]):
        agent, kind, row, target = chosen.agent[x], chosen.kind[x], chosen.row[x], chosen.target[x]
        traits, text, rank = kinds.traits[kind], chosen.text[x], _NONE
        if x == 0 or agent != chosen.agent[x - 1]:
            while place < shown.agents.shape[0] and shown.agents[place] < agent:
                place += 1
            begin, lo, hi = x, _NONE, _NONE
            if place < shown.agents.shape[0] and shown.agents[place] == agent:
                lo, hi = shown.indptr[place], shown.indptr[place + 1]
            acted = np.zeros(hi - lo, np.int64)
        stands = lo >= 0
        if traits & ON_ROWS:
            stands = lo <= row < hi
            if stands:
                rank = shown.rank[row]
                if traits & ON_ROOTS and target == shown.post[row]:
                    target = shown.root[shown.code[row]]  # a share that was shown stands for its root
                stands = _stands(traits, target, row, shown)
        else:
            target = _NONE
        reason = _DISABLED
        if traits & ALLOWED:
            reason = _NOT_SHOWN
            if stands:
                length = texts.length[text] if 0 <= text < texts.length.shape[0] else 0
                reason = _why(Action(agent, kind, target, length, chosen.helpful[x]), kinds, past)
        if reason == _OK and traits & ONCE:
            if _acted(kind, traits, row, lo, shown.author, acted):
                reason = _REPEATED
            else:
                acted[row - lo] |= np.int64(1) << kind
        out.reason[x], out.ordinal[x], out.rank[x], out.target[x] = reason, x - begin, rank, target
        out.text[x] = _row_of(text, texts) if traits & WRITES else _NONE
        out.helpful[x] = chosen.helpful[x] if traits & ON_NOTES else _NONE
        out.reasoning[x] = _row_of(chosen.reasoning[x], texts)
