"""From what agents chose to what happened: every action is accepted, or refused with its reason (DESIGN §2, §5.4).

Actions are checked against the feed that was shown. Like, dislike, share, comment, flag and note act on the root; one
like, dislike, share, flag and note counts an agent and root, in whatever step. A refused action is a row too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare import schema
from townsquare.change import NOTHING, Change
from townsquare.config import Actions as ActionSettings
from townsquare.draws import U64, bits_oracle, chain, text_key
from townsquare.events.friction import Friction, given_up
from townsquare.feed import Feed
from townsquare.large_rows import column_at
from townsquare.policies.contract import check_chosen
from townsquare.schema import ActionKind, ActionStatus, PostKind, PostStatus, Reason, Scorer, Slot
from townsquare.threads import each
from townsquare.views import Chosen
from townsquare.world import REACTIONS, World

Array = npt.NDArray[Any]
_MANY = 1 << 18  # rows of which two threads judge a half each


def _kinds(*kinds: ActionKind) -> npt.NDArray[np.bool_]:
    """Which numbers stand for one of ``kinds``, (256,): ``table[kind]`` is a quick ``np.isin``."""
    table = np.zeros(256, np.bool_)
    table[list(kinds)] = True
    return table


_POSTS = (ActionKind.LIKE, ActionKind.DISLIKE, ActionKind.SHARE, ActionKind.COMMENT, ActionKind.ADD_NOTE)
_ON_POSTS = _kinds(*_POSTS)
_ON_ROOTS = _kinds(*_POSTS, ActionKind.LIKE_COMMENT, ActionKind.FLAG)
_ON_AGENTS = _kinds(ActionKind.FOLLOW, ActionKind.UNFOLLOW)
_NEED_NO_ROW = _kinds(ActionKind.POST, ActionKind.IGNORE)
_MAKES_POST = _kinds(ActionKind.POST, ActionKind.SHARE, ActionKind.COMMENT)
_WRITES = _kinds(ActionKind.POST, ActionKind.COMMENT, ActionKind.ADD_NOTE)
_BITS = np.array([REACTIONS.get(kind, 0) for kind in ActionKind], np.uint8)


def resolve(
    world: World,
    feed: Feed,
    chosen: Chosen,
    allowed: frozenset[ActionKind],
    settings: ActionSettings,
    friction: Friction | None = None,
) -> Change:
    """What comes of ``chosen``: rows of actions, and of the posts, notes, ratings and follows they make.

    Every choice becomes one row of actions, accepted or refused, whatever its kind, row, target or text. ``friction``
    comes last: it is asked only of what would be accepted.

    Raises
    ------
    ContractError
        If the policy broke what :func:`townsquare.policies.contract.check_chosen` asks for.
    """
    check_chosen(chosen, world.n_propositions)
    if not chosen.n:
        return NOTHING
    chosen, contents = _tidy(world, chosen)
    place, known = _place(feed, chosen)
    shown = known & (chosen.row >= feed.indptr[place]) & (chosen.row < feed.indptr[place + known])
    target = _targets(feed, chosen, shown)

    def judge(part: slice) -> npt.NDArray[np.uint8]:
        some = _part_of(chosen, part)
        return _reasons(world, feed, some, target[part], known[part], shown[part], allowed, settings, contents)

    reason = np.concatenate(each(judge, _halves(chosen.agent)))
    accepted = reason == Reason.NONE
    if friction is not None:
        stopped = given_up(world, chosen, place, target, accepted, friction)
        reason[stopped], accepted = Reason.FRICTION, accepted & ~stopped
    makes_post = accepted & _MAKES_POST[chosen.kind]
    makes_note = accepted & (chosen.kind == ActionKind.ADD_NOTE)
    result = np.full(chosen.n, schema.NONE, np.int32)
    result[makes_post] = world.posts.n + np.arange(np.count_nonzero(makes_post))
    result[makes_note] = world.notes.n + np.arange(np.count_nonzero(makes_note))
    rank = np.full(chosen.n, schema.NONE, np.int16)
    rank[shown] = column_at(feed.exposures, "rank", chosen.row[shown])
    rows: dict[str, schema.Columns] = {
        "actions": schema.rows(
            "actions", chosen.n, step=world.step + 1, agent=chosen.agent, ordinal=_ordinals(chosen.agent),
            kind=chosen.kind, rank=rank, target=target, text=chosen.text, helpful=chosen.helpful,
            reasoning=chosen.reasoning, reason=reason, result=result,
            status=np.where(accepted, ActionStatus.ACCEPTED, ActionStatus.REFUSED),
        )
    }  # fmt: skip
    if contents:
        ids = np.arange(len(world.texts), len(world.texts) + len(contents))
        rows["texts"] = schema.rows("texts", ids.size, text=ids, content=contents)
    rows |= _posts(world, feed, chosen, target, makes_post, result)
    rows |= _notes_and_ratings(world, chosen, target, accepted, result)
    rows |= _follows(world.step + 1, chosen, target, accepted)
    return Change(rows)


def _halves(agent: Array) -> list[slice]:
    """All rows; of many, two halves that have whole agents."""
    middle = int(np.searchsorted(agent, agent[agent.size // 2])) if agent.size > _MANY else 0
    return [slice(0, middle), slice(middle, agent.size)] if middle else [slice(0, agent.size)]


def _part_of(chosen: Chosen, part: slice) -> Chosen:
    """Some rows of the choices; what is declared is still of all of them."""
    names = ("agent", "kind", "row", "target", "text", "helpful", "reasoning")
    return replace(chosen, **{name: getattr(chosen, name)[part] for name in names})


def _tidy(world: World, chosen: Chosen) -> tuple[Chosen, list[str]]:
    """Choices without what does not belong to their kind, and the contents of new texts.

    A text that is there already keeps its row, and one that several agents wrote is one row.
    """
    known, given = len(world.texts), len(chosen.new_texts)
    fresh: dict[str, int] = {}
    row_of = np.empty(given, np.int32)
    for number, text in enumerate(chosen.new_texts):
        row = world.text_row.get(text)
        row_of[number] = fresh.setdefault(text, known + len(fresh)) if row is None else row

    def numbered(column: Array) -> npt.NDArray[np.int32]:
        out = np.where((column >= 0) & (column < known + given), column, schema.NONE).astype(np.int32)
        new = out >= known
        out[new] = row_of[out[new] - known]
        return out

    kind = chosen.kind
    alone = _NEED_NO_ROW[kind]
    tidied = replace(
        chosen,
        row=np.where(alone, schema.NONE, chosen.row),
        target=np.where(alone, schema.NONE, chosen.target).astype(np.int32),
        text=np.where(_WRITES[kind], numbered(chosen.text), schema.NONE).astype(np.int32),
        helpful=np.where(kind == ActionKind.RATE_NOTE, chosen.helpful, schema.NONE).astype(np.int8),
        reasoning=numbered(chosen.reasoning),
    )
    return tidied, list(fresh)


def _place(feed: Feed, chosen: Chosen) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Where each agent stands in the feed, and whether it has one at all (0 if not)."""
    starts = np.flatnonzero(np.r_[True, chosen.agent[1:] != chosen.agent[:-1]])
    counts, who = np.diff(np.r_[starts, chosen.n]), chosen.agent[starts]
    at = np.searchsorted(feed.agents, who)
    known = at < feed.agents.size
    known[known] = feed.agents[at[known]] == who[known]
    return np.repeat(np.where(known, at, 0), counts), np.repeat(known, counts)


