"""The compiled part of the policy `propensity`: lasting propensities, and a chance for each row and kind."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba as nb
import numpy as np

from townsquare.core.array_types import Array
from townsquare.core.draws import GOLDEN, U64, key2, mix, u01
from townsquare.core.enums import Slot, Verdict
from townsquare.core.threads import Part, in_parts
from townsquare.simulation.policies.reading_kernels import Posts, Readers, stance_distance

_COMMENT_SLOT, _FALSE = int(Slot.COMMENT), int(Verdict.FALSE)
_LEAST_PERSON = 0.05  # likes spread less over people than shares do: a person's propensity counts as this at least
_MOST_LIKES = 0.5
_USUAL = 0.05  # plausibility or belief, less a half, at which it does not change the probability of a share
DIRECT, BELIEF, NO_LABELS = range(3)
"""Routes by which labels and notes change what people do: :attr:`Sharing.route`."""
LIKE, SHARE, COMMENT, FLAG, ADD_NOTE, RATE_NOTE = range(6)
"""Positions of kinds in :class:`Drawn`."""


class Sharing(NamedTuple):
    """Settings of the chances, as in :class:`townsquare.simulation.policies.propensity_params.Params`.

    ``asked`` says whether people are asked about each post: a propensity to share is then the odds, belief included.
    """

    route: int
    asked: bool
    rate: float
    appeal_sd: float
    age_hours: float
    age_power: float
    ceiling: float
    plausibility: float
    concordance: float
    taste: float
    label_share: float
    note_share: float
    belief: float
    note_rest: float
    likes_per_share: float
    comments_per_share: float
    flags: float
    notes: float
    notes_bias: float
    doubted: float
    notes_doubted: float
    ratings: float


class People(NamedTuple):
    """Columns of the readers, (n,) each: propensity to share with mean 1, and taste, NaN for none."""

    sharing: Array
    taste: Array


class Rows(NamedTuple):
    """Columns of what the agents are shown, (m,) each; ``code`` is a position in what was read of posts.

    ``believed`` is how far the reader believes the claim, in log odds; NaN for none, (0,) where that is not known.
    """

    code: Array
    slot: Array
    offered: Array
    first_seen: Array
    believed: Array


class Drawn(NamedTuple):
    """The kinds that are drawn: the base of each draw, (6,) uint64, and its bit in the result, -1 if not allowed."""

    base: Array
    bit: Array


@nb.njit(inline="always", cache=True, error_model="numpy")
def gauss(base: U64, agent: int, key: U64) -> float:
    """Return a standard normal draw for (base, agent, key), by Box and Muller's method."""
    bits = key2(base, agent, key)
    radius = math.sqrt(-2.0 * math.log(1.0 - u01(bits)))
    return radius * math.cos(2.0 * math.pi * u01(mix(bits + GOLDEN)))


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _propensities(
    part: Part, agents: Array, bases: tuple[U64, U64], posts_sd: float, person_sd: float, correlation: float,
    posting: Array, sharing: Array,
) -> None:  # fmt: skip
    rest = math.sqrt(1.0 - correlation * correlation)
    for i in range(part.start, part.stop):
        writes = gauss(bases[0], agents[i], U64(0))
        shares = correlation * writes + rest * gauss(bases[1], agents[i], U64(0))
        posting[i] = math.exp(posts_sd * writes - posts_sd * posts_sd / 2.0)
        sharing[i] = math.exp(person_sd * shares - person_sd * person_sd / 2.0)


def propensities(
    agents: Array, bases: tuple[U64, U64], posts_sd: float, person_sd: float, correlation: float
) -> tuple[Array, Array]:
    """Return how much each agent posts and shares relative to a mean of 1, (n,) each: lognormal, drawn for life."""
    n = agents.shape[0]
    posting, sharing = np.empty(n), np.empty(n)
    in_parts(_propensities, n, agents, bases, posts_sd, person_sd, correlation, posting, sharing)
    return posting, sharing


@nb.njit(cache=True, error_model="numpy")
def _poisson(mean: float, u: float, most: int) -> int:
    """Return the quantile ``u`` of a Poisson distribution, at most ``most``."""
    n, chance = 0, math.exp(-mean)
    below = chance
    while u >= below and n < most:
        n += 1
        chance = chance * mean / n
        below = below + chance
    return n


@nb.njit(nogil=True, cache=True, error_model="numpy")
def count_posts(
    part: Part, agents: Array, activity: Array, posting: Array, rate: float, most: int, base: U64, out: Array
) -> None:
    """Draw how many posts each agent writes: Poisson with mean ``rate * posting``, at most ``most``."""
    for i in range(part.start, part.stop):
        u = u01(key2(base, agents[i], U64(0)))
        out[i] = _poisson(rate * posting[i], u, most) if activity[i] > 0.0 else 0


@nb.njit(inline="always", cache=True, error_model="numpy")
def _weight(post: Any, age: float, appeal_base: U64, s: Sharing) -> float:
    log = s.appeal_sd * gauss(appeal_base, 0, post.key) - s.appeal_sd * s.appeal_sd / 2.0
    weight: float = s.rate * math.exp(log - s.age_power * math.log1p(age / s.age_hours))
    return weight


