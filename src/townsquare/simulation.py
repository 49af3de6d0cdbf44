"""One step, and a run of them. Nothing else here: every stage stands in a file of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare import actions, belief_inputs, feed, memory, reflection, schema, told
from townsquare.arrivals import Arrivals, bank_of
from townsquare.asking import asks, calls_beside, reads_memory, remembers
from townsquare.call_rows import call_rows
from townsquare.change import Change
from townsquare.committing import LARGE, MANY, Committer
from townsquare.config import Budget
from townsquare.draws import Draws, Stage, StageDraws
from townsquare.errors import BudgetReached, WrongVersion
from townsquare.events import messages
from townsquare.events.friction import friction_of
from townsquare.evidence import claims, holdings
from townsquare.feed_personal import personal
from townsquare.held_memory import held_memory
from townsquare.models.binding import bound
from townsquare.models.budget import check_priced
from townsquare.models.door import Door, OnCall, nothing
from townsquare.models.open import check_chosen, open_door
from townsquare.record.batches import Batches
from townsquare.record.contract import Recorder, RunHeader, StepMark
from townsquare.record.memory import MemoryRecorder
from townsquare.record.places import recorder_of
from townsquare.record.postgresql.recorder import PostgresRecorder
from townsquare.record.run import Run
from townsquare.record.sqlite import FolderRecorder
from townsquare.resolve import Settings, contents_now
from townsquare.scenario import load_scenario
from townsquare.scenario_contents import Scenario
from townsquare.schema import ActionKind, ActionStatus
from townsquare.settings.named_files import check_contents
from townsquare.stance.scoring import scored
from townsquare.threads import threads_for
from townsquare.views import About, Bank, Views
from townsquare.world import World

OnStep = Callable[[StepMark], None]


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything a step needs beside the world; ``later`` holds, by step, what events put in its place."""

    settings: Settings
    arrivals: Arrivals
    bank: Bank
    allowed: frozenset[ActionKind]
    about: About
    door: Door | None = None
    later: tuple[tuple[int, Setup], ...] = ()

    @property
    def statements(self) -> list[str]:
        """The propositions, as they are worded."""
        return [proposition.text for proposition in self.arrivals.scenario.propositions]

    def under(self, settings: Settings) -> Setup:
        """The same under other settings."""
        arrivals = replace(self.arrivals, settings=settings)
        about = replace(self.about, memory=settings.config.memory, model=settings.config.model)
        return replace(self, settings=settings, arrivals=arrivals, allowed=allowed_kinds(settings), about=about)

    def at(self, step: int) -> Setup:
        """What holds in a step."""
        return next((setup for first, setup in reversed(self.later) if step >= first), self)

    def member(self, family: str) -> tuple[Any, Any]:
        """The chosen member of a family, with a language model to ask where it asks one, and its parameters."""
        chosen = self.settings.members[family]
        return chosen if self.door is None else bound(chosen, self.door), self.settings.params[family]


def step(setup: Setup, world: World) -> tuple[Batches, int]:
    """One pass through the stages: each reads the world and returns rows, and ``commit`` alone changes it.

    Returns the rows of the step and how many agents were online.
    """
    setup = setup.at(world.step + 1)
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
        shown = feed.build(world, agents, ranker, config.feed, config.beliefs, draw(Stage.FEED), special)
        views = Views(world, shown, setup.allowed, setup.bank, config.actions, setup.about)
        chosen = policy[0].decide(views, draw(Stage.POLICY), policy[1])
        commit(told.read(shown, chosen, world.step + 1))
        done = actions.resolve(world, shown, chosen, setup.allowed, config.actions, barrier)
        commit(scored(done, world, config.beliefs, setup.statements))
        who.append(agents)
    commit(moderator[0].review(world, draw(Stage.MODERATE), moderator[1], config.moderation.takedown))
    if "holdings" in rule[0].needs:
        commit(claims.make(world, setup.arrivals.judges))
        commit(holdings.update(world, out, setup.arrivals.judges, config.evidence))
    commit(belief_inputs.advance(world, out, *rule, draw(Stage.BELIEF), with_trail=config.record.trail))
    if remembers(setup.settings):
        commit(memory.remember(world, out, np.sort(np.concatenate(who)), config.memory, reads_memory(setup.settings)))
        commit(reflection.due(world, config, setup.statements, setup.door))
    if setup.door is not None:
        commit(Change(call_rows(setup.door.taken(), world.step + 1)))
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


def begin(settings: Settings, scenario: Scenario, door: Door | None = None) -> tuple[Setup, World, Batches]:
    """The world before the first step, and the rows of step 0."""
    arrivals = Arrivals.plan(settings, scenario)
    if door is not None:
        arrivals = replace(arrivals, judges=arrivals.judges.with_model(door))
    world = World(len(scenario.propositions), settings.config.feed.newest)
    out = Batches(0)
    out.add(world.append(arrivals.opening(world)))
    config, propositions = settings.config, scenario.propositions
    about = About(
        tuple(one.name for one in propositions), tuple(one.text for one in propositions), config.memory, config.model
    )
    setup = Setup(settings, arrivals, bank_of(world, scenario), allowed_kinds(settings), about, door)
    return replace(setup, later=tuple((step, setup.under(then)) for step, then in settings.changes)), world, out


