"""Fits for held-out people and posts.

Each repeat cuts people into random halves and posts into five random folds, in each of which feeds and false posts have
about their share. For each half and fold the policy is fitted to the other half on the other posts, and says what it
expects of this half on these posts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Float
from townsquare.humans.policy.content import Covariates, Fit, fit_policy
from townsquare.humans.policy.data import Panel

Rows = npt.NDArray[np.int64]
HALVES, FOLDS = 2, 5


class Split(NamedTuple):
    """Half of the people and one fold of the posts, held out, with the fits to the rest, one per penalty."""

    people: Rows
    posts: Rows
    fits: tuple[Fit, ...]


def splits(
    panel: Panel, posts: Covariates, penalties: Sequence[float], *, repeats: int, seed: int = 42, posts_too: bool = True
) -> Iterator[Split]:
    """Yield every half and fold of every repeat; ``penalties`` are ways to fit the same rest.

    Without ``posts_too`` only people are held out: one fold, of all posts, which the fits have seen under other people.
    """
    j = len(panel.posts)
    for repeat in range(repeats):
        draw = np.random.default_rng((seed, repeat))  # the same halves whatever else is asked for
        half = draw.permutation(panel.n) % HALVES
        fold = _folds(panel, draw) if posts_too else np.zeros(j, np.int64)
        for h in range(HALVES):
            for g in range(int(fold.max()) + 1):
                others = np.flatnonzero(half != h)
                rest = np.flatnonzero(fold != g) if posts_too else np.arange(j)
                did, seen = panel.did[np.ix_(others, rest)], posts.of(rest)
                first = fit_policy(did, seen, penalties[0])
                more = [fit_policy(did, seen, penalty, first.crowd) for penalty in penalties[1:]]
                yield Split(np.flatnonzero(half == h), np.flatnonzero(fold == g), (first, *more))


def _folds(panel: Panel, draw: np.random.Generator) -> Rows:
    """Return each post's fold, dealt out at random within false and other posts of each feed."""
    j = len(panel.posts)
    order = np.lexsort((draw.permutation(j), panel.feed, panel.false == 1))
    fold = np.empty(j, np.int64)
    fold[order] = np.arange(j) % min(FOLDS, j)
    return fold


def loss_of(panel: Panel, posts: Covariates, split: Split) -> Float:
    """Return the binomial deviance per person and post of each fit, on held-out people and posts."""
    did = panel.did[np.ix_(split.people, split.posts)].mean(0)
    rates = (np.clip(fit.rates(posts.of(split.posts)), 1e-9, 1 - 1e-9) for fit in split.fits)
    return np.array([_deviance(did, rate) for rate in rates])


def loss_of_means(panel: Panel, split: Split) -> float:
    """Return the same for the mean rate of each kind over the people and posts that the fits have seen."""
    others = np.setdiff1d(np.arange(panel.n), split.people)
    rest = np.setdiff1d(np.arange(len(panel.posts)), split.posts)
    rate = np.clip(panel.did[np.ix_(others, rest)].mean((0, 1)), 1e-9, 1 - 1e-9)
    did = panel.did[np.ix_(split.people, split.posts)].mean(0)
    return _deviance(did, np.broadcast_to(rate, did.shape))


def _deviance(did: Float, rate: Float) -> float:
    """Return mean over posts, summed over kinds."""
    return float(-2.0 * (did * np.log(rate) + (1 - did) * np.log1p(-rate)).sum() / did.shape[0])
