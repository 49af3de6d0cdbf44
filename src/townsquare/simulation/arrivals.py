"""Brings in what enters a run from outside: the initial state, injected posts, and agents that join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.checks import FAMILY, check_beliefs
from townsquare.beliefs.contract import BeliefState, per_agent
from townsquare.beliefs.profiles import Profiles, profiles_of
from townsquare.core import schema
from townsquare.core.array_types import Array, Bool, Float, Int16, Int32, Int64
from townsquare.core.draws import U64, Draws, Stage, StageDraws, bits_oracle, text_key
from townsquare.core.enums import AgentKind, PostKind, Scorer, Veracity
from townsquare.core.member_errors import call_member
from townsquare.core.schema import NONE
from townsquare.scenario.accounts import check_accounts
from townsquare.scenario.contents import Scenario
from townsquare.scenario.event_checks import check_against
from townsquare.scenario.graphs.attach import attach
from townsquare.scenario.graphs.contract import Edges, GraphKind
from townsquare.scenario.load import injection_schedule, queued
from townsquare.scenario.population.personas import render_persona, trait_rows, trait_value_rows
from townsquare.scenario.population.sample import People, sample_people
from townsquare.scenario.read import bundled_lines
from townsquare.scenario.shocks import shocks_of
from townsquare.scenario.sources.audiences import SAMPLE, Audiences
from townsquare.scenario.sources.expand import expanded
from townsquare.scenario.sources.publishing import published, rumors
from townsquare.settings.config import Config
from townsquare.settings.resolve import Settings
from townsquare.simulation.change import NOTHING, Change
from townsquare.simulation.events.treatments import treatment_rows
from townsquare.simulation.evidence.claims import Judges
from townsquare.simulation.evidence.start import Newcomers, Start, started
from townsquare.simulation.policies.mix import members_of, reads
from townsquare.simulation.views import Bank
from townsquare.simulation.world import World


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The plan of what will enter, and when; a function of settings and scenario alone.

    ``scenario`` has the sources and everyday posts of the run (:func:`townsquare.scenario.sources.expand.expanded`).
    ``post`` (k,) int64 are rows of its posts in the order in which they enter, ``author`` (k,) int64 rows of agents,
    ``step`` (k,) int64 when, ``key`` (k,) uint64 their keys. ``judges`` make claims of posts, and of the arguments that
    agents start with. ``audiences`` say who follows sources. ``profiles`` are those of which agents draw one for life,
    if the settings name a file.
    """

    settings: Settings
    scenario: Scenario
    post: Int64
    author: Int64
    step: Int64
    key: npt.NDArray[U64]
    judges: Judges
    audiences: Audiences
    profiles: Profiles | None = None

    @classmethod
    def plan(cls, settings: Settings, scenario: Scenario) -> Arrivals:
        """Plan when posts enter: at their own step, else in order, ``posts_per_step`` a step; and with shocks.

        Where sources publish at a rate, that takes the place of the queue.
        """
        config, given = settings.config, scenario
        scenario = expanded(given, config)
        check_against(scenario, config)
        check_accounts(scenario, config)
        post, author, step, key = _entering(given, scenario, config)
        enters = ~_left_out(post, author, scenario, config)
        judges, profiles = Judges.of(settings, scenario), profiles_of(settings.params["beliefs"], scenario.folder)
        plan = cls(
            settings, scenario, post[enters], author[enters], step[enters], key[enters], judges,
            Audiences(config.seed, config.agents, ()), profiles,
        )  # fmt: skip
        if config.sources.rumors_per_day:
            plan = plan._with_rumors()
        if config.injection.audience == "everyone":
            return plan
        return replace(plan, audiences=Audiences.plan(scenario, config, plan._people(0, min(config.agents, SAMPLE), 0)))

    def _with_rumors(self) -> Arrivals:
        """Return the plan with the false posts that ordinary people publish."""
        config = self.settings.config
        more = rumors(self.scenario, config, self._people(0, config.agents, 0))
        enters = ~_left_out(more.post, more.source, self.scenario, config)
        there, new = (self.post, self.author, self.step, self.key), (more.post, more.source, more.step, more.key)
        post, author, step, key = _by_step(there, tuple(column[enters] for column in new))
        return replace(self, post=post, author=author, step=step, key=key)

    @property
    def folder(self) -> Path | None:
        """Where files that settings name are looked for first: next to the scenario, if it came from a file."""
        origin = Path(self.scenario.origin)
        return origin if origin.is_dir() else origin.parent if origin.is_file() else None

    # -- step 0 -----------------------------------------------------------------------------------------------------

    def opening(self, world: World) -> Change:
        """Return the rows of step 0: persons, sources, texts, the follow graph, and initial beliefs."""
        config, scenario = self.settings.config, self.scenario
        people = self._people(0, config.agents, 0)
        texts = self._texts(people)
        row = {text: k for k, text in enumerate(texts)}
        n, s = config.agents, len(scenario.sources)
        names = np.r_[_rows_of(self._called(people), row, n), [row[source.name] for source in scenario.sources]]
        draws = Draws(config.seed, 0)
        edges = self._first_edges(n, people, draws)
        agents = schema.rows(
            "agents", n + s, agent=np.arange(n + s), born=0,
            kind=np.r_[np.full(n, AgentKind.PERSON), np.full(s, AgentKind.SOURCE)],
            activity=np.r_[people.activity, np.zeros(s)],
            policy=np.r_[self._members(np.arange(n), draws, edges), np.zeros(s, np.int16)],
            credibility=np.r_[np.full(n, np.nan), [source.credibility for source in scenario.sources]],
            name=names.astype(np.int64), taste=np.r_[people.taste, np.full(s, np.nan)],
        )  # fmt: skip
        start = self._start(world, np.arange(n), people, s, draws, texts)
        newborn = start.state
        joined = np.flatnonzero(agents["kind"] == AgentKind.PERSON)
        p = len(scenario.propositions)
        rows: schema.ByTable = {
            "propositions": schema.rows(
                "propositions", p, proposition=np.arange(p), name=scenario.proposition_names,
                text=[statement.text for statement in scenario.propositions],
                veracity=[statement.veracity for statement in scenario.propositions],
            ),
            "trait_values": trait_value_rows(people.bank),
            "texts": schema.rows("texts", len(texts), text=np.arange(len(texts)), content=texts),
            "agents": agents,
            **self._rows_of(joined, people, self._with_sources(edges, joined, people), row, 0),
            **start.rows,
            "beliefs": schema.rows(
                "beliefs", n * p, step=0, agent=np.repeat(joined, p), proposition=np.tile(np.arange(p), n),
                stance=newborn.stance[:n].ravel(), confidence=newborn.confidence[:n].ravel(),
            ),
        }  # fmt: skip
        return Change(rows, newborn=newborn)

    def _texts(self, people: People) -> list[str]:
        """Return the distinct texts of the scenario, in order of first use."""
        scenario, profiles = self.scenario, self.profiles.name if self.profiles else ()
        names, topics = (source.name for source in scenario.sources), filter(None, scenario.posts.topic)
        of_posts = chain(scenario.posts.text, topics, scenario.arguments.text, scenario.comments, scenario.notes.text)
        of_people = chain(self._called(people), self._personas(people), profiles)
        return list(dict.fromkeys(chain(names, of_posts, of_people)))

    def _people(self, first: int, n: int, ordinal: int) -> People:
        config, accounts, names = self.settings.config, self.scenario.accounts, self.scenario.proposition_names
        people = sample_people(
            first, n, config.population, names, config.seed, ordinal=ordinal, folder=self.folder,
            accounts=None if accounts is None else accounts.personas,
        )  # fmt: skip
        return people if accounts is None or first else replace(people, follows=accounts.follows)

    def _called(self, people: People) -> tuple[str, ...]:
        """Return the names of the first people in the record."""
        return people.names if self.scenario.accounts is None else self.scenario.accounts.names

    def _personas(self, people: People) -> tuple[str, ...]:
        """Return the personas of people if a policy reads them, else nothing."""
        ever = (self.settings, *(later for _, later in self.settings.changes))
        if not any("persona" in reads(settings.members["policy"], settings.params["policy"]) for settings in ever):
            return ()
        return people.texts or tuple(render_persona(codes, people.bank) for codes in people.traits)

    def _rows_of(
        self, agents: Array, people: People, edges: Edges, row: Mapping[str, int], step: int
    ) -> schema.ByTable:
        """Return traits, treatments, personas, profiles and first follows of people that join in ``step``."""
        rows = treatment_rows(agents, self.settings.config, people.traits, people.bank)
        rows["traits"] = trait_rows(agents, people.traits)
        rows["follows"] = schema.rows("follows", edges.follower.size, step=step, change=1, **edges._asdict())
        personas = [row[text] for text in self._personas(people)]
        if personas:
            rows["personas"] = schema.rows("personas", len(personas), agent=agents, text=personas)
        if self.profiles is not None:
            number = self._profile(self.profiles, agents)
            names, own = np.array([row[name] for name in self.profiles.name])[number], self.profiles.own(number)
            rows["profiles"] = schema.rows("profiles", agents.size, agent=agents, profile=names, **own)
        return rows

    def _members(self, agents: Array, draws: Draws, edges: Edges | None = None) -> Int16:
        followers = None if edges is None else np.bincount(edges.followed, minlength=agents.size)
        return members_of(agents, draws(Stage.POLICY), self.settings.params["policy"], followers)

    def _first_edges(self, n: int, people: People, draws: Draws) -> Edges:
        kind: GraphKind = self.settings.members["graph"]
        params = self.settings.params["graph"]
        return kind.build(n, params, draws(Stage.GRAPH), folder=self.folder, names=people.names, people=people)

    def _with_sources(self, edges: Edges, agents: Array, people: People) -> Edges:
        """Return follows between people, and from these people to sources after them."""
        sources = self.audiences.follows(agents, people)
        return Edges(*(np.concatenate(ends) for ends in zip(edges, sources, strict=True)))

    def _start(
        self, world: World, new: Array, people: People, sources: int, draws: Draws, texts: Sequence[str]
    ) -> Start:
        """Return the first beliefs of people, the empty ones of sources, and the records that people start with."""
        rule = (self.settings.members["beliefs"], self.settings.params["beliefs"])
        own = self._own(new, sources)
        born = self._newborn(people, sources, own, world.n_agents)
        newcomers = Newcomers(new, people.stance, born, own)
        return started(world, self.scenario, self.judges, rule, newcomers, draws, texts)

    def _own(self, new: Array, sources: int) -> dict[str, Float]:
        """Return the individual settings of the rule for persons; NaN for sources."""
        if self.profiles is None:
            return {}
        settings = self.profiles.own(self._profile(self.profiles, new))
        return {name: np.append(column, np.full(sources, np.nan)) for name, column in settings.items()}

    def _profile(self, profiles: Profiles, persons: Array) -> Int64:
        return profiles.drawn(persons, Draws(self.settings.config.seed, 0)(Stage.BELIEF))

    def _newborn(self, people: People, sources: int, own: Mapping[str, Float], first: int) -> BeliefState:
        p = len(self.scenario.propositions)
        stance = np.concatenate([people.stance, np.zeros((sources, p))])
        confidence = np.concatenate([people.confidence, np.full((sources, p), 0.5)])
        rule, params = self.settings.members["beliefs"], self.settings.params["beliefs"]
        settings = per_agent(params, stance.shape[0], own)
        state: BeliefState = call_member(FAMILY, rule.name, "init", lambda: rule.init(stance, confidence, settings))
        check_beliefs(rule, state, stance.shape, first)
        return state

    def starts(self, n: int) -> Float:
        """Return the stances that the first ``n`` persons start with, (n, P), without a world around them."""
        people = self._people(0, n, 0)
        world = World(len(self.scenario.propositions), 1)
        draws = Draws(self.settings.config.seed, 0)
        return self._start(world, np.arange(n), people, 0, draws, self._texts(people)).state.stance

    # -- later steps ------------------------------------------------------------------------------------------------

    def arrive(self, world: World, draw: StageDraws) -> Change:
        """Return the posts due in step ``world.step + 1``, and new agents, who get their first feed a step later."""
        injected = self._inject(world)
        growth = self._grow(world, draw)
        return Change({**injected, **growth.rows}, newborn=growth.newborn) if injected or growth.rows else NOTHING

    def _inject(self, world: World) -> schema.ByTable:
        step = world.step + 1
        lo, hi = (int(x) for x in np.searchsorted(self.step, [step, step + 1]))
        due, posts, n = self.post[lo:hi], self.scenario.posts, hi - lo
        if not n:
            return {}
        ids = world.posts.n + np.arange(n)
        given = {name: np.asarray(getattr(posts, name))[due] for name in ("type", "veracity", "plausibility")}
        rows = schema.rows(
            "posts", n, step=step, post=ids, key=self.key[lo:hi], kind=PostKind.INJECTED, root=ids, parent=NONE,
            author=self.author[lo:hi], text=[world.text_row[posts.text[k]] for k in due],
            topic=[world.text_row[posts.topic[k]] if posts.topic[k] else NONE for k in due], **given,
        )  # fmt: skip
        return {"posts": rows, "post_stances": _stances(ids, posts.stance[due], posts.strength[due])}

    def _grow(self, world: World, draw: StageDraws) -> Change:
        config = self.settings.config
        n = int(draw.integers("growth", 0, 0, config.growth.max_per_step + 1)[0])
        if not n:
            return NOTHING
        first, step = world.n_agents, world.step + 1
        new = np.arange(first, first + n)
        people = self._people(first, n, int(np.count_nonzero(world.persons())))
        texts = (*people.names, *self._personas(people))
        numbers, new_texts = world.text_rows(texts)
        row = world.text_row | dict(zip(texts, numbers, strict=True))
        draws = Draws(config.seed, step)
        kind: GraphKind = self.settings.members["graph"]
        m = kind.follows_at_birth(self.settings.params["graph"], config.agents)
        popular = np.where(world.persons(), world.in_degree, -1) if self.audiences.publics else world.in_degree
        edges = self._with_sources(attach(new, popular, m, draws(Stage.GRAPH)), new, people)
        rows: schema.ByTable = {
            "agents": schema.rows(
                "agents", n, agent=new, kind=AgentKind.PERSON, born=step, activity=people.activity,
                policy=self._members(new, draws), credibility=np.nan, name=_rows_of(people.names, row, n),
                taste=people.taste,
            ),
            **self._rows_of(new, people, edges, row, step),
            **new_texts,
        }  # fmt: skip
        start = self._start(world, new, people, 0, draws, world.texts)
        return Change(rows | start.rows, newborn=start.state)


