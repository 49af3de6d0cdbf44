"""Effects of post content under the statistical policy, fitted to how many people took each action on each post.

The observed part of the logit of kind k on post j is base_k + plausibility_k (p_j - 0.5) + attention ln(n_j / 15) +
appeal . f_j, the last not for notes. Ridge regression on the mean chance over people
(:mod:`townsquare.humans.policy.crowd`): one number, ``penalty``, draws every coefficient except the bases toward 0. The
coefficient of plausibility in sharing has a prior instead, from the study of headlines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from townsquare.core.actions import ActionKind
from townsquare.core.array_types import Float
from townsquare.core.enums import Verdict
from townsquare.humans.policy.crowd import Crowd, fit_crowd
from townsquare.humans.policy.data import KINDS, Panel
from townsquare.simulation.policies.statistical_kernels import FEWEST_POSTS, MOST_POSTS, REFERENCE_POSTS
from townsquare.simulation.policies.statistical_params import Params
from townsquare.simulation.policies.text_features import FEATURES, feature_table

READ_APPEAL = np.array([1.0, 1.0, 1.0, 0.0])
"""Which kinds depend on the appeal of the words."""
BELIEVED = (0.69, 0.31)
"""Mean share of people who believe a true and a false headline that carries no label: 24 headlines of `headlines`,
column ``rate_belief_control``. It stands in for plausibility where a feed gives none but says what is false."""
SHARE_BY_BELIEF, SHARE_BY_BELIEF_SD = 0.79, 1.0
"""Slope of the log odds of sharing over the share that believes, over the same 24 headlines: the center of a normal
prior on the coefficient of plausibility in sharing. Its deviation, how far two studies may differ, is a judgment."""
_SHARE = KINDS.index(ActionKind.SHARE)
# About the spread of each covariate in such a feed, so that one penalty treats all alike; appeal as in `_SPREAD`.
_PLAUSIBILITY_SPREAD, _ATTENTION_SPREAD = 0.12, 0.35
_SPREAD = np.array([0.45, 0.40, 0.18, 0.60])
_LEAST_ATTENTION = -1.0


class Covariates(NamedTuple):
    """Of each post: ``plausibility`` (J,) less 0.5, ``crowding`` (J,), ``words`` (J, 4), what ``labels`` add (J, 4)."""

    plausibility: Float
    crowding: Float
    words: Float
    labels: Float

    def of(self, rows: npt.NDArray[np.int64]) -> Covariates:
        return Covariates(self.plausibility[rows], self.crowding[rows], self.words[rows], self.labels[rows])


class Content(NamedTuple):
    """Effects of content; ``base`` and ``plausibility`` (4,) by kind, ``appeal`` (4,) by feature of the text."""

    base: Float
    plausibility: Float
    attention: float
    appeal: Float

    def eta(self, kind: int, posts: Covariates) -> Float:
        """Return the observed part of the logit, (J,)."""
        words = READ_APPEAL[kind] * (posts.words @ self.appeal)
        seen = self.plausibility[kind] * posts.plausibility + self.attention * posts.crowding
        return np.asarray(self.base[kind] + seen + words + posts.labels[:, kind])


class Fit(NamedTuple):
    """A fitted policy: how people differ, what posts differ by, and under which penalty."""

    crowd: Crowd
    content: Content
    penalty: float

    def rates(self, posts: Covariates) -> Float:
        """Return the mean chance of each action over people, (J, 4)."""
        return np.stack([self.crowd.rate(k, self.content.eta(k, posts))[0] for k in range(len(KINDS))], axis=1)


def covariates_of(panel: Panel) -> Covariates:
    """Return what the policy can see of each post. What labels add is not fitted: it is as shipped."""
    stand_in = np.where(np.isnan(panel.false), 0.5, np.where(panel.false == 1, BELIEVED[1], BELIEVED[0]))
    given = np.where(np.isnan(panel.plausibility), stand_in, panel.plausibility)
    shown = np.clip(panel.shown, FEWEST_POSTS, MOST_POSTS)
    words = feature_table(list(panel.text))
    return Covariates(given - 0.5, np.log(shown / REFERENCE_POSTS), words, _labels(panel, Params()))


def _labels(panel: Panel, params: Params) -> Float:
    """Return what the verdict shown with each post adds, or the lack of one next to a post that has one, (J, 4)."""
    has = panel.verdict != Verdict.NONE
    other = (np.bincount(panel.feed, has) > 0)[panel.feed] & ~has
    out = np.zeros((len(panel.posts), len(KINDS)))
    for k, kind in enumerate(KINDS):
        of = getattr(params, kind.name.lower())
        for verdict in (Verdict.FALSE, Verdict.TRUE, Verdict.UNVERIFIED):
            out[panel.verdict == verdict, k] = getattr(of, f"verdict_{verdict.name.lower()}")
        out[other, k] = of.unlabeled
    return out


def fit_policy(did: npt.NDArray[np.bool_], posts: Covariates, penalty: float, crowd: Crowd | None = None) -> Fit:
    """Fit to what people did; ``did`` (N, J, 4). With ``crowd`` only the coefficients are fitted.

    How people differ and what posts differ by are fitted in turn, twice.
    """
    done = did.sum(0).astype(np.float64)
    if crowd is not None:
        return Fit(crowd, _fit_content(crowd, posts, done, did.shape[0], penalty), penalty)
    counts = did.sum(1).astype(np.float64)
    first, bases = fit_crowd(counts, np.zeros_like(done))
    content = _fit_content(first, posts, done, did.shape[0], penalty)
    offsets = np.stack([content.eta(k, posts) - content.base[k] for k in range(len(KINDS))], axis=1)
    last, _ = fit_crowd(counts, offsets, (first, bases))
    return Fit(last, _fit_content(last, posts, done, did.shape[0], penalty), penalty)


def _fit_content(crowd: Crowd, posts: Covariates, done: Float, n: int, penalty: float) -> Content:
    """Return least penalized binomial loss; ``done`` (J, 4) of ``n`` people."""
    kinds, features = done.shape[1], len(FEATURES)
    weight = penalty * np.r_[
        np.zeros(kinds), np.full(kinds, _PLAUSIBILITY_SPREAD**2), _ATTENTION_SPREAD**2, _SPREAD**2
    ]  # fmt: skip
    toward = np.zeros(weight.size)
    weight[kinds + _SHARE], toward[kinds + _SHARE] = 1.0 / SHARE_BY_BELIEF_SD**2, SHARE_BY_BELIEF

    def loss(at: Float) -> tuple[float, Float]:
        content = _content(at, kinds)
        slope = np.zeros_like(at)
        total = 0.0
        for k in range(kinds):
            rate, by_eta = crowd.rate(k, content.eta(k, posts))
            rate = np.clip(rate, 1e-9, 1 - 1e-9)
            total -= float((done[:, k] * np.log(rate) + (n - done[:, k]) * np.log1p(-rate)).sum())
            pull = -(done[:, k] / rate - (n - done[:, k]) / (1 - rate)) * by_eta
            slope[k] += pull.sum()
            slope[kinds + k] += pull @ posts.plausibility
            slope[2 * kinds] += pull @ posts.crowding
            slope[2 * kinds + 1 :] += READ_APPEAL[k] * (posts.words.T @ pull)
        total += 0.5 * float((weight * (at - toward) ** 2).sum())
        return total, slope + weight * (at - toward)

    start = np.r_[np.full(kinds, -3.0), toward[kinds:]]
    bounds = [*[(-12.0, 6.0)] * (2 * kinds), (_LEAST_ATTENTION, 0.0), *[(-6.0, 6.0)] * features]
    return _content(np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x), kinds)


def _content(at: Float, kinds: int) -> Content:
    return Content(at[:kinds], at[kinds : 2 * kinds], float(at[2 * kinds]), at[2 * kinds + 1 :])