def _targets(feed: Feed, chosen: Chosen, shown: Array) -> npt.NDArray[np.int32]:
    """What is acted on: a share shown in the feed stands for its root."""
    target = chosen.target.copy()
    stands = shown & _ON_ROOTS[chosen.kind]
    row = chosen.row[stands]
    same = target[stands] == column_at(feed.exposures, "post", row)
    target[stands] = np.where(same, column_at(feed.exposures, "root", row), target[stands])
    return target


def _ordinals(agent: Array) -> npt.NDArray[np.int64]:
    """Place of each entry among the equal ones before it; equal entries stand together."""
    starts = np.flatnonzero(np.r_[True, agent[1:] != agent[:-1]])
    counts = np.diff(np.r_[starts, agent.size])
    return np.arange(agent.size) - np.repeat(starts, counts)


def _reasons(
    world: World,
    feed: Feed,
    chosen: Chosen,
    target: Array,
    known: Array,
    shown: Array,
    allowed: frozenset[ActionKind],
    settings: ActionSettings,
    contents: list[str],
) -> npt.NDArray[np.uint8]:
    """Why each action is refused; ``Reason.NONE`` where it is accepted. The first reason that holds is given.

    ``known`` says whose agent has a feed, ``shown`` whose row is one of it.
    """
    reason = np.full(chosen.n, Reason.NONE, np.uint8)

    def refuse(mask: Array, why: Reason) -> None:
        reason[mask & (reason == Reason.NONE)] = why

    kind = chosen.kind
    refuse(~_kinds(*allowed)[kind], Reason.DISABLED)
    refuse(_not_shown(feed, chosen, target, known, shown), Reason.NOT_SHOWN)
    ok = reason == Reason.NONE
    on_post = ok & _ON_ROOTS[kind]
    gone = np.zeros(chosen.n, np.bool_)
    gone[on_post] = world.posts["status"][target[on_post]] != PostStatus.ACTIVE
    refuse(gone, Reason.GONE)
    own = np.zeros(chosen.n, np.bool_)
    own[on_post] = world.posts["author"][target[on_post]] == chosen.agent[on_post]
    rated = ok & (kind == ActionKind.RATE_NOTE)
    own[rated] = world.notes["author"][target[rated]] == chosen.agent[rated]
    refuse(own, Reason.OWN)
    to_agent = ok & _ON_AGENTS[kind]
    refuse(to_agent & (target == chosen.agent), Reason.SELF)
    _refuse_texts(world, chosen, settings, contents, refuse)
    refuse(rated & (chosen.helpful != 0) & (chosen.helpful != 1), Reason.EMPTY)
    follows = np.zeros(chosen.n, np.bool_)
    follows[to_agent] = world.has(world.follows, chosen.agent[to_agent], target[to_agent])
    refuse(follows & (kind == ActionKind.FOLLOW), Reason.REPEATED)
    refuse(to_agent & ~follows & (kind == ActionKind.UNFOLLOW), Reason.NOT_FOLLOWING)
    refuse(_repeated(world, chosen, target, reason == Reason.NONE), Reason.REPEATED)
    return reason


