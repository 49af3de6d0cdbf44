"""Retrieves roots from other accounts by walks over follows: to a followed account, and on to one that it follows."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from townsquare.core.array_types import Array
from townsquare.core.draws import U64, StageDraws, key1, mix, u01
from townsquare.core.threads import Part, in_parts
from townsquare.simulation.feed.options import FeedOptions
from townsquare.simulation.feed.rankers.contract import Retrieved
from townsquare.simulation.world import World


def by_walks(world: World, options: FeedOptions, draw: StageDraws) -> Retrieved:
    """Retrieve roots for each of ``options.agents`` by walks to accounts that their followed accounts follow."""
    posts, agents, settings = world.posts, options.agents, options.settings
    indptr, followed, _ = world.follows.whole()
    columns = (posts[name] for name in ("root", "author", "step", "status"))
    network = Network(indptr, followed, world.newest, world.n_rows, *columns)
    roots, counts = np.empty((agents.size, settings.walks), np.int32), np.empty(agents.size, np.int64)
    oldest = options.oldest(world.step + 1, settings.window_hours)
    in_parts(walk, agents.shape[0], agents, network, oldest, draw.base("walk"), roots, counts)
    indptr = np.zeros(agents.size + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    return Retrieved(indptr, roots[np.arange(settings.walks) < counts[:, None]])


class Network(NamedTuple):
    """Follows of all agents, the newest rows of each author in a ring, and columns of posts.

    Agent ``a`` follows ``followed[indptr[a] : indptr[a + 1]]``. ``ring`` (n_agents, c) and ``n_rows`` (n_agents,) are
    those of :class:`townsquare.simulation.world.World`; ``root``, ``author``, ``step`` and ``status`` are columns of
    posts.
    """

    indptr: Array
    followed: Array
    ring: Array
    n_rows: Array
    root: Array
    author: Array
    step: Array
    status: Array


@nb.njit(inline="always", cache=True)
def _step_to(bits: U64, first: int, stop: int) -> int:
    """Return one of the positions ``first`` to ``stop`` - 1, drawn by ``bits``."""
    return min(first + int(u01(bits) * (stop - first)), stop - 1)


@nb.njit(inline="always", cache=True)
def _walk_from(agent: int, network: Network, oldest: int, start: U64, reached: Array, out: Array) -> int:
    """Write the roots reached by walks from one agent into ``out``, ascending and each once; return how many.

    A walk goes to a random followed account and to a random account followed by that one, and takes its newest or
    second newest row with equal probability, if the row is of step ``oldest`` or later and its root is not taken down.
    ``reached`` is room for a root of each walk. The first loop has no branch that the processor could guess wrong.
    """
    first, stop, m, n = network.indptr[agent], network.indptr[agent + 1], 0, 0
    if first == stop:
        return 0
    capacity = np.uint32(network.ring.shape[1])
    for walk in range(out.shape[0]):
        near = network.followed[_step_to(mix(start ^ U64(3 * walk)), first, stop)]
        begin, end = network.indptr[near], network.indptr[near + 1]
        if begin == end:
            continue
        far = network.followed[_step_to(mix(start ^ U64(3 * walk + 1)), begin, end)]
        rows = network.n_rows[far]
        if rows == 0:
            continue
        back = 1 + ((rows > 1) & (u01(mix(start ^ U64(3 * walk + 2))) < 0.5))
        row = network.ring[far, np.uint32(rows - back) % capacity]  # a quarter of the time of a signed remainder
        reached[m] = network.root[row]
        m += (far != agent) & (network.step[row] >= oldest)
    for root in reached[:m]:
        if network.status[root] == 0 and network.author[root] != agent:
            at = n
            while at > 0 and out[at - 1] > root:
                at -= 1
            if at == 0 or out[at - 1] != root:
                for x in range(n, at, -1):
                    out[x] = out[x - 1]
                out[at] = root
                n += 1
    return n


@nb.njit(nogil=True, cache=True)
def walk(part: Part, agents: Array, network: Network, oldest: int, base: U64, out: Array, counts: Array) -> None:
    """Retrieve roots for each of ``agents`` (n,) by walks, into ``out`` (n, walks) int32 and ``counts`` (n,).

    Walks are drawn by agent and number of the walk, so that nobody's depend on who else is online.
    """
    reached = np.empty(out.shape[1], np.int32)
    for i in range(part.start, part.stop):
        counts[i] = _walk_from(agents[i], network, oldest, key1(base, agents[i]), reached, out[i])
