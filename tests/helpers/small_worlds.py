"""Hand-made worlds, feeds and choices, and small runs in memory: shared by the tests of the core."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.contract import BeliefState
from townsquare.core import registry, schema
from townsquare.core.actions import ActionKind
from townsquare.core.draws import Draws, Stage, StageDraws, text_key
from townsquare.core.enums import (
    ActionStatus,
    AgentKind,
    LogKind,
    PostKind,
    PostType,
    Reason,
    Scorer,
    Slot,
    Veracity,
    Verdict,
)
from townsquare.core.schema import NONE
from townsquare.record.batches import Batches
from townsquare.record.memory import MemoryRecorder
from townsquare.record.run import Run
from townsquare.scenario.contents import Posts, Scenario
from townsquare.scenario.load import synthetic_scenario
from townsquare.settings.config import Actions, Beliefs
from townsquare.settings.config import Feed as FeedSettings
from townsquare.settings.resolve import Settings, resolve
from townsquare.simulation.actions import resolve as resolve_actions
from townsquare.simulation.change import Change
from townsquare.simulation.feed import build as feeds
from townsquare.simulation.feed.build import Feed
from townsquare.simulation.feed.options import uniform_options
from townsquare.simulation.feed.rankers.contract import ChosenRanker
from townsquare.simulation.moderation.checks import ChosenModerator
from townsquare.simulation.moderation.note_scorers.contract import ChosenNoteScorer
from townsquare.simulation.run import simulate
from townsquare.simulation.step import begin, step
from townsquare.simulation.views import Bank, ProposedActions, Views, no_declarations
from townsquare.simulation.world import World

EVERY_KIND = frozenset(ActionKind)
NO_BANK = Bank(
    np.empty(0, np.int32),
    np.empty(0, np.int16),
    np.empty(0),
    np.empty(0),
    np.empty(0, np.int32),
    np.empty(0, np.int32),
)


# --- worlds ------------------------------------------------------------------------------------------------


def town(persons: int = 6, sources: int = 1, *, propositions: int = 1, ring: int = 8) -> World:
    """A world at step 0: ``persons`` with stance 0, then ``sources``; nobody follows anybody, nothing was posted."""
    world = World(propositions, ring)
    n = persons + sources
    kind = np.r_[np.full(persons, AgentKind.PERSON), np.full(sources, AgentKind.SOURCE)]
    agents = schema.rows(
        "agents", n, agent=np.arange(n), kind=kind, born=0, activity=1.0, policy=0, credibility=np.nan, name=NONE
    )
    zero = np.zeros((n, propositions))
    world.append(Change({"agents": agents}, newborn=BeliefState(zero, zero + 0.5, zero)))
    return world


def follow(world: World, *pairs: tuple[int, int], change: int = 1) -> None:
    """Each pair is (follower, followed)."""
    follower, followed = (np.array(column) for column in zip(*pairs, strict=True))
    rows = schema.rows("follows", len(pairs), step=world.step, follower=follower, followed=followed, change=change)
    world.append(Change({"follows": rows}))


def post(world: World, author: int, *, share_of: int | None = None, under: int | None = None, **given: Any) -> int:
    """Add a post of ``author`` in the step being taken and return its row.

    ``share_of`` and ``under`` name a root; ``given`` may hold columns of posts, and ``stances``: proposition to stance.
    """
    row = world.posts.n
    stances: Mapping[int, float] = given.pop("stances", {})
    text = given.pop("text", f"post {row}")
    columns: dict[str, Any] = {
        "post": row, "key": text_key(f"post {row}"), "kind": PostKind.ORIGINAL, "author": author, "root": row,
        "parent": NONE, "step": world.step + 1, "type": PostType.POST, "topic": NONE,
        "veracity": Veracity.UNKNOWN, "plausibility": 0.5, "text": len(world.texts),
    }  # fmt: skip
    if share_of is not None:
        columns |= {"kind": PostKind.SHARE, "root": share_of, "parent": share_of}
    if under is not None:
        columns |= {"kind": PostKind.COMMENT, "parent": under}
    rows = {
        "texts": schema.rows("texts", 1, text=len(world.texts), content=[text]),
        "posts": schema.rows("posts", 1, **(columns | given)),
    }
    if stances:
        rows["post_stances"] = schema.rows(
            "post_stances", len(stances), post=row, proposition=list(stances), stance=list(stances.values()),
            strength=np.nan, scorer=Scorer.GIVEN,
        )  # fmt: skip
    world.append(Change(rows))
    return row


def note(world: World, author: int, on: int) -> int:
    """Add a community note on a root and count it; returns its row."""
    row = world.notes.n
    rows = {
        "notes": schema.rows("notes", 1, note=row, post=on, author=author, step=world.step + 1, text=NONE),
        "actions": _accepted(world, ActionKind.ADD_NOTE, author, on),
    }
    world.append(Change(rows))
    return row


def react(world: World, kind: ActionKind, agent: int, root: int) -> None:
    """Count an accepted action on a root."""
    world.append(Change({"actions": _accepted(world, kind, agent, root)}))


def _accepted(world: World, kind: ActionKind, agent: int, target: int) -> schema.Columns:
    return schema.rows(
        "actions", 1, step=world.step + 1, agent=agent, ordinal=0, kind=kind, rank=NONE, target=target, text=NONE,
        helpful=NONE, reasoning=NONE, status=ActionStatus.ACCEPTED, reason=Reason.NONE, result=NONE,
    )  # fmt: skip


def rate(world: World, number: int, helpful: int, not_helpful: int = 0) -> None:
    """Ratings of a note by persons from the end of the list of agents, who rate nothing else in these tests."""
    n = helpful + not_helpful
    rows = schema.rows(
        "note_ratings", n, note=number, agent=np.arange(n), step=world.step + 1, helpful=np.arange(n) < helpful
    )
    world.append(Change({"note_ratings": rows}))


def moderator_of(strategy: str, **params: Any) -> ChosenModerator:
    """A moderator with these parameters; notes are shown by the threshold at its defaults."""
    member, scorer = registry.get("moderation", strategy), registry.get("note_scorer", "threshold")
    return ChosenModerator(member, member.params(**params), ChosenNoteScorer(scorer, scorer.params()))


def log(world: World, kind: LogKind, root: int, value: float = 1.0) -> None:
    """One row of the moderation log."""
    rows = schema.rows("moderation_log", 1, step=world.step + 1, post=root, kind=kind, reason="made", value=value)
    world.append(Change({"moderation_log": rows}))


def give_verdict(world: World, root: int, verdict: Verdict) -> None:
    """A verdict without a log row."""
    rows = schema.rows(
        "verdicts", 1, post=root, step=world.step + 1, verdict=verdict, confidence=0.8, explanation=NONE,
        sources=NONE, veracity=world.posts["veracity"][root],
    )  # fmt: skip
    world.append(Change({"verdicts": rows}))


def end_step(world: World, seen_cap: int = 2000) -> None:
    """Close the step that is being taken."""
    world.finish(world.step + 1, seen_cap, draws_of(world, Stage.FEED))


def draws_of(world: World, stage: Stage, seed: int = 1) -> StageDraws:
    """The draws of a stage in the step that is being taken."""
    return Draws(seed, world.step + 1)(stage)


# --- feeds and actions -------------------------------------------------------------------------------------


def feed_of(
    world: World, agents: Sequence[int] | None = None, *, seed: int = 1, weights: Beliefs | None = None, **given: Any
) -> Feed:
    """Feeds of some agents, by default of all persons; ``given`` are settings of the section ``feed``."""
    settings = FeedSettings(**given)
    persons = np.flatnonzero(world.persons()) if agents is None else np.array(agents)
    member = registry.get("ranker", settings.ranker)
    draw = draws_of(world, Stage.FEED, seed)
    options = uniform_options(persons.astype(np.int32), settings, (weights or Beliefs()).label_weight)
    return feeds.build(world, ChosenRanker(member, member.params()), options, draw)


def show(world: World, feed: Feed) -> None:
    """What comes after a feed was built: its rows are exposures."""
    world.append(Change({"exposures": feed.exposures}))


def shown_to(feed: Feed, agent: int, column: str = "post", *, comments: bool = False) -> list[Any]:
    """A column of one agent's rows, in feed order, with or without comments."""
    at = feed.agents.tolist().index(agent)
    rows = slice(int(feed.indptr[at]), int(feed.indptr[at + 1]))
    values, slots = (np.asarray(feed.exposures[name])[rows] for name in (column, "slot"))
    return values[(slots != Slot.COMMENT) | comments].tolist()  # type: ignore[no-any-return]


