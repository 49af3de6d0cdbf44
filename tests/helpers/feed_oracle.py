"""The feed of one agent in plain Python, from sentences, for comparison with the compiled one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from small_worlds import draws_of
from townsquare.core.draws import Stage
from townsquare.core.enums import PostKind, PostStatus, Slot
from townsquare.core.schema import NONE
from townsquare.settings.config import Feed as FeedSettings
from townsquare.simulation.world import World

Bits = Callable[[str, int, int], int]
_MASK = (1 << 64) - 1


class Row(NamedTuple):
    """What the oracle says of one row."""

    rank: int
    post: int
    under: int
    slot: Slot


def expected_feed(world: World, agent: int, settings: FeedSettings, score: list[float], seed: int = 1) -> list[Row]:
    """The rows that ``agent`` is shown in the step being taken; ``score`` is the ranker's, by post."""
    bits, posts = _bits(world, seed), _columns(world)
    key, root = posts["key"], posts["root"]
    followed = {other for other in range(world.n_agents) if world.follows.get(agent, other, NONE) != NONE}

    def in_order(rows: list[int]) -> list[int]:
        return sorted(rows, key=lambda p: (-score[p], bits("order", agent, key[p])))

    newest: dict[int, int] = {}
    for p in _newest_rows_of(world, followed):
        r = root[p]
        if posts["author"][r] == agent or posts["status"][r] != PostStatus.ACTIVE:
            continue
        old = newest.get(r)
        if old is None or _age_order(world, bits, agent, p) < _age_order(world, bits, agent, old):
            newest[r] = p
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


def _bits(world: World, seed: int) -> Bits:
    """The draw itself is tested elsewhere; here it is in plain integers, for speed."""
    draw = draws_of(world, Stage.FEED, seed)
    bases: dict[str, int] = {}

    def bits(purpose: str, agent: int, key: int) -> int:
        if purpose not in bases:
            bases[purpose] = int(draw.base(purpose))
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
