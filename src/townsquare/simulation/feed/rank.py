"""Ranks feeds: all readers in one pass where a post has one score, else in two stages for parts of the readers.

Two stages: gather what could be in each reader's feed as flat arrays, ask the ranker for a score a row, then choose
and put in order with the draws of the one pass. A ranker that gives a post the same score for everybody gets the same
feeds either way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from townsquare.core.array_types import Array, Int64, read_only
from townsquare.simulation.feed.candidates import FeedInputs
from townsquare.simulation.feed.rank_kernels import FEED_ROW, Given, Ranked, Readers, Scored, choose, collect, rank
from townsquare.simulation.feed.rankers.contract import ChosenRanker, ReaderCandidates
from townsquare.simulation.feed.ranking_view import RankingView

PART = 8192
"""Readers whose candidates are held at a time: some hundred thousand rows."""


class Gathered(NamedTuple):
    """Candidates of some readers: ``rows`` (m,) of FEED_ROW, with roots by index; and the same as rankers read them."""

    rows: Array
    candidates: ReaderCandidates


def rank_all(inputs: FeedInputs, readers: Readers) -> Ranked:
    """Rank the feeds of one block of readers by the scores of posts."""
    out = _empty(inputs, readers)
    rank(inputs.candidates, inputs.pool, readers, out)
    return out


def rank_for_readers(view: RankingView, ranker: ChosenRanker, inputs: FeedInputs, readers: Readers) -> Ranked:
    """Rank the feeds of one block of readers by what ``ranker`` gives each of their candidates."""
    out, key = _empty(inputs, readers), view.posts["key"]
    for lo in range(0, readers.agents.size, PART):
        part = slice(lo, lo + PART)
        some = readers._replace(agents=readers.agents[part], others=readers.others[part], labels=readers.labels[part])
        rows, candidates = gather(view, ranker, inputs, some)
        score = ranker.scores_of(view, read_only(some.agents), candidates, inputs.score)
        score = read_only(np.ascontiguousarray(score))  # one layout for kernels, whatever came
        scored = Scored(candidates.indptr, rows, key[candidates.post], score)
        limit, order, retrieves = inputs.candidates.limit, inputs.candidates.order, ranker.member.retrieve is not None
        choose(some, limit, order, retrieves, scored, Ranked(out.rows[part], out.counts[part]))
    return out


def gather(view: RankingView, ranker: ChosenRanker, inputs: FeedInputs, readers: Readers) -> Gathered:
    """Gather what could be in the feeds of ``readers``: rows of followed accounts, then roots of others.

    From the shared pool come as many roots with the smallest draws as could be shown. What a ranker retrieves is all
    there, but for roots of the reader and of followed accounts.
    """
    followed, agents = inputs.candidates, readers.agents
    given = _given(view, ranker, inputs, readers)
    # A root from a followed account may come from the pool too, and is then left out there: gather so many more.
    more = np.where(readers.others > 0, readers.others + followed.limit, 0)
    size = np.r_[0, np.cumsum(np.diff(followed.ptr)[readers.followed])]
    local = agents - readers.first
    room = size[readers.follow_ptr[local + 1]] - size[readers.follow_ptr[local]] + more + np.diff(given.ptr)
    ptr = _offsets(room)
    rows, counts = np.empty(int(ptr[-1]), FEED_ROW), np.empty(agents.size, np.int64)
    collect(followed, inputs.pool, given, readers._replace(others=more), ptr, rows, counts)
    rows = rows[np.arange(rows.size) < np.repeat(ptr[:-1] + counts, room)]
    columns = (
        _offsets(counts), np.repeat(agents, counts), rows["post"].copy(), inputs.roots.row[rows["root"]],
        rows["author"].copy(), rows["slot"] == 0,
    )  # fmt: skip
    return Gathered(rows, ReaderCandidates(*map(read_only, columns)))


def _given(view: RankingView, ranker: ChosenRanker, inputs: FeedInputs, readers: Readers) -> Given:
    """Return what the ranker retrieves for ``readers``; nothing where the shared pool is drawn from."""
    retrieved = ranker.retrieved(view, read_only(readers.agents))
    if retrieved is None:
        return Given(np.zeros(readers.agents.size + 1, np.int64), np.empty(0, FEED_ROW))
    rows = np.empty(retrieved.root.size, FEED_ROW)
    rows["post"], rows["root"], rows["slot"] = retrieved.root, inputs.roots.index_of[retrieved.root], 1
    rows["author"] = view.posts["author"][retrieved.root]
    return Given(np.array(retrieved.indptr), rows)


def _empty(inputs: FeedInputs, readers: Readers) -> Ranked:
    shape = readers.agents.size, inputs.candidates.limit + int(readers.others.max(initial=0))
    return Ranked(np.empty(shape, FEED_ROW), np.empty(shape[0], np.int64))


def _offsets(counts: Array) -> Int64:
    return np.asarray(np.r_[0, np.cumsum(counts)], np.int64)
