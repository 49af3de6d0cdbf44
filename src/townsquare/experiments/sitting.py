"""A sitting: random posts of a run's scenario, put to the run's own policy for random people of the run.

A survey shows random headlines to random people, whereas people of a run see what they follow. The world is made again
as it was before the first step, and all posts of the run enter it at once, so that none is older than another. Nothing
that people do is recorded or shown to others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from townsquare.analysis.facts.contract import Reading, few
from townsquare.analysis.facts.measures import OF_A_SITTING
from townsquare.analysis.facts.people import SIDE
from townsquare.analysis.facts.sitting import FALSE_POSTS, FEED, Sitting
from townsquare.core.actions import ActionKind
from townsquare.core.array_types import Bool, Float, Int32, Int64
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import PostKind, Veracity
from townsquare.core.errors import DataError, RecordError
from townsquare.core.threads import threads_for
from townsquare.experiments.run_folders import settings_of
from townsquare.record.run import Run
from townsquare.simulation.feed.fixed import fixed_feed
from townsquare.simulation.model_calls import asks
from townsquare.simulation.scenario_copy import recorded_scenario
from townsquare.simulation.step import Setup, allowed_kinds, begin
from townsquare.simulation.views import Views
from townsquare.simulation.world import World

MOST_PEOPLE, SITTINGS = 2_000, 10
_VISIBLE = [int(kind) for kind in (ActionKind.LIKE, ActionKind.SHARE, ActionKind.COMMENT, ActionKind.ADD_NOTE)]


def sitting_readings(run: Run) -> dict[str, Reading]:
    """Measure the facts of a sitting for the policy and the people of a run.

    All are without a value, with the reason, where the policy asks a language model, the scenario has too few posts of
    known veracity, or its files are no longer there.
    """
    try:
        settings = settings_of(run, str(run.folder or "run"))
        scenario = recorded_scenario(settings, run.folder)
    except (DataError, RecordError) as error:
        return _none(f"the people cannot be made again: {error}")
    if asks(settings):
        return _none("the policy asks a language model, and a sitting would make new calls")
    with threads_for(settings.config.agents):
        setup, world, _ = begin(settings, scenario)
        at_once = replace(setup.arrivals, step=np.ones_like(setup.arrivals.step))
        world.append(at_once.arrive(world, Draws(settings.config.seed, 1)(Stage.ARRIVE)))
        truths, injected = (Veracity.FALSE, Veracity.TRUE), world.posts["kind"] == PostKind.INJECTED
        by_truth = {truth: np.flatnonzero(injected & (world.posts["veracity"] == truth)) for truth in truths}
        for truth, posts in by_truth.items():
            if posts.size < FALSE_POSTS:
                return _none(few(posts.size, FALSE_POSTS, f"{truth.name.lower()} posts in the scenario"))
        made = _Probe(setup, world, by_truth[Veracity.FALSE], by_truth[Veracity.TRUE])
        sittings = [made.sitting(number) for number in range(1, SITTINGS + 1)]
    return {name: measure(sittings) for name, measure in OF_A_SITTING.items()}


def _none(reason: str) -> dict[str, Reading]:
    return dict.fromkeys(OF_A_SITTING, Reading(reason=reason))


@dataclass(frozen=True, slots=True)
class _Probe:
    """A world with its policy, and the posts to show."""

    setup: Setup
    world: World
    false: Int64
    true: Int64

    def sitting(self, number: int) -> Sitting:
        """Show random posts to random people: 12 false and 12 true ones mixed, then a feed of 30."""
        random = np.random.default_rng([self.setup.settings.config.seed, number])
        persons = np.flatnonzero(self.world.persons()).astype(np.int32)
        people = np.sort(random.choice(persons, min(persons.size, MOST_PEOPLE), replace=False))
        false, true = (_drawn(random, posts, people.size, FALSE_POSTS) for posts in (self.false, self.true))
        both = np.concatenate([false, true], axis=1)
        mixed = random.permuted(np.tile(np.arange(both.shape[1]), (people.size, 1)), axis=1)
        shared = np.empty(both.shape, np.bool_)
        done = self._done(people, np.take_along_axis(both, mixed, axis=1), 2 * number, [int(ActionKind.SHARE)], True)
        np.put_along_axis(shared, mixed, done, axis=1)
        pool = np.r_[self.false, self.true]
        feed = _drawn(random, pool, people.size, min(FEED, pool.size))
        acted = self._done(people, feed, 2 * number + 1, _VISIBLE)
        sides = self._side(people, both)
        part = np.s_[:, :FALSE_POSTS], np.s_[:, FALSE_POSTS:]
        return Sitting(shared[part[0]], shared[part[1]], sides[part[0]], sides[part[1]], np.any(acted, axis=1))

    def _done(self, people: Int32, posts: Int64, draw: int, kinds: list[int], asked: bool = False) -> Bool:
        """Return whether each person did anything of these kinds to each post shown to it, asked about it or not."""
        settings = self.setup.settings
        feed, context = fixed_feed(self.world, people, posts), replace(self.setup.context, asked=asked)
        allowed = allowed_kinds(settings, 1)
        judge = self.setup.judge(self.world, Draws(settings.config.seed, 1)(Stage.BELIEF))
        views = Views(self.world, feed, allowed, self.setup.bank, settings.config.actions, context, judge)
        # Draws of steps that the run never takes: sittings are independent of the run and of each other.
        draws = Draws(settings.config.seed, settings.config.steps + draw)
        chosen = self.setup.policy.decide(views, draws(Stage.POLICY))
        rows = chosen.row[np.isin(chosen.kind, kinds) & (chosen.row >= 0)]
        done = np.zeros(posts.size, np.bool_)
        done[rows] = True
        return done.reshape(posts.shape)

    def _side(self, people: Int32, posts: Int64) -> Float:
        """Return the sign of the person's stance times that of the post, by the post's first stance."""
        columns, stances = self.world.posts, self.world.post_stances
        takes = columns["n_stances"][posts] > 0
        row = np.where(takes, columns["stances"][posts], 0)
        if not stances["stance"].size:
            return np.zeros(posts.shape)
        own = self.world.stance()[people[:, None], stances["proposition"][row]]
        return np.where(takes & (np.abs(own) > SIDE), np.sign(own) * np.sign(stances["stance"][row]), 0.0)


def _drawn(random: np.random.Generator, posts: Int64, people: int, n: int) -> Int64:
    """Return ``n`` different posts for each person, (people, n): a part of one random order of all."""
    first = random.integers(posts.size, size=(people, 1))
    drawn: Int64 = random.permutation(posts)[(first + np.arange(n)) % posts.size]
    return drawn
