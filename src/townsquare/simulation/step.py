"""Takes one step: each stage reads the world and returns rows; ``commit`` alone changes the world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from townsquare.core import schema
from townsquare.core.actions import WORDS, ActionKind, Allowed, kinds_where
from townsquare.core.array_types import Float, Int32
from townsquare.core.draws import Draws, Stage, StageDraws
from townsquare.core.table import GrowingTable
from townsquare.models.client import ModelClient
from townsquare.models.contract import bound
from townsquare.record.batches import Batches
from townsquare.scenario.contents import Scenario
from townsquare.scenario.population.sample import people_bank
from townsquare.scenario.settings import check_fits
from townsquare.settings.resolve import Settings
from townsquare.simulation import actions, belief_step, memory
from townsquare.simulation.arrivals import Arrivals, bank_of
from townsquare.simulation.belief_step import ChosenRule
from townsquare.simulation.change import Change
from townsquare.simulation.events import messages
from townsquare.simulation.evidence import claims, holdings
from townsquare.simulation.feed import build as feed
from townsquare.simulation.feed.options import feed_options
from townsquare.simulation.feed.rankers.contract import ChosenRanker
from townsquare.simulation.model_calls import call_rows, reads_memory, remembers
from townsquare.simulation.moderation import contributors
from townsquare.simulation.moderation.checks import ChosenModerator
from townsquare.simulation.moderation.contract import ReviewContext
from townsquare.simulation.moderation.contributors import ContributorParams
from townsquare.simulation.moderation.note_scorers.contract import ChosenNoteScorer
from townsquare.simulation.moderation.notes import NOTE_KINDS
from townsquare.simulation.policies import mix
from townsquare.simulation.policies.contract import ChosenPolicy
from townsquare.simulation.stance_scoring import scored
from townsquare.simulation.views import Bank, PromptContext, ProposedActions, Views
from townsquare.simulation.world import World


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything that a step needs in addition to the world."""

    settings: Settings
    arrivals: Arrivals
    bank: Bank
    client: ModelClient | None = None

    @property
    def statements(self) -> list[str]:
        """The wording of each proposition."""
        return [proposition.text for proposition in self.arrivals.scenario.propositions]

    @property
    def context(self) -> PromptContext:
        """The context of prompts: propositions, and settings of memory and model."""
        config, names = self.settings.config, self.arrivals.scenario.proposition_names
        return PromptContext(
            tuple(names), tuple(self.statements), memory=memory.on_clock(config), model=config.model,
            show_flags=config.feed.show_flags, step_hours=config.time.step_hours,
        )  # fmt: skip

    def under(self, settings: Settings) -> Setup:
        """Return the setup under other settings, such as those that an event has set."""
        if settings is self.settings:
            return self
        return replace(self, settings=settings, arrivals=replace(self.arrivals, settings=settings))

    def _member(self, family: str) -> tuple[Any, Any]:
        """Return the chosen member of a family, bound to the language model if there is one, and its parameters."""
        chosen = self.settings.members[family]
        return chosen if self.client is None else bound(chosen, self.client), self.settings.params[family]

    @property
    def ranker(self) -> ChosenRanker:
        """The ranker of feeds."""
        return ChosenRanker(*self._member("ranker"))

    @property
    def policy(self) -> ChosenPolicy:
        """The policy of agents."""
        return ChosenPolicy(*self._member("policy"))

    @property
    def moderator(self) -> ChosenModerator:
        """The moderation strategy, with the scorer of notes."""
        scorer = ChosenNoteScorer(*self._member("note_scorer"))
        context = ReviewContext(self.settings.config.time.step_hours, self.bank)
        return ChosenModerator(*self._member("moderation"), scorer, context)

    def judge(self, world: World, draw: StageDraws) -> Callable[[schema.Columns], Float] | None:
        """Return what tells how far readers believe the claims of rows, if the policy reads it and the rule holds it.

        ``draw`` is that of the stage in which beliefs move.
        """
        policy, params = self._member("policy")
        if self.rule.member.judge is None or "believed" not in mix.reads(policy, params):
            return None
        hours = self.settings.config.belief_hours
        return partial(belief_step.believed, world, chosen=self.rule, draw=draw, hours=hours)

    @property
    def contributors(self) -> ContributorParams | None:
        """How contributors write and rate notes; None where notes are for all, in feeds, or there are none."""
        params = self.settings.params["moderation"]
        return params if isinstance(params, ContributorParams) and params.contributors > 0 else None

    @property
    def rule(self) -> ChosenRule:
        """The belief rule."""
        return ChosenRule(*self._member("beliefs"))


