"""From what agents chose to what happened: every action is accepted, or refused with its reason (DESIGN §2, §5.4).

Actions are checked against the feed that was shown. Like, dislike, share, comment, flag and note act on the root; one
like, dislike, share, flag and note counts an agent and root, in whatever step. A refused action is a row too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare import schema
from townsquare.change import NOTHING, Change
from townsquare.config import Actions as ActionSettings
from townsquare.draws import U64, bits_oracle, chain, text_key
from townsquare.feed import Feed
from townsquare.schema import ActionKind, ActionStatus, PostKind, PostStatus, Reason, Scorer, Slot
from townsquare.views import Chosen
from townsquare.world import REACTIONS, World

Array = npt.NDArray[Any]
_ON_POSTS = (ActionKind.LIKE, ActionKind.DISLIKE, ActionKind.SHARE, ActionKind.COMMENT, ActionKind.ADD_NOTE)
_MAKES_POST = (ActionKind.POST, ActionKind.SHARE, ActionKind.COMMENT)
_WRITES = (ActionKind.POST, ActionKind.COMMENT, ActionKind.ADD_NOTE)


def resolve(
    world: World, feed: Feed, chosen: Chosen, allowed: frozenset[ActionKind], settings: ActionSettings
) -> Change:
    """What comes of ``chosen``: rows of actions, and of the posts, notes, ratings and follows they make."""
    if not chosen.n:
        return NOTHING
    target = _targets(feed, chosen)
    reason = _reasons(world, feed, chosen, target, allowed, settings)
    accepted = reason == Reason.NONE
    ordinal = _ordinals(chosen.agent)
    makes_post = accepted & np.isin(chosen.kind, _MAKES_POST)
    makes_note = accepted & (chosen.kind == ActionKind.ADD_NOTE)
    result = np.full(chosen.n, schema.NONE, np.int32)
    result[makes_post] = world.posts.n + np.arange(np.count_nonzero(makes_post))
    result[makes_note] = world.notes.n + np.arange(np.count_nonzero(makes_note))
    rank = np.full(chosen.n, schema.NONE, np.int16)
    on_row = chosen.row >= 0
    if on_row.any():
        inside = np.clip(chosen.row[on_row], 0, max(len(feed.exposures["rank"]) - 1, 0))
        rank[on_row] = np.asarray(feed.exposures["rank"])[inside] if len(feed.exposures["rank"]) else schema.NONE
    step = world.step + 1
    rows: dict[str, schema.Columns] = {
        "actions": schema.rows(
            "actions", chosen.n, step=step, agent=chosen.agent, ordinal=ordinal, kind=chosen.kind, rank=rank,
            target=target, text=chosen.text, helpful=chosen.helpful, reasoning=chosen.reasoning,
            status=np.where(accepted, ActionStatus.ACCEPTED, ActionStatus.REFUSED), reason=reason, result=result,
        )
    }  # fmt: skip
    if chosen.new_texts:
        ids = np.arange(len(world.texts), len(world.texts) + len(chosen.new_texts))
        rows["texts"] = schema.rows("texts", ids.size, text=ids, content=list(chosen.new_texts))
    rows |= _posts(world, feed, chosen, target, ordinal, makes_post, result)
    rows |= _notes_and_ratings(world, chosen, target, accepted, result)
    rows |= _follows(step, chosen, target, accepted)
    return Change(rows)


def _targets(feed: Feed, chosen: Chosen) -> npt.NDArray[np.int32]:
    """What is acted on: a share shown in the feed stands for its root."""
    target = chosen.target.astype(np.int32, copy=True)
    roots = np.asarray(feed.exposures["root"])
    on_root = (chosen.row >= 0) & (chosen.row < roots.size)
    on_root &= np.isin(chosen.kind, (*_ON_POSTS, ActionKind.LIKE_COMMENT, ActionKind.FLAG))
    shown = np.asarray(feed.exposures["post"])
    same = target[on_root] == shown[chosen.row[on_root]]
    target[on_root] = np.where(same, roots[chosen.row[on_root]], target[on_root])
    return target


def _ordinals(agent: Array) -> npt.NDArray[np.int16]:
    starts = np.flatnonzero(np.r_[True, agent[1:] != agent[:-1]])
    counts = np.diff(np.r_[starts, agent.size])
    return (np.arange(agent.size) - np.repeat(starts, counts)).astype(np.int16)


def _reasons(
    world: World, feed: Feed, chosen: Chosen, target: Array, allowed: frozenset[ActionKind], settings: ActionSettings
) -> npt.NDArray[np.uint8]:
    """Why each action is refused; ``Reason.NONE`` where it is accepted. The first reason that holds is given."""
    reason = np.full(chosen.n, Reason.NONE, np.uint8)

    def refuse(mask: Array, why: Reason) -> None:
        reason[mask & (reason == Reason.NONE)] = why

    kind = chosen.kind
    refuse(~np.isin(kind, [int(one) for one in allowed]), Reason.DISABLED)
    refuse(_not_shown(feed, chosen, target), Reason.NOT_SHOWN)
    ok = reason == Reason.NONE
    on_post = ok & np.isin(kind, (*_ON_POSTS, ActionKind.LIKE_COMMENT, ActionKind.FLAG))
    gone = np.zeros(chosen.n, np.bool_)
    gone[on_post] = world.posts["status"][target[on_post]] != PostStatus.ACTIVE
    refuse(gone, Reason.GONE)
    own = np.zeros(chosen.n, np.bool_)
    own[on_post] = world.posts["author"][target[on_post]] == chosen.agent[on_post]
    rated = ok & (kind == ActionKind.RATE_NOTE)
    own[rated] = world.notes["author"][target[rated]] == chosen.agent[rated]
    refuse(own, Reason.OWN)
    to_agent = (kind == ActionKind.FOLLOW) | (kind == ActionKind.UNFOLLOW)
    refuse(to_agent & (target == chosen.agent), Reason.SELF)
    _refuse_texts(world, chosen, settings, refuse)
    ok = reason == Reason.NONE
    refuse(_repeated(world, chosen, target, ok), Reason.REPEATED)
    follows = np.zeros(chosen.n, np.bool_)
    pair = (reason == Reason.NONE) & to_agent
    follows[pair] = world.has(world.follows, chosen.agent[pair], target[pair])
    refuse(follows & (kind == ActionKind.FOLLOW), Reason.REPEATED)
    refuse(pair & ~follows & (kind == ActionKind.UNFOLLOW), Reason.NOT_FOLLOWING)
    return reason


def _not_shown(feed: Feed, chosen: Chosen, target: Array) -> npt.NDArray[np.bool_]:
    """Whether what is acted on did not stand in this agent's feed, in that row."""
    kind, row = chosen.kind, chosen.row
    needs_row = ~np.isin(kind, (ActionKind.POST, ActionKind.IGNORE))
    at = np.searchsorted(feed.agents, chosen.agent)
    known = (at < feed.agents.size) & (feed.agents[np.minimum(at, max(feed.agents.size - 1, 0))] == chosen.agent)
    at = np.where(known, at, 0)
    inside = known & (row >= feed.indptr[at]) & (row < feed.indptr[at + 1])
    bad = needs_row & ~inside
    check = np.flatnonzero(needs_row & inside)
    row, kind, want = row[check], kind[check], target[check]
    rows = {name: np.asarray(feed.exposures[name]) for name in ("root", "slot", "author", "offered", "post")}
    root, is_comment = rows["root"][row], rows["slot"][row] == Slot.COMMENT
    on_post = np.isin(kind, _ON_POSTS)
    wrong = on_post & (is_comment | (want != root))
    wrong |= (kind == ActionKind.LIKE_COMMENT) & (~is_comment | (want != root))
    wrong |= (kind == ActionKind.FLAG) & (want != root)
    wrong |= (kind == ActionKind.RATE_NOTE) & ((want < 0) | (want != rows["offered"][row]))
    to_agent = (kind == ActionKind.FOLLOW) | (kind == ActionKind.UNFOLLOW)
    wrong |= to_agent & (want != rows["author"][row])
    bad[check] |= wrong
    return np.asarray(bad)