@nb.njit(inline="always", cache=True, error_model="numpy")
def _labeled(factor: float, post: Any, s: Sharing) -> float:
    """Return the factor of belief on sharing with the labels of the post, where they do not act through belief."""
    if post.label >> 1 == _FALSE:
        factor *= s.label_share
    if post.label & 1:
        factor *= s.note_share
    return factor


@nb.njit(inline="always", cache=True, error_model="numpy")
def belief_factor(post: Any, believed: float, s: Sharing) -> tuple[float, float]:
    """Return the factor of belief and labels on sharing, and how far the reader believes the post, less a half.

    ``believed`` is in log odds; where it is NaN, the reader knows nothing, and the plausibility is the belief.
    """
    if s.route == DIRECT:
        return _labeled(math.exp(s.plausibility * (post.doubt - _USUAL)), post, s), post.doubt
    doubt = post.doubt
    if s.route == BELIEF and not math.isnan(believed):
        doubt = 1.0 / (1.0 + math.exp(-believed)) - 0.5
    factor = (max(0.0, doubt + 0.5) / (0.5 + _USUAL)) ** s.belief
    if s.route == BELIEF:
        if math.isnan(believed):
            factor = _labeled(factor, post, s)
        elif post.label & 1:
            factor *= s.note_rest
    return factor, doubt


@nb.njit(nogil=True, cache=True, error_model="numpy")
def weigh(seen: Array, age: Array, appeal_base: U64, s: Sharing) -> Array:
    """Return the factor of each post on sharing that is the same for every reader, (k,); ``age`` (k,) is in hours."""
    out = np.empty(seen.shape[0])
    for k in range(seen.shape[0]):
        out[k] = _weight(seen[k], age[k], appeal_base, s)
    return out


@nb.njit(inline="always", cache=True, error_model="numpy")
def chances(
    weight: float, factor: float, doubt: float, low: bool, distance: float, sharing: float, taste: float, s: Sharing
) -> tuple[float, float, float, float, float, float]:
    """Return the chance of each kind on one row, in the order of :class:`Drawn`.

    ``weight`` is of :func:`weigh`, ``factor`` and ``doubt`` are of :func:`belief_factor`. In a feed, the factor
    multiplies the probability, after the ceiling, because effects of labels were measured on shares. ``low`` says
    whether the author is a source of low credibility; ``distance`` is |S - s|, 1 where the post takes no stance.
    """
    log = s.concordance * (0.5 - distance / 2.0)
    if low and not math.isnan(taste):
        log += s.taste * taste - s.taste * s.taste / 2.0
    share = weight * sharing * math.exp(log)
    share = min(1.0, factor * share / (1.0 + (factor if s.asked else 1.0) * share / s.ceiling))
    like = min(_MOST_LIKES, s.likes_per_share * share / max(_LEAST_PERSON, sharing))
    doubted = max(0.0, 1.0 - (doubt + 0.5) / s.doubted)
    noted = max(0.0, 1.0 - (doubt + 0.5 - s.notes_bias * max(0.0, distance - 1.0)) / s.notes_doubted)
    return like, share, min(1.0, s.comments_per_share * share), s.flags * doubted, s.notes * noted, s.ratings


@nb.njit(cache=True, error_model="numpy")
def _choose_one(
    i: int,
    readers: Readers,
    people: People,
    rows: Rows,
    posts: Posts,
    read: tuple[Array, Array, Array],
    drawn: Drawn,
    s: Sharing,
    bits: Array,
) -> int:
    """Choose what the reader at position ``i`` does; return how much it is."""
    seen, weight, low = read
    agent, done = readers.agents[i], 0
    for e in range(readers.indptr[i], readers.indptr[i + 1]):
        bits[e] = 0
        if readers.activity[i] <= 0.0 or rows.slot[e] == _COMMENT_SLOT or not rows.first_seen[e]:
            continue
        x = rows.code[e]
        post, taken = seen[x], 0
        distance = stance_distance(readers.stance[i], post, posts, 1.0)
        believed = rows.believed[e] if rows.believed.shape[0] > 0 else math.nan
        factor, doubt = belief_factor(post, believed, s)
        chance = chances(weight[x], factor, doubt, low[x], distance, people.sharing[i], people.taste[i], s)
        for k in range(len(chance)):
            if drawn.bit[k] < 0 or (k == RATE_NOTE and rows.offered[e] < 0):
                continue
            if u01(key2(drawn.base[k], agent, post.key)) < chance[k]:
                taken |= 1 << drawn.bit[k]
                done += 1
        bits[e] = taken
    return done


@nb.njit(nogil=True, cache=True, error_model="numpy")
def choose(
    part: Part, readers: Readers, people: People, rows: Rows, posts: Posts, read: tuple[Array, Array, Array],
    drawn: Drawn, s: Sharing, bits: Array, counts: Array,
) -> None:  # fmt: skip
    """Bit ``b`` of ``bits[row]``: the agent does the kind with that bit to this row; ``counts`` (n,) is how much.

    ``read`` are (k,) by code: what a reader sees of a post, its weight, and whether its author is of low credibility.
    Draws are by (agent, root) and last, and only the first showing of a post counts.
    """
    for i in range(part.start, part.stop):
        counts[i] = _choose_one(i, readers, people, rows, posts, read, drawn, s, bits)
