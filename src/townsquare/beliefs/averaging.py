"""``averaging``: each agent moves toward the mean of the stances it was shown.

Source: DeGroot (1974), "Reaching a consensus", J. Am. Stat. Assoc. 69:118; with ``stubbornness`` above 0 the model of
Friedkin and Johnsen (1990), "Social influence and opinions", J. Math. Sociol. 15:193, whose susceptibility is one
minus it. What represents their fixed matrix of influence is the feed of the step, each row counting alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb

from townsquare.beliefs.arrays import AgentSettings, Beliefs, Moved, Table
from townsquare.beliefs.contract import (
    AgentParams,
    BeliefInputs,
    BeliefRule,
    BeliefState,
    Exposed,
    Replay,
    Replayed,
    Trail,
    start_as_given,
)
from townsquare.beliefs.grids import SHARES, UPTAKE
from townsquare.beliefs.move_kernels import anchored, clipped, settled
from townsquare.beliefs.trail import step_by
from townsquare.core.array_types import Float
from townsquare.core.draws import StageDraws
from townsquare.core.threads import Part
from townsquare.settings.config import ASSUMED, MemberParams, Share, setting

NEEDS, SETTINGS = frozenset({"exposures"}), ("weight_on_others", "stubbornness")


class Params(MemberParams):
    """Weights of others and of the initial stance."""

    weight_on_others: Share = setting(
        0.1, "weight of the mean stance shown; the rest is the weight of the agent's own stance", grid=UPTAKE,
        symbol="w", basis=ASSUMED,
    )  # fmt: skip
    stubbornness: Share = setting(
        0.0, "weight of the initial stance; the other two weights are multiplied by 1 minus this", grid=SHARES,
        symbol="g", basis="published: DeGroot 1974",
    )  # fmt: skip


QUANTITIES = Params(weight_on_others=1.0, stubbornness=0.53)
"""For shares, counts and estimates: what one knew oneself stays, what others answer now replaces their last answers.

Fitted to 29 groups of partisan crowds, net of 9 control groups: weight of others 0.47 [0.39, 0.54]."""
GAIN, COUNTS_OF_A_PEER = 0.4, 8.0 / 3.0
"""Of people who know samples: share of the way to the pooled estimate a round (0.36 to 0.43 by channel), and how many
observations of its own an answer of another is worth (8 for 3 others; 7 to 18 by channel)."""


class KnownSamples(NamedTuple):
    """What n people start from, a share in [0, 1], and their settings of this rule."""

    start: Float
    settings: dict[str, Float]


def known_samples(hits: Float, size: Float, others: Float, gain: float = GAIN) -> KnownSamples:
    """Return start and settings of people who drew samples of known size from one urn.

    Each moves by ``gain`` toward the mean of a flat prior, its own sample and the answers of ``others`` people.

    >>> import numpy as np
    >>> start, settings = known_samples(np.array([3.0]), np.array([3.0]), np.array([3.0]))
    >>> start.round(2).tolist(), {name: value.round(3).tolist() for name, value in settings.items()}
    ([0.8], {'weight_on_others': [0.291], 'stubbornness': [0.154]})
    """
    counts = others * COUNTS_OF_A_PEER
    stays = gain * (2.0 + size) / (2.0 + size + counts)
    weight = (gain - stays) / (1.0 - stays)
    return KnownSamples((1.0 + hits) / (2.0 + size), {"weight_on_others": weight, "stubbornness": stays})


@nb.njit(cache=True, error_model="numpy")
def averaged(p: AgentSettings, before: float, shown: float, label: float, n: int) -> tuple[float, float]:
    """Return what one of ``n`` rows adds to a stance of ``before``, and its weight."""
    weight = (1.0 - p.stubbornness) * p.weight_on_others * label / n
    return weight * (shown - before), weight


@nb.njit(cache=True, error_model="numpy")
def _average_agent(i: int, p: AgentSettings, rows: Exposed, beliefs: Beliefs, moved: Moved) -> None:
    at = rows.indptr[i]
    for k in range(beliefs.stance.shape[1]):
        first, before = at, beliefs.stance[i, k]
        while at < rows.indptr[i + 1] and rows.proposition[at] == k:
            at += 1
        low = high = before
        delta = 0.0
        for x in range(first, at):
            moved.exposure[x], weight = averaged(p, before, rows.stance[x], rows.weight[x], at - first)
            delta += moved.exposure[x]
            if weight > 0.0:
                low, high = min(low, rows.stance[x]), max(high, rows.stance[x])
        if p.stubbornness > 0.0:
            low, high = min(low, beliefs.start[i, k]), max(high, beliefs.start[i, k])
            moved.anchor[i, k] = anchored(before, beliefs.start[i, k], p.stubbornness)
            delta += moved.anchor[i, k]
        # Rounding alone can leave the hull; the clip row says so.
        moved.stance[i, k], moved.clip[i, k] = settled(before, delta, low, high)


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _average(part: Part, rows: Exposed, beliefs: Beliefs, table: Table, moved: Moved) -> None:
    """Write stance, exposure, anchor and clip; ``table`` (n or 1,) holds :data:`SETTINGS`."""
    for i in range(part.start, part.stop):
        _average_agent(i, table[i % table.shape[0]], rows, beliefs, moved)


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _replay(part: Part, rows: Replayed, cells: Table, out: Float) -> None:
    for i in range(part.start, part.stop):
        start = rows.initial[i]
        for j in range(out.shape[1]):
            for k in range(out.shape[2]):
                p, stance = cells[j, k], start
                for x in range(rows.indptr[i], rows.indptr[i + 1]):
                    if rows.sign[x] > 0.0:
                        gain, _ = averaged(p, stance, rows.shown[x], 1.0, 1)
                        stance += gain + anchored(stance, start, p.stubbornness)
                out[i, j, k] = clipped(stance, -1.0, 1.0)  # rounding alone can leave the range


def step(state: BeliefState, inputs: BeliefInputs, params: AgentParams, rng: StageDraws) -> tuple[BeliefState, Trail]:
    """Move S to g·S₀ + (1 − g)(S + l·Σ weight·(s − S)/n) over the n rows of a proposition; confidence stays."""
    return step_by(_average, SETTINGS, state, inputs, params)


_REPLAY = Replay(_replay, SETTINGS)
RULE = BeliefRule("averaging", NEEDS, Params, start_as_given, step, bounded=True, replay=_REPLAY)
