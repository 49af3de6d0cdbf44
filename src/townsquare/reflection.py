"""What agents make of what happened to them: MOSAIC's five points (appendix I.3), embedded or by a language model.

The embedded form counts: what the agent did since it last reflected, whom it met, what that was about and which side
it took. It needs no model and says no more than the record does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare import memory
from townsquare.change import NOTHING, Change
from townsquare.config import Config, Memory, Model
from townsquare.models.contract import Asker, Message, Request
from townsquare.prompts.filling import filled, listed
from townsquare.schema import ActionKind, MemoryKind
from townsquare.world import World

Array = npt.NDArray[Any]
MOST_MEMORIES = 10
LONGEST = 1200  # characters of a reflection
_TOKENS = 300
_DID = {
    ActionKind.POST: "wrote posts",
    ActionKind.LIKE: "liked posts",
    ActionKind.DISLIKE: "disliked posts",
    ActionKind.SHARE: "passed posts on",
    ActionKind.COMMENT: "answered posts",
    ActionKind.LIKE_COMMENT: "liked comments",
    ActionKind.FLAG: "reported posts",
    ActionKind.FOLLOW: "began to read people",
    ActionKind.UNFOLLOW: "stopped reading people",
    ActionKind.ADD_NOTE: "put notes under posts",
    ActionKind.RATE_NOTE: "judged notes",
}


def due(world: World, config: Config, statements: Sequence[str], asker: Asker | None) -> Change:
    """Reflections, in the steps that have them (``memory.reflect_every``); by whom ``memory.reflection`` says."""
    every, how = config.memory.reflect_every, config.memory.reflection
    if not every or (world.step + 1) % every:
        return NOTHING
    return reflect(world, config.memory, config.model, statements, None if how == "embedded" else asker)


def reflect(world: World, settings: Memory, model: Model, statements: Sequence[str], asker: Asker | None) -> Change:
    """Reflections of everybody who did something since the last time; by the model if there is an ``asker``."""
    step = world.step + 1
    memories = world.agent_memories
    recent = (memories["kind"] == MemoryKind.INTERACTION) & (memories["step"] > step - settings.reflect_every)
    rows = np.flatnonzero(recent)
    if not rows.size:
        return NOTHING
    order = np.argsort(memories["agent"][rows], kind="stable")
    rows = rows[order]
    agents, starts = np.unique(memories["agent"][rows], return_index=True)
    groups = np.split(rows, starts[1:])
    if asker is None:
        said = [_embedded(world, group, statements) for group in groups]
    else:
        asked = [_question(world, int(agent), group, step, model) for agent, group in zip(agents, groups, strict=True)]
        said = [str(reply.value)[:LONGEST].strip() if reply.ok else "" for reply in asker.ask(asked)]
    kept = [k for k, text in enumerate(said) if text]
    if not kept:
        return NOTHING
    return Change(memory.memory_rows(world, agents[kept], [said[k] for k in kept], MemoryKind.REFLECTION))


def _question(world: World, agent: int, rows: Array, step: int, model: Model) -> Request:
    texts = world.agent_memories["text"]
    personas = world.personas
    at = np.flatnonzero(personas["agent"] == agent)
    who = world.texts[int(personas["text"][at[0]])] if at.size else "Somebody of whom nothing is known."
    told = [world.texts[int(texts[row])] for row in rows[-MOST_MEMORIES:]]
    prompt = filled("reflect", persona=" ".join(who.split()), memories=listed(told))
    return Request(
        purpose="reflect", messages=(Message("user", prompt),), temperature=model.temperature,
        max_tokens=min(_TOKENS, model.max_tokens), agent=agent, step=step,
    )  # fmt: skip


def _embedded(world: World, rows: Array, statements: Sequence[str]) -> str:
    """Five sentences at most, each left out where there is nothing to say."""
    memories = world.agent_memories
    kinds = np.bincount(memories["action"][rows], minlength=len(ActionKind))
    did = [f"{_DID[kind]} ({kinds[kind]})" for kind in _DID if kinds[kind]]
    roots = memories["post"][rows]
    own = (memories["action"][rows] == ActionKind.POST)[roots >= 0]
    roots = roots[roots >= 0]
    met = world.posts["author"][roots[~own]]
    out = [f"Lately I {', '.join(did)}."]
    if met.size:
        who, times = np.unique(met, return_counts=True)
        out.append(f"The one I met most was {memory.called(world, int(who[np.argmax(times)]))} ({times.max()}).")
    sides = _sides(world, roots[~own])
    if sides.size:
        topics = np.bincount(sides[:, 0].astype(np.int64), minlength=len(statements))
        topic = int(np.argmax(topics))
        lean = float(sides[sides[:, 0] == topic, 1].mean())
        side = "for it" if lean > 0 else "against it" if lean < 0 else "on neither side"
        out.append(f"What I took up was mostly about this: {memory.snippet(statements[topic])}.")
        out.append(f"It was on the whole {side}, so I may be quicker to take in that side.")
        out.append("I want to see what the other side says." if lean else "I want to hear more of both sides.")
    return " ".join(out)


def _sides(world: World, roots: Array) -> npt.NDArray[np.float64]:
    """(proposition, stance) of every stance that some posts take, (s, 2)."""
    first, count = world.posts["stances"][roots], world.posts["n_stances"][roots].astype(np.int64)
    rows = np.repeat(first, count) + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    stances = world.post_stances
    return np.column_stack([stances["proposition"][rows].astype(np.float64), stances["stance"][rows]])