def step(setup: Setup, world: World) -> tuple[Batches, int]:
    """Go through the stages once: each reads the world and returns rows, and ``commit`` alone changes the world.

    Returns the rows of the step and how many agents were online.
    """
    whole, setup = setup.settings, setup.under(setup.settings.at(world.step + 1))
    config, rule, active = setup.settings.config, setup.rule, [np.empty(0, np.int32)]
    draw, allowed = Draws(config.seed, world.step + 1), allowed_kinds(whole, world.step + 1)
    out = Batches(world.step + 1)

    def commit(change: Change) -> None:
        out.add(world.append(change))

    commit(setup.arrivals.arrive(world, draw(Stage.ARRIVE)))
    commit(messages.send(world, config, setup.arrivals.scenario))
    program, judge = setup.contributors, setup.judge(world, draw(Stage.BELIEF))
    in_feeds = allowed if program is None else allowed - NOTE_KINDS
    for agents in online(world, setup.settings, draw(Stage.ORDER)):
        options = feed_options(world, agents, config, offers=ActionKind.RATE_NOTE in in_feeds)
        shown = feed.build(world, setup.ranker, options, draw(Stage.FEED))
        views = Views(world, shown, in_feeds, setup.bank, config.actions, setup.context, judge)
        chosen = decide(setup, views, draw(Stage.POLICY))
        commit(actions.exposures(world, shown, chosen))
        friction = actions.friction_of(world, agents, config, draw(Stage.POLICY))
        done = actions.resolve(world, shown, chosen, in_feeds, config.actions, friction)
        commit(scored(done, world, config.beliefs, setup.statements))
        active.append(agents)
    for change in () if program is None else contributed(setup, program, world, allowed, draw):
        commit(change)
    commit(setup.moderator.review(world, draw(Stage.MODERATE), config.moderation.takedown))
    if "holdings" in rule.needs:
        commit(claims.make(world, setup.arrivals.judges))
        commit(holdings.update(world, out, setup.arrivals.judges, config.evidence))
    trail, hours = config.record.trail, config.belief_hours
    commit(belief_step.advance(world, out, rule, draw(Stage.BELIEF), with_trail=trail, hours=hours))
    if remembers(setup.settings):
        agents = np.sort(np.concatenate(active))
        commit(memory.remember(world, out, agents, memory.on_clock(config), reads_memory(setup.settings)))
        commit(memory.reflections_due(world, config, setup.statements, setup.client))
    if setup.client is not None:
        commit(Change(call_rows(setup.client.taken(), world.step + 1)))
    world.finish(world.step + 1, config.feed.seen_cap, draw(Stage.FEED))
    return out, sum(agents.size for agents in active)


def decide(setup: Setup, views: Views, draws: StageDraws) -> ProposedActions:
    """Return what agents do by their policy; where they have sessions, lurkers are not asked: they read everything."""
    acts = views.activity > 0
    if setup.settings.config.time.step_minutes is None or acts.all():
        return setup.policy.decide(views, draws)
    return mix.together([mix.decided_for(setup.policy, views, draws, acts)], views)


