"""Resolves proposed actions: each is accepted, or refused with a reason.

Actions are checked against the feed that was shown. Like, dislike, share, comment, flag and note act on the root; an
agent can like, dislike, share, flag or note a root once in a run. A refused action is a row too.

The properties of each kind of action are in :mod:`townsquare.core.actions`, the reasons for refusals in
:mod:`townsquare.simulation.action_kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from townsquare.core import schema
from townsquare.core.actions import ON_AUTHORS, REACTION_BITS, SPECS, ActionKind, ActionSpec, On, Tie, per_kind
from townsquare.core.array_types import Array, Bool, Float, Int32, read_only
from townsquare.core.coded_rows import CodedRows
from townsquare.core.draws import U64, StageDraws, bits_oracle, chain, text_key
from townsquare.core.enums import RATING_VALUES, ActionStatus, PostKind, PostType, Rating, Reason, Scorer, Veracity
from townsquare.core.pairs import empty_block, rows_between, spans
from townsquare.core.threads import each
from townsquare.settings.config import Actions as ActionSettings
from townsquare.settings.config import Config
from townsquare.simulation.action_kernels import (
    ALLOWED,
    ENDS,
    HIDES,
    ON_AGENTS,
    ON_COMMENTS,
    ON_NOTES,
    ON_POSTS,
    ON_ROOTS,
    ON_ROWS,
    ONCE,
    STARTS,
    WRITES,
    Choices,
    Judged,
    Kinds,
    Past,
    Shown,
    Texts,
    judge,
)
from townsquare.simulation.change import NOTHING, Change
from townsquare.simulation.events import treatments
from townsquare.simulation.feed.build import Feed
from townsquare.simulation.views import COLUMNS, ProposedActions
from townsquare.simulation.world import World

Columns = TypeVar("Columns", Choices, Judged)


_ON = {
    On.NOTHING: 0,
    On.POST: ON_ROWS | ON_ROOTS | ON_POSTS,
    On.COMMENT: ON_ROWS | ON_ROOTS | ON_COMMENTS,
    On.ITEM: ON_ROWS | ON_ROOTS,
    On.AUTHOR: ON_ROWS | ON_AGENTS,
    On.NOTE: ON_ROWS | ON_NOTES,
}
_TIES = {Tie.NONE: 0, Tie.STARTS: STARTS, Tie.ENDS: ENDS}
_WRITTEN = {"type": PostType.POST, "topic": schema.NONE, "veracity": Veracity.UNKNOWN, "plausibility": 0.5}
"""Columns of posts that agents write."""
_POST_KINDS = per_kind(
    np.int8, {kind: spec.makes for kind, spec in SPECS.items() if spec.makes is not None}, schema.NONE
)
_DECLARES = per_kind(np.bool_, {kind: spec.declares for kind, spec in SPECS.items()})
_TARGETS_AGENT = per_kind(np.bool_, dict.fromkeys(ON_AUTHORS, True))


def resolve(
    world: World,
    feed: Feed,
    chosen: ProposedActions,
    allowed: frozenset[ActionKind],
    settings: ActionSettings,
    friction: Friction | None = None,
) -> Change:
    """Resolve proposed actions: return rows of actions, and of the posts, notes, ratings and follows they make.

    Every proposal becomes one row of actions, accepted or refused, whatever its kind, row, target or text. ``friction``
    comes last and applies only to what would be accepted. The contract of ``chosen`` is checked by
    :func:`townsquare.simulation.policies.contract.check_chosen`.
    """
    if not chosen.n:
        return NOTHING
    n = chosen.n
    kinds, choices, shown = _kinds(allowed, settings), _choices(chosen), _shown(feed, chosen)
    new_row, new_texts = world.text_rows(chosen.new_texts)
    lengths = _lengths(world, chosen.new_texts, choices, kinds)
    texts = Texts(len(world.texts), np.array(new_row, np.int32), lengths)
    judged = _judged(world, choices, kinds, shown, texts)
    if friction is not None:
        reader = np.searchsorted(feed.agents, choices.agent)
        judged.reason[given_up(world, choices, reader, judged, friction)] = Reason.FRICTION
    accepted = judged.reason == Reason.NONE
    writes = np.flatnonzero(accepted & (_POST_KINDS[choices.kind] >= 0))
    notes = np.flatnonzero(accepted & (choices.kind == ActionKind.ADD_NOTE))
    result = np.full(n, schema.NONE, np.int32)
    result[writes] = world.posts.n + np.arange(writes.size)
    result[notes] = world.notes.n + np.arange(notes.size)
    rows: schema.ByTable = {
        "actions": schema.rows(
            "actions", n, step=world.step + 1, agent=choices.agent, kind=choices.kind,
            status=np.where(accepted, ActionStatus.ACCEPTED, ActionStatus.REFUSED),
            result=result, **judged._asdict(),
        ),
        **new_texts,
    }  # fmt: skip
    if writes.size:
        rows["posts"] = _posts(world, choices, shown, judged, writes)
        rows["post_stances"] = _declared(chosen, choices.kind, judged.reason, result)
    return Change(rows | _notes_and_follows(world, kinds, choices, judged, result))


def _kinds(allowed: frozenset[ActionKind], settings: ActionSettings) -> Kinds:
    """Return what holds for each kind of action in this run."""
    traits = {kind: _traits(spec) | ALLOWED * (kind in allowed) for kind, spec in SPECS.items()}
    longest = {kind: getattr(settings, spec.writes) for kind, spec in SPECS.items() if spec.writes}
    return Kinds(per_kind(np.int64, traits, ON_ROWS), REACTION_BITS, per_kind(np.int64, longest))


def _traits(spec: ActionSpec) -> int:
    """Return what holds for a kind, as bits of :mod:`townsquare.simulation.action_kernels`."""
    return _ON[spec.on] | _TIES[spec.tie] | HIDES * spec.hides | ONCE * spec.once | WRITES * bool(spec.writes)


def _uniform(column: Array, dtype: npt.DTypeLike) -> Array:
    """Return a contiguous, read-only column of this dtype, the layout that kernels expect."""
    return read_only(np.ascontiguousarray(column, dtype))


def _fitted(column: Array, dtype: type[np.integer[Any]], below: int, above: int) -> Array:
    """Return a column of this dtype; numbers outside its range become ``below`` or ``above``."""
    if column.dtype != dtype:
        given, column, room = column, column.astype(dtype), np.iinfo(dtype)
        column[given < room.min], column[given > room.max] = below, above
    return _uniform(column, dtype)


def _choices(chosen: ProposedActions) -> Choices:
    """Return proposed actions as kernels take them. Agents still ascend; unknown kinds stay unknown."""
    outside = {"agent": (schema.NONE, np.iinfo(np.int32).max), "kind": (255, 255)}
    columns = {}
    for name in Choices._fields:
        below, above = outside.get(name, (schema.NONE, schema.NONE))
        columns[name] = _fitted(getattr(chosen, name), COLUMNS[name], below, above)
    return Choices(**columns)


def _lengths(world: World, given: Sequence[str], choices: Choices, kinds: Kinds) -> Int32:
    """Return the length of each text in use, known or new, (texts,); 0 for a blank one."""
    known = len(world.texts)
    used = np.zeros(known + len(given), np.bool_)
    text = choices.text[(kinds.traits[choices.kind] & WRITES) > 0]
    used[text[(text >= 0) & (text < used.size)]] = True
    length = np.zeros(used.size, np.int32)
    for number in np.flatnonzero(used).tolist():
        words = world.texts[number] if number < known else given[number - known]
        length[number] = len(words) if words.strip() else 0
    return length


def _shown(feed: Feed, chosen: ProposedActions) -> Shown:
    """Return the feed, and which of its rows were examined, as kernels take it."""
    rows = CodedRows.of(feed.exposures)
    code, root = (rows.index, rows.per_root["root"]) if "root" in rows.per_root else (np.arange(rows.n), rows["root"])
    examined = np.empty(0) if chosen.examined is None else chosen.examined
    return Shown(
        agents=_uniform(feed.agents, np.int32),
        indptr=_uniform(feed.indptr, np.int64),
        code=_uniform(code, np.int32),
        root=_uniform(root, np.int32),
        post=_uniform(rows["post"], np.int32),
        author=_uniform(rows["author"], np.int32),
        slot=_uniform(rows["slot"], np.uint8),
        offered=_uniform(rows["offered"], np.int32),
        rank=_uniform(rows["rank"], np.int16),
        examined=_uniform(examined, np.bool_),
    )


def _past(world: World, number: int, first: int) -> Past:
    """Return the earlier actions of the agents of a block."""
    follows, reactions, ratings, hidden = (
        store.blocks[number] if store.blocks else empty_block(0, store.dtype)
        for store in (world.follows, world.reactions, world.ratings, world.hidden)
    )
    posts = world.posts
    return Past(first, follows, reactions, ratings, hidden, posts["status"], posts["author"], world.notes["author"])


def _judged(world: World, choices: Choices, kinds: Kinds, shown: Shown, texts: Texts) -> Judged:
    """Judge every proposed action, block by block of agents: return its columns and the reason for a refusal."""
    agent = choices.agent
    out = Judged(*(np.empty(agent.size, dtype) for dtype in ("u1", "i2", "i2", "i4", "i4", "i1", "i4")))
    last = len(world.follows.blocks) - 1

    def of_block(block: tuple[int, int, int]) -> None:
        number, first, stop = block
        lo, hi = rows_between(agent, first, stop)
        # Agents that there are not have no feed: any block will do for them.
        rows = slice(lo if number else 0, hi if number < last else agent.size)
        if rows.start < rows.stop:
            a, b = rows_between(shown.agents, first, stop)
            feeds = shown._replace(agents=shown.agents[a:b], indptr=shown.indptr[a : b + 1])
            judge(_part(choices, rows), kinds, feeds, texts, _past(world, number, first), _part(out, rows))

    each(of_block, list(spans(world.n_agents)) or [(0, 0, 0)])
    return out


def _part(columns: Columns, rows: slice) -> Columns:
    """Return some rows of a tuple of columns."""
    return type(columns)(*(column[rows] for column in columns))


def _posts(world: World, choices: Choices, shown: Shown, judged: Judged, at: Array) -> schema.Columns:
    """Return posts, shares and comments of the actions at ``at``; a share copies its root."""
    step, posts, n = world.step + 1, world.posts, at.size
    action, agent, target = choices.kind[at], choices.agent[at], judged.target[at]
    kind, row = _POST_KINDS[action], posts.n + np.arange(n)
    share = kind == PostKind.SHARE
    parent = np.where(kind == PostKind.COMMENT, target, schema.NONE)
    parent[share] = shown.post[choices.row[at[share]]]
    key = _post_keys(step, agent, action)
    key[share] = bits_oracle(U64(text_key("share")), agent[share], posts["key"][target[share]])
    columns: dict[str, Any] = {"text": judged.text[at], **_WRITTEN}
    for name, value in columns.items():
        column = np.full(n, value, posts[name].dtype)
        column[share] = posts[name][target[share]]
        columns[name] = column
    return schema.rows(
        "posts", n, step=step, post=row, key=key, kind=kind, author=agent, root=np.where(share, target, row),
        parent=parent, **columns,
    )  # fmt: skip


def _post_keys(step: int, agent: Array, action: Array) -> npt.NDArray[U64]:
    """Return keys by author, step, kind of action and ordinal, which counts the agent's posts of the kind in this step.

    So an agent's other actions do not change the key of a post.
    """
    who = agent.astype(np.int64) << 8 | action
    order = np.argsort(who, kind="stable")
    ordinal = np.empty(order.size, np.int64)
    ordinal[order] = np.arange(order.size) - np.searchsorted(who[order], who[order])
    kind_and_ordinal = (action.astype(np.int64) << 16 | ordinal).astype(U64)
    return bits_oracle(U64(chain(text_key("post"), step)), agent, kind_and_ordinal)


def _declared(chosen: ProposedActions, kind: Array, reason: Array, result: Array) -> schema.Columns:
    """Return the stances of what was written, as declared."""
    action, proposition, stance, strength = chosen.declared
    valid = (reason[action] == Reason.NONE) & _DECLARES[kind[action]]
    return schema.rows(
        "post_stances", int(np.count_nonzero(valid)), post=result[action[valid]], proposition=proposition[valid],
        stance=stance[valid], strength=strength[valid], scorer=Scorer.DECLARED,
    )  # fmt: skip


def _notes_and_follows(world: World, kinds: Kinds, choices: Choices, judged: Judged, result: Array) -> schema.ByTable:
    """Return the notes, ratings and follows that were made, and the follows that ended."""
    agent, target, traits = choices.agent, judged.target, kinds.traits[choices.kind]
    done = np.flatnonzero(judged.reason == Reason.NONE)
    kind = choices.kind[done]
    note, rate = done[kind == ActionKind.ADD_NOTE], done[kind == ActionKind.RATE_NOTE]
    moved = done[traits[done] & (STARTS | ENDS) > 0]
    hides = done[traits[done] & HIDES > 0]
    if hides.size:
        moved = np.sort(np.concatenate([moved, _ended(world, agent, target, moved, hides)]))
    change = np.where(traits[moved] & STARTS, 1, -1)
    tables: dict[str, dict[str, Array]] = {
        "notes": {"note": result[note], "post": target[note], "author": agent[note], "text": judged.text[note]},
        "note_ratings": {
            "note": target[rate], "agent": agent[rate], "helpful": judged.helpful[rate] == Rating.HELPFUL,
            "rating": np.take(RATING_VALUES, judged.helpful[rate]),
        },
        "follows": {"follower": agent[moved], "followed": target[moved], "change": change},
    }  # fmt: skip
    sizes = {"notes": note.size, "note_ratings": rate.size, "follows": moved.size}
    return {name: schema.rows(name, n, step=world.step + 1, **tables[name]) for name, n in sizes.items() if n}


def _ended(world: World, agent: Array, target: Array, moved: Array, hides: Array) -> Array:
    """Return those of the actions at ``hides`` that end a follow: one from before, or of this step.

    The follow of an author changes at ``moved``: once a step and agent at most, and never after the author is hidden.
    """
    pairs = agent.astype(np.int64) << 32 | target
    changed = np.isin(pairs[hides], pairs[moved])
    return np.asarray(hides[world.has(world.follows, agent[hides], target[hides]) ^ changed])


# Friction: an action that would be accepted happens only if a second draw passes.


class Friction(NamedTuple):
    """``chance`` (k, kinds) float64 that an action is given up, by position in the feed's agents; and draws."""

    chance: Float
    draw: StageDraws


