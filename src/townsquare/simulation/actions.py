"""From what agents chose to what happened: every action is accepted, or refused with its reason.

Actions are checked against the feed that was shown. Like, dislike, share, comment, flag and note act on the root; one
like, dislike, share, flag and note counts an agent and root, in whatever step. A refused action is a row too.

What holds for a kind of action stands in ``_TRAITS``; why one is refused, in
:mod:`townsquare.simulation.action_kernels`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from townsquare.core import schema
from townsquare.core.coded_rows import CodedRows
from townsquare.core.draws import U64, StageDraws, chain, text_key
from townsquare.core.pairs import Pairs, empty_block, rows_between, spans
from townsquare.core.schema import ActionKind, PostKind, Reason, Scorer
from townsquare.core.threads import each
from townsquare.settings.config import Actions as ActionSettings
from townsquare.settings.config import Config
from townsquare.simulation.action_kernels import (
    ADDS_NOTE,
    ALLOWED,
    ON_AGENTS,
    ON_COMMENTS,
    ON_NOTES,
    ON_POSTS,
    ON_ROOTS,
    ON_ROWS,
    ONCE,
    WRITES,
    Choices,
    Found,
    Judged,
    Kinds,
    Past,
    PostColumns,
    Shown,
    find_rows,
    judge,
    mark_used,
    number_results,
    number_texts,
    write_posts,
)
from townsquare.simulation.change import NOTHING, Change
from townsquare.simulation.events import treatments
from townsquare.simulation.feed.build import Feed
from townsquare.simulation.views import Chosen
from townsquare.simulation.world import REACTIONS, World

Array = npt.NDArray[Any]
Columns = TypeVar("Columns", Choices, Found, Judged)


def _table(dtype: npt.DTypeLike, values: Mapping[ActionKind, int], default: int = 0) -> Array:
    """A value for each kind that a policy may name, (256,): also for those that there are not."""
    table = np.full(256, default, dtype)
    for kind, value in values.items():
        table[kind] = value
    return table


_ANY_POST = ON_ROWS | ON_ROOTS | ON_POSTS
_TRAITS = {
    ActionKind.POST: WRITES,
    ActionKind.LIKE: _ANY_POST | ONCE,
    ActionKind.DISLIKE: _ANY_POST | ONCE,
    ActionKind.SHARE: _ANY_POST | ONCE,
    ActionKind.COMMENT: _ANY_POST | WRITES,
    ActionKind.LIKE_COMMENT: ON_ROWS | ON_ROOTS | ON_COMMENTS | ONCE,
    ActionKind.FLAG: ON_ROWS | ON_ROOTS | ONCE,
    ActionKind.FOLLOW: ON_ROWS | ON_AGENTS | ONCE,
    ActionKind.UNFOLLOW: ON_ROWS | ON_AGENTS | ONCE,
    ActionKind.ADD_NOTE: _ANY_POST | WRITES | ADDS_NOTE | ONCE,
    ActionKind.RATE_NOTE: ON_ROWS | ON_NOTES | ONCE,
    ActionKind.IGNORE: 0,
}
_MAKES = {ActionKind.POST: PostKind.ORIGINAL, ActionKind.SHARE: PostKind.SHARE, ActionKind.COMMENT: PostKind.COMMENT}
_BITS = _table(np.uint8, REACTIONS)
_POST_KINDS = _table(np.int8, _MAKES, schema.NONE)
_DECLARES = _table(np.bool_, {ActionKind.POST: 1, ActionKind.COMMENT: 1})


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
    comes last: it is asked only of what would be accepted. :func:`townsquare.simulation.policies.contract.check_chosen`
    says what ``chosen`` must keep to.
    """
    if not chosen.n:
        return NOTHING
    n = chosen.n
    kinds, choices, shown = _kinds(allowed, settings), _choices(chosen), _shown(feed)
    new_row, contents = _new_texts(world, chosen.new_texts)
    judged = _judged(world, choices, kinds, shown, _lengths(world, chosen.new_texts, choices, kinds), new_row)
    if friction is not None:
        place, accepted = np.searchsorted(feed.agents, choices.agent), judged.reason == Reason.NONE
        tidy = replace(chosen, agent=choices.agent, kind=choices.kind)
        judged.reason[given_up(world, tidy, place, judged.target, accepted, friction)] = Reason.FRICTION
    result, status = np.empty(n, np.int32), np.empty(n, np.uint8)
    last_post = number_results(choices.kind, judged.reason, kinds, world.posts.n, world.notes.n, result, status)
    rows: dict[str, schema.Columns] = {
        "actions": schema.rows(
            "actions", n, step=world.step + 1, agent=choices.agent, kind=choices.kind, status=status,
            result=result, **judged._asdict(),
        )
    }  # fmt: skip
    if contents:
        ids = np.arange(len(world.texts), len(world.texts) + len(contents))
        rows["texts"] = schema.rows("texts", ids.size, text=ids, content=contents)
    if last_post > world.posts.n:
        rows["posts"] = _posts(world, choices, kinds, shown, judged, result, last_post - world.posts.n)
        rows["post_stances"] = _declared(chosen, choices.kind, judged.reason, result)
    rows |= _notes_and_ratings(world, choices, judged, result)
    rows |= _follows(world.step + 1, choices, judged)
    return Change(rows)


