"""Memories of agents: how they are made, fade, and become reflections (MOSAIC, appendices E.1 and G).

A memory is an interaction, with the content of what was met and said, or a reflection on several of them. Its relevance
is importance times decay; decay falls by ``memory.decay`` a day since the last access, in days of the simulation.
Being recalled is an access at the current decay, which changes nothing later; acting on the same post again makes the
memory as fresh as new.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from townsquare.core import schema
from townsquare.core.actions import ON_AUTHORS, SPECS, ActionKind, On, kinds_where
from townsquare.core.array_types import Array, Float, Int32, Int64
from townsquare.core.documents import read_yaml
from townsquare.core.enums import ActionStatus, MemoryKind
from townsquare.core.schema import NONE
from townsquare.models.contract import Asker, Request
from townsquare.models.prompts.filling import filled, listed
from townsquare.record.batches import Batches
from townsquare.settings.config import Config, Memory, Model
from townsquare.simulation.change import NOTHING, Change
from townsquare.simulation.world import World

BASE_IMPORTANCE = 0.5
A_KEYWORD = 0.1
SNIPPET = 240  # characters of a text that a memory keeps


class Recalled(NamedTuple):
    """Memories of k agents: rows of agent_memories, the most relevant first; ``indptr`` (k + 1,) int64."""

    indptr: Int64
    rows: Int64


def on_clock(config: Config) -> Memory:
    """Return settings of memory on the clock of the run: ``days_per_step`` known and ``reflect_every`` in steps."""
    hours, every = config.time.step_hours, config.memory.reflect_every
    if config.time.step_minutes is None:
        return config.memory
    steps = max(1, round(every / hours)) if every else 0
    return config.memory.model_copy(update={"days_per_step": hours / 24, "reflect_every": steps})


@cache
def keywords() -> frozenset[str]:
    """Return the words that add to importance, lower case."""
    lists: Any = read_yaml(Path(str(package_files("townsquare") / "data" / "memory_keywords.yaml")))
    return frozenset(word for words in lists.values() for word in words)


def importance(text: str) -> float:
    """Return the importance of a text: 0.5, and 0.1 for each distinct keyword in it, up to 1.

    >>> importance("My friend was happy, so happy."), importance("It rained.")
    (0.7, 0.5)
    """
    matched = keywords().intersection(re.findall(r"\w+", text.lower()))
    return min(1.0, BASE_IMPORTANCE + A_KEYWORD * len(matched))


def faded(world: World, rows: Int64, settings: Memory, step: int) -> Float:
    """Decay of memories in a step, (k,) float64 in [0, 1]: max(0, decay at the last access - rate x days since)."""
    memories = world.agent_memories
    days = (step - memories["accessed"][rows]) * settings.days_per_step
    return np.asarray(np.maximum(0.0, memories["decay"][rows] - settings.decay * days))


def recall(world: World, agents: Int32, settings: Memory, kind: MemoryKind, most: int) -> Recalled:
    """Return the memories that agents recall in step ``world.step + 1``.

    Parameters
    ----------
    agents : (k,) int32
        Ascending.
    most : int
        Maximum number per agent: the most relevant memories above ``settings.threshold`` or equal to it; among equals,
        the newer ones first.
    """
    memories, step = world.agent_memories, world.step + 1
    rows = np.flatnonzero((memories["kind"] == kind) & np.isin(memories["agent"], agents))
    relevance = memories["importance"][rows] * faded(world, rows, settings, step)
    rows, relevance = rows[relevance >= settings.threshold], relevance[relevance >= settings.threshold]
    owner = memories["agent"][rows]
    order = np.lexsort((-rows, -relevance, owner))
    rows, owner = rows[order], owner[order]
    first = np.searchsorted(owner, owner, side="left")
    keep = np.arange(rows.size) - first < most
    rows, owner = rows[keep], owner[keep]
    return Recalled(np.searchsorted(owner, np.append(agents, np.iinfo(np.int32).max)).astype(np.int64), rows)


def remember(world: World, out: Batches, agents: Int32, settings: Memory, reads: bool) -> Change:
    """Return the memories of a step: accesses of what was recalled or met again, and new interactions.

    Parameters
    ----------
    agents : (k,) int32
        Who was online, ascending.
    reads : bool
        Whether their policy reads memories, so that recalling counts as an access.
    """
    done = out.get("actions")
    remembered = np.asarray(done["status"]) == ActionStatus.ACCEPTED
    remembered &= np.asarray(done["kind"]) != ActionKind.IGNORE
    actor, about = np.asarray(done["agent"])[remembered], _roots(world, done)[remembered]
    rows: schema.ByTable = {}
    accessed = _accesses(world, agents, settings, reads, actor, about)
    if accessed:
        rows["memory_accesses"] = accessed
    if actor.size:
        texts = [_in_words(world, done, int(at)) for at in np.flatnonzero(remembered)]
        rows |= memory_rows(world, actor, texts, MemoryKind.INTERACTION, about, np.asarray(done["kind"])[remembered])
    return Change(rows) if rows else NOTHING


def memory_rows(
    world: World,
    agents: Array,
    texts: Sequence[str],
    kind: MemoryKind,
    posts: Array | int = NONE,
    actions: Array | int = ActionKind.IGNORE,
) -> schema.ByTable:
    """Return new memories, one a text, and the texts that are not there yet."""
    n, (row, new) = len(texts), world.text_rows(texts)
    memories = schema.rows(
        "agent_memories", n, memory=world.agent_memories.n + np.arange(n), agent=agents, step=world.step + 1,
        kind=kind, action=actions, post=posts, text=row, importance=[importance(text) for text in texts],
    )  # fmt: skip
    return {"agent_memories": memories, **new}


def called(world: World, agent: int) -> str:
    """Return the name of an agent: that of a source or imported account, else ``user`` and its row."""
    name = int(world.agents["name"][agent])
    return world.texts[name] if name >= 0 else f"user{agent}"


def snippet(text: str) -> str:
    """Return the beginning of a text on one line, in quotation marks; at most :data:`SNIPPET` characters.

    >>> print(snippet("It  said no\\nand left."))
    'It said no and left.'
    """
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= SNIPPET else flat[: SNIPPET - 1] + "…")


def _accesses(
    world: World, agents: Int32, settings: Memory, reads: bool, actor: Array, about: Array
) -> schema.Columns | None:
    memories, step = world.agent_memories, world.step + 1
    fresh = np.empty(0, np.int64)
    if memories.n and actor.size:
        key = memories["agent"].astype(np.int64) << 32 | memories["post"].astype(np.int64)
        met = actor[about >= 0].astype(np.int64) << 32 | about[about >= 0].astype(np.int64)
        fresh = np.flatnonzero(np.isin(key, met) & (memories["post"] >= 0))
    recalled = np.empty(0, np.int64)
    if reads and memories.n:
        limits = ((MemoryKind.INTERACTION, settings.recalled), (MemoryKind.REFLECTION, settings.reflections))
        recalled = np.concatenate([recall(world, agents, settings, kind, most).rows for kind, most in limits])
        recalled = np.setdiff1d(recalled, fresh)
    both = np.concatenate([recalled, fresh])
    if not both.size:
        return None
    decay = np.concatenate([faded(world, recalled, settings, step), np.ones(fresh.size)])
    order = np.argsort(both)
    return schema.rows("memory_accesses", both.size, step=step, memory=both[order], decay=decay[order])


def _roots(world: World, done: schema.Columns) -> Int64:
    """Return the root that each action is about; -1 where it is about none."""
    kind, target, result = (np.asarray(done[name]).astype(np.int64) for name in ("kind", "target", "result"))
    out = np.where(np.isin(kind, ON_AUTHORS), NONE, target)
    out = np.where(np.isin(kind, kinds_where(lambda spec: spec.on == On.NOTHING)), result, out)
    rated = np.isin(kind, kinds_where(lambda spec: spec.on == On.NOTE)) & (target >= 0) & (target < world.notes.n)
    out[rated] = world.notes["post"][target[rated]]
    return out


def _in_words(world: World, done: schema.Columns, at: int) -> str:
    spec = SPECS[ActionKind(int(np.asarray(done["kind"])[at]))]
    target, text = int(np.asarray(done["target"])[at]), int(np.asarray(done["text"])[at])
    author, theirs = target if spec.on == On.AUTHOR else NONE, ""
    if spec.on not in (On.AUTHOR, On.NOTHING):
        post, table = (world.notes["post"][target], world.notes) if spec.on == On.NOTE else (target, world.posts)
        author = int(world.posts["author"][post])
        theirs = snippet(world.texts[int(table["text"][target])])
    own = snippet(world.texts[text]) if text >= 0 else ""
    return spec.memory.format(author=called(world, author) if author >= 0 else "", theirs=theirs, own=own)


# What agents make of what happened to them: MOSAIC's five points (appendix I.3), embedded or by a language model.
#
# The embedded form counts: what the agent did since it last reflected, whom it met, what that was about and which side
# it took. It needs no model and says no more than the record does.


MOST_MEMORIES = 10
LONGEST = 1200  # characters of a reflection
_TOKENS = 300


def reflections_due(world: World, config: Config, statements: Sequence[str], asker: Asker | None) -> Change:
    """Return reflections, as often as ``memory.reflect_every`` says, made as ``memory.reflection`` says."""
    settings = on_clock(config)
    every, how = settings.reflect_every, settings.reflection
    if not every or (world.step + 1) % every:
        return NOTHING
    return reflect(world, settings, config.model, statements, None if how == "embedded" else asker)


def reflect(world: World, settings: Memory, model: Model, statements: Sequence[str], asker: Asker | None) -> Change:
    """Return reflections of everybody who did something since the last time; by the model if there is an ``asker``."""
    step, memories = world.step + 1, world.agent_memories
    recent = (memories["kind"] == MemoryKind.INTERACTION) & (memories["step"] > step - settings.reflect_every)
    rows = np.flatnonzero(recent)
    if not rows.size:
        return NOTHING
    rows = rows[np.argsort(memories["agent"][rows], kind="stable")]
    agents, starts = np.unique(memories["agent"][rows], return_index=True)
    groups = np.split(rows, starts[1:])
    if asker is None:
        texts = [_embedded(world, group, statements) for group in groups]
    else:
        asked = [_question(world, int(agent), group, step, model) for agent, group in zip(agents, groups, strict=True)]
        texts = [str(reply.value)[:LONGEST].strip() if reply.ok else "" for reply in asker.ask(asked)]
    written = [k for k, text in enumerate(texts) if text]
    if not written:
        return NOTHING
    return Change(memory_rows(world, agents[written], [texts[k] for k in written], MemoryKind.REFLECTION))


def _question(world: World, agent: int, rows: Array, step: int, model: Model) -> Request:
    texts, personas = world.agent_memories["text"], world.personas
    at = np.flatnonzero(personas["agent"] == agent)
    who = world.texts[int(personas["text"][at[0]])] if at.size else "Somebody of whom nothing is known."
    recalled = [world.texts[int(texts[row])] for row in rows[-MOST_MEMORIES:]]
    prompt = filled("reflect", persona=" ".join(who.split()), memories=listed(recalled))
    longest = min(_TOKENS, model.max_tokens)
    return Request.of("reflect", prompt, agent=agent, step=step, temperature=model.temperature, max_tokens=longest)


def _embedded(world: World, rows: Array, statements: Sequence[str]) -> str:
    """Five sentences at most, each left out where there is nothing to say."""
    memories = world.agent_memories
    kinds = np.bincount(memories["action"][rows], minlength=len(ActionKind))
    did = [f"{spec.did} ({kinds[kind]})" for kind, spec in SPECS.items() if kinds[kind]]
    roots = memories["post"][rows]
    own = (memories["action"][rows] == ActionKind.POST)[roots >= 0]
    roots = roots[roots >= 0]
    met = world.posts["author"][roots[~own]]
    out = [f"Lately I {', '.join(did)}."]
    if met.size:
        who, times = np.unique(met, return_counts=True)
        out.append(f"The one I met most was {called(world, int(who[np.argmax(times)]))} ({times.max()}).")
    sides = _sides(world, roots[~own])
    if sides.size:
        topics = np.bincount(sides[:, 0].astype(np.int64), minlength=len(statements))
        topic = int(np.argmax(topics))
        lean = float(sides[sides[:, 0] == topic, 1].mean())
        side = "for it" if lean > 0 else "against it" if lean < 0 else "on neither side"
        out.append(f"What I took up was mostly about this: {snippet(statements[topic])}.")
        out.append(f"It was on the whole {side}, so I may be quicker to take in that side.")
        out.append("I want to see what the other side says." if lean else "I want to hear more of both sides.")
    return " ".join(out)


def _sides(world: World, roots: Array) -> Float:
    """Return (proposition, stance) of every stance that some posts take, (s, 2)."""
    rows, _ = world.stances_of(roots)
    stances = world.post_stances
    return np.column_stack([stances["proposition"][rows].astype(np.float64), stances["stance"][rows]])