def contributed(
    setup: Setup, program: ContributorParams, world: World, allowed: frozenset[ActionKind], draw: Draws
) -> Iterator[Change]:
    """Yield the notes that contributors write, and then the ratings of their queue, by the policy of each agent."""
    config, context = setup.settings.config, replace(setup.context, asked=True)
    left_out = config.leave_out.agents
    for kind, shown in contributors.feeds(world, program, config.time, draw(Stage.MODERATE), left_out):
        may = allowed & {kind}
        views = Views(world, shown, may, setup.bank, config.actions, context, setup.judge(world, draw(Stage.BELIEF)))
        chosen = decide(setup, views, draw(Stage.POLICY))
        friction = actions.friction_of(world, views.agents, config, draw(Stage.POLICY))
        done = actions.resolve(world, shown, chosen, may, config.actions, friction)
        yield contributors.with_quality(world, done, program, draw(Stage.MODERATE), setup.bank)


def online(world: World, settings: Settings, draw: StageDraws) -> Iterator[Int32]:
    """Yield the persons who have a feed in this step, in batches that act in turn; newcomers wait for the next step."""
    activation, time = settings.config.activation, settings.config.time
    persons = np.flatnonzero(world.persons() & (world.agents["born"] <= world.step)).astype(np.int32)
    if settings.config.leave_out.agents:
        persons = persons[~np.isin(persons, settings.config.leave_out.agents)]
    if time.step_minutes is not None:
        rate = activation.sessions_per_day * time.step_hours / 24 * time.rhythm_of(world.step + 1)
        activity = world.agents["activity"][persons]
        chance = -np.expm1(-rate * np.where(activity > 0, activity, 1.0))  # lurkers read as often as with activity 1
        persons = persons[draw.uniform("online", persons) < chance]
    elif activation.rate < 1:
        persons = persons[draw.uniform("online", persons) < activation.rate]
    if activation.batches == 1:
        yield persons
        return
    batch = draw.integers("batch", persons, 0, activation.batches)
    for number in range(activation.batches):
        yield persons[batch == number]


def begin(settings: Settings, scenario: Scenario, client: ModelClient | None = None) -> tuple[Setup, World, Batches]:
    """Return the world before the first step, and the rows of step 0."""
    check_fits(scenario, settings)
    arrivals = Arrivals.plan(settings, scenario)
    if client is not None:
        arrivals = replace(arrivals, judges=arrivals.judges.with_model(client))
    world = World(len(scenario.propositions), settings.config.feed.newest)
    rule = ChosenRule(settings.members["beliefs"], settings.params["beliefs"])
    if "groups" in rule.needs:
        world.bank = people_bank(settings.config.population, arrivals.folder)
        belief_step.group_trait(rule, world.bank)  # raises its error before the run begins
        world.traits = GrowingTable("traits")
    out = Batches(0)
    out.add(world.append(arrivals.opening(world)))
    return Setup(settings, arrivals, bank_of(world, scenario), client), world, out


def allowed_kinds(settings: Settings, step: int) -> frozenset[ActionKind]:
    """Return the kinds of action that a step allows: those enabled, and those that the strategy in force adds.

    Some kinds are allowed only if the strategy in force adds them: those marked ``Allowed.BY_STRATEGY``, and those that
    a moderator named in these settings adds in any step. Installed packages that the settings do not name change
    nothing: a run is a function of its settings.
    """
    now = settings.at(step)
    given, adds = now.config.actions, now.members["moderation"].adds
    usual = [*kinds_where(lambda spec: spec.allowed != Allowed.ON_REQUEST), *adds]
    words = {*([WORDS[kind] for kind in usual] if given.enabled is None else given.enabled), *given.also}
    named = (then.members["moderation"].adds for then in (settings, *(later for _, later in settings.changes)))
    own = set(kinds_where(lambda spec: spec.allowed == Allowed.BY_STRATEGY)).union(*named)
    return frozenset(kind for kind, word in WORDS.items() if word in words) - own.difference(adds)
