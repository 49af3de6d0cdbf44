"""Ranks feeds: all readers in one pass where a post has one score, else in two stages for parts of the readers.

Two stages: gather what could be in each reader's feed as flat arrays, ask the ranker for a score a row, then choose
and put in order with the draws of the one pass. A ranker that gives a post the same score for everybody gets the same
feeds either way.
"""

from __future__ import annotations

import numpy as np

from townsquare.core.array_types import Array, Float, Int32, Int64, read_only
from townsquare.core.draws import StageDraws
from townsquare.core.enums import Verdict
from townsquare.core.threads import in_parts
from townsquare.settings.config import Feed as FeedSettings
from townsquare.simulation.feed.candidates import FeedInputs
from townsquare.simulation.feed.options import FeedOptions
from townsquare.simulation.feed.rank_kernels import (
    FEED_ROW,
    Given,
    Ranked,
    Readers,
    Scored,
    choose,
    collect,
    count_room,
    lay_out,
    rank,
)
from townsquare.simulation.feed.rankers.contract import ChosenRanker, ReaderCandidates, ReaderRanker
from townsquare.simulation.feed.ranking_view import RankingView
from townsquare.simulation.feed.session_kernels import Sessions, add_error, compose, keep_fresh

PART = 8192
"""Readers whose candidates are held at a time: some hundred thousand rows."""


def rank_all(inputs: FeedInputs, readers: Readers) -> Ranked:
    """Rank the feeds of one block of readers by the scores of posts."""
    out = _empty(inputs, readers)
    in_parts(rank, readers.agents.shape[0], inputs.candidates, inputs.pool, readers, out)
    return out


def rank_for_readers(
    view: RankingView,
    ranker: ChosenRanker,
    inputs: FeedInputs,
    readers: Readers,
    options: FeedOptions,
    first: int,
    draw: StageDraws,
) -> Ranked:
    """Rank the feeds of one block of readers by the score of each of their candidates.

    ``first`` is the position of the first reader among the agents of the step.
    """
    out, key, settings = _empty(inputs, readers), view.posts["key"], options.settings
    limit, order = inputs.candidates.limit, inputs.candidates.order
    for lo in range(0, readers.agents.size, PART):
        part = slice(lo, lo + PART)
        some = readers._replace(agents=readers.agents[part], others=readers.others[part], labels=readers.labels[part])
        rows, candidates = gather(view, inputs, some, options, first + lo)
        score = ranker.scores_of(view, read_only(some.agents), candidates, inputs.score)
        if isinstance(ranker.member, ReaderRanker):  # scores of posts are reduced already
            score = score - view.posts["downrank"][candidates.root]
        score = read_only(_as_shown(view, candidates, settings, draw, score))
        scored = Scored(candidates.indptr, rows, key[candidates.post], score)
        into = Ranked(out.rows[part], out.counts[part])
        if settings.depth_mean is None:
            in_parts(choose, some.agents.shape[0], some, limit, order, inputs.given is not None, scored, into)
        else:
            depth = depths(some.agents, settings.depth_mean, draw)
            sessions = Sessions(depth, settings.outside_share, draw.base("mix"))
            in_parts(compose, some.agents.shape[0], some, limit, order, sessions, scored, into)
    return out


def depths(agents: Int32, mean: float, draw: StageDraws) -> Int64:
    """Draw how many rows each agent examines in this step: geometric, at least 1."""
    u = np.maximum(draw.uniform("depth", agents), 2.0**-54)
    return np.asarray(1 + np.floor(np.log(u) / np.log1p(-1 / mean)) if mean > 1 else np.ones(u.size), np.int64)


def _as_shown(
    view: RankingView, candidates: ReaderCandidates, settings: FeedSettings, draw: StageDraws, score: Float
) -> Float:
    """Return scores with the error of ranking, and without what `feed.downrank` takes; in one layout for kernels."""
    score = np.array(score, np.float64, order="C")
    if settings.error > 0:
        key, base = view.posts["key"][candidates.root], draw.base("error", lasting=True)
        in_parts(add_error, score.shape[0], candidates.reader, key, settings.error, base, score)
    if settings.downrank > 0:
        score[view.posts["verdict"][candidates.root] == Verdict.FALSE] -= settings.downrank
    return score


def gather(
    view: RankingView, inputs: FeedInputs, readers: Readers, options: FeedOptions, first: int
) -> tuple[Array, ReaderCandidates]:
    """Gather what could be in the feeds of ``readers``: rows of followed accounts, then roots of others.

    Return ``rows`` (m,) of FEED_ROW, with roots by index, and the same as rankers read them.

    From the shared pool come as many roots with the smallest draws as could be shown. What was retrieved is all there,
    but for roots of the reader and of followed accounts. Left out are candidates that are too old, and with
    ``feed.repeat: false`` those that the reader has seen. ``first`` is the position of the first reader among the
    agents of the step.
    """
    followed, agents, settings = inputs.candidates, readers.agents, options.settings
    given = _given(view, inputs, first, agents.size)
    # A root from a followed account may come from the pool too, and is then left out there: gather so many more.
    wide = readers._replace(others=np.where(readers.others > 0, readers.others + followed.limit, 0))
    ptr, indptr = (np.zeros(agents.size + 1, np.int64) for _ in range(2))
    in_parts(count_room, wide.agents.shape[0], followed.ptr, given.ptr, wide, ptr)
    np.cumsum(ptr, out=ptr)
    collected, counts = np.empty(int(ptr[-1]), FEED_ROW), np.empty(agents.size, np.int64)
    in_parts(collect, wide.agents.shape[0], followed, inputs.pool, given, wide, ptr, collected, counts)
    if not settings.repeat or settings.window_hours is not None:
        window = settings.window_hours and 2 * settings.window_hours
        limits = inputs.roots.row, view.posts["step"], options.oldest(view.step, window), settings.repeat
        in_parts(keep_fresh, readers.agents.shape[0], readers, ptr, *limits, collected, counts)
    np.cumsum(counts, out=indptr[1:])
    m = int(indptr[-1])
    rows, columns = np.empty(m, FEED_ROW), tuple(np.empty(m, np.int32) for _ in range(4))
    in_parts(lay_out, agents.shape[0], agents, ptr, collected, indptr, inputs.roots.row, rows, columns)
    return rows, ReaderCandidates(*map(read_only, (indptr, *columns, rows["slot"] == 0)))


def _given(view: RankingView, inputs: FeedInputs, first: int, n: int) -> Given:
    """Return the roots retrieved for ``n`` readers; nothing where the shared pool is drawn from."""
    if inputs.given is None:
        return Given(np.zeros(n + 1, np.int64), np.empty(0, FEED_ROW))
    indptr = inputs.given.indptr[first : first + n + 1]
    root = inputs.given.root[indptr[0] : indptr[-1]]
    rows = np.empty(root.size, FEED_ROW)
    rows["post"], rows["root"], rows["slot"] = root, inputs.roots.index_of[root], 1
    rows["author"] = view.posts["author"][root]
    return Given(indptr - indptr[0], rows)


def _empty(inputs: FeedInputs, readers: Readers) -> Ranked:
    shape = readers.agents.size, inputs.candidates.limit + int(readers.others.max(initial=0))
    return Ranked(np.empty(shape, FEED_ROW), np.empty(shape[0], np.int64))
