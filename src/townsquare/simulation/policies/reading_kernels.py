"""The compiled parts that policies share: what a reader sees of a post, choices, arguments, ratings of notes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Array
from townsquare.core.draws import GOLDEN, U64, key2, mix, u01
from townsquare.core.enums import Rating
from townsquare.core.threads import Part

_NOT_HELPFUL, _HELPFUL, _SOMEWHAT = int(Rating.NOT_HELPFUL), int(Rating.HELPFUL), int(Rating.SOMEWHAT)


class Readers(NamedTuple):
    """The readers: ``agents`` (n,), offsets of their rows ``indptr`` (n + 1,), ``activity`` (n,), ``stance`` (n, P)."""

    agents: Array
    indptr: Array
    activity: Array
    stance: Array


class Posts(NamedTuple):
    """Columns of posts, (posts,) each; the last two are columns of post_stances.

    ``appeal`` is the appeal of the words of a post.
    """

    plausibility: Array
    appeal: Array
    key: Array
    first: Array
    n_stances: Array
    proposition: Array
    stance: Array


READ = np.dtype(
    [
        ("key", "u8"), ("doubt", "f8"), ("appeal", "f8"), ("stance", "f8"), ("engagement", "f8"),
        ("n_stances", "i4"), ("first", "i4"), ("proposition", "i4"), ("label", "i4"),
    ]
)  # fmt: skip
"""The properties of a post that a reader reacts to, side by side: posts in feeds are few, and read often.

``doubt`` is plausibility less a half, ``engagement`` ln(1 + likes); ``proposition`` and ``stance`` are the first of
``n_stances``, which begin at ``first``; ``label`` is twice the verdict shown, plus 1 if a note
is shown.
"""


@nb.njit(cache=True, error_model="numpy")
def read(posts: Posts, root: Array, likes: Array, verdict: Array, note: Array) -> Array:
    """Gather :data:`READ` of the posts in ``root`` (k,), shown with so many likes and these labels, (k,) each."""
    out = np.empty(root.shape[0], READ)
    for k in range(root.shape[0]):
        p, post = root[k], out[k]
        first, n = posts.first[p], posts.n_stances[p]
        post.key, post.doubt, post.appeal = posts.key[p], posts.plausibility[p] - 0.5, posts.appeal[p]
        post.n_stances, post.first, post.label = n, first, 2 * verdict[k] + (note[k] >= 0)
        post.proposition, post.stance = 0, 0.0
        if n > 0:
            post.proposition, post.stance = posts.proposition[first], posts.stance[first]
        post.engagement = math.log1p(likes[k])
    return out


@nb.njit(inline="always", cache=True)
def stance_distance(stance: Array, post: Any, posts: Posts, missing: float) -> float:
    """Mean |own stance - stance of the post| over the propositions it speaks to; ``missing`` if to none."""
    if post.n_stances == 1:
        return float(abs(stance[post.proposition] - post.stance))
    if post.n_stances == 0:
        return missing
    total = 0.0
    for x in range(post.first, post.first + post.n_stances):
        total += abs(stance[posts.proposition[x]] - posts.stance[x])
    return float(total / post.n_stances)


@nb.njit(nogil=True, cache=True)
def list_choices(
    part: Part, indptr: Array, bits: Array, posts: Array, kind_of: Array, post: int, at: Array,
    out: tuple[Array, Array, Array],
) -> None:  # fmt: skip
    """Place of the agent, row (-1 for a post) and kind of each choice: an agent's posts first, then row by row.

    ``posts`` (n,) is how many an agent writes, ``at`` (n + 1,) says where those of each agent begin; ``kind_of``
    (kinds,) uint8 is the kind of a bit.
    """
    places, rows, kinds = out
    for i in range(part.start, part.stop):
        x = at[i]
        for _ in range(posts[i]):
            places[x], rows[x], kinds[x] = i, -1, post
            x += 1
        for e in range(indptr[i], indptr[i + 1]):
            if bits[e]:
                for k in range(kind_of.shape[0]):
                    if bits[e] >> k & 1:
                        places[x], rows[x], kinds[x] = i, e, kind_of[k]
                        x += 1


@nb.njit(nogil=True, cache=True, error_model="numpy")
def choose_arguments(
    part: Part,
    agents: Array,
    keys: Array,
    stance: Array,
    ptr: Array,
    entry: Array,
    stance_of: Array,
    proposition: Array,
    side: float,
    width: float,
    side_base: U64,
    base: U64,
    out: Array,
) -> None:
    """Draw an entry of the argument bank for each writer; -1 where the proposition has none.

    The side is for with chance (1 + side S)/2; within it entries are drawn with weight exp(-|s - S|/width), as the
    largest of keyed Gumbel draws. ``ptr`` (P + 1,) and ``entry`` list the bank by proposition.
    """
    for i in range(part.start, part.stop):
        p = proposition[i]
        out[i] = -1
        if p < 0:
            continue
        pro = u01(key2(side_base, agents[i], keys[i])) < (1.0 + side * stance[i]) / 2.0
        start = key2(base, agents[i], keys[i])
        for side_wanted in (pro, not pro):  # the other side only where there is none on this
            best = -np.inf
            for x in range(ptr[p], ptr[p + 1]):
                j = entry[x]
                if (stance_of[j] > 0.0) == side_wanted:
                    u = u01(mix(start + U64(j + 1) * GOLDEN)) + 5e-17
                    value = -abs(stance_of[j] - stance[i]) / width - math.log(-math.log(u))
                    if value > best:
                        best, out[i] = value, j
            if out[i] >= 0:
                break


@nb.njit(nogil=True, cache=True, error_model="numpy")
def rate_notes(
    readers: Readers,
    reader: Array,
    posts: Posts,
    seen: Array,
    code: Array,
    coefficients: tuple[float, float, float],
    more: Array,
    base: U64,
) -> npt.NDArray[np.int8]:
    """Rate notes, (n,) of ``Rating``; ``reader`` and ``code`` (n,) are the positions of the agent and of the post.

    ``coefficients`` are those of the distance and of the doubt, and the half width of "somewhat helpful"; ``more`` (n,)
    is what is added to the log odds.

    An ordered logit, drawn by (agent, root): an agent is offered at most one note a root and step, and rows of notes
    are no keys.
    """
    by_distance, by_doubt, band = coefficients
    out = np.empty(reader.shape[0], np.int8)
    for i in range(reader.shape[0]):
        post = seen[code[i]]
        distance = stance_distance(readers.stance[reader[i]], post, posts, 1.0)
        z = by_distance * (distance - 1.0) - by_doubt * post.doubt + more[i]
        u = u01(key2(base, readers.agents[reader[i]], post.key))
        if u < 1.0 / (1.0 + math.exp(band - z)):
            out[i] = _HELPFUL
        else:
            out[i] = _SOMEWHAT if u < 1.0 / (1.0 + math.exp(-band - z)) else _NOT_HELPFUL
    return out