def _not_shown(feed: Feed, chosen: Chosen, target: Array, known: Array, shown: Array) -> npt.NDArray[np.bool_]:
    """Whether the agent has no feed, or what it acts on did not stand in it, in that row."""
    needs_row = ~_NEED_NO_ROW[chosen.kind]
    bad = ~known | (needs_row & ~shown)
    check = np.flatnonzero(needs_row & ~bad)
    row, kind, want = chosen.row[check], chosen.kind[check], target[check]
    rows = {name: column_at(feed.exposures, name, row) for name in ("root", "slot", "author", "offered")}
    is_comment = rows["slot"] == Slot.COMMENT
    wrong = _ON_ROOTS[kind] & (want != rows["root"])
    wrong |= _ON_POSTS[kind] & is_comment
    wrong |= (kind == ActionKind.LIKE_COMMENT) & ~is_comment
    wrong |= (kind == ActionKind.RATE_NOTE) & ((want < 0) | (want != rows["offered"]))
    wrong |= _ON_AGENTS[kind] & (want != rows["author"])
    bad[check] |= wrong
    return bad


def _refuse_texts(world: World, chosen: Chosen, settings: ActionSettings, contents: list[str], refuse: Any) -> None:
    """Nothing written, or too much of it."""
    writes = _WRITES[chosen.kind]
    refuse(writes & (chosen.text < 0), Reason.EMPTY)
    written = np.flatnonzero(writes & (chosen.text >= 0))
    if not written.size:
        return
    used, at = np.unique(chosen.text[written], return_inverse=True)
    known = len(world.texts)
    texts = [world.texts[row] if row < known else contents[row - known] for row in used]
    blank, long = np.zeros(chosen.n, np.bool_), np.zeros(chosen.n, np.bool_)
    blank[written] = np.array([not text.strip() for text in texts])[at]
    limit = np.where(chosen.kind[written] == ActionKind.COMMENT, settings.comment_length, settings.post_length)
    long[written] = np.array([len(text) for text in texts])[at] > limit
    refuse(blank, Reason.EMPTY)
    refuse(long, Reason.TOO_LONG)