def _refuse_texts(world: World, chosen: Chosen, settings: ActionSettings, refuse: Any) -> None:
    """Nothing written, or too much of it."""
    writes = np.isin(chosen.kind, _WRITES)
    refuse(writes & (chosen.text < 0), Reason.EMPTY)
    if not writes.any():
        return
    used = np.unique(chosen.text[writes & (chosen.text >= 0)])
    texts = [_text(world, chosen, int(row)) for row in used]
    length = np.array([len(text) for text in texts], np.int64)
    blank = np.array([not text.strip() for text in texts], np.bool_)
    at = np.searchsorted(used, np.where(writes & (chosen.text >= 0), chosen.text, used[0] if used.size else 0))
    if used.size:
        written = writes & (chosen.text >= 0)
        refuse(written & blank[at], Reason.EMPTY)
        limit = np.where(chosen.kind == ActionKind.COMMENT, settings.comment_length, settings.post_length)
        refuse(written & (length[at] > limit), Reason.TOO_LONG)


def _text(world: World, chosen: Chosen, row: int) -> str:
    known = len(world.texts)
    return world.texts[row] if row < known else chosen.new_texts[row - known]


def _repeated(world: World, chosen: Chosen, target: Array, ok: Array) -> npt.NDArray[np.bool_]:
    """Whether it was done before, in an earlier step or earlier in this batch."""
    out = np.zeros(chosen.n, np.bool_)
    bits = np.zeros(len(ActionKind), np.uint8)
    for what, bit in REACTIONS.items():
        bits[what] = bit
    once = np.flatnonzero(ok & (bits[chosen.kind] > 0))
    done = world.find(world.reactions, chosen.agent[once], target[once])
    out[once] = (done & bits[chosen.kind[once]]) > 0
    rated = np.flatnonzero(ok & (chosen.kind == ActionKind.RATE_NOTE))
    out[rated] = world.find(world.ratings, chosen.agent[rated], target[rated]) > 0
    single = ok & ~out & (chosen.kind != ActionKind.COMMENT) & (chosen.row >= 0)
    # A feed shows a root once, so (row, kind) names the pair; authors can stand in several rows.
    out |= _second(chosen.row * len(ActionKind) + chosen.kind, single)
    to_agent = single & ((chosen.kind == ActionKind.FOLLOW) | (chosen.kind == ActionKind.UNFOLLOW))
    return out | _second(chosen.agent.astype(np.int64) << 32 | target.astype(np.int64), to_agent)


