"""Run the real policy on the feeds that people saw: a world with these posts, one feed after another."""

from __future__ import annotations

import numpy as np

from townsquare.beliefs.contract import BeliefState
from townsquare.core import schema
from townsquare.core.actions import ActionKind
from townsquare.core.array_types import Bool, Float
from townsquare.core.coded_rows import column_at
from townsquare.core.draws import Draws, Stage, text_key
from townsquare.core.enums import AgentKind, PostKind, PostType, Veracity
from townsquare.core.schema import NONE
from townsquare.core.threads import threads_for
from townsquare.humans.policy.data import KINDS, Panel
from townsquare.scenario.population.sample import sample_people
from townsquare.settings.config import Actions, Population
from townsquare.simulation.change import Change
from townsquare.simulation.feed.fixed import fixed_feed
from townsquare.simulation.policies.statistical import decide
from townsquare.simulation.policies.statistical_params import Params
from townsquare.simulation.views import Bank, Views
from townsquare.simulation.world import World

MANY = 4_000
"""Agents that are enough for chances to be known to about one in a thousand."""


def simulated(
    panel: Panel, plausibility: Float, params: Params, population: Population, *, agents: int = MANY, seed: int = 1
) -> Bool:
    """Return what agents of the statistical policy do to these posts, (agents, J, 4).

    Everybody is shown every feed once, a feed in each step, with the labels that people saw and no count of likes. No
    post takes a stance; who wrote it is followed by nobody; nothing that agents do is shown to others.

    Parameters
    ----------
    panel : Panel
        The posts; what people did is not looked at.
    plausibility : (J,) float64
        How believable each post is, 0 to 1.
    params, population
        The policy's settings, and those of how active agents are.
    agents, seed : int
    """
    world = _world(panel, plausibility, population, agents, seed)
    everybody = np.arange(agents, dtype=np.int32)
    did = np.zeros((agents, len(panel.posts), len(KINDS)), np.bool_)
    column = {kind: k for k, kind in enumerate(KINDS)}
    with threads_for(agents):
        for number in range(int(panel.feed.max()) + 1):
            posts = np.tile(np.flatnonzero(panel.feed == number), (agents, 1))
            feed = fixed_feed(world, everybody, posts, panel.verdict[posts.ravel()])
            views = Views(world, feed, frozenset(KINDS), _nothing_to_say(), Actions())
            chosen = decide(views, Draws(seed, number + 1)(Stage.POLICY), params)
            post = column_at(feed.exposures, "root", chosen.row)
            did[chosen.agent, post, [column[ActionKind(kind)] for kind in chosen.kind]] = True
    return did


def _world(panel: Panel, plausibility: Float, population: Population, agents: int, seed: int) -> World:
    """Return agents with the activity of such a population, one source, and the posts, all by the source."""
    world = World(0, 1)
    people = sample_people(0, agents, population, (), seed)
    kind = np.r_[np.full(agents, AgentKind.PERSON), AgentKind.SOURCE]
    rows = schema.rows(
        "agents", agents + 1, agent=np.arange(agents + 1), kind=kind, born=0, activity=np.r_[people.activity, 0.0],
        policy=0, credibility=np.nan, name=NONE,
    )  # fmt: skip
    nothing = np.zeros((agents + 1, 0))
    world.append(Change({"agents": rows}, newborn=BeliefState(nothing, nothing, nothing)))
    n = len(panel.posts)
    posts = schema.rows(
        "posts", n, post=np.arange(n), key=np.array([text_key(name) for name in panel.posts], np.uint64),
        kind=PostKind.INJECTED, author=agents, root=np.arange(n), parent=NONE, step=1, text=np.arange(n),
        type=PostType.NEWS, topic=NONE, veracity=Veracity.UNKNOWN, plausibility=plausibility,
    )  # fmt: skip
    texts = schema.rows("texts", n, text=np.arange(n), content=list(panel.text))
    world.append(Change({"texts": texts, "posts": posts}))
    return world


def _nothing_to_say() -> Bank:
    none, real = np.empty(0, np.int32), np.empty(0)
    return Bank(none, np.empty(0, np.int16), real, real, none, none)
