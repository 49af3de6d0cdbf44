"""Whatever a policy chooses becomes the rows, and is refused for the reason, that plain Python gives for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from action_town import K, Square, column
from small_worlds import EVERY_KIND, choices, feed_of, post, react, reasons, row_of, show, town
from townsquare.core import schema
from townsquare.core.draws import U64, bits_oracle, chain, text_key
from townsquare.core.enums import ActionStatus, PostKind, PostType, Reason, Slot, Veracity
from townsquare.core.pairs import BLOCK
from townsquare.core.schema import NONE
from townsquare.core.threads import limited
from townsquare.settings.config import Actions
from townsquare.simulation.actions import resolve
from townsquare.simulation.feed.build import Feed
from townsquare.simulation.views import ProposedActions
from townsquare.simulation.world import World

ONCE = (K.LIKE, K.DISLIKE, K.SHARE, K.FLAG, K.ADD_NOTE)
ON_AUTHORS = (K.FOLLOW, K.UNFOLLOW, K.BLOCK)


def oracle(square: Square, actions: list[dict[str, int]], texts: tuple[str, ...]) -> list[Reason]:
    """The reason for each action, one after the other, from sentences."""
    world, feed = square.world, square.feed
    rows = {name: np.asarray(values).tolist() for name, values in feed.exposures.items()}
    content = [*world.texts, *texts]
    notes = zip(world.notes["author"].tolist(), world.notes["post"].tolist(), strict=True)
    done: set[tuple[int, int, int]] = {(author, K.ADD_NOTE, post) for author, post in notes}  # in an earlier step
    out = []
    for action in actions:
        reason = _why(world, feed, rows, action, content, done)
        kind, agent = action["kind"], action["agent"]
        if reason == Reason.NONE and kind not in (K.POST, K.COMMENT, K.IGNORE):
            target = rows["root"][action["row"]] if kind in (*ONCE, K.LIKE_COMMENT) else action["target"]
            done.add((agent, kind, target))
        out.append(reason)
    return out


def _why(
    world: World,
    feed: Feed,
    rows: dict[str, list[Any]],
    action: dict[str, int],
    content: list[str],
    done: set[tuple[int, int, int]],
) -> Reason:
    agent, kind, row, target = (action[name] for name in ("agent", "kind", "row", "target"))
    if kind > K.BLOCK:
        return Reason.DISABLED
    if agent not in feed.agents:
        return Reason.NOT_SHOWN
    if kind not in (K.POST, K.IGNORE):
        at = feed.agents.tolist().index(agent)
        if not feed.indptr[at] <= row < feed.indptr[at + 1]:
            return Reason.NOT_SHOWN
        on_comment = rows["slot"][row] == Slot.COMMENT
        wanted = {**dict.fromkeys(ON_AUTHORS, "author"), K.RATE_NOTE: "offered"}.get(K(kind), "root")
        good = target == rows[wanted][row] and target >= 0
        if wanted == "root":
            good = target in (rows["root"][row], rows["post"][row])
            good &= kind == K.FLAG or on_comment == (kind == K.LIKE_COMMENT)
        if not good:
            return Reason.NOT_SHOWN
    if kind in (K.POST, K.COMMENT, K.ADD_NOTE):
        text = content[action["text"]] if 0 <= action["text"] < len(content) else ""
        if not text.strip():
            return Reason.EMPTY
        if len(text) > (250 if kind == K.COMMENT else 2000):
            return Reason.TOO_LONG
    if kind == K.RATE_NOTE and action["helpful"] not in (0, 1, 2):
        return Reason.EMPTY
    blocked = (agent, K.BLOCK, target) in done
    follows = kind in ON_AUTHORS and not blocked and world.follows.get(agent, target, NONE) != NONE
    if kind == K.FOLLOW and blocked:
        return Reason.HIDDEN
    if kind == K.FOLLOW and follows:
        return Reason.REPEATED
    if kind == K.UNFOLLOW and not follows:
        return Reason.NOT_FOLLOWING
    root = rows["root"][row] if kind in (*ONCE, K.LIKE_COMMENT) else target
    return Reason.REPEATED if (agent, kind, root) in done else Reason.NONE


NUMBERS = st.one_of(st.integers(-2, 40), st.sampled_from([-(2**31), 2**31 - 1]))
TEXTS = ("fine", " ", "y" * 251, "z" * 2001, "fine", "post 0")


@pytest.fixture(scope="module")
def still() -> Square:
    """A square that no test changes."""
    return Square()


def anything(data: st.DataObject, square: Square) -> list[dict[str, int]]:
    """Up to 12 actions, by agent: wild ones, and ones that are mostly right."""
    feed, known = square.feed, len(square.world.texts)
    row = st.one_of(st.integers(-2, int(feed.indptr[-1]) + 2), st.sampled_from([-(2**63), 2**62, 2**63 - 1]))
    wild = st.fixed_dictionaries(
        {
            "agent": st.integers(-5, 10), "kind": st.integers(0, 255), "row": row, "target": NUMBERS,
            "text": st.one_of(NUMBERS, st.integers(0, known + len(TEXTS) + 1)), "helpful": st.integers(-2, 2),
            "reasoning": st.one_of(NUMBERS, st.integers(0, known + len(TEXTS) + 1)),
        }
    )  # fmt: skip

    def near(one: dict[str, int]) -> dict[str, int]:
        """Mostly right: on a row of the agent's own feed, with what stands there as target."""
        agent, kind = one["agent"] % 8, one["kind"] % 13
        lo, hi = feed.indptr[agent], feed.indptr[agent + 1]
        at = int(lo + one["row"] % (hi - lo))
        name = {**dict.fromkeys(ON_AUTHORS, "author"), K.RATE_NOTE: "offered"}.get(K(kind), "post")
        target = int(np.asarray(feed.exposures[name])[at])
        return one | {"agent": agent, "kind": kind, "row": at, "target": target}

    actions = data.draw(st.lists(st.one_of(wild, wild.map(near), wild.map(near)), min_size=1, max_size=12))
    return sorted(actions, key=lambda action: action["agent"])


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_whatever_is_chosen_becomes_one_row(still: Square, data: st.DataObject) -> None:
    actions = anything(data, still)
    change = resolve(still.world, still.feed, choices(*actions, texts=TEXTS), EVERY_KIND, Actions())
    rows = change.rows["actions"]
    wanted = oracle(still, actions, TEXTS)
    assert [Reason(reason) for reason in column(rows, "reason")] == wanted
    for name in ("agent", "kind"):
        assert column(rows, name) == [action[name] for action in actions]
    accepted = [action["kind"] for action, reason in zip(actions, wanted, strict=True) if reason == Reason.NONE]
    posts = sum(kind in (K.POST, K.SHARE, K.COMMENT) for kind in accepted)
    for table, number in (("posts", posts), ("notes", accepted.count(K.ADD_NOTE))):
        assert len(change.rows.get(table, {"step": []})["step"]) == number


