"""Whatever a policy chooses becomes one row of actions, with the reason that plain Python gives for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made import EVERY_KIND, choices
from square import K, Square, column
from townsquare.actions import resolve
from townsquare.config import Actions
from townsquare.feed import Feed
from townsquare.schema import NONE, Reason, Slot
from townsquare.world import World

ONCE = (K.LIKE, K.DISLIKE, K.SHARE, K.FLAG, K.ADD_NOTE)


def oracle(square: Square, actions: list[dict[str, int]], texts: tuple[str, ...]) -> list[Reason]:
    """The reason for each action, one after the other, from the sentences of DESIGN §2."""
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
    if kind > K.IGNORE:
        return Reason.DISABLED
    if agent not in feed.agents:
        return Reason.NOT_SHOWN
    if kind not in (K.POST, K.IGNORE):
        at = feed.agents.tolist().index(agent)
        if not feed.indptr[at] <= row < feed.indptr[at + 1]:
            return Reason.NOT_SHOWN
        on_comment = rows["slot"][row] == Slot.COMMENT
        wanted = {K.FOLLOW: "author", K.UNFOLLOW: "author", K.RATE_NOTE: "offered"}.get(K(kind), "root")
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
    if kind == K.RATE_NOTE and action["helpful"] not in (0, 1):
        return Reason.EMPTY
    follows = kind in (K.FOLLOW, K.UNFOLLOW) and world.follows.get(agent, target, NONE) != NONE
    if kind == K.FOLLOW and follows:
        return Reason.REPEATED
    if kind == K.UNFOLLOW and not follows:
        return Reason.NOT_FOLLOWING
    root = rows["root"][row] if kind in (*ONCE, K.LIKE_COMMENT) else target
    return Reason.REPEATED if (agent, kind, root) in done else Reason.NONE


NUMBERS = st.one_of(st.integers(-2, 40), st.sampled_from([-(2**31), 2**31 - 1]))


@pytest.fixture(scope="module")
def still() -> Square:
    """A square that no test changes."""
    return Square()


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_whatever_is_chosen_becomes_one_row(still: Square, data: st.DataObject) -> None:
    world, feed = still.world, still.feed
    texts = ("fine", " ", "y" * 251, "z" * 2001, "fine")
    known = len(world.texts)
    row = st.one_of(st.integers(-2, int(feed.indptr[-1]) + 2), st.sampled_from([-(2**63), 2**62, 2**63 - 1]))
    wild = st.fixed_dictionaries(
        {
            "agent": st.integers(-1, 10), "kind": st.integers(0, 255), "row": row, "target": NUMBERS,
            "text": st.one_of(NUMBERS, st.integers(0, known + 6)), "helpful": st.integers(-2, 2), "reasoning": NUMBERS,
        }
    )  # fmt: skip

    def near(one: dict[str, int]) -> dict[str, int]:
        """Mostly right: on a row of the agent's own feed, with what stands there as target."""
        agent, kind = one["agent"] % 8, one["kind"] % 12
        lo, hi = feed.indptr[agent], feed.indptr[agent + 1]
        at = int(lo + one["row"] % (hi - lo))
        name = {K.FOLLOW: "author", K.UNFOLLOW: "author", K.RATE_NOTE: "offered"}.get(K(kind), "post")
        target = int(np.asarray(feed.exposures[name])[at])
        return one | {"agent": agent, "kind": kind, "row": at, "target": target}

    actions = data.draw(st.lists(st.one_of(wild, wild.map(near), wild.map(near)), min_size=1, max_size=12))
    actions.sort(key=lambda action: action["agent"])
    change = resolve(world, feed, choices(*actions, texts=texts), EVERY_KIND, Actions())
    rows = change.rows["actions"]
    wanted = oracle(still, actions, texts)
    assert [Reason(reason) for reason in column(rows, "reason")] == wanted
    for name in ("agent", "kind"):
        assert column(rows, name) == [action[name] for action in actions]
    n_texts = known + len(change.rows["texts"]["content"])
    assert all(NONE <= text < n_texts for name in ("text", "reasoning") for text in column(rows, name))
    accepted = [action["kind"] for action, reason in zip(actions, wanted, strict=True) if reason == Reason.NONE]
    posts = sum(kind in (K.POST, K.SHARE, K.COMMENT) for kind in accepted)
    for table, number in (("posts", posts), ("notes", accepted.count(K.ADD_NOTE))):
        assert len(change.rows.get(table, {"step": []})["step"]) == number