def row_of(feed: Feed, agent: int, shown: int) -> int:
    """The row in which ``agent`` is shown the post ``shown``."""
    at = feed.agents.tolist().index(agent)
    lo, hi = int(feed.indptr[at]), int(feed.indptr[at + 1])
    return lo + np.asarray(feed.exposures["post"])[lo:hi].tolist().index(shown)


def choices(*actions: Mapping[str, Any], texts: tuple[str, ...] = ()) -> ProposedActions:
    """Choices as given; each names at least ``agent`` and ``kind``, and -1 stands for what it leaves out."""
    dtypes = {
        "agent": np.int32, "kind": np.uint8, "row": np.int64, "target": np.int32, "text": np.int32, "helpful": np.int8,
        "reasoning": np.int32,
    }  # fmt: skip
    columns = {name: np.array([action.get(name, NONE) for action in actions], dtype) for name, dtype in dtypes.items()}
    return ProposedActions(**columns, declared=no_declarations(), new_texts=texts)


def act(
    world: World, feed: Feed, chosen: ProposedActions, allowed: frozenset[ActionKind] = EVERY_KIND, **settings: Any
) -> schema.Columns:
    """Resolve choices and apply what comes of them; the rows of actions."""
    change = resolve_actions(world, feed, chosen, allowed, Actions(**settings))
    rows = world.append(change)
    out = Batches(world.step + 1)
    out.add(rows)  # checks every column
    return out.get("actions")