def row_of_text(world: World, number: int) -> int:
    """The row that a text has, or will have once those of ``TEXTS`` that are new are there."""
    contents = [*world.texts, *TEXTS]
    distinct = list(dict.fromkeys(contents))
    return distinct.index(contents[number]) if 0 <= number < len(contents) else NONE


def tidied(square: Square, actions: list[dict[str, int]]) -> list[dict[str, int]]:
    """What a row of actions says of each, from the action and the feed; without what does not belong to its kind."""
    feed, out = square.feed, []
    rows = {name: np.asarray(feed.exposures[name]).tolist() for name in ("post", "root", "rank")}
    for number, action in enumerate(actions):
        agent, kind, row, target = (action[name] for name in ("agent", "kind", "row", "target"))
        rank, on_row = NONE, kind not in (K.POST, K.IGNORE)
        if on_row and agent in feed.agents:
            at = feed.agents.tolist().index(agent)
            if feed.indptr[at] <= row < feed.indptr[at + 1]:
                rank = rows["rank"][row]
                if kind in (*ONCE, K.COMMENT, K.LIKE_COMMENT) and target == rows["post"][row]:
                    target = rows["root"][row]
        before = [other for other in actions[:number] if other["agent"] == agent]
        writes = kind in (K.POST, K.COMMENT, K.ADD_NOTE)
        out.append(
            {
                "rank": rank, "target": target if on_row else NONE, "ordinal": len(before),
                "text": row_of_text(square.world, action["text"]) if writes else NONE,
                "helpful": action["helpful"] if kind == K.RATE_NOTE else NONE,
                "reasoning": row_of_text(square.world, action["reasoning"]),
            }
        )  # fmt: skip
    return out


