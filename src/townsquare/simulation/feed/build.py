"""Who is shown what.

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

from townsquare.core import schema
from townsquare.core.coded_rows import CodedRows
from townsquare.core.draws import StageDraws
from townsquare.core.pairs import rows_between, spans
from townsquare.core.schema import PostKind, PostStatus
from townsquare.settings.config import Beliefs, MemberParams
from townsquare.settings.config import Feed as FeedSettings
from townsquare.simulation.feed.candidates import Cards, cards
from townsquare.simulation.feed.kernels import Bases, PoolColumns, Ranked, Readers, fill_feeds
from townsquare.simulation.feed.order import bits_for, ranks
from townsquare.simulation.feed.personal import Personal, alike, put_on_top
from townsquare.simulation.feed.rankers.contract import Ranker, scores
from townsquare.simulation.feed.roots import Comments, Notes, Roots, beside, both_kinds, notes_of, number_roots
from townsquare.simulation.feed.write import Known, Rows, count_rows, write_rows
from townsquare.simulation.world import World

Array = npt.NDArray[Any]
_DTYPES = {column.name: column.dtype for column in schema.TABLES["exposures"].recorded}
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


class _Block(NamedTuple):
    """Who of one block of the pair stores has a feed, and what differs between them."""

    number: int
    first: int
    agents: npt.NDArray[np.int32]
    special: Personal


class _Shelf(NamedTuple):
    """What the feeds of a batch are made of, the same for all of its agents.

    ``rank_bits`` do for the ranks of all of them. ``labeled`` is what is added to the number of a root to have its
    code where labels are shown with it.
    """

    deck: Cards
    pool: PoolColumns
    rank_bits: int
    comments: Comments
    roots: Roots
    notes: Notes
    labeled: int


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
    special = special or alike(agents, settings)
    shelf = _shelf(world, ranker, settings, draw, special)
    per_post = 1 + shelf.comments.per_post
    most = int(settings.followed * agents.size + special.others.sum() + special.sent.size) * per_post
    rows = Rows(*(np.empty(most, np.int32 if name == "code" else _DTYPES[name]) for name in Rows._fields))
    indptr = np.zeros(agents.shape[0] + 1, np.int64)
    for number, first, stop in spans(world.n_agents):
        lo, hi = rows_between(agents, first, stop)
        if hi > lo:
            block = _Block(number, first, agents[lo:hi], special.part(lo, hi))
            _write_block(world, block, shelf, settings, draw, indptr[lo : hi + 1], rows)
    n = int(indptr[-1])
    columns = {name: column[:n] for name, column in rows._asdict().items()}
    code = columns.pop("code")
    columns["step"] = np.broadcast_to(np.int32(world.step + 1), n)
    shown = beside(world, shelf.roots, special.labels, beliefs.label_weight)
    return Feed(agents, indptr, CodedRows(columns, code, shown))


def _shelf(
    world: World, ranker: tuple[Ranker, MemberParams], settings: FeedSettings, draw: StageDraws, special: Personal
) -> _Shelf:
    """Cards, pool and comments, and the numbers of their roots."""
    member, params = ranker
    posts = world.posts
    score = scores(member, posts, world.step + 1, params)
    chosen = shared_pool(world, settings, draw)
    deck = cards(world, score)
    comments = _comments(world, draw, comments_per_post(world, settings))
    more = np.asarray(posts["root"])[np.r_[chosen.roots, special.sent[special.sent >= 0]]]
    roots = number_roots(deck, more, comments, posts.n)
    author, key = (np.asarray(posts[name])[chosen.roots] for name in ("author", "key"))
    number = roots.number[chosen.roots]
    rank, n_ranks = ranks(np.concatenate([deck.numbers[:, 3], score[chosen.roots]]))
    deck.words[:, 3] = rank[: deck.words.shape[0]]
    pool = PoolColumns(chosen.roots, number, author, key, rank[deck.words.shape[0] :], chosen.n_injected)
    labeled = roots.row.size if both_kinds(special.labels) else 0
    return _Shelf(deck, pool, bits_for(n_ranks), comments, roots, notes_of(world, roots), labeled)


def _write_block(
    world: World,
    block: _Block,
    shelf: _Shelf,
    settings: FeedSettings,
    draw: StageDraws,
    indptr: npt.NDArray[np.int64],
    rows: Rows,
) -> None:
    """The feeds of some agents of one block, into ``rows`` from ``indptr[0]`` on; writes the rest of ``indptr``."""
    author = world.posts["author"]
    ranked = _ranked(world, block, shelf, settings, draw)
    count_rows(block.agents, ranked, shelf.roots, author, shelf.comments, indptr)
    np.cumsum(indptr, out=indptr)
    code_of_labels = np.where(block.special.labels, np.int32(shelf.labeled), np.int32(-1))
    seen, rated = (store.blocks[block.number][:2] for store in (world.seen, world.ratings))
    known = Known(block.first, *seen, *rated, draw.base("offer"))
    write_rows(
        block.agents, ranked, indptr, shelf.roots, author, shelf.comments, shelf.notes, known, code_of_labels, rows
    )


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


def _comments(world: World, draw: StageDraws, per_post: int) -> Comments:
    """Live comments by post, most liked first, equal ones by a draw; none if none are shown."""
    if not per_post:
        return Comments(np.empty(0, np.int64), np.empty(0, np.int32), 0)
    rows = world.comment_rows[world.posts["status"][world.comment_rows] == PostStatus.ACTIVE]
    tie = draw.bits("comment order", np.zeros(rows.size, np.int64), world.posts["key"][rows])
    parent = np.asarray(world.posts["parent"])[rows]
    order = np.lexsort((tie, -np.asarray(world.posts["likes"])[rows].astype(np.int64), parent))
    counts = np.bincount(parent, minlength=world.posts.n)
    return Comments(np.r_[0, np.cumsum(counts)].astype(np.int64), rows[order].astype(np.int32), per_post)


def _ranked(world: World, block: _Block, shelf: _Shelf, settings: FeedSettings, draw: StageDraws) -> Ranked:
    """The posts of the feeds of some agents of one block, in order."""
    agents, others, sent = block.agents, block.special.others, block.special.sent
    shape = agents.shape[0], settings.followed + int(others.max(initial=0))
    post, numbers, author = (np.empty(shape, np.int32) for _ in range(3))
    ranked = Ranked(post, numbers, author, np.empty(shape, np.uint8), np.empty(shape[0], np.int64))
    follows = world.follows.blocks[block.number]
    bases = Bases(draw.base("newest"), draw.base("order"), draw.base("pool"))
    readers = Readers(agents, block.first, follows.indptr, follows.key, others)
    fill_feeds(readers, shelf.deck, shelf.pool, settings.followed, bases, shelf.rank_bits, ranked)
    if sent.size:
        names = shelf.roots.number, world.posts["author"]
        numbers, authors = (np.where(sent >= 0, column[sent], np.int32(-1)) for column in names)
        ranked = put_on_top(sent, numbers, authors, ranked)
    return ranked
