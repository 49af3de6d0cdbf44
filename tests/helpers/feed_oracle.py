"""The feed of one agent in plain Python, from sentences, for comparison with the compiled one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from small_worlds import draws_of, end_step, follow, log, post, react, town
from townsquare.core.actions import ActionKind
from townsquare.core.draws import Stage
from townsquare.core.enums import LogKind, PostKind, PostStatus, Slot, Verdict
from townsquare.core.schema import NONE
from townsquare.settings.config import Feed as FeedSettings
from townsquare.settings.config import LabelWeight
from townsquare.simulation.feed.options import FeedOptions, uniform_options
from townsquare.simulation.world import World

Bits = Callable[[str, int, int], int]
_MASK = (1 << 64) - 1


PERSONS = 8


def busy_town(seed: int, ring: int = 3) -> World:
    """A world of a few steps with posts, shares, comments, likes, follows and takedowns at random."""
    rng = np.random.default_rng(seed)
    world = town(PERSONS, 2, ring=ring)
    n = world.n_agents
    pairs = {(int(a), int(b)) for a, b in rng.integers(0, n, (25, 2)) if a != b and a < PERSONS}
    follow(world, *sorted(pairs))
    for _ in range(3):
        for _ in range(rng.integers(0, 8)):
            kind, author = rng.random(), int(rng.integers(0, PERSONS))
            roots = np.flatnonzero(np.isin(world.posts["kind"], (PostKind.ORIGINAL, PostKind.INJECTED)))
            if kind < 0.4 or not roots.size:
                post(world, author)
            elif kind < 0.6:
                post(world, author, share_of=int(rng.choice(roots)))
            elif kind < 0.8:
                post(world, author, under=int(rng.choice(roots)))
            else:
                post(world, PERSONS + int(rng.integers(0, 2)), kind=PostKind.INJECTED)
        for p in range(world.posts.n):
            if rng.random() < 0.3:
                comment = world.posts["kind"][p] == PostKind.COMMENT
                kind = ActionKind.LIKE_COMMENT if comment else ActionKind.LIKE
                react(world, kind, int(rng.integers(0, PERSONS)), int(world.posts["root"][p]))
            if rng.random() < 0.08 and world.posts["root"][p] == p:
                log(world, LogKind.TAKEDOWN, p)
        if rng.random() < 0.8:
            end_step(world)
    return world


def options_of(**given_settings: Any) -> FeedOptions:
    return uniform_options(np.arange(PERSONS, dtype=np.int32), FeedSettings(**given_settings), LabelWeight())


class Row(NamedTuple):
    """What the oracle says of one row."""

    rank: int
    post: int
    under: int
    slot: Slot


def expected_feed(world: World, agent: int, settings: FeedSettings, score: list[float], seed: int = 1) -> list[Row]:
    """The rows that ``agent`` is shown in the step being taken; ``score`` is the ranker's, by post."""
    bits, posts = bits_of(world, seed), _columns(world)
    key, root = posts["key"], posts["root"]
    followed = _followed(world, agent)

    def in_order(rows: list[int]) -> list[int]:
        return sorted(rows, key=lambda p: (-score[p], bits("order", agent, key[p])))

    newest = _newest_of_roots(world, agent, followed, bits)
    above = in_order(list(newest.values()))[: settings.followed]
    shown = {root[p] for p in above}
    pool, n_injected = expected_pool(world, settings, bits)
    free = [p for p in pool if posts["author"][p] not in (followed | {agent}) and p not in shown]

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
    posts = _columns(world)
    live = [
        p
        for p in range(world.posts.n)
        if posts["status"][p] == PostStatus.ACTIVE and posts["kind"][p] in (PostKind.ORIGINAL, PostKind.INJECTED)
    ]
    live.sort(key=lambda p: (-posts["step"][p], bits("pool order", 0, posts["key"][p])))
    window = range(world.step + 2 - settings.injected_window, world.step + 2)
    fresh = [p for p in live if posts["kind"][p] == PostKind.INJECTED and posts["step"][p] in window]
    rest = [p for p in live if p not in fresh]
    fresh = fresh[: max(settings.pool // 2, settings.pool - len(rest))]
    rest = rest[: settings.pool - len(fresh)]
    injected = fresh + [p for p in rest if posts["kind"][p] == PostKind.INJECTED]
    return injected + [p for p in rest if p not in injected], len(injected)


def _columns(world: World) -> dict[str, list[int]]:
    names = ("key", "kind", "author", "root", "parent", "step", "status", "likes")
    return {name: world.posts[name].tolist() for name in names}


def bits_of(world: World, seed: int) -> Bits:
    """The draw itself is tested elsewhere; here it is in plain integers, for speed."""
    draw = draws_of(world, Stage.FEED, seed)
    bases: dict[str, int] = {}

    def bits(purpose: str, agent: int, key: int) -> int:
        if purpose not in bases:
            bases[purpose] = int(draw.base(purpose, lasting=purpose == "error"))
        return _mix(_mix((bases[purpose] + agent * 0x9E3779B97F4A7C15) & _MASK) ^ int(key))

    return bits


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def _newest_rows_of(world: World, authors: set[int]) -> list[int]:
    """The newest few rows of each author, comments not among them."""
    posts, ring = _columns(world), world.newest.shape[1]
    out: list[int] = []
    rows = [p for p in range(world.posts.n) if posts["kind"][p] != PostKind.COMMENT]
    for author in sorted(authors):
        out += [p for p in rows if posts["author"][p] == author][-ring:]
    return out


def _age_order(world: World, bits: Bits, agent: int, p: int) -> tuple[int, int]:
    posts = _columns(world)
    return -posts["step"][p], bits("newest", agent, posts["key"][p])


def _comments_under(world: World, root: int, agent: int, bits: Bits) -> list[int]:
    posts = _columns(world)
    rows = [
        p
        for p in range(world.posts.n)
        if posts["kind"][p] == PostKind.COMMENT
        and posts["parent"][p] == root
        and posts["author"][p] != agent
        and posts["status"][p] == PostStatus.ACTIVE
    ]
    return sorted(rows, key=lambda p: (-posts["likes"][p], bits("comment order", 0, posts["key"][p])))


def _followed(world: World, agent: int) -> set[int]:
    return {other for other in range(world.n_agents) if world.follows.get(agent, other, NONE) != NONE}


def _newest_of_roots(world: World, agent: int, followed: set[int], bits: Bits) -> dict[int, int]:
    """The newest row of each live root of others, among the newest rows of followed accounts."""
    posts, newest = _columns(world), {}
    for p in _newest_rows_of(world, followed):
        r = posts["root"][p]
        if posts["author"][r] == agent or posts["status"][r] != PostStatus.ACTIVE:
            continue
        if r not in newest or _age_order(world, bits, agent, p) < _age_order(world, bits, agent, newest[r]):
            newest[r] = p
    return newest


# --- sessions ----------------------------------------------------------------------------------------------


def _uniform(bits: Bits, purpose: str, agent: int, key: int) -> float:
    return (bits(purpose, agent, key) >> 11) / 2**53


def _oldest(world: World, hours: float | None) -> int:
    return 0 if hours is None else max(0, math.ceil(world.step + 1 - hours))


def expected_walks(world: World, agent: int, settings: FeedSettings) -> set[int]:
    """The roots that an agent's walks find."""
    bits, posts, found = bits_of(world, 1), _columns(world), set()
    for walk in range(settings.walks):
        u, here, steps = [_uniform(bits, "walk", agent, 3 * walk + x) for x in range(3)], agent, 0
        while steps < 2 and (followed := sorted(_followed(world, here))):
            here, steps = followed[int(u[steps] * len(followed))], steps + 1
        rows = _newest_rows_of(world, {here})
        if steps < 2 or here == agent or not rows:
            continue
        row = rows[-2] if len(rows) > 1 and u[2] < 0.5 else rows[-1]
        root = posts["root"][row]
        live = posts["status"][root] == PostStatus.ACTIVE and posts["author"][root] != agent
        if live and posts["step"][row] >= _oldest(world, settings.window_hours):
            found.add(root)
    return found


def expected_session(world: World, agent: int, settings: FeedSettings, score: list[float]) -> list[tuple[int, Slot]]:
    """The rows that ``agent`` examines: posts, and where they are from."""
    bits, posts, hours = bits_of(world, 1), _columns(world), settings.window_hours
    followed = _followed(world, agent)

    def place(p: int) -> tuple[float, int]:
        root = posts["root"][p]
        u = _uniform(bits, "error", agent, posts["key"][root])
        down = settings.downrank if world.posts["verdict"][root] == Verdict.FALSE else 0.0
        return down - score[p] - settings.error * math.log(u / (1 - u)), bits("order", agent, posts["key"][p])

    def fresh(root: int) -> bool:
        again = settings.repeat or world.seen.get(agent, root, NONE) == NONE
        return again and posts["step"][root] >= _oldest(world, None if hours is None else 2 * hours)

    rows = _newest_of_roots(world, agent, followed, bits)
    inside = [p for root, p in rows.items() if fresh(root) and posts["step"][p] >= _oldest(world, hours)]
    inside = sorted(inside, key=place)[: settings.followed]
    shown = {posts["root"][p] for p in inside}
    outside = [r for r in expected_walks(world, agent, settings) if fresh(r) and posts["author"][r] not in followed]
    outside = sorted((r for r in outside if r not in shown), key=place)[: settings.others]
    assert settings.depth_mean is not None
    depth = 1 + math.floor(math.log(_uniform(bits, "depth", agent, 0)) / math.log1p(-1 / settings.depth_mean))
    out: list[tuple[int, Slot]] = []
    while (inside or outside) and len(out) < depth:
        from_others = _uniform(bits, "mix", agent, len(out)) < settings.outside_share
        is_outside = bool(outside) and (from_others or not inside)
        out.append((outside.pop(0), Slot.OTHER) if is_outside else (inside.pop(0), Slot.FOLLOWED))
    return out
