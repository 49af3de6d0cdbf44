"""What makes one agent's feed another than its neighbor's beside whom it follows: treatments and messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.config import Config
from townsquare.config import Feed as FeedSettings
from townsquare.events.messages import sent_to
from townsquare.events.treatments import rows_of_others, shows_labels
from townsquare.schema import NONE, Slot
from townsquare.world import World

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Personal:
    """For each agent of a batch, in its order.

    ``others`` (k,) int64 rows from other accounts at most; ``labels`` (k,) bool whether labels are shown; ``sent``
    (k, m) int32 posts put at the top, -1 for none.
    """

    others: npt.NDArray[np.int64]
    labels: npt.NDArray[np.bool_]
    sent: npt.NDArray[np.int32]

    def part(self, lo: int, hi: int) -> Personal:
        """The same for the agents at places ``lo`` to ``hi``."""
        return Personal(self.others[lo:hi], self.labels[lo:hi], self.sent[lo:hi])


def alike(agents: npt.NDArray[np.int32], settings: FeedSettings) -> Personal:
    """Nothing differs between ``agents``."""
    k = agents.shape[0]
    return Personal(np.full(k, settings.others, np.int64), np.full(k, settings.show_labels), np.empty((k, 0), np.int32))


def personal(world: World, agents: npt.NDArray[np.int32], config: Config) -> Personal:
    """What differs between ``agents`` in step ``world.step + 1``."""
    step = world.step + 1
    return Personal(
        rows_of_others(agents, config, step), shows_labels(agents, config, step), sent_to(world, agents, config)
    )


def put_on_top(sent: Array, rows: Array, slots: Array, counts: Array, root: Array) -> tuple[Array, Array, Array]:
    """Ranked rows with messages above them; a row of the same root below is left out, since a feed shows a root once.

    Parameters
    ----------
    sent : (k, m) int32
        Messages, -1 for none.
    rows, slots, counts : (k, width), (k, width), (k,)
        As :func:`townsquare.feed_kernels.fill_feeds` made them.
    root : (posts,) int32

    Returns
    -------
    rows, slots, counts
        Likewise, ``m`` columns wider.
    """
    inside = np.arange(rows.shape[1]) < counts[:, None]
    below = np.where(inside, rows, 0)
    for column in sent.T:
        inside &= (root[below] != column[:, None]) | (column[:, None] == NONE)
    stays = np.concatenate([sent != NONE, inside], axis=1)
    order = np.argsort(~stays, axis=1, kind="stable")
    wide_rows = np.concatenate([sent, rows], axis=1)
    wide_slots = np.concatenate([np.full(sent.shape, Slot.SENT, slots.dtype), slots], axis=1)
    placed = (np.take_along_axis(wide, order, axis=1) for wide in (wide_rows, wide_slots))
    return *placed, stays.sum(axis=1)
