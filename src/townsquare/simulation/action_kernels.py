"""The compiled part of :mod:`townsquare.simulation.actions`: what comes of each choice, in a few passes over them.

:func:`_why` says why an action is refused, one reason after the other. What it goes by is in :class:`Facts`, which
:func:`find_rows` and :func:`judge` look up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.core.draws import U64, key2
from townsquare.core.pairs import has
from townsquare.core.schema import (
    NONE,
    ActionKind,
    ActionStatus,
    PostKind,
    PostStatus,
    PostType,
    Reason,
    Slot,
    Veracity,
)

Array = npt.NDArray[Any]
_NONE = int(NONE)
_FOLLOW, _UNFOLLOW = int(ActionKind.FOLLOW), int(ActionKind.UNFOLLOW)
_ACTIVE, _COMMENT_SLOT = int(PostStatus.ACTIVE), int(Slot.COMMENT)
_ACCEPTED, _REFUSED = int(ActionStatus.ACCEPTED), int(ActionStatus.REFUSED)
_SHARE, _COMMENT = int(PostKind.SHARE), int(PostKind.COMMENT)
_POST, _UNKNOWN = int(PostType.POST), int(Veracity.UNKNOWN)
_PLAUSIBILITY = 0.5  # of what agents write

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
ADDS_NOTE = 1 << 8  # makes a note
ONCE = 1 << 9  # counts once an agent and what it is done to


class Kinds(NamedTuple):
    """What holds for each kind of action, by its number, also for those that there are not: (256,) each.

    ``traits`` int64 are the bits above; ``bit`` uint8 stands for the kind in the store of reactions, 0 for none;
    ``makes`` int8 is the kind of post that it makes, -1 for none; ``longest`` int64 is how many characters it may have.
    """

    traits: Array
    bit: Array
    makes: Array
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
    """What the agents of the block that starts at ``first`` did before, as offsets, keys and values of pair stores.

    They are laid out as in :class:`townsquare.core.pairs.PairBlock`; ``bits`` uint8 are of reactions. With them, the
    same for every block, ``status`` uint8 and ``author`` int32 of posts, and ``note_author`` int32 of notes.
    """

    first: int
    follow_ptr: Array
    followed: Array
    reaction_ptr: Array
    reacted: Array
    bits: Array
    rating_ptr: Array
    rated: Array
    status: Array
    author: Array
    note_author: Array


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


class Found(NamedTuple):
    """Of each choice, (m,): where its agent stands among those of the block with a feed, int32, -1 if it does not; and
    whether what is acted on :attr:`stands <Facts.stands>` there, bool.
    """

    place: Array
    stands: Array


class Facts(NamedTuple):
    """What reasons are about, of one action.

    ``has_feed`` is of its agent; ``stands`` says that what it acts on stands in that feed, in the row that it names,
    and is something that its kind is for; where it does not, nothing is known about that. ``length`` is of the text, 0
    for none and for one that says nothing. ``did`` is whether the agent did this before, in whatever step.
    """

    has_feed: bool
    stands: bool
    gone: bool
    own: bool
    to_self: bool
    length: int
    longest: int
    helpful: int
    follows: bool
    did: bool


@nb.njit(inline="always", cache=True)
def _why(kind: int, traits: int, fact: Facts) -> int:
    """Why an action is refused; ``Reason.NONE`` where it is accepted. The first reason that holds is given."""
    if not traits & ALLOWED:
        return _DISABLED
    if not fact.has_feed or not fact.stands:
        return _NOT_SHOWN
    if fact.gone:
        return _GONE
    if fact.own:
        return _OWN
    if fact.to_self:
        return _SELF
    if traits & WRITES and fact.length == 0:
        return _EMPTY
    if traits & WRITES and fact.length > fact.longest:
        return _TOO_LONG
    if traits & ON_NOTES and fact.helpful != 0 and fact.helpful != 1:
        return _EMPTY
    if kind == _FOLLOW and fact.follows:
        return _REPEATED
    if kind == _UNFOLLOW and not fact.follows:
        return _NOT_FOLLOWING
    if fact.did:
        return _REPEATED
    return _OK


@nb.njit(inline="always", cache=True)
def _stands(traits: int, target: int, root: int, author: int, offered: int, is_comment: bool) -> bool:
    """Whether what is acted on stands in a row, and is something that this kind of action is for."""
    if traits & ON_ROOTS:
        return bool(target == root and not traits & (ON_POSTS if is_comment else ON_COMMENTS))
    if traits & ON_AGENTS:
        return bool(target == author)
    return bool(not traits & ON_NOTES or (target >= 0 and target == offered))


@nb.njit(nogil=True, cache=True)
def find_rows(chosen: Choices, traits_of: Array, shown: Shown, found: Found, out: Judged) -> None:
    """Look up what agents of one block act on in the feeds that they were shown: ``found``, and what ``out`` has of it.

    The agents and offsets of ``shown`` are those of the block.
    """
    agents, kinds, rows, targets, _, ratings, _ = chosen
    with_feed, indptr, code, root_of, post_of, author_of, slot_of, offered_of, rank_of = shown
    places, standing = found
    _, ordinals, ranks, out_targets, _, out_ratings, _ = out
    place, begin, lo, hi = 0, 0, _NONE, _NONE
    for x in range(agents.shape[0]):
        if x == 0 or agents[x] != agents[x - 1]:
            while place < with_feed.shape[0] and with_feed[place] < agents[x]:
                place += 1
            has_feed = place < with_feed.shape[0] and with_feed[place] == agents[x]
            begin, lo, hi = x, _NONE, _NONE
            if has_feed:
                lo, hi = indptr[place], indptr[place + 1]
        traits = traits_of[kinds[x]]
        stands, target, rank = not traits & ON_ROWS, _NONE, _NONE
        if traits & ON_ROWS:
            row, target = rows[x], targets[x]
            if lo <= row < hi:
                root, rank = root_of[code[row]], rank_of[row]
                if traits & ON_ROOTS and target == post_of[row]:
                    target = root  # a share that was shown stands for its root
                is_comment = slot_of[row] == _COMMENT_SLOT
                stands = _stands(traits, target, root, author_of[row], offered_of[row], is_comment)
        places[x], standing[x] = place if lo >= 0 else _NONE, stands
        ordinals[x], ranks[x], out_targets[x] = x - begin, rank, target
        out_ratings[x] = ratings[x] if traits & ON_NOTES else _NONE


@nb.njit(inline="always", cache=True)
def _acted(kind: int, traits: int, row: int, lo: int, hi: int, author: Array, acted: Array) -> bool:
    """Whether the agent did this in this step: to the row or, if it is done to agents, to another row of the author.

    ``acted`` has a bit for each kind of what it did to its rows, ``lo`` to ``hi``. A feed shows a root once, and
    authors often.
    """
    bits = acted[row - lo]
    if traits & ON_AGENTS:
        for other in range(lo, hi):
            if author[other] == author[row]:
                bits |= acted[other - lo]
    return bool(bits >> kind & 1)


@nb.njit(nogil=True, cache=True)
def judge(chosen: Choices, kinds: Kinds, shown: Shown, found: Found, length: Array, past: Past, out: Judged) -> None:
    """Why each action is refused, of agents of one block, who act in the order of their choices.

    ``length`` (texts,) int32 is of texts that actions write, 0 for one that says nothing. :func:`find_rows` comes
    first.
    """
    agents, kind_of, rows, _, texts, ratings, _ = chosen
    traits_of, bit_of, _, longest = kinds
    indptr, author_of = shown.indptr, shown.author
    places, standing = found
    first, follow_ptr, followed, reaction_ptr, reacted, bits, rating_ptr, rated, status, author, note_author = past
    reasons, targets = out.reason, out.target
    acted = np.zeros(64, np.int64)
    me, lo, hi = 0, 0, 0
    for x in range(agents.shape[0]):
        has_feed = places[x] >= 0
        if has_feed and (x == 0 or agents[x] != agents[x - 1]):
            me, lo, hi = agents[x] - first, indptr[places[x]], indptr[places[x] + 1]
            if hi - lo > acted.shape[0]:
                acted = np.zeros(hi - lo, np.int64)
            acted[: hi - lo] = 0
        kind, traits, target, stands = kind_of[x], traits_of[kind_of[x]], targets[x], standing[x]
        gone = own = follows = did = False
        if stands and traits & ON_ROOTS:
            gone, own = status[target] != _ACTIVE, author[target] == agents[x]
            a, b = reaction_ptr[me], reaction_ptr[me + 1]
            if has(reacted, a, b, target):
                did = (bits[a + np.searchsorted(reacted[a:b], target)] & bit_of[kind]) != 0
        elif stands and traits & ON_NOTES:
            own = note_author[target] == agents[x]
            did = has(rated, rating_ptr[me], rating_ptr[me + 1], target)
        elif stands and traits & ON_AGENTS:
            follows = has(followed, follow_ptr[me], follow_ptr[me + 1], target)
        if stands and traits & ONCE:
            did |= _acted(kind, traits, rows[x], lo, hi, author_of, acted)
        to_self = (traits & ON_AGENTS) != 0 and target == agents[x]
        size = length[texts[x]] if 0 <= texts[x] < length.shape[0] else 0
        fact = Facts(has_feed, stands, gone, own, to_self, size, longest[kind], ratings[x], follows, did)
        reasons[x] = _why(kind, traits, fact)
        if reasons[x] == _OK and traits & ONCE:
            acted[rows[x] - lo] |= np.int64(1) << kind


@nb.njit(nogil=True, cache=True)
def mark_used(kind: Array, text: Array, traits: Array, used: Array) -> None:
    """Set ``used[text]`` of the actions whose kind writes; those that name no text are passed over."""
    for x in range(kind.shape[0]):
        if traits[kind[x]] & WRITES and 0 <= text[x] < used.shape[0]:
            used[text[x]] = True


@nb.njit(inline="always", cache=True)
def _row_of(number: int, known: int, new_row: Array) -> int:
    """The row that a text has, or will have; -1 for none."""
    if number < 0 or number - known >= new_row.shape[0]:
        return _NONE
    return int(number if number < known else new_row[number - known])


@nb.njit(nogil=True, cache=True)
def number_texts(chosen: Choices, traits: Array, known: int, new_row: Array, out: Judged) -> None:
    """The rows of texts, for actions that write one, and of reasoning.

    ``known`` texts are there already; ``new_row`` (given,) int32 are the rows of those that choices bring along.
    """
    kind, text, reasoning = chosen.kind, chosen.text, chosen.reasoning
    rows_of_texts, rows_of_reasoning = out.text, out.reasoning
    for x in range(kind.shape[0]):
        rows_of_texts[x] = _row_of(text[x], known, new_row) if traits[kind[x]] & WRITES else _NONE
        rows_of_reasoning[x] = _row_of(reasoning[x], known, new_row)


@nb.njit(nogil=True, cache=True)
def number_results(kind: Array, reason: Array, kinds: Kinds, post: int, note: int, result: Array, status: Array) -> int:
    """Rows of what is made, from ``post`` and ``note`` on, into ``result``; -1 for none. Gives the row after posts."""
    for x in range(kind.shape[0]):
        accepted = reason[x] == _OK
        status[x], result[x] = _ACCEPTED if accepted else _REFUSED, _NONE
        if accepted and kinds.makes[kind[x]] >= 0:
            result[x] = post
            post += 1
        elif accepted and kinds.traits[kind[x]] & ADDS_NOTE:
            result[x] = note
            note += 1
    return post


class PostColumns(NamedTuple):
    """Columns of posts, those that are there or those that are made; (k,) each."""

    post: Array
    key: Array
    kind: Array
    author: Array
    root: Array
    parent: Array
    text: Array
    type: Array
    topic: Array
    veracity: Array
    plausibility: Array


@nb.njit(nogil=True, cache=True)
def write_posts(
    chosen: Choices,
    judged: Judged,
    result: Array,
    kinds: Kinds,
    shown_post: Array,
    posts: PostColumns,
    bases: tuple[U64, U64],
    made: PostColumns,
) -> None:
    """Posts, shares and comments of accepted actions. A share has what its root has.

    Keys are those of (root key, agent) for shares, (author, step, kind, ordinal) otherwise. That ordinal counts the
    agent's posts of the kind in this step, so that its other actions do not change the key. ``bases`` (of the step, of
    shares) are what keys are made from.
    """
    agents, kinds_of, rows, _, _, _, _ = chosen
    makes, reasons, targets, texts = kinds.makes, judged.reason, judged.target, judged.text
    _, key_of, _, _, _, _, text_of, type_of, topic_of, veracity_of, plausibility_of = posts
    post, key, kind, author, root, parent, text, type_, topic, veracity, plausibility = made
    before = np.zeros(256, np.uint64)  # by kind of action: posts of the agent so far
    at, last = 0, np.int32(_NONE)
    for x in range(agents.shape[0]):
        agent, action, target, what = agents[x], kinds_of[x], targets[x], makes[kinds_of[x]]
        if reasons[x] != _OK or what < 0:
            continue
        if agent != last:
            before[:] = 0
            last = agent
        post[at], kind[at], author[at] = result[x], what, agent
        if what == _SHARE:
            root[at], parent[at], text[at], type_[at] = target, shown_post[rows[x]], text_of[target], type_of[target]
            topic[at], veracity[at], plausibility[at] = topic_of[target], veracity_of[target], plausibility_of[target]
            key[at] = key2(bases[1], agent, key_of[target])
        else:
            root[at], parent[at] = result[x], target if what == _COMMENT else _NONE
            text[at], type_[at], topic[at] = texts[x], _POST, _NONE
            veracity[at], plausibility[at] = _UNKNOWN, _PLAUSIBILITY
            key[at] = key2(bases[0], agent, U64(action) << U64(16) | before[action])
            before[action] += U64(1)
        at += 1