def allowed_kinds(settings: Settings) -> frozenset[ActionKind]:
    """Kinds of action that this run allows: those enabled, and the strategy's own only where it has them."""
    strategy_only = {ActionKind.ADD_NOTE, ActionKind.RATE_NOTE} - settings.members["moderation"].adds
    enabled = settings.config.actions.enabled
    words = {kind.name.lower(): kind for kind in ActionKind}
    chosen = set(ActionKind) if enabled is None else {words[word] for word in enabled}
    return frozenset(chosen - strategy_only)


def simulate(
    settings: Settings,
    recorder: MemoryRecorder | FolderRecorder | PostgresRecorder | Path | str | None = None,
    *,
    scenario: Scenario | None = None,
    on_step: OnStep | None = None,
    door: Door | None = None,
    on_call: OnCall | None = None,
) -> Run:
    """Execute a run from step 0, record it, and return it.

    ``recorder`` is where to: a folder, any recorder, or memory if none is given. ``door`` is who answers what members
    ask of a language model; if none is given and one is needed, the settings say which, and calls are kept beside the
    run, so that none is asked twice. ``on_call`` is told of each call as it ends, from another thread.

    Of a run that was recorded in part, the steps that are there are executed again and compared, hash by hash, and the
    rest is added. ``on_step`` is called after each committed step; what it raises ends the run with its steps safe.
    Large runs, and those of 1,000 agents or more with several calls at once, take the next step meanwhile; where an
    error ends them, the last committed step may not have been told of.

    Raises
    ------
    RunBusy, WrongVersion, HashMismatch, RecordError
        See :class:`townsquare.record.contract.Recorder`.
    BudgetReached
        The run has spent what it may; its steps are safe, and it can go on with a larger budget.
    """
    if recorder is None or isinstance(recorder, Path | str):
        recorder = MemoryRecorder() if recorder is None else recorder_of(Path(recorder))
    scenario = scenario or load_scenario(settings.config.scenario)
    if settings.scenario_digest not in ("", scenario.digest):
        raise WrongVersion(f"scenario {scenario.name}", got="other contents than the settings were resolved with")
    check_contents(settings.file_contents, contents_now(settings, scenario.folder))
    if door is None and asks(settings):
        check_chosen(settings.config.model, settings.config.serving)  # said before a folder is made
        check_priced(settings.config.budget, settings.config.model.name, settings.config.serving.prices)
    last = recorder.open(header(settings))
    state, health, own = "stopped", "", None
    try:
        if door is None and asks(settings):
            store = calls_beside(recorder, settings.config.serving.calls)
            door = own = open_door(settings.config, store, settings.config.seed, on_call=on_call)
        with held_memory(settings.config.agents), threads_for(settings.config.agents):
            _execute(settings, scenario, recorder, on_step or (lambda mark: None), door, last)
        state = "finished"
    finally:
        if door is not None:
            health = door.spent.health(settings.config.serving.unhealthy_above)
        if own is not None:
            own.close()
            own.store.close()
        recorder.close(state, health)
    return Run.of(recorder) if isinstance(recorder, MemoryRecorder) else Run.open(recorder.folder)


def _execute(
    settings: Settings, scenario: Scenario, recorder: Recorder, on_step: OnStep, door: Door | None, last: int
) -> None:
    """Every step: taken, hashed, recorded, reported; of its rows nothing stays when the next is written."""
    if door is None:
        behind = settings.config.agents >= LARGE
    else:
        behind = settings.config.agents >= MANY and door.concurrency > 1
    with Committer(recorder, on_step, behind=behind, aside=door is None) as committer:
        try:
            _take_steps(settings, scenario, committer, door, last)
        finally:
            if door is not None:
                door.meanwhile = nothing


def _take_steps(settings: Settings, scenario: Scenario, committer: Committer, door: Door | None, last: int) -> None:
    began, n_online = time.perf_counter(), 0
    setup, world, out = begin(settings, scenario, door)
    while True:
        mark = _mark(world, out, n_online, time.perf_counter() - began)
        committer.commit(out, mark)
        del out
        if world.step == settings.config.steps:
            return
        if door is not None:
            _may_ask(door, settings.config.budget, committer, mark.step, last)
        began = time.perf_counter()
        out, n_online = step(setup, world)


def _may_ask(door: Door, budget: Budget, committer: Committer, step: int, last: int) -> None:
    """Before the calls of another step are paid for: earlier ones must be as they were, and the budget leave room."""
    door.meanwhile = committer.report
    if step <= last:
        committer.wait()
    if step >= last:
        try:
            door.spent.check(budget, step)
        except BudgetReached:
            committer.wait()
            raise


def header(settings: Settings) -> RunHeader:
    """What identifies the run; bulky tables go to Parquet where agents x feed rows x steps are many."""
    config = settings.config
    rows = config.agents * (config.feed.followed + config.feed.others) * config.steps
    plain = settings.plain()
    return RunHeader(plain["version"], plain, settings.digest, bulky=rows > config.record.parquet_above)


def _mark(world: World, out: Batches, n_online: int, seconds: float) -> StepMark:
    acted = out.get("actions")
    return StepMark(
        step=out.step,
        hash="",  # that of the step is known when it is written
        seconds=seconds,
        agents=int(np.count_nonzero(world.agents["kind"] == schema.AgentKind.PERSON)),
        online=n_online,
        exposures=out.count("exposures"),
        actions=out.count("actions"),
        refused=int(np.count_nonzero(np.asarray(acted["status"]) == ActionStatus.REFUSED)),
    )
