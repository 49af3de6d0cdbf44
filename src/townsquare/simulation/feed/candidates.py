"""Collects the inputs of all feeds of a step: candidates, the shared pool, comments and notes."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Array, Float, Int32, Int64, read_only
from townsquare.core.draws import StageDraws
from townsquare.core.enums import NoteStatus, PostKind, PostStatus, Verdict
from townsquare.core.schema import NONE
from townsquare.core.threads import Part, in_parts
from townsquare.simulation.feed.options import FeedOptions, label_weight
from townsquare.simulation.feed.rankers.contract import ChosenRanker, Retrieved
from townsquare.simulation.feed.ranking_view import RankingView
from townsquare.simulation.feed.walks import by_walks
from townsquare.simulation.world import World

_COUNTS = ("likes", "dislikes", "shares", "comments", "flags")

CANDIDATE = np.dtype([("key", "u8"), ("score", "f8"), ("post", "i4"), ("root", "i4"), ("author", "i4"), ("step", "i4")])
"""A live post in the ring of its author; ``root`` is an index of roots, ``author`` wrote the root.

A feed looks at some 30 candidates. These 32 bytes are in six columns of posts that are megabytes apart.
"""
NOTE = np.dtype([("note", "i4"), ("author", "i4")])
ROOT_NOTES = np.dtype([("key", "u8"), ("first", "i4"), ("pending", "i4"), ("count", "i4")], align=True)
"""Of one root: its key, where its notes begin, how many of them are not shown yet, and how many there are."""


class Candidates(NamedTuple):
    """Posts of followed accounts: those of account ``a`` are ``row[ptr[a] : ptr[a + 1]]``, of :data:`CANDIDATE`.

    A feed has at most ``limit`` of them. ``newest`` and ``order`` are bases of draws: between equally old posts of a
    root, and between equal scores, those of the pool among them.
    """

    ptr: Int64
    row: Array
    limit: int
    newest: np.uint64
    order: np.uint64


class Pool(NamedTuple):
    """Columns of the shared pool, (k,) each; the first ``n_injected`` roots are injected ones. ``draw`` is a base."""

    post: Int32
    root: Int32
    author: Int32
    key: npt.NDArray[np.uint64]
    score: Float
    n_injected: int
    draw: np.uint64


class Comments(NamedTuple):
    """Live comments by root, ``ptr`` (roots + 1,) int64, the best first; a post shows ``limit`` at most.

    ``post`` (k,) int32 are rows of posts, ``author`` (k,) int32 wrote them.
    """

    ptr: Int64
    post: Int32
    author: Int32
    limit: int


class Roots(NamedTuple):
    """The roots that feeds of this step can show, comments among them.

    ``row`` (k,) int32 is the row of posts of each, ascending; ``index_of`` (posts,) int32 the other way round, -1 for a
    post that no feed can show. ``labeled`` is added to the index of a root where labels are shown with it, see
    :func:`per_root`.
    """

    row: Int32
    index_of: Int32
    labeled: int


class Notes(NamedTuple):
    """``note`` (notes,) of :data:`NOTE` by root, those not shown yet first; ``root`` (k,) of :data:`ROOT_NOTES`.

    Both are empty where there are no notes. ``draw`` is the base of the draw of the note to rate.
    """

    note: Array
    root: Array
    draw: np.uint64


class FeedInputs(NamedTuple):
    """The inputs of the feeds of one step; ``score`` is one for each post, (posts,).

    ``given`` are roots retrieved for each agent; None where roots are drawn from the pool.

    Parts go to kernels one by one: Numba takes no tuples in tuples there.
    """

    candidates: Candidates
    pool: Pool
    comments: Comments
    roots: Roots
    notes: Notes
    score: Float
    given: Retrieved | None


def feed_inputs(
    world: World, view: RankingView, ranker: ChosenRanker, options: FeedOptions, draw: StageDraws
) -> FeedInputs:
    """Score posts, and gather candidates, roots from other accounts, comments and notes."""
    posts, settings = world.posts, options.settings
    given = ranker.retrieved(view, read_only(options.agents))
    if given is None and settings.outside == "walks":
        given = by_walks(world, options, draw)
    score = ranker.scores(view)
    if posts["downrank"].any():
        score = score - posts["downrank"][posts["root"]]
    ptr, row = _in_rings(world, score, options.oldest(world.step + 1, settings.window_hours))
    pool, n_injected = (np.empty(0, np.int32), 0) if given is not None else shared_pool(world, options, draw)
    per_post = settings.comments_per_post(int(np.count_nonzero(world.persons())))
    sent = options.sent[options.sent >= 0]
    others = pool if given is None else given.root
    roots, under = _roots(world, [row["root"], others, posts["root"][sent]], per_post, options.labels_differ)
    row["root"] = roots.index_of[row["root"]]
    author, key = (np.asarray(posts[name])[pool] for name in ("author", "key"))
    followed = Candidates(ptr, row, settings.followed, draw.base("newest"), draw.base("order"))
    shared = Pool(pool, roots.index_of[pool], author, key, score[pool], n_injected, draw.base("pool"))
    comments = _comments(world, draw, per_post, roots, under)
    notes = _notes(world, roots, draw.base("offer"), options.offers)
    return FeedInputs(followed, shared, comments, roots, notes, score, given)


class _Posts(NamedTuple):
    """Columns of posts, the score of each, and the first step of posts that feeds may show."""

    key: Array
    root: Array
    author: Array
    step: Array
    status: Array
    score: Array
    oldest: int


@nb.njit(inline="always", cache=True)
def _is_live(p: int, posts: _Posts) -> bool:
    return bool((posts.step[p] >= posts.oldest) & (posts.status[posts.root[p]] == 0))


@nb.njit(nogil=True, cache=True)
def _count(part: Part, ring: Array, n_rows: Array, in_degree: Array, posts: _Posts, out: Array) -> None:
    for f in range(part.start, part.stop):
        n = 0
        if in_degree[f] > 0:
            for q in range(min(n_rows[f], ring.shape[1])):
                n += _is_live(ring[f, q], posts)
        out[f + 1] = n


@nb.njit(nogil=True, cache=True)
def _fill(part: Part, ring: Array, n_rows: Array, posts: _Posts, ptr: Array, out: Array) -> None:
    for f in range(part.start, part.stop):
        at = ptr[f]
        if at == ptr[f + 1]:
            continue
        for q in range(min(n_rows[f], ring.shape[1])):
            p = ring[f, q]
            if _is_live(p, posts):
                candidate, root = out[at], posts.root[p]
                candidate.key, candidate.score, candidate.post, candidate.root = posts.key[p], posts.score[p], p, root
                candidate.author, candidate.step = posts.author[root], posts.step[p]
                at += 1


def _in_rings(world: World, score: Float, oldest: int) -> tuple[Int64, Array]:
    """Live posts since step ``oldest`` in the rings of all followed accounts, by account.

    ``root`` is still a row of posts.
    """
    ring, n_rows, posts = world.newest, world.n_rows, world.posts
    columns = _Posts(posts["key"], posts["root"], posts["author"], posts["step"], posts["status"], score, oldest)
    ptr = np.zeros(ring.shape[0] + 1, np.int64)
    in_parts(_count, ring.shape[0], ring, n_rows, world.in_degree, columns, ptr)
    np.cumsum(ptr, out=ptr)
    out = np.empty(int(ptr[-1]), CANDIDATE)
    in_parts(_fill, ring.shape[0], ring, n_rows, columns, ptr, out)
    return ptr, out


def shared_pool(world: World, options: FeedOptions, draw: StageDraws) -> tuple[Int32, int]:
    """Roots for rows from other accounts: live injected roots, how many these are, then others; newest, ties by draw.

    Injected roots of the last ``injected_window`` steps take up to half; if there are fewer, other roots fill up,
    older injected ones among them, and the other way round. Where injected posts are for followers of their source
    alone, the pool has none of them.
    """
    settings = options.settings
    step, status, key = world.posts["step"], world.posts["status"], world.posts["key"]
    oldest = world.step + 1 - settings.injected_window
    injected, without = world.injected_rows[::-1], world.injected_rows
    if options.injected_to_all:
        injected = injected[(step[injected] > oldest) & (status[injected] == PostStatus.ACTIVE)]
        without = injected
    else:
        injected = injected[:0]
    rest = _newest(_recent_roots(world, settings.pool, without), step, key, settings.pool, draw)
    half = max(settings.pool // 2, settings.pool - rest.size)
    chosen = _newest(injected, step, key, half, draw)
    roots = np.concatenate([chosen, rest[: settings.pool - chosen.size]]).astype(np.int32)
    is_injected = world.posts["kind"][roots] == PostKind.INJECTED
    return np.concatenate([roots[is_injected], roots[~is_injected]]), int(np.count_nonzero(is_injected))


def _newest(roots: Array, step: Array, key: Array, limit: int, draw: StageDraws) -> Array:
    tie = draw.bits("pool order", np.zeros(roots.size, np.int64), key[roots])
    return roots[np.lexsort((tie, -step[roots].astype(np.int64)))][:limit]


def _recent_roots(world: World, limit: int, without: Array) -> Array:
    """Live original and injected roots of the last steps: of twice as many steps until ``limit`` are found."""
    kind, status, starts, steps = world.posts["kind"], world.posts["status"], world.step_starts, 1
    while True:
        start = starts[-steps] if steps < len(starts) else 0
        is_root = (kind[start:] == PostKind.ORIGINAL) | (kind[start:] == PostKind.INJECTED)
        rows = start + np.flatnonzero(is_root & (status[start:] == PostStatus.ACTIVE))
        rows = rows[~np.isin(rows, without)]
        if rows.size >= limit or start == 0:
            return rows
        steps *= 2


def _roots(world: World, rows: list[Array], per_post: int, labels_differ: bool) -> tuple[Roots, Array]:
    """Index these roots, and the live comments under them; return the rows of these too, none if none are shown."""
    posts = world.posts
    shown = np.zeros(posts.n, np.bool_)
    for some in rows:
        shown[some] = True
    comments = world.comment_rows if per_post else world.comment_rows[:0]
    comments = comments[shown[posts["parent"][comments]] & (posts["status"][comments] == PostStatus.ACTIVE)]
    shown[comments] = True
    row = np.flatnonzero(shown).astype(np.int32)
    index = np.full(posts.n, NONE, np.int32)
    index[row] = np.arange(row.size)
    return Roots(row, index, row.size if labels_differ else 0), comments


def _comments(world: World, draw: StageDraws, per_post: int, roots: Roots, rows: Array) -> Comments:
    """Put comments in order: by root, then most liked first, equal ones by a draw."""
    posts = world.posts
    tie = draw.bits("comment order", np.zeros(rows.size, np.int64), posts["key"][rows])
    root = roots.index_of[posts["parent"][rows]]
    rows = rows[np.lexsort((tie, (root.astype(np.int64) << 32) - posts["likes"][rows]))]
    ptr = np.zeros(roots.row.size + 1, np.int64)
    np.cumsum(np.bincount(root, minlength=roots.row.size), out=ptr[1:])
    return Comments(ptr, rows, posts["author"][rows], per_post)


def _notes(world: World, roots: Roots, draw: np.uint64, offers: bool) -> Notes:
    """Return the notes of the roots that feeds can show; none where feeds offer none."""
    post, author, status = (world.notes[name] for name in ("post", "author", "status"))
    if not (post.size and offers):
        return Notes(np.empty(0, NOTE), np.empty(0, ROOT_NOTES), draw)
    at = np.flatnonzero((roots.index_of[post] >= 0) & (author >= 0))  # those from outside are not for rating
    root, shown = roots.index_of[post[at]], status[at] == NoteStatus.SHOWN
    at = np.sort((2 * root.astype(np.int64) + shown) * post.size + at) % post.size  # quicker than a stable sort
    note, by_root = np.empty(at.size, NOTE), np.empty(roots.row.size, ROOT_NOTES)
    note["note"], note["author"] = at, author[at]
    by_root["key"] = world.posts["key"][roots.row]
    by_root["pending"] = np.bincount(root[~shown], minlength=roots.row.size)
    by_root["count"] = np.bincount(root, minlength=roots.row.size)
    by_root["first"] = np.cumsum(by_root["count"]) - by_root["count"]
    return Notes(note, by_root, draw)


def per_root(world: World, roots: Roots, options: FeedOptions, code: Array) -> dict[str, Array]:
    """Return columns of exposures that are functions of ``code`` (k,): the place in ``roots``.

    Where some readers are shown labels and others are not, the code of those who are is ``roots.labeled`` higher.
    """
    posts, labeled = world.posts, (code >= roots.labeled) & options.labels.any()
    row = roots.row[np.where(labeled, code - roots.labeled, code)]
    is_comment = posts["kind"][row] == PostKind.COMMENT
    columns = {"root": row, "under": np.where(is_comment, posts["parent"][row], np.int32(NONE))}
    columns |= {name: posts[name][row] for name in _COUNTS}
    verdict = np.where(labeled, posts["verdict"][row], np.uint8(Verdict.NONE))
    note = np.where(labeled, posts["note"][row], np.int32(NONE))
    return columns | {"verdict": verdict, "note": note, "weight": label_weight(verdict, note, options.weights)}
