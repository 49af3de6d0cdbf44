"""The compiled part of the rankers `affinity` and `bridging`: parts of a score for each candidate."""

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb

from townsquare.core.array_types import Array
from townsquare.core.threads import Part

_FADING_HOURS = 2.0
_SHARE = 2  # a share counts as so many likes


class Rows(NamedTuple):
    """Columns of the candidates, (m,) each; ``ties`` are of the reader and the author of the row."""

    reader: Array
    post: Array
    root: Array
    followed: Array
    ties: Array


class Posts(NamedTuple):
    """Columns of posts, (posts,) each; the last two are columns of post_stances."""

    step: Array
    likes: Array
    shares: Array
    author: Array
    first: Array
    n_stances: Array
    proposition: Array
    stance: Array


class Agents(NamedTuple):
    """Of all agents: stances (agents, P), taste and credibility, (agents,) each, NaN for none."""

    stance: Array
    taste: Array
    credibility: Array


@nb.njit(nogil=True, cache=True, error_model="numpy")
def add_closeness(
    part: Part, rows: Rows, posts: Posts, clock: tuple[int, float], gravity: float, engaged: Array, out: Array
) -> None:
    """Write age, engagement and ties: -gravity ln(1 + age/2 h) + ln(1 + engaged) [+ ln(1 + ties), if followed].

    ``clock`` is the step and its hours; ``engaged`` (m,) is by row. Age is that of the row where it is followed, of the
    root elsewhere.
    """
    step, hours = clock
    for x in range(part.start, part.stop):
        dated = rows.post[x] if rows.followed[x] else rows.root[x]
        age = (step - posts.step[dated]) * hours
        score = math.log1p(engaged[x]) - gravity * math.log1p(age / _FADING_HOURS)
        if rows.followed[x]:
            score += math.log1p(float(rows.ties[x]))
        out[x] = score


@nb.njit(inline="always", cache=True, error_model="numpy")
def _distance(own: Array, posts: Posts, root: int) -> float:
    """Return the mean |own stance - stance of the post| over the propositions that the post speaks to."""
    first, total = posts.first[root], 0.0
    for k in range(first, first + posts.n_stances[root]):
        total += abs(own[posts.proposition[k]] - posts.stance[k])
    return float(total / posts.n_stances[root])


@nb.njit(nogil=True, cache=True, error_model="numpy")
def add_fit(
    part: Part, rows: Rows, posts: Posts, agents: Agents, match: float, taste: float, taste_from: float, out: Array
) -> None:
    """Add the fit of reader and post: match (0.5 - |s - x|/2) - taste max(0, taste_from - z).

    The first term is for posts with a stance, the second for rows from others whose root comes from a source of
    credibility below 0.5, where the reader has a taste.
    """
    for x in range(part.start, part.stop):
        i, root = rows.reader[x], rows.root[x]
        if posts.n_stances[root] > 0:
            out[x] += match * (0.5 - _distance(agents.stance[i], posts, root) / 2.0)
        if not rows.followed[x] and agents.credibility[posts.author[root]] < 0.5 and not math.isnan(agents.taste[i]):
            out[x] -= taste * max(0.0, taste_from - agents.taste[i])


@nb.njit(nogil=True, cache=True, error_model="numpy")
def engagement(part: Part, root: Array, posts: Posts, out: Array) -> None:
    """Write likes + 2 shares of each root, (m,) float64."""
    for x in range(part.start, part.stop):
        out[x] = posts.likes[root[x]] + _SHARE * posts.shares[root[x]]


@nb.njit(nogil=True, cache=True, error_model="numpy")
def bridged(part: Part, root: Array, posts: Posts, sides: Array, one_sided: float, out: Array) -> None:
    """Write 2 min(a, b) + one_sided (e - 2 min(a, b)) of each root, (m,); e = likes + 2 shares where it has no sides.

    ``sides`` (posts, 2) are the likes, and twice the shares, of each side: a and b.
    """
    for x in range(part.start, part.stop):
        r = root[x]
        e = float(posts.likes[r] + _SHARE * posts.shares[r])
        if posts.n_stances[r] > 0:
            both = 2.0 * min(sides[r, 0], sides[r, 1])
            e = both + one_sided * max(0.0, e - both)
        out[x] = e
