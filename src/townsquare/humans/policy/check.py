"""``check policy``: compare the statistical policy with a study's people, gpt-4o agents of them, and other people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from townsquare.core.array_types import Bool, Float
from townsquare.humans.policy.content import covariates_of
from townsquare.humans.policy.data import Panel
from townsquare.humans.policy.folds import Rows, splits
from townsquare.humans.policy.measures import MEASURES, Measure
from townsquare.humans.policy.settings import params_of, population_of
from townsquare.humans.policy.views import simulated
from townsquare.settings.config import Population
from townsquare.simulation.policies.statistical_params import Params

SHIPPED, EVEN = "as shipped", "truth unseen"
PEOPLE_OUT, BOTH_OUT = "people held out", "posts too"
AGENTS, OTHERS = "gpt-4o's agents", "other people"
PENALTY = 10.0
"""What ``fit-policy`` chose on the data that the shipped numbers come from; held-out fits use it too."""
_INTERVAL = (0.025, 0.975)
_FEW = 2_000  # agents that a held-out fit is simulated with, ten of them a repeat


class Compared(NamedTuple):
    """One measure of one set of agents against people.

    Attributes
    ----------
    value : float
        Of the set alone; for the mix and for ranks NaN.
    apart : float
        How far it is from all people; for ``other people`` NaN, as they are a half of the same.
    low, high : float
        95 % interval of ``apart``: people, and agents made of them, drawn again with replacement.
    half : float
        Mean of ``apart`` against random halves of the people, which is what other people can be compared on.
    closer : float
        Share of draws in which it is nearer to people than gpt-4o's agents are; NaN without them.
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
    panel: Panel, *, held_out: bool = True, draws: int = 1000, halves: int = 100, repeats: int = 3, seed: int = 1
) -> PolicyReport:
    """Simulate the policy on the posts of a study and compare.

    Parameters
    ----------
    panel : Panel
    held_out : bool
        Also refit within the study, people and posts held out, which takes most of the time.
    draws, halves, repeats, seed : int
        Resamples of people, random halves, repeats of the fits with people and posts held out (four times as many with
        people alone, which are quick), and the seed of all of it and of the agents.
    """
    posts = covariates_of(panel)
    sets: dict[str, Bool] = {
        SHIPPED: simulated(panel, posts.plausibility + 0.5, Params(), Population(), seed=seed),
        EVEN: simulated(panel, np.full(len(panel.posts), 0.5), Params(), Population(), seed=seed),
    }
    if panel.agents is not None:
        sets[AGENTS] = panel.agents
    redrawn = list(np.random.default_rng(seed).integers(0, panel.n, (draws, panel.n)))
    pairs = _halves(panel.n, halves, seed)
    apart = {name: _distances(panel, did, redrawn, paired=name == AGENTS) for name, did in sets.items()}
    half = {name: _distances(panel, did, [a for a, _ in pairs], paired=name == AGENTS) for name, did in sets.items()}
    agents = apart.get(AGENTS, {})
    compared = {
        name: {
            m.name: _compared(panel, did, m, apart[name][m.name], half[name][m.name], agents.get(m.name))
            for m in MEASURES
        }
        for name, did in sets.items()
    }
    if held_out:
        for name, times, posts_too in ((PEOPLE_OUT, 4 * repeats, False), (BOTH_OUT, repeats, True)):
            folded = _held_out(panel, times, seed, posts_too=posts_too)
            compared[name] = _spread(panel, folded, [did for did, _ in folded], (0.0, 1.0))
    # One half of the people against the other: what nobody who acts alike by chance can beat.
    others = [(panel.did[b], a) for a, b in pairs]
    compared[OTHERS] = _spread(panel, others, [panel.did], _INTERVAL)
    people = {m.name: _alone(m, panel.did, panel.false) for m in MEASURES}
    mixes = {name: _mix_of(did) for name, did in sets.items()}
    counts = panel.n, len(panel.posts), int(panel.did.sum())
    return PolicyReport(people, _mix_of(panel.did), mixes, compared, *counts, _notices(panel))


def _alone(measure: Measure, did: Bool, false: Float) -> float:
    value = measure.of(did, false)
    return float(value) if value.ndim == 0 else np.nan


def _mix_of(did: Bool) -> tuple[float, ...]:
    return tuple(float(x) for x in MEASURES[0].of(did, np.zeros(did.shape[1])))


def _distance(measure: Measure, agents: Bool, people: Bool, false: Float) -> float:
    return measure.apart(measure.of(agents, false), measure.of(people, false))


def _distances(panel: Panel, did: Bool, drawn: Sequence[Rows], *, paired: bool) -> dict[str, Float]:
    """Return distances to some of the people, once a draw; agents made of people go with them, simulated ones stay."""
    out = {m.name: np.empty(len(drawn)) for m in MEASURES}
    fixed = {m.name: m.of(did, panel.false) for m in MEASURES}
    for k, rows in enumerate(drawn):
        people = panel.did[rows]
        for m in MEASURES:
            own = m.of(did[rows], panel.false) if paired else fixed[m.name]
            out[m.name][k] = m.apart(own, m.of(people, panel.false))
    return out


def _halves(n: int, times: int, seed: int) -> list[tuple[Rows, Rows]]:
    draw = np.random.default_rng(seed)
    orders = [draw.permutation(n) for _ in range(times)]
    return [(order[: n // 2], order[n // 2 :]) for order in orders]


def _compared(panel: Panel, did: Bool, measure: Measure, apart: Float, half: Float, agents: Float | None) -> Compared:
    value, now = _alone(measure, did, panel.false), _distance(measure, did, panel.did, panel.false)
    return _summed(value, now, apart, float(half.mean()), agents, _INTERVAL)


def _summed(
    value: float, now: float, apart: Float, half: float, agents: Float | None, ends: tuple[float, float]
) -> Compared:
    """Return distances with their quantiles ``ends``, and how often they are less than those of other agents."""
    low, high = np.quantile(apart, ends, method="nearest")
    closer = np.nan if agents is None else float((apart < agents).mean())
    return Compared(value, now, float(low), float(high), half, closer)


def _spread(
    panel: Panel, pairs: Sequence[tuple[Bool, Rows]], alone: Sequence[Bool], ends: tuple[float, float]
) -> dict[str, Compared]:
    """Summarize distances of several sets to some people each, by quantiles ``ends``, and the value of ``alone``.

    ``closer`` is the share of pairs in which gpt-4o's agents of those people are further.
    """
    out = {}
    for m in MEASURES:
        apart = np.array([_distance(m, did, panel.did[rows], panel.false) for did, rows in pairs])
        theirs = None
        if panel.agents is not None:
            theirs = np.array([_distance(m, panel.agents[rows], panel.did[rows], panel.false) for _, rows in pairs])
        value = float(np.mean([_alone(m, did, panel.false) for did in alone]))
        out[m.name] = _summed(value, np.nan, apart, float(apart.mean()), theirs, ends)
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
        notices.append(
            f"plausibility is not given for {int((~given).sum())} posts: for {known} of them it is what people believe"
            f" of true or false headlines on average; '{EVEN}' takes 0.5 for all"
        )
    lies = int((panel.false == 1).sum())
    if lies < 10:
        notices.append(f"{lies} false posts: what is said of them is of these few, and depends on their subjects")
    if panel.agents is None:
        notices.append("no actions of agents made of these people: nothing to be closer than")
    return tuple(notices)