def posts_of(square: Square, actions: list[dict[str, int]], rows: list[dict[str, int]]) -> list[dict[str, Any]]:
    """The rows of posts that accepted actions make."""
    world = square.world
    out: list[dict[str, Any]] = []
    written: list[tuple[int, int]] = []
    shared = ("text", "type", "topic", "veracity", "plausibility")
    for action, row in zip(actions, rows, strict=True):
        agent, kind, target, new = action["agent"], action["kind"], row["target"], world.posts.n + len(out)
        one: dict[str, Any]
        if kind == K.SHARE:
            parent = int(np.asarray(square.feed.exposures["post"])[action["row"]])
            one = {"kind": PostKind.SHARE, "root": target, "parent": parent}
            one |= {name: world.posts[name][target].item() for name in shared}
            base, key = U64(text_key("share")), world.posts["key"][target]
        elif kind in (K.POST, K.COMMENT):
            of = {K.POST: (PostKind.ORIGINAL, NONE), K.COMMENT: (PostKind.COMMENT, target)}[K(kind)]
            one = {"kind": of[0], "root": new, "parent": of[1], "text": row["text"], "type": PostType.POST}
            one |= {"topic": NONE, "veracity": Veracity.UNKNOWN, "plausibility": 0.5}
            base, key = U64(chain(text_key("post"), world.step + 1)), U64(kind << 16 | written.count((agent, kind)))
            written.append((agent, kind))
        else:
            continue
        one["key"] = int(bits_oracle(base, np.array([agent]), np.array([key]))[0])
        out.append(one | {"post": new, "author": agent, "step": world.step + 1})
    return out


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_rows_say_what_was_chosen_and_made(still: Square, data: st.DataObject) -> None:
    actions = anything(data, still)
    change = resolve(still.world, still.feed, choices(*actions, texts=TEXTS), EVERY_KIND, Actions())
    rows, wanted = change.rows["actions"], tidied(still, actions)
    for name in wanted[0]:
        assert column(rows, name) == [one[name] for one in wanted], name
    accepted = [reason == Reason.NONE for reason in column(rows, "reason")]
    assert column(rows, "status") == [ActionStatus.ACCEPTED if one else ActionStatus.REFUSED for one in accepted]
    made = posts_of(still, list(compress(actions, accepted)), list(compress(wanted, accepted)))
    posts = change.rows.get("posts", {})
    assert {name: column(posts, name) for name in posts} == {
        name: [one[name] for one in made] for name in (made[0] if made else ())
    }
    makes = [
        one and action["kind"] in (K.POST, K.SHARE, K.COMMENT) for one, action in zip(accepted, actions, strict=True)
    ]
    assert list(compress(column(rows, "result"), makes)) == [one["post"] for one in made]


def other_layouts(chosen: ProposedActions) -> Iterator[ProposedActions]:
    """The same choices in other dtypes, and in memory that is strided or read-only."""
    names = ("agent", "kind", "row", "target", "text", "helpful", "reasoning")
    columns = {name: np.asarray(getattr(chosen, name)) for name in names}
    yield replace(chosen, **{name: values.astype(np.int64) for name, values in columns.items()})
    yield replace(chosen, **{name: np.repeat(values, 2)[::2] for name, values in columns.items()})
    yield replace(chosen, **{name: values.astype(values.dtype.newbyteorder()) for name, values in columns.items()})
    yield replace(chosen, **{name: np.frombuffer(values.tobytes(), values.dtype) for name, values in columns.items()})