def _second(key: Array, mask: Array) -> npt.NDArray[np.bool_]:
    """Which masked entries have an equal masked one before them."""
    out = np.zeros(key.size, np.bool_)
    at = np.flatnonzero(mask)
    used = key[at]
    if used.size > 1 and not (used[1:] > used[:-1]).all():
        order = np.argsort(used, kind="stable")
        again = np.r_[False, used[order][1:] == used[order][:-1]]
        out[at[order[again]]] = True
    return out


def _posts(
    world: World, feed: Feed, chosen: Chosen, target: Array, ordinal: Array, makes: Array, result: Array
) -> dict[str, schema.Columns]:
    """Posts, shares and comments that were made, and the stances they declare."""
    at = np.flatnonzero(makes)
    if not at.size:
        return {}
    kind, agent, step = chosen.kind[at], chosen.agent[at], world.step + 1
    is_share, is_comment = kind == ActionKind.SHARE, kind == ActionKind.COMMENT
    post_kind = np.where(is_share, PostKind.SHARE, np.where(is_comment, PostKind.COMMENT, PostKind.ORIGINAL))
    text = chosen.text[at].copy()
    text[is_share] = world.posts["text"][target[at][is_share]]
    parent = np.full(at.size, schema.NONE, np.int32)
    parent[is_share] = np.asarray(feed.exposures["post"])[chosen.row[at][is_share]]
    parent[is_comment] = target[at][is_comment]
    plausibility = np.full(at.size, 0.5)
    plausibility[is_share] = world.posts["plausibility"][target[at][is_share]]
    veracity = np.full(at.size, schema.Veracity.UNKNOWN, np.uint8)
    veracity[is_share] = world.posts["veracity"][target[at][is_share]]
    type_ = np.full(at.size, schema.PostType.POST, np.uint8)
    type_[is_share] = world.posts["type"][target[at][is_share]]
    rows = schema.rows(
        "posts", at.size, post=result[at], key=_keys(world, agent, kind, target[at], ordinal[at], step),
        kind=post_kind, author=agent, root=np.where(is_share, target[at], result[at]), parent=parent, step=step,
        text=text, type=type_, topic=schema.NONE, veracity=veracity,
        plausibility=plausibility,
    )  # fmt: skip
    action, proposition, stance, strength = chosen.declared
    kept = makes[action] & (chosen.kind[action] != ActionKind.SHARE)
    stances = schema.rows(
        "post_stances", int(np.count_nonzero(kept)), post=result[action[kept]], proposition=proposition[kept],
        stance=stance[kept], strength=strength[kept], scorer=Scorer.DECLARED,
    )  # fmt: skip
    return {"posts": rows, "post_stances": stances}


def _keys(world: World, agent: Array, kind: Array, target: Array, ordinal: Array, step: int) -> npt.NDArray[U64]:
    """Keys of new posts: (root key, agent) for shares, (author, step, kind, ordinal) otherwise."""
    what = kind.astype(np.uint64) << np.uint64(16) | ordinal.astype(np.uint64)
    keys = bits_oracle(U64(chain(text_key("post"), step)), agent, what)
    shares = kind == ActionKind.SHARE
    root_key = world.posts["key"][target[shares]]
    keys[shares] = bits_oracle(U64(text_key("share")), agent[shares], root_key)
    return keys


def _notes_and_ratings(
    world: World, chosen: Chosen, target: Array, accepted: Array, result: Array
) -> dict[str, schema.Columns]:
    step = world.step + 1
    out: dict[str, schema.Columns] = {}
    note = accepted & (chosen.kind == ActionKind.ADD_NOTE)
    if note.any():
        out["notes"] = schema.rows(
            "notes", int(note.sum()), note=result[note], post=target[note], author=chosen.agent[note], step=step,
            text=chosen.text[note],
        )  # fmt: skip
    rate = accepted & (chosen.kind == ActionKind.RATE_NOTE)
    if rate.any():
        out["note_ratings"] = schema.rows(
            "note_ratings", int(rate.sum()), note=target[rate], agent=chosen.agent[rate], step=step,
            helpful=chosen.helpful[rate] > 0,
        )  # fmt: skip
    return out


def _follows(step: int, chosen: Chosen, target: Array, accepted: Array) -> dict[str, schema.Columns]:
    moved = accepted & ((chosen.kind == ActionKind.FOLLOW) | (chosen.kind == ActionKind.UNFOLLOW))
    if not moved.any():
        return {}
    change = np.where(chosen.kind[moved] == ActionKind.FOLLOW, 1, -1)
    return {
        "follows": schema.rows(
            "follows", int(moved.sum()), step=step, follower=chosen.agent[moved], followed=target[moved], change=change
        )
    }
