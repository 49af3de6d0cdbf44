"""Feeds with given posts, for a policy that is asked what it would do: nothing is ranked, nothing was seen before."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.core import schema
from townsquare.core.array_types import Byte, Int32, Int64
from townsquare.core.enums import Slot, Verdict
from townsquare.core.schema import NONE
from townsquare.simulation.feed.build import Feed
from townsquare.simulation.world import World


def fixed_feed(world: World, agents: Int32, posts: Int64, verdict: Byte | int = Verdict.NONE) -> Feed:
    """Return feeds with the same number of posts for everybody, without counts of likes and without notes.

    Parameters
    ----------
    world : World
        It has the posts, all of them roots.
    agents : (k,) int32
        Ascending.
    posts : (k, m) int64
        The posts that each is shown, in their order.
    verdict : uint8, or (k * m,) uint8
        The verdicts shown with the rows.
    """
    k, m = posts.shape
    none = np.full(k * m, NONE, np.int32)
    rows = feed_of(world, np.repeat(agents, m), posts.ravel(), none, verdict).exposures
    return Feed(agents, np.arange(k + 1, dtype=np.int64) * m, rows)


def feed_of(
    world: World,
    agent: Int32,
    shown: npt.NDArray[np.integer[Any]],
    offered: Int32 | int = NONE,
    verdict: Byte | int = Verdict.NONE,
) -> Feed:
    """Return feeds of rows by agent, who ascend: roots, notes offered for rating and verdicts shown, (n,) each."""
    agents, first, count = np.unique(agent, return_index=True, return_counts=True)
    rows = schema.rows(
        "exposures", shown.size, step=world.step + 1, agent=agent, rank=np.arange(shown.size) - np.repeat(first, count),
        post=shown, root=shown, author=world.posts["author"][shown], under=NONE, slot=Slot.OTHER, likes=0, dislikes=0,
        shares=0, comments=0, flags=0, verdict=verdict, note=NONE, offered=offered, first_seen=True, weight=1.0,
    )  # fmt: skip
    return Feed(agents.astype(np.int32), np.r_[first, shown.size].astype(np.int64), rows)