@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_the_layout_of_choices_does_not_matter(still: Square, data: st.DataObject) -> None:
    chosen = choices(*anything(data, still), texts=TEXTS)
    wanted = resolve(still.world, still.feed, chosen, EVERY_KIND, Actions()).rows
    for same in other_layouts(chosen):
        rows = resolve(still.world, still.feed, same, EVERY_KIND, Actions()).rows
        of, own = (
            {table: {name: list(values) for name, values in part.items()} for table, part in each.items()}
            for each in (rows, wanted)
        )
        np.testing.assert_equal(of, own)  # a note without a quality has NaN


def test_numbers_that_no_column_has_room_for_are_refused(still: Square) -> None:
    good = still.on(0, K.COMMENT, still.share, text=0)
    like, rating = still.on(2, K.LIKE, still.root), still.on(2, K.RATE_NOTE, still.root, helpful=1)
    for action, name, number in (
        (good, "agent", 2**32), (good, "kind", 256 + K.LIKE), (good, "row", 2**62), (good, "text", 2**32),
        (like, "target", 2**32 + like["target"]), (rating, "helpful", 257),
    ):  # fmt: skip
        fits = resolve(still.world, still.feed, choices(action), EVERY_KIND, Actions()).rows["actions"]
        assert column(fits, "status") == [ActionStatus.ACCEPTED], name
        chosen = replace(choices(action), **{name: np.array([number])})
        rows = resolve(still.world, still.feed, chosen, EVERY_KIND, Actions()).rows["actions"]
        assert column(rows, "status") == [ActionStatus.REFUSED], name
    for dtype in (np.uint64, np.uint32):
        chosen = replace(choices(good), row=np.array([2**32 - 1], dtype), text=np.array([2**32 - 1], dtype))
        rows = resolve(still.world, still.feed, chosen, EVERY_KIND, Actions()).rows["actions"]
        assert [column(rows, name) for name in ("reason", "text")] == [[Reason.NOT_SHOWN], [NONE]]


@pytest.mark.parametrize("threads", [1, 2])
def test_agents_of_every_block_are_judged_by_their_own_past(threads: int) -> None:
    """Of four blocks, of which two are judged at a time where there are threads."""
    n = 3 * BLOCK + 50
    world = town(n, 1)
    root, last = post(world, n), n - 1
    react(world, K.LIKE, 1, root)
    react(world, K.LIKE, last, root)
    feed = feed_of(world)
    show(world, feed)
    some = [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK, last]
    on_row = [{"agent": agent, "kind": K.LIKE, "row": row_of(feed, agent, root), "target": root} for agent in some]
    strangers = [{"agent": agent, "kind": K.POST, "text": 0} for agent in (-1, n, BLOCK * 5)]
    with limited(threads):
        chosen = choices(strangers[0], *on_row, *strangers[1:])
        rows = resolve(world, feed, chosen, EVERY_KIND, Actions()).rows["actions"]
    assert reasons(rows) == [
        "not_shown", "none", "repeated", "none", "none", "none", "repeated", "not_shown", "not_shown",
    ]  # fmt: skip


def test_who_is_not_there_is_refused_where_nobody_is() -> None:
    world = World(1, 4)
    nobody = np.empty(0, np.int32)
    feed = Feed(nobody, np.zeros(1, np.int64), schema.empty("exposures"))
    rows = resolve(world, feed, choices({"agent": 3, "kind": K.POST, "text": 0}), EVERY_KIND, Actions()).rows
    assert (reasons(rows["actions"]), column(rows["actions"], "target")) == (["not_shown"], [NONE])


def test_an_agent_follows_an_author_once_however_many_rows_are_theirs() -> None:
    world = town(3, 1)
    shown = [post(world, 1) for _ in range(70)] + [post(world, 2)]
    feed = feed_of(world, [0], others=100)
    show(world, feed)
    authors = world.posts["author"]
    actions = [
        {"agent": 0, "kind": K.FOLLOW, "row": row_of(feed, 0, one), "target": int(authors[one])} for one in shown
    ]
    rows = resolve(world, feed, choices(*actions), EVERY_KIND, Actions()).rows["actions"]
    assert reasons(rows) == ["none"] + ["repeated"] * 69 + ["none"]
