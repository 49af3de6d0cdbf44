"""``fit-policy``: fit the statistical policy to people, with a penalty chosen on held-out people and posts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from townsquare.core.array_types import Float
from townsquare.core.errors import DataError
from townsquare.humans.policy.content import Content, Covariates, Fit, covariates_of, fit_policy
from townsquare.humans.policy.data import KINDS, Panel
from townsquare.humans.policy.folds import Split, loss_of, loss_of_means, splits
from townsquare.simulation.policies.text_features import FEATURES

PENALTIES = (3.0, 10.0, 30.0, 100.0, 300.0)
FEWEST_PEOPLE, FEWEST_POSTS = 20, 5
_REDRAWS = 100


class Tried(NamedTuple):
    """One penalty on people and posts it has not seen: mean deviance a person and post, and mean rank correlation of
    what it expects for each post with what the half of people did."""

    penalty: float
    loss: float
    rank: float


class PolicyFit(NamedTuple):
    """A fit with what is known of it.

    Attributes
    ----------
    fit : Fit
    tried : tuple of Tried
        Every penalty of ``PENALTIES``, or the one that was asked for.
    loss_of_means : float
        Held-out deviance of one rate for each kind, regardless of the post.
    intervals : mapping of str to (low, high)
        95% of each coefficient of the content, people and posts drawn again; how people differ is held.
    n, posts, actions : int
    left_out : tuple of str
    """

    fit: Fit
    tried: tuple[Tried, ...]
    loss_of_means: float
    intervals: dict[str, tuple[float, float]]
    n: int
    posts: int
    actions: int
    left_out: tuple[str, ...]


def fit_to(panel: Panel, *, penalty: float | None = None, repeats: int = 2, seed: int = 42) -> PolicyFit:
    """Fit to a study.

    Parameters
    ----------
    panel : Panel
    penalty : float, optional
        Instead of the one with the least held-out loss among ``PENALTIES``.
    repeats, seed : int
        Of the held-out splits; the seed is also that of the intervals.

    Raises
    ------
    DataError
        Fewer than 20 people or 5 posts, a kind that nobody did, or a feed of which every post is alike to the policy.
    """
    if panel.n < FEWEST_PEOPLE or len(panel.posts) < FEWEST_POSTS:
        got = f"{panel.n} people and {len(panel.posts)} posts"
        raise DataError("fit-policy", got=got, allowed=f"at least {FEWEST_PEOPLE} people and {FEWEST_POSTS} posts")
    never = [kind.name.lower() for k, kind in enumerate(KINDS) if not panel.did[:, :, k].any()]
    if never:
        allowed = "each of like, share, comment, add-note"
        raise DataError("fit-policy", got=f"no person with the action {never[0]}", allowed=allowed)
    posts = covariates_of(panel)
    penalties = PENALTIES if penalty is None else (penalty,)
    every = list(splits(panel, posts, penalties, repeats=repeats, seed=seed))
    tried = _tried(panel, posts, every, penalties)
    fit = fit_policy(panel.did, posts, min(tried, key=lambda each: each.loss).penalty)
    means = float(np.average([loss_of_means(panel, s) for s in every], weights=[s.posts.size for s in every]))
    counts = panel.n, len(panel.posts), int(panel.did.sum())
    return PolicyFit(fit, tried, means, _intervals(panel, posts, fit, seed), *counts, panel.left_out)


def _tried(panel: Panel, posts: Covariates, every: list[Split], penalties: tuple[float, ...]) -> tuple[Tried, ...]:
    weights = [split.posts.size for split in every]
    losses = np.average([loss_of(panel, posts, split) for split in every], axis=0, weights=weights)
    ranks = np.zeros((len(penalties), 0))
    expected = np.zeros((len(penalties), len(panel.posts)))
    seen = 0
    for split in every:
        for q, fit in enumerate(split.fits):
            expected[q, split.posts] = fit.rates(posts.of(split.posts)).sum(1)
        seen += split.posts.size
        if seen == len(panel.posts):  # every post has been held out from this half
            done = panel.did[split.people].sum((0, 2))
            correlations = [float(spearmanr(row, done)[0]) for row in expected]
            ranks, seen = np.c_[ranks, correlations], 0
    return tuple(map(Tried, penalties, losses.tolist(), ranks.mean(1).tolist()))


def _intervals(panel: Panel, posts: Covariates, fit: Fit, seed: int) -> dict[str, tuple[float, float]]:
    draw = np.random.default_rng(seed)
    estimates = []
    for _ in range(_REDRAWS):
        people, which = draw.integers(0, panel.n, panel.n), draw.integers(0, len(panel.posts), len(panel.posts))
        again = fit_policy(panel.did[np.ix_(people, which)], posts.of(which), fit.penalty, fit.crowd)
        estimates.append(_values(again.content))
    low, high = np.quantile(np.array(estimates), [0.025, 0.975], axis=0)
    return {name: (float(a), float(b)) for name, a, b in zip(coefficient_names(), low, high, strict=True)}


def coefficient_names() -> tuple[str, ...]:
    """Return names of the fitted coefficients of content, as settings of the policy."""
    kinds = [kind.name.lower() for kind in KINDS]
    fitted = [f"{kind}.{name}" for name in ("base", "plausibility") for kind in kinds]
    return (*fitted, "attention", *(f"appeal.{name}" for name in FEATURES))


def _values(content: Content) -> Float:
    return np.asarray(np.r_[content.base, content.plausibility, content.attention, content.appeal])


def coefficients(fit: Fit) -> dict[str, float]:
    """Return every fitted coefficient of content by its name."""
    return dict(zip(coefficient_names(), _values(fit.content).tolist(), strict=True))
