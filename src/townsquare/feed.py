"""Who is shown what (DESIGN §2, Feed).

From followed accounts: the newest few rows of each, one row a root, the best of them by the ranker. From others: a
shared pool of roots, of which live injected ones of the last steps take up to half; each agent gets those with the
smallest draw by (agent, root), so that nobody's feed depends on anybody else's. Where the pool holds fewer injected
roots than others, their draws are scaled so that both kinds weigh the same: more agents, who write more, do not crowd
them out. Then the ranker's order, and comments under posts. A feed shows a root once, never one's own, and nothing
that was taken down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare import schema
from townsquare.config import Beliefs, MemberParams
from townsquare.config import Feed as FeedSettings
from townsquare.draws import StageDraws
from townsquare.feed_kernels import count_rows, fill_feeds, lay_out, put_beside
from townsquare.feed_personal import Personal, alike, put_on_top
from townsquare.pairs import lookup, rows_between, spans
from townsquare.rankers.contract import Ranker
from townsquare.schema import NoteStatus, PostKind, PostStatus
from townsquare.world import World

Array = npt.NDArray[Any]
MANY_AGENTS = 100_000  # above this many persons, comments are not shown under posts unless the settings say so


@dataclass(frozen=True, slots=True)
class Feed:
    """The feeds of one batch of agents.

    ``agents`` (k,) int32 ascending; ``indptr`` (k + 1,) int64 marks each agent's rows; ``exposures`` are rows of the
    table of that name, in feed order.
    """

    agents: npt.NDArray[np.int32]
    indptr: npt.NDArray[np.int64]
    exposures: schema.Columns


def build(
    world: World,
    agents: npt.NDArray[np.int32],
    ranker: tuple[Ranker, MemberParams],
    settings: FeedSettings,
    beliefs: Beliefs,
    draw: StageDraws,
    special: Personal | None = None,
) -> Feed:
    """The feeds of ``agents`` (ascending rows of agents) in step ``world.step + 1``. Reads the world only.

    ``special`` says what differs between agents; nothing does where it is not given.
    """
    member, params = ranker
    special = special or alike(agents, settings)
    score = member.score(world.posts, world.step + 1, params)
    pool = shared_pool(world, settings, draw)
    per_post = comments_per_post(world, settings)
    comments = _comments(world, draw) if per_post else (np.zeros(world.posts.n + 1, np.int64), np.empty(0, np.int32))
    parts = []
    for number, first, stop in spans(world.n_agents):
        lo, hi = rows_between(agents, first, stop)
        if hi > lo:
            mine = (agents[lo:hi], special.part(lo, hi))
            parts.append(_block(world, number, first, *mine, score, pool, comments, per_post, settings, draw))
    return _label(world, agents, parts, special.labels, beliefs, draw)


def comments_per_post(world: World, settings: FeedSettings) -> int:
    """Comments shown under a post: as set, else 3, or 0 in very large runs."""
    if settings.comments is not None:
        return settings.comments
    return 3 if np.count_nonzero(world.persons()) <= MANY_AGENTS else 0


class Pool(NamedTuple):
    """Roots that rows from other accounts are taken from, (k,) int32; the first ``n_injected`` are injected ones."""

    roots: npt.NDArray[np.int32]
    n_injected: int


def shared_pool(world: World, settings: FeedSettings, draw: StageDraws) -> Pool:
    """Live injected roots, then others; the newest, ties by draw.

    Injected roots of the last ``injected_window`` steps take up to half; if there are fewer, other roots fill up,
    older injected ones among them, and the other way round.
    """
    step, status, key = world.posts["step"], world.posts["status"], world.posts["key"]
    oldest = world.step + 1 - settings.injected_window
    injected = world.injected_rows[::-1]
    injected = injected[(step[injected] > oldest) & (status[injected] == PostStatus.ACTIVE)]
    rest = _newest(_recent_roots(world, settings.pool, injected), step, key, settings.pool, draw)
    half = max(settings.pool // 2, settings.pool - rest.size)
    chosen = _newest(injected, step, key, half, draw)
    roots = np.concatenate([chosen, rest[: settings.pool - chosen.size]]).astype(np.int32)
    is_injected = world.posts["kind"][roots] == PostKind.INJECTED
    return Pool(np.concatenate([roots[is_injected], roots[~is_injected]]), int(np.count_nonzero(is_injected)))


def _newest(roots: Array, step: Array, key: Array, limit: int, draw: StageDraws) -> Array:
    tie = draw.bits("pool order", np.zeros(roots.size, np.int64), key[roots])
    return roots[np.lexsort((tie, -step[roots].astype(np.int64)))][:limit]


def _recent_roots(world: World, limit: int, without: Array) -> Array:
    """Live original and injected roots, whole steps at a time from the newest, until ``limit`` are found."""
    kind, status = world.posts["kind"], world.posts["status"]
    found: list[Array] = []
    n, stop = 0, world.posts.n
    for start in [*world.step_starts[::-1], 0]:
        rows = np.arange(start, stop)
        is_root = (kind[start:stop] == PostKind.ORIGINAL) | (kind[start:stop] == PostKind.INJECTED)
        rows = rows[is_root & (status[start:stop] == PostStatus.ACTIVE)]
        found.append(rows[~np.isin(rows, without)])
        n += found[-1].size
        stop = start
        if n >= limit or start == 0:
            break
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _comments(world: World, draw: StageDraws) -> tuple[Array, Array]:
    """Live comments by post as a CSR, most liked first, equal ones by a draw."""
    rows = world.comment_rows[world.posts["status"][world.comment_rows] == PostStatus.ACTIVE]
    tie = draw.bits("comment order", np.zeros(rows.size, np.int64), world.posts["key"][rows])
    parent = np.asarray(world.posts["parent"])[rows]
    order = np.lexsort((tie, -np.asarray(world.posts["likes"])[rows].astype(np.int64), parent))
    counts = np.bincount(parent, minlength=world.posts.n)
    return np.r_[0, np.cumsum(counts)].astype(np.int64), rows[order].astype(np.int32)


def _block(
    world: World,
    number: int,
    first: int,
    agents: npt.NDArray[np.int32],
    special: Personal,
    score: Array,
    pool: Pool,
    comments: tuple[Array, Array],
    per_post: int,
    settings: FeedSettings,
    draw: StageDraws,
) -> dict[str, Array]:
    """Agent, rank, post, under, slot, first_seen and rows per agent for some agents of one block."""
    n, width = agents.shape[0], settings.followed + int(special.others.max(initial=0))
    posts = world.posts
    author, root, status = posts["author"], posts["root"], posts["status"]
    rows, slots = np.empty((n, width), np.int32), np.empty((n, width), np.uint8)
    counts = np.empty(n, np.int64)
    follows = world.follows.blocks[number]
    fill_feeds(
        agents, first, follows.indptr, follows.key, world.newest, world.n_rows,
        author, root, status, posts["step"], posts["key"], score,
        *pool, settings.followed, special.others, draw.base("newest"), draw.base("order"), draw.base("pool"),
        rows, slots, counts,
    )  # fmt: skip
    if special.sent.size:
        rows, slots, counts = put_on_top(special.sent, rows, slots, counts, root)
    indptr = np.zeros(n + 1, np.int64)
    count_rows(agents, rows, counts, root, author, *comments, per_post, indptr)
    np.cumsum(indptr, out=indptr)
    m = int(indptr[-1])
    out: dict[str, Array] = {
        "agent": np.empty(m, np.int32),
        "rank": np.empty(m, np.int16),
        "post": np.empty(m, np.int32),
        "under": np.empty(m, np.int32),
        "slot": np.empty(m, np.uint8),
    }
    lay_out(agents, rows, slots, counts, root, author, *comments, per_post, indptr, *out.values())
    out["root"] = np.asarray(root)[out["post"]]
    seen = world.seen.blocks[number]
    whole = np.zeros(seen.n_agents + 1, np.int64)
    whole[agents - first + 1] = np.diff(indptr)
    out["first_seen"] = lookup(seen, np.cumsum(whole), out["root"]) < 0
    out["counts"] = np.diff(indptr)
    return out


def _label(
    world: World,
    agents: npt.NDArray[np.int32],
    parts: list[dict[str, Array]],
    shows: npt.NDArray[np.bool_],
    beliefs: Beliefs,
    draw: StageDraws,
) -> Feed:
    """Join the blocks and add what stands beside each row: author, counts, labels, offered note, label weight."""
    if not parts:
        return Feed(agents, np.zeros(agents.shape[0] + 1, np.int64), schema.empty("exposures"))
    column = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    parts.clear()
    indptr = np.r_[0, np.cumsum(column.pop("counts"))].astype(np.int64)
    posts, root, n = world.posts, column["root"], column["root"].size
    offered = np.full(n, schema.NONE, np.int32)
    if shows.any():
        offered = _offer(world, column["agent"], root, draw)
    if not shows.all():
        offered[~np.repeat(shows, np.diff(indptr))] = schema.NONE
    verdict, note, weight = np.empty(n, np.uint8), np.empty(n, np.int32), np.empty(n)
    counts = {name: np.empty(n, np.int32) for name in ("likes", "dislikes", "shares", "comments", "flags")}
    put_beside(
        indptr, root, tuple(posts[name] for name in counts), tuple(counts.values()), posts["verdict"], posts["note"],
        shows, beliefs.label_weight.noted, beliefs.label_weight.false, verdict, note, weight,
    )  # fmt: skip
    exposures = schema.rows(
        "exposures", n, step=world.step + 1, author=posts["author"][column["post"]], **counts,
        verdict=verdict, note=note, offered=offered, weight=weight, **column,
    )  # fmt: skip
    return Feed(agents, indptr, exposures)


def _offer(world: World, agents: Array, roots: Array, draw: StageDraws) -> npt.NDArray[np.int32]:
    """A note to rate for each row whose root has one: a pending one if there is, drawn by (agent, root).

    An agent is not offered its own note, nor one it has rated.
    """
    out = np.full(roots.size, schema.NONE, np.int32)
    if not world.notes.n:
        return out
    at = np.flatnonzero(world.posts["notes"][roots] > 0)
    post, shown = np.asarray(world.notes["post"]), np.asarray(world.notes["status"]) == NoteStatus.SHOWN
    order = np.lexsort((shown, post))  # by post, pending first
    total = np.bincount(post, minlength=world.posts.n)
    pending = np.bincount(post[~shown], minlength=world.posts.n)
    start = np.r_[0, np.cumsum(total)]
    r = roots[at]
    choices = np.where(pending[r] > 0, pending[r], total[r])
    pick = draw.integers("offer", agents[at], world.posts["key"][r], np.maximum(choices, 1))
    note = order[start[r] + pick].astype(np.int32)
    mine = np.asarray(world.notes["author"])[note] == agents[at]
    rated = world.find(world.ratings, agents[at], note) > 0
    out[at] = np.where(mine | rated, schema.NONE, note)
    return out