def _kinds(allowed: frozenset[ActionKind], settings: ActionSettings) -> Kinds:
    """What holds for each kind of action in this run."""
    traits = {kind: value | ALLOWED * (kind in allowed) for kind, value in _TRAITS.items()}
    longest = _table(np.int64, {ActionKind.COMMENT: settings.comment_length}, settings.post_length)
    return Kinds(_table(np.int64, traits, ON_ROWS), _BITS, _POST_KINDS, longest)


def _uniform(column: Array, dtype: npt.DTypeLike) -> Array:
    """One layout for kernels, whatever came: contiguous, read-only and of this dtype."""
    out = np.ascontiguousarray(column, dtype).view()
    out.flags.writeable = False
    return out


def _fitted(column: Array, dtype: type[np.integer[Any]], below: int, above: int) -> Array:
    """The same, but numbers that the dtype has no room for become ``below`` or ``above``, by where they are."""
    if column.dtype != dtype:
        given, column, room = column, column.astype(dtype), np.iinfo(dtype)
        column[given < room.min], column[given > room.max] = below, above
    return _uniform(column, dtype)


def _choices(chosen: Chosen) -> Choices:
    """What was chosen, as kernels take it. Agents still ascend; a kind that there is not stays one."""
    nobody = np.iinfo(np.int32).max
    return Choices(
        agent=_fitted(chosen.agent, np.int32, schema.NONE, nobody),
        kind=_fitted(chosen.kind, np.uint8, 255, 255),
        row=_uniform(chosen.row, np.int64),
        target=_fitted(chosen.target, np.int32, schema.NONE, schema.NONE),
        text=_fitted(chosen.text, np.int32, schema.NONE, schema.NONE),
        helpful=_fitted(chosen.helpful, np.int8, schema.NONE, schema.NONE),
        reasoning=_fitted(chosen.reasoning, np.int32, schema.NONE, schema.NONE),
    )


