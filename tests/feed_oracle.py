"""The feed of one agent in plain Python, from the sentences of DESIGN §2, for comparison with the compiled one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from made import draws_of

from townsquare.config import Feed as FeedSettings
from townsquare.draws import Stage, bits_oracle
from townsquare.schema import NONE, PostKind, PostStatus, Slot
from townsquare.world import World

Bits = Callable[[str, int, int], int]


class Row(NamedTuple):
    """What the oracle says of one row."""

    rank: int
    post: int
    under: int
    slot: Slot


def expected_feed(world: World, agent: int, settings: FeedSettings, score: list[float], seed: int = 1) -> list[Row]:
    """The rows that ``agent`` is shown in the step being taken; ``score`` is the ranker's, by post."""
    bits = _bits(world, seed)
    key, root = world.posts["key"], world.posts["root"].tolist()
    followed = {other for other in range(world.n_agents) if world.follows.get(agent, other, NONE) != NONE}

    def in_order(rows: list[int]) -> list[int]:
        return sorted(rows, key=lambda p: (-score[p], bits("order", agent, key[p])))

    newest: dict[int, int] = {}
    for p in _newest_rows_of(world, followed):
        r = root[p]
        if world.posts["author"][r] == agent or world.posts["status"][r] != PostStatus.ACTIVE:
            continue
        old = newest.get(r)
        if old is None or _age_order(world, bits, agent, p) < _age_order(world, bits, agent, old):
            newest[r] = p
    above = in_order(list(newest.values()))[: settings.followed]
    shown = {root[p] for p in above}
    pool, n_injected = expected_pool(world, settings, bits)
    free = [p for p in pool if world.posts["author"][p] not in (followed | {agent}) and p not in shown]

    def place(p: int) -> int:
        draw, n_rest = bits("pool", agent, key[p]), len(pool) - n_injected
        return draw // n_rest * n_injected if pool.index(p) < n_injected < n_rest else draw

    others = sorted(free, key=place)[: settings.others]
    out: list[Row] = []
    for rank, p in enumerate(in_order(above + others)):
        out.append(Row(rank, p, NONE, Slot.FOLLOWED if p in above else Slot.OTHER))
        comments = _comments_under(world, root[p], agent, bits)[: settings.comments]
        out += [Row(rank, c, root[p], Slot.COMMENT) for c in comments]
    return out


def expected_pool(world: World, settings: FeedSettings, bits: Bits) -> tuple[list[int], int]:
    """Roots of the pool, injected ones first, and how many these are."""
    posts = world.posts
    live = [
        p
        for p in range(posts.n)
        if posts["status"][p] == PostStatus.ACTIVE and posts["kind"][p] in (PostKind.ORIGINAL, PostKind.INJECTED)
    ]
    live.sort(key=lambda p: (-int(posts["step"][p]), bits("pool order", 0, posts["key"][p])))
    window = range(world.step + 2 - settings.injected_window, world.step + 2)
    fresh = [p for p in live if posts["kind"][p] == PostKind.INJECTED and posts["step"][p] in window]
    rest = [p for p in live if p not in fresh]
    fresh = fresh[: max(settings.pool // 2, settings.pool - len(rest))]
    rest = rest[: settings.pool - len(fresh)]
    injected = fresh + [p for p in rest if posts["kind"][p] == PostKind.INJECTED]
    return injected + [p for p in rest if p not in injected], len(injected)


def _bits(world: World, seed: int) -> Bits:
    draw = draws_of(world, Stage.FEED, seed)

    def bits(purpose: str, agent: int, key: int) -> int:
        return int(bits_oracle(draw.base(purpose), np.array([agent]), np.array([key], np.uint64))[0])

    return bits


def _newest_rows_of(world: World, authors: set[int]) -> list[int]:
    """The newest few rows of each author, comments not among them."""
    posts, ring = world.posts, world.newest.shape[1]
    out: list[int] = []
    for author in sorted(authors):
        rows = [p for p in range(posts.n) if posts["author"][p] == author and posts["kind"][p] != PostKind.COMMENT]
        out += rows[-ring:]
    return out


def _age_order(world: World, bits: Bits, agent: int, p: int) -> tuple[int, int]:
    return -int(world.posts["step"][p]), bits("newest", agent, world.posts["key"][p])


def _comments_under(world: World, root: int, agent: int, bits: Bits) -> list[int]:
    posts = world.posts
    rows = [
        p
        for p in range(posts.n)
        if posts["kind"][p] == PostKind.COMMENT and posts["parent"][p] == root and posts["author"][p] != agent
    ]
    return sorted(rows, key=lambda p: (-int(posts["likes"][p]), bits("comment order", 0, posts["key"][p])))