def friction_of(world: World, agents: Array, config: Config, draw: StageDraws) -> Friction | None:
    """Return the friction that ``agents`` meet in the step of ``draw``; None where nobody meets any."""
    chance = treatments.friction(world, agents, config, draw.step)
    return None if chance is None else Friction(chance, draw)


def given_up(world: World, choices: Choices, reader: Array, judged: Judged, friction: Friction) -> Bool:
    """Return which of the accepted actions are given up, (n,).

    The draw is by kind, agent and what is acted on, so that it is another one for each post, and no other action, row
    or agent shifts it. ``reader`` (n,) is the position of each agent in the feed.
    """
    accepted = judged.reason == Reason.NONE
    out = np.zeros(accepted.size, np.bool_)
    for kind in np.unique(choices.kind[accepted]):
        chance = friction.chance[:, kind]
        if chance.any():
            at = np.flatnonzero(accepted & (choices.kind == kind))
            keys = _keys(world, kind, judged.target[at])
            out[at] = friction.draw.uniform(f"friction:{kind}", choices.agent[at], keys) < chance[reader[at]]
    return out


def _keys(world: World, kind: int, target: Array) -> npt.NDArray[U64]:
    """Return keys of the targets: of posts, of the posts of notes, or numbers of agents; 0 without a target."""
    if _TARGETS_AGENT[kind]:
        return target.astype(U64)
    if SPECS[ActionKind(kind)].on == On.NOTE:
        target = np.asarray(world.notes["post"])[target]
    if not target.size or target[0] < 0:
        return np.zeros(target.size, U64)
    return np.asarray(world.posts["key"][target], U64)


# What agents have read: the rows of their feeds that they examined.


def exposures(world: World, feed: Feed, chosen: ProposedActions) -> Change:
    """Return rows of exposures, and of prompts where agents read their feed in a prompt.

    A row that was not examined is no exposure: it moves no belief, counts for no reach, and the agent can still see it
    for the first time later on.
    """
    rows: schema.ByTable = {"exposures": feed.exposures}
    if chosen.examined is not None and not chosen.examined.all():
        rows["exposures"] = CodedRows.of(feed.exposures).take(chosen.examined)
    if chosen.prompt_stats:
        stats = chosen.prompt_stats
        rows["prompts"] = schema.rows("prompts", stats["agent"].size, step=world.step + 1, **stats)
    return Change(rows)
