"""What makes one agent's feed another than its neighbor's beside whom it follows: treatments and messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.core.schema import NONE, Slot
from townsquare.settings.config import Config
from townsquare.settings.config import Feed as FeedSettings
from townsquare.simulation.events.messages import sent_to
from townsquare.simulation.events.treatments import rows_of_others, shows_labels
from townsquare.simulation.feed.kernels import Ranked
from townsquare.simulation.world import World

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


def put_on_top(sent: Array, numbers: Array, authors: Array, ranked: Ranked) -> Ranked:
    """Ranked rows with messages above them; a row of the same root below is left out, since a feed shows a root once.

    Parameters
    ----------
    sent, numbers, authors : (k, m) int32
        Messages, -1 for none; the number of each as a root, and who sent it.
    ranked : Ranked
        As :func:`townsquare.simulation.feed.kernels.fill_feeds` made it.

    Returns
    -------
    Ranked
        Likewise, ``m`` columns wider.
    """
    inside = np.arange(ranked.post.shape[1]) < ranked.counts[:, None]
    for column, number in zip(sent.T, numbers.T, strict=True):
        inside &= (ranked.number != number[:, None]) | (column[:, None] == NONE)
    stays = np.concatenate([sent != NONE, inside], axis=1)
    order = np.argsort(~stays, axis=1, kind="stable")

    def placed(above: Array, below: Array) -> Array:
        return np.take_along_axis(np.concatenate([above, below], axis=1), order, axis=1)

    return Ranked(
        placed(sent, ranked.post),
        placed(numbers, ranked.number),
        placed(authors, ranked.author),
        placed(np.full(sent.shape, Slot.SENT, ranked.slot.dtype), ranked.slot),
        stays.sum(axis=1),
    )