def bank_of(world: World, scenario: Scenario) -> Bank:
    """Return the scenario's texts as rows of texts, for policies that write from them."""

    def rows(texts: Any) -> Int32:
        return np.array([world.text_row[text] for text in texts], np.int32)

    arguments, notes = scenario.arguments, scenario.notes
    return Bank(
        text=rows(arguments.text),
        proposition=np.asarray(arguments.proposition, np.int16),
        stance=np.asarray(arguments.stance, np.float64),
        strength=np.asarray(arguments.strength, np.float64),
        comments=rows(scenario.comments),
        notes=rows(notes.text),
        note_proposition=np.asarray(notes.proposition, np.int16),
        note_side=np.sign(np.nan_to_num(notes.stance)),
        note_sourced=np.array([bool(source) for source in notes.source], np.bool_),
        everyday=bundled_lines("everyday_posts.txt"),
    )


def authors_of(posts: Array, scenario: Scenario, config: Config) -> Int64:
    """Return rows of agents that publish these rows of the scenario's posts."""
    account, source = scenario.posts.account[posts], scenario.posts.source[posts]
    return np.where(account >= 0, account, config.agents + source).astype(np.int64)


def _entering(given: Scenario, scenario: Scenario, config: Config) -> tuple[Array, Array, Array, Array]:
    """Return rows of posts that enter, their authors, steps and keys, by step; ``scenario`` is the expanded one."""
    own = scenario.posts.first(len(given.posts))
    has_author = (own.source >= 0) | (own.account >= 0)  # the others are of sources that are left out: in no queue
    own, injection = queued(own, config)
    post, step = injection_schedule(own, injection, config.seed, shocks_of(config, scenario))
    post, step = post[has_author[post]], step[has_author[post]].astype(np.int64)
    author = authors_of(post, scenario, config)
    key = bits_oracle(U64(text_key("injected")), post, np.zeros(post.size, np.uint64))
    if not config.sources.publish:
        return post, author, step, key
    more = published(given, scenario, config)
    return _by_step((post, author, step, key), (more.post, config.agents + more.source, more.step, more.key))


