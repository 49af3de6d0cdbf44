"""``check policy``: the statistical policy beside a study's people, language-model agents of them, and other people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from townsquare.core.array_types import Bool, Float
from townsquare.humans.policy.content import covariates_of
from townsquare.humans.policy.data import Panel
from townsquare.humans.policy.folds import Rows, splits
from townsquare.humans.policy.measures import MEASURES
from townsquare.humans.policy.settings import params_of, population_of
from townsquare.humans.policy.views import simulated
from townsquare.settings.config import Population
from townsquare.simulation.policies.statistical_params import Params

SHIPPED, GIVEN, EVEN = "as shipped", "as given", "truth unseen"
PEOPLE_OUT, BOTH_OUT = "people held out", "posts too"
AGENTS, OTHERS = "language-model agents", "other people"
PENALTY = 10.0
"""What ``fit-policy`` chose on the data that the shipped numbers come from; held-out fits use it too."""
_INTERVAL = (0.025, 0.975)
_FEW = 2_000  # agents that a held-out fit is simulated with, ten of them a repeat


Values = Mapping[str, Float]
"""Every measure of one set, by name."""


class Compared(NamedTuple):
    """One measure of one set of agents against people.

    Attributes
    ----------
    value : float
        Of the set alone; for the mix and for ranks NaN.
    apart : float
        How far it is from all people; for ``other people`` NaN, as they are a half of the same.
    low, high : float
        2.5% and 97.5% of ``apart`` with people, and agents made of them, drawn again with replacement; drawing adds
        noise, so that both can be above ``apart``.
    half : float
        Mean of ``apart`` against random halves of the people, which is what other people can be compared on.
    closer : float
        Share of draws in which it is nearer to people than language-model agents are; NaN without them.
    """

    value: float
    apart: float
    low: float
    high: float
    half: float
    closer: float


class PolicyReport(NamedTuple):
    """Results of ``check policy``: ``people`` by measure, and ``compared`` by set of agents and measure."""

    people: Mapping[str, float]
    people_mix: tuple[float, ...]
    mixes: Mapping[str, tuple[float, ...]]
    compared: Mapping[str, Mapping[str, Compared]]
    n: int
    posts: int
    actions: int
    notices: tuple[str, ...]


def check_policy_against(
    panel: Panel,
    *,
    given: tuple[Params, Population] | None = None,
    held_out: bool = True,
    draws: int = 1000,
    halves: int = 100,
    repeats: int = 3,
    seed: int = 1,
) -> PolicyReport:
    """Simulate the policy on the posts of a study and compare.

    Parameters
    ----------
    panel : Panel
    given : (Params, Population), optional
        Settings of the policy and of activity; by default those that are shipped.
    held_out : bool
        Also refit within the study, people and posts held out, which takes most of the time.
    draws, halves, repeats, seed : int
        Resamples of people, random halves, repeats of the fits with people and posts held out (four times as many with
        people alone, which are quick), and the seed of all of it and of the agents.
    """
    posts = covariates_of(panel)
    params, population = given or (Params(), Population())
    sets: dict[str, Bool] = {
        GIVEN if given else SHIPPED: simulated(panel, posts.plausibility + 0.5, params, population, seed=seed),
        EVEN: simulated(panel, np.full(len(panel.posts), 0.5), params, population, seed=seed),
    }
    if panel.agents is not None:
        sets[AGENTS] = panel.agents
    redrawn = list(np.random.default_rng(seed).integers(0, panel.n, (draws, panel.n)))
    pairs = _halves(panel.n, halves, seed)
    values = {name: _values(panel, did) for name, did in sets.items()}
    people = _values(panel, panel.did)

    def drawn(name: str, draws: Sequence[Rows]) -> dict[str, Float]:
        """Return distances to some of the people, once a draw; agents made of people go with them."""
        made = ((_values(panel, sets[name][rows]) if name == AGENTS else values[name], rows) for rows in draws)
        return _distances(panel, made)

    apart = {name: drawn(name, redrawn) for name in sets}
    half = {name: drawn(name, [first for first, _ in pairs]) for name in sets}
    agents = apart.get(AGENTS, {})
    compared = {
        name: {
            m.name: _summed(
                _number(own[m.name]), m.apart(own[m.name], people[m.name]), apart[name][m.name],
                float(half[name][m.name].mean()), agents.get(m.name), _INTERVAL,
            )
            for m in MEASURES
        }
        for name, own in values.items()
    }  # fmt: skip
    if held_out:
        for name, times, posts_too in ((PEOPLE_OUT, 4 * repeats, False), (BOTH_OUT, repeats, True)):
            folded = [(_values(panel, did), rows) for did, rows in _held_out(panel, times, seed, posts_too=posts_too)]
            compared[name] = _spread(panel, folded, [own for own, _ in folded], (0.0, 1.0))
    # One half of the people against the other: what nobody who acts alike by chance can beat.
    others = [(_values(panel, panel.did[b]), a) for a, b in pairs]
    compared[OTHERS] = _spread(panel, others, [people], _INTERVAL)
    mixes = {name: tuple(own["mix"].tolist()) for name, own in values.items()}
    alone = {name: _number(value) for name, value in people.items()}
    counts = panel.n, len(panel.posts), int(panel.did.sum())
    return PolicyReport(alone, tuple(people["mix"].tolist()), mixes, compared, *counts, _notices(panel))


def _values(panel: Panel, did: Bool) -> Values:
    return {m.name: m.of(did, panel.false) for m in MEASURES}


def _number(value: Float) -> float:
    """Return a measure that is one number; NaN for the mix and for ranks."""
    return float(value) if value.ndim == 0 else np.nan


def _distances(panel: Panel, pairs: Iterable[tuple[Values, Rows]]) -> dict[str, Float]:
    """Return distances of sets to some of the people each, (k,) a measure."""
    compared = ((own, _values(panel, panel.did[rows])) for own, rows in pairs)
    apart = [[m.apart(own[m.name], theirs[m.name]) for m in MEASURES] for own, theirs in compared]
    return dict(zip((m.name for m in MEASURES), np.array(apart).T, strict=True))


def _halves(n: int, times: int, seed: int) -> list[tuple[Rows, Rows]]:
    draw = np.random.default_rng(seed)
    orders = [draw.permutation(n) for _ in range(times)]
    return [(order[: n // 2], order[n // 2 :]) for order in orders]


def _summed(
    value: float, now: float, apart: Float, half: float, agents: Float | None, ends: tuple[float, float]
) -> Compared:
    """Return distances with their quantiles ``ends``, and how often they are less than those of other agents."""
    low, high = np.quantile(apart, ends, method="nearest")
    closer = np.nan if agents is None else float((apart < agents).mean())
    return Compared(value, now, float(low), float(high), half, closer)


def _spread(
    panel: Panel, pairs: Sequence[tuple[Values, Rows]], alone: Sequence[Values], ends: tuple[float, float]
) -> dict[str, Compared]:
    """Summarize distances of several sets to some people each, by quantiles ``ends``, and the value of ``alone``.

    ``closer`` is the share of pairs in which language-model agents of those people are further.
    """
    made = panel.agents
    theirs = {} if made is None else _distances(panel, ((_values(panel, made[rows]), rows) for _, rows in pairs))
    out = {}
    for name, apart in _distances(panel, pairs).items():
        value = float(np.mean([_number(values[name]) for values in alone]))
        out[name] = _summed(value, np.nan, apart, float(apart.mean()), theirs.get(name), ends)
    return out


# --- people and posts held out -----------------------------------------------------------------------------


def _held_out(panel: Panel, repeats: int, seed: int, *, posts_too: bool) -> list[tuple[Bool, Rows]]:
    """Simulate agents for each half of the people by fits to the other half that have not seen the post."""
    covariates = covariates_of(panel)
    out: list[tuple[Bool, Rows]] = []
    seen = 0
    for split in splits(panel, covariates, (PENALTY,), repeats=repeats, seed=seed, posts_too=posts_too):
        if seen % len(panel.posts) == 0:
            out.append((np.zeros((_FEW, *panel.did.shape[1:]), np.bool_), split.people))
        settings = params_of(split.fits[0]), population_of(split.fits[0])
        # One seed for all folds: the same agents, with their activity and tastes by rank, under each fold's fit.
        did = simulated(panel, covariates.plausibility + 0.5, *settings, agents=_FEW, seed=seed + len(out))
        out[-1][0][:, split.posts] = did[:, split.posts]
        seen += split.posts.size
    return out


def _notices(panel: Panel) -> tuple[str, ...]:
    notices = list(panel.left_out)
    given = ~np.isnan(panel.plausibility)
    if not given.all():
        known = int((~given & ~np.isnan(panel.false)).sum())
        believed = f"for {known} of them it is what people believe of true or false headlines on average"
        missing = f"plausibility is not given for {int((~given).sum())} posts"
        notices.append(f"{missing}: {believed}; '{EVEN}' takes 0.5 for all")
    lies = int((panel.false == 1).sum())
    if lies < 10:
        notices.append(f"{lies} false posts: what is said of them is of these few, and depends on their subjects")
    if panel.agents is None:
        notices.append("no actions of agents made of these people: nothing to be closer than")
    return tuple(notices)