def _new_texts(world: World, given: Sequence[str]) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Rows of the texts that choices bring along, and the contents of those that are new.

    A text that is there already keeps its row, and one that several agents wrote is one row.
    """
    known = len(world.texts)
    fresh: dict[str, int] = {}
    new_row = np.empty(len(given), np.int32)
    for number, text in enumerate(given):
        row = world.text_row.get(text)
        new_row[number] = fresh.setdefault(text, known + len(fresh)) if row is None else row
    return new_row, list(fresh)


def _lengths(world: World, given: Sequence[str], choices: Choices, kinds: Kinds) -> npt.NDArray[np.int32]:
    """Characters of each text that is used, there already or given, (texts,); 0 for one that says nothing."""
    known = len(world.texts)
    used = np.zeros(known + len(given), np.bool_)
    mark_used(choices.kind, choices.text, kinds.traits, used)
    length = np.zeros(used.size, np.int32)
    for number in np.flatnonzero(used).tolist():
        text = world.texts[number] if number < known else given[number - known]
        length[number] = len(text) if text.strip() else 0
    return length


def _shown(feed: Feed) -> Shown:
    """The feed, as kernels take it."""
    rows = CodedRows.of(feed.exposures)
    code, root = (rows.code, rows.beside["root"]) if "root" in rows.beside else (np.arange(rows.n), rows["root"])
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
    )


def _past(world: World, number: int, first: int) -> Past:
    """What the agents of a block did before."""

    def pairs(store: Pairs) -> tuple[Array, Array, Array]:
        block = store.blocks[number] if store.blocks else empty_block(0, store.dtype)
        return _uniform(block.indptr, np.int64), _uniform(block.key, np.int32), _uniform(block.value, store.dtype)

    posts, notes = world.posts, world.notes
    return Past(
        first, *pairs(world.follows)[:2], *pairs(world.reactions), *pairs(world.ratings)[:2],
        posts["status"], posts["author"], notes["author"],
    )  # fmt: skip


def _judged(world: World, choices: Choices, kinds: Kinds, shown: Shown, length: Array, new_row: Array) -> Judged:
    """What is made of every choice, and why it is refused: block by block of agents."""
    agent = choices.agent
    out = Judged(*(np.empty(agent.size, dtype) for dtype in ("u1", "i2", "i2", "i4", "i4", "i1", "i4")))
    found = Found(np.empty(agent.size, np.int32), np.empty(agent.size, np.bool_))
    last = len(world.follows.blocks) - 1

    def of_block(block: tuple[int, int, int]) -> None:
        number, first, stop = block
        lo, hi = rows_between(agent, first, stop)
        # Agents that there are not have no feed: any block will do for them.
        rows = slice(lo if number else 0, hi if number < last else agent.size)
        if rows.start < rows.stop:
            some, at, into = _part(choices, rows), _part(found, rows), _part(out, rows)
            a, b = rows_between(shown.agents, first, stop)
            feeds = shown._replace(agents=shown.agents[a:b], indptr=shown.indptr[a : b + 1])
            find_rows(some, kinds.traits, feeds, at, into)
            judge(some, kinds, feeds, at, length, _past(world, number, first), into)
            number_texts(some, kinds.traits, len(world.texts), new_row, into)

    each(of_block, list(spans(world.n_agents)) or [(0, 0, 0)])
    return out


def _part(columns: Columns, rows: slice) -> Columns:
    """Some rows of a tuple of columns."""
    return type(columns)(*(column[rows] for column in columns))


def _posts(
    world: World, choices: Choices, kinds: Kinds, shown: Shown, judged: Judged, result: Array, n: int
) -> schema.Columns:
    """The ``n`` posts, shares and comments that were made."""
    step, posts = world.step + 1, world.posts
    there = PostColumns(*(posts[name] for name in PostColumns._fields))
    made = PostColumns(*(np.empty(n, column.dtype) for column in there))
    bases = U64(chain(text_key("post"), step)), U64(text_key("share"))
    write_posts(choices, judged, result, kinds, shown.post, there, bases, made)
    return schema.rows("posts", n, step=step, **made._asdict())


def _declared(chosen: Chosen, kind: Array, reason: Array, result: Array) -> schema.Columns:
    """The stances of what was written, as declared."""
    action, proposition, stance, strength = chosen.declared
    kept = (reason[action] == Reason.NONE) & _DECLARES[kind[action]]
    return schema.rows(
        "post_stances", int(np.count_nonzero(kept)), post=result[action[kept]], proposition=proposition[kept],
        stance=stance[kept], strength=strength[kept], scorer=Scorer.DECLARED,
    )  # fmt: skip


def _notes_and_ratings(world: World, choices: Choices, judged: Judged, result: Array) -> dict[str, schema.Columns]:
    step = world.step + 1
    out: dict[str, schema.Columns] = {}
    note = _accepted(choices, judged, ActionKind.ADD_NOTE)
    if note.size:
        out["notes"] = schema.rows(
            "notes", note.size, note=result[note], post=judged.target[note], author=choices.agent[note], step=step,
            text=judged.text[note],
        )  # fmt: skip
    rate = _accepted(choices, judged, ActionKind.RATE_NOTE)
    if rate.size:
        out["note_ratings"] = schema.rows(
            "note_ratings", rate.size, note=judged.target[rate], agent=choices.agent[rate], step=step,
            helpful=judged.helpful[rate] > 0,
        )  # fmt: skip
    return out


def _follows(step: int, choices: Choices, judged: Judged) -> dict[str, schema.Columns]:
    moved = _accepted(choices, judged, ActionKind.FOLLOW, ActionKind.UNFOLLOW)
    if not moved.size:
        return {}
    change = np.where(choices.kind[moved] == ActionKind.FOLLOW, 1, -1)
    return {
        "follows": schema.rows(
            "follows", moved.size, step=step, follower=choices.agent[moved], followed=judged.target[moved],
            change=change,
        )
    }  # fmt: skip


def _accepted(choices: Choices, judged: Judged, *kinds: ActionKind) -> npt.NDArray[np.int64]:
    """Accepted actions of some kinds."""
    wanted = np.zeros(choices.kind.size, np.bool_)
    for kind in kinds:
        wanted |= choices.kind == kind
    return np.flatnonzero(wanted & (judged.reason == Reason.NONE))


# Friction: an action that would be accepted happens only if a second draw passes.


_ON_AGENTS = (ActionKind.FOLLOW, ActionKind.UNFOLLOW)


class Friction(NamedTuple):
    """``chance`` (k, kinds) float64 that an action is given up, by place in the feed's agents; and the draws."""

    chance: npt.NDArray[np.float64]
    draw: StageDraws


