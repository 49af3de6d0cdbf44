"""One step: each stage reads the world and returns rows; ``commit`` alone changes the world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.core.draws import Draws, Stage, StageDraws
from townsquare.core.schema import ActionKind
from townsquare.models.client import ModelClient
from townsquare.models.contract import bound
from townsquare.record.batches import Batches
from townsquare.scenario.contents import Scenario
from townsquare.scenario.settings import check_names
from townsquare.settings.resolve import Settings
from townsquare.simulation import actions, belief_step, memory
from townsquare.simulation.actions import friction_of
from townsquare.simulation.arrivals import Arrivals, bank_of
from townsquare.simulation.change import Change
from townsquare.simulation.events import messages
from townsquare.simulation.evidence import claims, holdings
from townsquare.simulation.feed import build
from townsquare.simulation.feed.personal import personal
from townsquare.simulation.model_calls import call_rows, reads_memory, remembers
from townsquare.simulation.moderation.checks import reviewed
from townsquare.simulation.policies.contract import decided
from townsquare.simulation.stance_scoring import scored
from townsquare.simulation.views import About, Bank, Views
from townsquare.simulation.world import World


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything a step needs beside the world."""

    settings: Settings
    arrivals: Arrivals
    bank: Bank
    allowed: frozenset[ActionKind]
    about: About
    client: ModelClient | None = None

    @property
    def statements(self) -> list[str]:
        """The propositions, as they are worded."""
        return [proposition.text for proposition in self.arrivals.scenario.propositions]

    def under(self, settings: Settings) -> Setup:
        """Return the same under other settings, such as those that an event has set."""
        if settings is self.settings:
            return self
        arrivals = replace(self.arrivals, settings=settings)
        config = settings.config
        about = replace(self.about, memory=config.memory, model=config.model, show_flags=config.feed.show_flags)
        return replace(self, settings=settings, arrivals=arrivals, allowed=allowed_kinds(settings), about=about)

    def member(self, family: str) -> tuple[Any, Any]:
        """The chosen member of a family, with a language model to ask where it asks one, and its parameters."""
        chosen = self.settings.members[family]
        return chosen if self.client is None else bound(chosen, self.client), self.settings.params[family]


def step(setup: Setup, world: World) -> tuple[Batches, int]:
    """One pass through the stages: each reads the world and returns rows, and ``commit`` alone changes it.

    Returns the rows of the step and how many agents were online.
    """
    setup = setup.under(setup.settings.at(world.step + 1))
    config, who = setup.settings.config, [np.empty(0, np.int32)]
    (ranker, policy, moderator, rule) = (setup.member(f) for f in ("ranker", "policy", "moderation", "beliefs"))
    draw = Draws(config.seed, world.step + 1)
    out = Batches(world.step + 1)

    def commit(change: Change) -> None:
        out.add(world.append(change))

    commit(setup.arrivals.arrive(world, draw(Stage.ARRIVE)))
    commit(messages.send(world, config, setup.arrivals.scenario))
    for agents in online(world, setup.settings, draw(Stage.ORDER)):
        special, barrier = personal(world, agents, config), friction_of(agents, config, draw(Stage.POLICY))
        shown = build.build(world, agents, ranker, config.feed, config.beliefs, draw(Stage.FEED), special)
        views = Views(world, shown, setup.allowed, setup.bank, config.actions, setup.about)
        chosen = decided(policy[0], views, draw(Stage.POLICY), policy[1])
        commit(actions.exposures_read(shown, chosen, world.step + 1))
        done = actions.resolve(world, shown, chosen, setup.allowed, config.actions, barrier)
        commit(scored(done, world, config.beliefs, setup.statements))
        who.append(agents)
    commit(reviewed(moderator[0], world, draw(Stage.MODERATE), moderator[1], config.moderation.takedown))
    if "holdings" in rule[0].needs:
        commit(claims.make(world, setup.arrivals.judges))
        commit(holdings.update(world, out, setup.arrivals.judges, config.evidence))
    commit(belief_step.advance(world, out, *rule, draw(Stage.BELIEF), with_trail=config.record.trail))
    if remembers(setup.settings):
        commit(memory.remember(world, out, np.sort(np.concatenate(who)), config.memory, reads_memory(setup.settings)))
        commit(memory.reflections_due(world, config, setup.statements, setup.client))
    if setup.client is not None:
        commit(Change(call_rows(setup.client.taken(), world.step + 1)))
    world.finish(world.step + 1, config.feed.seen_cap, draw(Stage.FEED))
    return out, sum(agents.size for agents in who)


def online(world: World, settings: Settings, draw: StageDraws) -> Iterator[npt.NDArray[np.int32]]:
    """Who has a feed in this step, in batches that act one after the other; those born in it wait for the next."""
    activation = settings.config.activation
    persons = np.flatnonzero(world.persons() & (world.agents["born"] <= world.step)).astype(np.int32)
    if settings.config.leave_out.agents:
        persons = persons[~np.isin(persons, settings.config.leave_out.agents)]
    if activation.rate < 1:
        persons = persons[draw.uniform("online", persons) < activation.rate]
    if activation.batches == 1:
        yield persons
        return
    batch = draw.integers("batch", persons, 0, activation.batches)
    for number in range(activation.batches):
        yield persons[batch == number]


def begin(settings: Settings, scenario: Scenario, client: ModelClient | None = None) -> tuple[Setup, World, Batches]:
    """The world before the first step, and the rows of step 0."""
    check_names(scenario, settings)
    arrivals = Arrivals.plan(settings, scenario)
    if client is not None:
        arrivals = replace(arrivals, judges=arrivals.judges.with_model(client))
    world = World(len(scenario.propositions), settings.config.feed.newest)
    out = Batches(0)
    out.add(world.append(arrivals.opening(world)))
    config, propositions = settings.config, scenario.propositions
    names, statements = tuple(one.name for one in propositions), tuple(one.text for one in propositions)
    about = About(names, statements, config.memory, config.model, config.feed.show_flags)
    return Setup(settings, arrivals, bank_of(world, scenario), allowed_kinds(settings), about, client), world, out


def allowed_kinds(settings: Settings) -> frozenset[ActionKind]:
    """Kinds of action that this run allows: those enabled, and the strategy's own only where it has them."""
    strategy_only = {ActionKind.ADD_NOTE, ActionKind.RATE_NOTE} - settings.members["moderation"].adds
    enabled = settings.config.actions.enabled
    words = {kind.name.lower(): kind for kind in ActionKind}
    chosen = set(ActionKind) if enabled is None else {words[word] for word in enabled}
    return frozenset(chosen - strategy_only)