def _by_step(first: tuple[Array, ...], second: tuple[Array, ...]) -> tuple[Array, Array, Array, Array]:
    """Join rows of posts, authors, steps and keys, by step; within a step, those of ``first`` come first."""
    columns = [np.concatenate(pair) for pair in zip(first, second, strict=True)]
    order = np.argsort(columns[2], kind="stable")
    post, author, step, key = (column[order] for column in columns)
    return post, author, step, key


def _left_out(posts: Array, authors: Array, scenario: Scenario, config: Config) -> Bool:
    """Return which of the posts that would enter never do, (k,); the others keep their steps."""
    gone = config.leave_out
    truths = [Veracity[word.upper()] for word in gone.veracity]
    classed = np.isin(scenario.posts.veracity[posts], truths)
    return classed | np.isin(posts, gone.posts) | np.isin(authors, gone.agents)


def _rows_of(names: tuple[str, ...], row: dict[str, int], n: int) -> Array:
    return np.array([row[name] for name in names]) if names else np.full(n, NONE)


def _stances(posts: Array, stance: Array, strength: Array) -> schema.Columns:
    """Return rows of post_stances for given stances, (n, P) with NaN for none."""
    at, proposition = np.nonzero(~np.isnan(stance))
    return schema.rows(
        "post_stances", at.size, post=posts[at], proposition=proposition, stance=stance[at, proposition],
        strength=strength[at, proposition], scorer=Scorer.GIVEN,
    )  # fmt: skip
