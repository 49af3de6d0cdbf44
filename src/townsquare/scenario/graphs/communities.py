"""``communities``: people seek accounts in their community, near those they follow, and anywhere, and keep like ones.

Communities are made of people who are alike: a grid, of bands by stance, each cut by taste. Agents go one after the
other. Each seeks a lognormal number of accounts: a share ``inside`` in its own community by popularity, a share
``closure`` among the followees of its followees (triadic closure, Holme and Kim 2002), and the rest anywhere by
popularity. A candidate is kept with the chance exp(-homophily |s - s'| - taste_homophily |z - z'|), where s is the
stance and z the taste; the followed follows back with ``follow_back``.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scipy.special import ndtri

from townsquare.core.array_types import Float, Int64
from townsquare.core.draws import StageDraws
from townsquare.core.errors import SettingError
from townsquare.core.registry import check_known
from townsquare.scenario.graphs.communities_kernels import Members, Seek, seek_follows
from townsquare.scenario.graphs.contract import Edges, GraphKind, check_size
from townsquare.scenario.population.sample import People
from townsquare.settings.config import MemberParams, setting

ACTIVITY = 0.5
"""Correlation of the log number of accounts that an agent seeks with its rank in activity (assumed)."""
LEAST_WANTED, MOST_SHARE = 2, 8  # an agent seeks at least two accounts, and at most an eighth of all


class CommunityParams(MemberParams):
    """Settings of ``communities``."""

    size: int = setting(120, "mean number of people in a community; at least two communities", ge=2, le=10_000_000)
    inside: float = setting(0.65, "share of candidates for a follow from one's own community", ge=0, le=1)
    closure: float = setting(
        0.2, "share of candidates that followed accounts follow; the others are from anywhere", ge=0, le=1
    )
    homophily: float = setting(
        0.8, "the probability of a follow at distance d in stance is multiplied by exp(-homophily d)", ge=0, le=100
    )
    taste_homophily: float = setting(
        1.2, "the probability of a follow at distance d in taste is multiplied by exp(-taste_homophily d)", ge=0, le=100
    )
    follow_back: float = setting(0.12, "probability that a followed account follows back", ge=0, le=1)
    mean_followed: float = setting(
        16.0, "mean number of accounts that agents seek to follow; each seeks at least two", ge=0
    )
    followed_sd: float = setting(0.9, "sd of the log of the number of accounts sought", ge=0, le=5)
    popularity_sd: float = setting(
        1.9, "sd of the log of popularity, in proportion to which candidates are drawn", ge=0, le=5
    )
    sorting: float = setting(
        0.5, "similarity inside communities: stance and taste explain this share of the variance of the order by which "
        "people are divided into communities",
        ge=0, le=1,
    )  # fmt: skip
    proposition: str | None = setting(None, "proposition whose stance counts; unset: the first")
    by: str | None = setting(None, "trait: people prefer to follow people with the same answer, see `by_homophily`")
    by_homophily: float = setting(
        1.0, "with `by`: the probability of a follow between different answers is multiplied by exp(-by_homophily) "
        "(assumed)", ge=0, le=100,
    )  # fmt: skip


def _standard(values: Float) -> Float:
    """Return values with mean 0 and variance 1; 0 where all are equal."""
    spread = values.std()
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)


def stance_of(params: CommunityParams, n: int, people: People | None) -> Float:
    """Return the stances that count, (n,); 0 for all where there are none.

    Raises
    ------
    SettingError
        A proposition is named, but there are no people.
    UnknownName
        There is no such proposition.
    """
    known = people.propositions if people is not None else ()
    if params.proposition is not None:
        if people is None:
            do = "a graph without people has no stances; unset it"
            raise SettingError("graph.proposition", got=repr(params.proposition), do=do)
        check_known("graph.proposition", params.proposition, known, nothing="no proposition, as there is none")
    if people is None or not known:
        return np.zeros(n)
    return np.ascontiguousarray(people.stance[:, known.index(params.proposition or known[0])])


def taste_of(n: int, people: People | None) -> Float:
    """Return tastes, (n,); 0 for all where people have none."""
    return np.zeros(n) if people is None else np.nan_to_num(people.taste)


def groups_of(params: CommunityParams, n: int, people: People | None) -> Int64:
    """Return the answer to the trait ``by``, (n,) int64; people without an answer are a separate group.

    Raises
    ------
    UnknownName
        There is no such trait.
    """
    if params.by is None or people is None:
        return np.zeros(n, np.int64)
    trait = people.bank.number_of(params.by, "graph.by")
    return people.bank.group_of(trait, people.traits[:, trait])


def communities_of(n: int, params: CommunityParams, draws: StageDraws, stance: Float, taste: Float) -> Int64:
    """Return the community of each agent, (n,) int64 from 0.

    People are sorted by stance and chance, and cut into about as many bands as each band has communities; each band
    is sorted by taste and chance, and cut into its communities. All communities are of equal size.
    """
    known, chance = math.sqrt(params.sorting), math.sqrt(1 - params.sorting)
    many = min(max(2, n // params.size), max(1, n))
    bands = max(1, round(math.sqrt(many)))
    starts = np.arange(many + 1) * n // many
    by_stance, by_taste = (draws.normal(purpose, np.arange(n), lasting=True) for purpose in ("band", "community"))
    order = np.argsort(known * _standard(stance) + chance * by_stance, kind="stable")
    score = known * _standard(taste) + chance * by_taste
    cuts = starts[np.arange(bands + 1) * many // bands]
    for low, high in pairwise(cuts.tolist()):
        band = order[low:high]
        order[low:high] = band[np.argsort(score[band], kind="stable")]
    out = np.empty(n, np.int64)
    out[order] = np.repeat(np.arange(many), np.diff(starts))
    return out


def _by_rank(activity: Float) -> Float:
    """Return normal scores of the ranks of activities; equal ones have equal scores."""
    _, level, many = np.unique(activity, return_inverse=True, return_counts=True)
    middle = np.cumsum(many) - many / 2
    return np.asarray(ndtri(middle[level] / activity.size))


def wanted(n: int, params: CommunityParams, draws: StageDraws, people: People | None) -> Int64:
    """Return how many accounts each agent seeks, (n,) int64: lognormal, more for active people."""
    z = draws.normal("wanted", np.arange(n), lasting=True)
    if people is not None:
        score = _by_rank(people.activity)
        z = ACTIVITY * score + math.sqrt(1 - ACTIVITY**2 * float(np.mean(score**2))) * z
    drawn = params.mean_followed * np.exp(params.followed_sd * z - params.followed_sd**2 / 2)
    most = max(1, n // MOST_SHARE)
    return np.rint(np.clip(drawn, min(LEAST_WANTED, most), most)).astype(np.int64)


def _build(n: int, params: CommunityParams, draws: StageDraws, *, people: People | None = None, **_: object) -> Edges:
    """Return the graph of this file's heading."""
    if params.inside + params.closure > 1:
        got = f"{params.closure:g}, with graph.inside={params.inside:g}"
        raise SettingError("graph.closure", got=got, allowed="shares that sum to 1 at most")
    check_size("graph.mean_followed", 2 * n * params.mean_followed, f"{params.mean_followed:g}")
    stance, taste = stance_of(params, n, people), taste_of(n, people)
    community = communities_of(n, params, draws, stance, taste)
    order = np.argsort(community, kind="stable")
    popular = np.exp(params.popularity_sd * draws.normal("popularity", np.arange(n), lasting=True))
    before = np.concatenate([np.zeros(1), np.cumsum(popular[order])])
    members = Members(order, community, np.concatenate([[0], np.cumsum(np.bincount(community))]), before,
                      groups_of(params, n, people))  # fmt: skip
    turn = np.argsort(draws.bits("turn", np.arange(n), lasting=True), kind="stable")
    seek = Seek(params.inside, params.closure, params.homophily, params.taste_homophily, params.follow_back,
                params.by_homophily)  # fmt: skip
    want = wanted(n, params, draws, people)
    return seek_follows(turn, members, stance, taste, want, seek, draws.base("seek", lasting=True))


COMMUNITIES = GraphKind(
    "communities", CommunityParams, _build, lambda params, n: max(LEAST_WANTED, round(params.mean_followed))
)
"""Draw directed graphs of communities of like people, with triadic closure, popular accounts and following back."""