def _repeated(world: World, chosen: Chosen, target: Array, ok: Array) -> npt.NDArray[np.bool_]:
    """Whether it was done before, in an earlier step or earlier in this batch."""
    out = np.zeros(chosen.n, np.bool_)
    at = np.flatnonzero(ok)
    bit = _BITS[chosen.kind[at]]
    once = at[bit > 0]
    done = world.find(world.reactions, chosen.agent[once], target[once])
    out[once] = (done & bit[bit > 0]) > 0
    rated = at[chosen.kind[at] == ActionKind.RATE_NOTE]
    out[rated] = world.find(world.ratings, chosen.agent[rated], target[rated]) > 0
    # A feed shows a root once, so (row, kind) names the pair; authors can stand in several rows.
    on_row = ok & ~out & (chosen.row >= 0) & (chosen.kind != ActionKind.COMMENT)
    out |= _second(chosen.row * len(ActionKind) + chosen.kind, on_row)
    to_agent = on_row & _ON_AGENTS[chosen.kind]
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
    world: World, feed: Feed, chosen: Chosen, target: Array, makes: Array, result: Array
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
    parent[is_share] = column_at(feed.exposures, "post", chosen.row[at][is_share])
    parent[is_comment] = target[at][is_comment]
    plausibility = np.full(at.size, 0.5)
    plausibility[is_share] = world.posts["plausibility"][target[at][is_share]]
    veracity = np.full(at.size, schema.Veracity.UNKNOWN, np.uint8)
    veracity[is_share] = world.posts["veracity"][target[at][is_share]]
    type_ = np.full(at.size, schema.PostType.POST, np.uint8)
    type_[is_share] = world.posts["type"][target[at][is_share]]
    topic = np.full(at.size, schema.NONE, np.int32)
    topic[is_share] = world.posts["topic"][target[at][is_share]]
    rows = schema.rows(
        "posts", at.size, post=result[at], key=_keys(world, agent, kind, target[at], step),
        kind=post_kind, author=agent, root=np.where(is_share, target[at], result[at]), parent=parent, step=step,
        text=text, type=type_, topic=topic, veracity=veracity, plausibility=plausibility,
    )  # fmt: skip
    action, proposition, stance, strength = chosen.declared
    kept = makes[action] & (chosen.kind[action] != ActionKind.SHARE)
    stances = schema.rows(
        "post_stances", int(np.count_nonzero(kept)), post=result[action[kept]], proposition=proposition[kept],
        stance=stance[kept], strength=strength[kept], scorer=Scorer.DECLARED,
    )  # fmt: skip
    return {"posts": rows, "post_stances": stances}


def _keys(world: World, agent: Array, kind: Array, target: Array, step: int) -> npt.NDArray[U64]:
    """Keys of new posts: (root key, agent) for shares, (author, step, kind, ordinal) otherwise.

    The ordinal counts an agent's posts of that kind in this step, so that its other actions do not change the key.
    """
    together = np.lexsort((np.arange(agent.size), kind, agent))
    ordinal = np.empty(agent.size, np.int64)
    ordinal[together] = _ordinals((agent.astype(np.int64) << 8 | kind)[together])
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