def friction_of(agents: Array, config: Config, draw: StageDraws) -> Friction | None:
    """The friction that ``agents`` meet in the step of ``draw``; None where nobody meets any."""
    chance = treatments.friction(agents, config, draw.step)
    return None if chance is None else Friction(chance, draw)


def given_up(
    world: World, chosen: Chosen, place: Array, target: Array, accepted: Array, friction: Friction
) -> npt.NDArray[np.bool_]:
    """Which of the ``accepted`` actions are given up, (n,).

    The draw is by kind, agent and what is acted on, so that it is another one for each post, and no other action, row
    or agent shifts it. ``place`` (n,) is where each action's agent stands in the feed.
    """
    out = np.zeros(chosen.n, np.bool_)
    for kind in np.unique(chosen.kind[accepted]):
        chance = friction.chance[:, kind]
        if not chance.any():
            continue
        at = np.flatnonzero(accepted & (chosen.kind == kind))
        u = friction.draw.uniform(f"friction:{kind}", chosen.agent[at], _keys(world, kind, target[at]))
        out[at] = u < chance[place[at]]
    return out


def _keys(world: World, kind: int, target: Array) -> npt.NDArray[U64]:
    """Keys of posts, of the posts that notes are on, or numbers of agents; 0 for what is done to nothing."""
    if kind in _ON_AGENTS:
        return target.astype(U64)
    if kind == ActionKind.RATE_NOTE:
        target = np.asarray(world.notes["post"])[target]
    if not target.size or target[0] < 0:
        return np.zeros(target.size, U64)
    return np.asarray(world.posts["key"][target], U64)


# What agents have read: their feeds, but for rows that found no room in what a language model was told.


def exposures_read(feed: Feed, chosen: Chosen, step: int) -> Change:
    """Rows of exposures, and of prompts where agents were told their feed in words.

    A row that was left out of a prompt is no exposure: it moves no belief, and the agent can still see it for the first
    time later on.
    """
    rows: dict[str, schema.Columns] = {"exposures": feed.exposures}
    if chosen.unread.size:
        keep = np.ones(int(feed.indptr[-1]), np.bool_)
        keep[chosen.unread] = False
        rows["exposures"] = CodedRows.of(feed.exposures).take(keep)
    if chosen.told:
        rows["prompts"] = schema.rows("prompts", chosen.told["agent"].size, step=step, **chosen.told)
    return Change(rows)
