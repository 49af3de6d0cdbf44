"""Builds feeds: candidates, then ranks, then rows of exposures.

From followed accounts: the newest few rows of each, one row per root, the best of them by the ranker. From others: a
shared pool of roots, of which live injected ones of the last steps take up to half; each agent gets those with the
smallest draw by (agent, root), so that nobody's feed depends on anybody else's. Where the pool holds fewer injected
roots than others, their draws are scaled so that both kinds weigh the same: more agents, who write more, do not crowd
them out. Then the ranker's order, and comments under posts. A feed shows a root once, never one's own, nothing that was
taken down, and nothing by an author that the reader has hidden. A ranker that scores for each reader, or retrieves the
rows from others itself, takes the way in :mod:`townsquare.simulation.feed.rank`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from townsquare.core import schema
from townsquare.core.array_types import Int32, Int64
from townsquare.core.coded_rows import CodedRows, first_uses, look_up
from townsquare.core.draws import StageDraws
from townsquare.core.enums import Slot
from townsquare.core.pairs import rows_between, spans
from townsquare.core.schema import NONE
from townsquare.core.threads import in_parts
from townsquare.simulation.feed.candidates import FeedInputs, feed_inputs, per_root
from townsquare.simulation.feed.options import FeedOptions
from townsquare.simulation.feed.rank import rank_all, rank_for_readers
from townsquare.simulation.feed.rank_kernels import FEED_ROW, Ranked, Readers
from townsquare.simulation.feed.rankers.contract import ChosenRanker
from townsquare.simulation.feed.ranking_view import RankingView
from townsquare.simulation.feed.row_kernels import Rows, count_rows, write_rows
from townsquare.simulation.world import World

_DTYPES = {column.name: column.dtype for column in schema.TABLES["exposures"].recorded} | {"code": np.dtype(np.int32)}


@dataclass(frozen=True, slots=True)
class Feed:
    """The feeds of one batch of agents.

    ``agents`` (k,) int32 ascending; ``indptr`` (k + 1,) int64 marks each agent's rows; ``exposures`` are rows of the
    table of that name, in feed order.
    """

    agents: Int32
    indptr: Int64
    exposures: schema.Columns


def build(world: World, ranker: ChosenRanker, options: FeedOptions, draw: StageDraws) -> Feed:
    """Build the feeds of ``options.agents`` in step ``world.step + 1``. Reads the world only."""
    view, agents = RankingView(world, options.step_hours), options.agents
    inputs = feed_inputs(world, view, ranker, options, draw)
    comments, roots, notes = inputs.comments, inputs.roots, inputs.notes
    most = options.settings.followed * agents.size + int(options.others.sum()) + options.sent.size
    rows = Rows(*(np.empty(most * (1 + comments.limit), _DTYPES[name]) for name in Rows._fields))
    indptr = np.zeros(agents.size + 1, np.int64)
    uniform = ranker.is_uniform and not options.settings.is_for_each_reader
    for number, first, stop in spans(world.n_agents):
        lo, hi = rows_between(agents, first, stop)
        if hi > lo:
            part, ptr = options.part(lo, hi), indptr[lo : hi + 1]
            readers = readers_of(world, number, first, part)
            if uniform:
                ranked = rank_all(inputs, readers)
            else:
                ranked = rank_for_readers(view, ranker, inputs, readers, part, lo, draw)
            if part.sent.size:
                ranked = put_on_top(_messages(world, inputs, part.sent), ranked)
            ptr[1:] = ranked.counts
            if comments.limit > 0:
                in_parts(count_rows, readers.agents.shape[0], readers, ranked, comments, ptr)
            np.cumsum(ptr, out=ptr)
            in_parts(write_rows, readers.agents.shape[0], readers, ranked, comments, roots, notes, ptr, rows)
    n = int(indptr[-1])
    columns = {name: column[:n] for name, column in rows._asdict().items()}
    code = columns.pop("code")
    shown = np.sort(first_uses(code, roots.row.size + roots.labeled))
    index = np.empty(roots.row.size + roots.labeled, np.int32)
    index[shown] = np.arange(shown.size)
    look_up(index, code, code)
    columns["step"] = np.broadcast_to(np.int32(world.step + 1), n)
    return Feed(agents, indptr, CodedRows(columns, code, per_root(world, roots, options, shown)))


def readers_of(world: World, number: int, first: int, options: FeedOptions) -> Readers:
    """Return the agents of one block, and what they know."""
    stores = (world.follows, world.seen, world.ratings, world.hidden)
    follows, seen, rated, hidden = (store.blocks[number][:2] for store in stores)
    return Readers(options.agents, first, *follows, *seen, *rated, *hidden, options.others, options.labels)


def _messages(world: World, inputs: FeedInputs, sent: Int32) -> npt.NDArray[np.void]:
    """Messages to the agents of one block, as rows of feeds."""
    messages = np.empty(sent.shape, FEED_ROW)
    messages["post"], messages["slot"] = sent, Slot.SENT
    messages["root"], messages["author"] = inputs.roots.index_of[sent], world.posts["author"][sent]
    return messages


def put_on_top(messages: npt.NDArray[np.void], ranked: Ranked) -> Ranked:
    """Put messages above ranked rows; a row of the same root below is left out, since a feed shows a root once.

    ``messages`` (n, m) are of :data:`townsquare.simulation.feed.rank_kernels.FEED_ROW`, ``post`` -1 for none. The
    result is ``m`` columns wider.
    """
    above = messages["post"] != NONE
    inside = np.arange(ranked.rows.shape[1]) < ranked.counts[:, None]
    for there, root in zip(above.T, messages["root"].T, strict=True):
        inside &= (ranked.rows["root"] != root[:, None]) | ~there[:, None]
    stays = np.concatenate([above, inside], axis=1)
    order = np.argsort(~stays, axis=1, kind="stable")
    rows = np.take_along_axis(np.concatenate([messages, ranked.rows], axis=1), order, axis=1)
    return Ranked(rows, stays.sum(axis=1))