def reasons(rows: schema.Columns) -> list[str]:
    """Why each action was refused, in lower case; ``none`` for accepted ones."""
    return [Reason(int(reason)).name.lower() for reason in np.asarray(rows["reason"])]


def views_of(world: World, feed: Feed, bank: Bank = NO_BANK, allowed: frozenset[ActionKind] = EVERY_KIND) -> Views:
    """What a policy would see."""
    return Views(world, feed, allowed, bank, Actions())


# --- runs --------------------------------------------------------------------------------------------------


def settings_of(*layers: Mapping[str, Any], **given: Any) -> Settings:
    """Settings of a small run."""
    return resolve({"agents": 60, "steps": 6, "graph": {"m": 5}}, *layers, given)


def run_of(settings: Settings, scenario: Scenario | None = None) -> Run:
    """A whole run in memory, by default over 60 synthetic posts."""
    recorder = MemoryRecorder()
    simulate(settings, recorder, scenario=scenario or synthetic_scenario(60))
    return Run.of(recorder)


def steps_of(settings: Settings, scenario: Scenario | None = None) -> Iterator[tuple[World, Batches]]:
    """The world after each step, from step 0 on, with the rows of that step."""
    setup, world, out = begin(settings, scenario or synthetic_scenario(60))
    yield world, out
    for _ in range(settings.config.steps):
        out, _ = step(setup, world)
        yield world, out


def equal_columns(one: schema.Columns, two: schema.Columns, names: Sequence[str] | None = None) -> bool:
    """Whether two sets of columns hold the same values, NaN being equal to NaN."""
    names = list(one) if names is None else names
    return all(_same(np.asarray(one[name]), np.asarray(two[name])) for name in names)


def _same(one: npt.NDArray[Any], two: npt.NDArray[Any]) -> bool:
    return np.array_equal(one, two, equal_nan=one.dtype.kind == "f")


# --- posts to inject ---------------------------------------------------------------------------------------


def posts_of(veracity: Sequence[int], steps: Sequence[int] | None = None) -> Posts:
    """Posts of a scenario in the order of its file, of two sources by turns, with a step each where ``steps`` says."""
    n = len(veracity)
    return Posts(
        text=tuple(f"post {k}" for k in range(n)),
        veracity=np.array(veracity, np.uint8),
        plausibility=np.full(n, 0.5),
        type=np.ones(n, np.uint8),
        topic=("",) * n,
        source=np.arange(n, dtype=np.int32) % 2,
        step=np.array(steps or [-1] * n, np.int32),
        stance=np.empty((n, 0)),
        strength=np.empty((n, 0)),
    )
