"""Per-agent feed options: treatments and messages."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from townsquare.core.array_types import Array, Bool, Int32, Int64
from townsquare.core.enums import Verdict
from townsquare.settings.config import Config, LabelWeight
from townsquare.settings.config import Feed as FeedSettings
from townsquare.simulation.events.messages import sent_to
from townsquare.simulation.events.treatments import rows_of_others, shows_labels
from townsquare.simulation.world import World


@dataclass(frozen=True, slots=True)
class FeedOptions:
    """The agents that get a feed, and the differences between their feeds.

    ``agents`` (k,) int32 are ascending rows of agents, and in their order: ``others`` (k,) int64 rows from other
    accounts at most; ``labels`` (k,) bool whether labels are shown; ``sent`` (k, m) int32 posts put at the top, -1 for
    none. ``weights`` are what labels take from the pull of a row on beliefs. ``step_hours`` is the length of a step;
    ``injected_to_all`` whether the shared pool has injected posts; ``offers`` whether notes are offered for rating.
    """

    agents: Int32
    settings: FeedSettings
    weights: LabelWeight
    others: Int64
    labels: Bool
    sent: Int32
    step_hours: float = 1.0
    injected_to_all: bool = True
    offers: bool = True

    def oldest(self, step: int, hours: float | None) -> int:
        """Return the first step whose rows are at most ``hours`` old in ``step``; 0 without a maximum."""
        return 0 if hours is None else max(0, math.ceil(step - hours / self.step_hours))

    @property
    def labels_differ(self) -> bool:
        """Whether some agents are shown labels and others are not."""
        return bool(self.labels.any() and not self.labels.all())

    def part(self, lo: int, hi: int) -> FeedOptions:
        """Return the same for the agents at positions ``lo`` to ``hi``."""
        columns = {name: getattr(self, name)[lo:hi] for name in ("agents", "others", "labels", "sent")}
        return replace(self, **columns)


def label_weight(verdict: Array, note: Array, weights: LabelWeight) -> Array:
    """Return how much rows count in belief updates for the labels beside them, in [0, 1]; ``note`` is -1 for none."""
    weight = np.where(note >= 0, weights.noted, 1.0)
    return np.where(verdict == Verdict.FALSE, np.minimum(weight, weights.false), weight)


def uniform_options(agents: Int32, settings: FeedSettings, weights: LabelWeight) -> FeedOptions:
    """Return the same options for all ``agents``, as settings have them; no messages."""
    k = agents.shape[0]
    others, labels = np.full(k, settings.others, np.int64), np.full(k, settings.show_labels)
    return FeedOptions(agents, settings, weights, others, labels, np.empty((k, 0), np.int32))


def feed_options(world: World, agents: Int32, config: Config, *, offers: bool = True) -> FeedOptions:
    """Return the options of ``agents`` in step ``world.step + 1``."""
    others = rows_of_others(world, agents, config, world.step + 1)
    labels = shows_labels(world, agents, config, world.step + 1)
    sent, to_all = sent_to(world, agents, config), config.injection.audience == "everyone"
    feed, weights, hours = config.feed, config.beliefs.label_weight, config.time.step_hours
    return FeedOptions(agents, feed, weights, others, labels, sent, hours, to_all, offers)
