"""The view of a policy: a batch of agents, their own state, and the rows they are shown; without the truth of posts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.core.actions import SPECS, ActionKind, On, per_kind
from townsquare.core.array_types import Array, Bool, Byte, Float, Int16, Int32, Int64
from townsquare.core.coded_rows import CodedRows, column_at
from townsquare.core.draws import StageDraws
from townsquare.core.enums import MemoryKind, PostKind
from townsquare.core.schema import NONE
from townsquare.settings.config import Actions as ActionSettings
from townsquare.settings.config import Memory as MemorySettings
from townsquare.settings.config import Model as ModelSettings
from townsquare.simulation import memory
from townsquare.simulation.feed.build import Feed
from townsquare.simulation.world import World

_TARGETS = {
    column: per_kind(np.bool_, {kind: spec.on == on for kind, spec in SPECS.items()})
    for column, on in (("author", On.AUTHOR), ("offered", On.NOTE))
}
"""Columns of rows that hold the target of an action, if the target is not the root; by number of the kind."""
_HIDDEN = frozenset({"veracity", "verdict", "confidence", "note", "notes", "status", "downrank"})


@dataclass(frozen=True, slots=True)
class Bank:
    """Texts that the embedded policies write from, as rows of texts.

    ``text`` (k,) int32, ``proposition`` (k,) int16 and ``stance`` (k,) float64 are the argument bank; ``strength`` (k,)
    may be NaN. ``comments`` are neutral texts, used if no argument fits. ``everyday`` are lines of personal posts
    without a stance; they are rows of texts only once somebody posts them. ``notes`` (j,) int32 are texts of community
    notes; ``note_proposition`` (j,) is -1 for one that fits any post, ``note_side`` (j,) is the sign of its stance, and
    ``note_sourced`` (j,) says whether it cites a source. The last three are empty where no note has any of this.
    """

    text: Int32
    proposition: Int16
    stance: Float
    strength: Float
    comments: Int32
    notes: Int32
    everyday: tuple[str, ...] = ()
    note_proposition: Int16 = field(default_factory=lambda: np.empty(0, np.int16))
    note_side: Float = field(default_factory=lambda: np.empty(0))
    note_sourced: Bool = field(default_factory=lambda: np.empty(0, np.bool_))

    def note_texts(
        self, world: World, draws: StageDraws, purpose: str, agents: npt.ArrayLike, roots: Array, *,
        sourced: Array | None = None, lasting: bool = False,
    ) -> Int32:  # fmt: skip
        """Draw a text for each note on ``roots`` (n,) by (agent, root), -1 where there is none.

        A note takes the other side on the first proposition of its post; where the bank has none, it is one that fits
        any post, or else any. ``sourced`` (n,) says which notes cite a source, where the bank has both.
        """
        if not (self.notes.size and roots.size):
            return np.full(roots.size, NONE, np.int32)
        pools, which = self._pools(world, roots, sourced)
        sizes = np.array([pool.size for pool in pools], np.int64)
        pick = draws.integers(purpose, agents, world.posts["key"][roots], sizes[which], lasting=lasting)
        before = np.cumsum(sizes) - sizes
        return np.asarray(self.notes[np.concatenate(pools)[before[which] + pick]], np.int32)

    def _pools(self, world: World, roots: Array, sourced: Array | None) -> tuple[list[Array], Array]:
        """Return the entries of the bank that fit kinds of posts, and the kind of each root."""
        if not self.note_proposition.size:
            return [np.arange(self.notes.size)], np.zeros(roots.size, np.int64)
        at, first = np.full(roots.size, NONE, np.int64), world.posts["n_stances"][roots] > 0
        at[first] = world.posts["stances"][roots[first]]
        proposition, side = (
            np.where(first, world.post_stances[name][at] if world.post_stances.n else 0, NONE)
            for name in ("proposition", "stance")
        )
        cites = np.full(roots.size, NONE) if sourced is None else np.asarray(sourced, np.int64)
        kinds, which = np.unique(np.column_stack([proposition, np.sign(side), cites]), axis=0, return_inverse=True)
        return [self._pool(*kind) for kind in kinds.tolist()], which.ravel()

    def _pool(self, proposition: float, side: float, cites: float) -> Array:
        fits = (self.note_proposition == proposition) & (self.note_side * side < 0)
        for entries in (fits, self.note_proposition == NONE, np.ones(fits.size, np.bool_)):
            if entries.any():
                cited = entries & (self.note_sourced == (cites == 1))
                return np.flatnonzero(cited if cites >= 0 and cited.any() else entries)
        return np.arange(0)


@dataclass(frozen=True, slots=True)
class PromptContext:
    """The context of prompts: propositions by name and in words, and settings of memory and model.

    ``show_flags`` says whether the number of flags is shown with a row; ``step_hours`` is the length of a step, 1 where
    a step has no length; ``asked`` says whether people are asked about each row, as in a survey.
    """

    names: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    memory: MemorySettings = field(default_factory=MemorySettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    show_flags: bool = False
    step_hours: float = 1.0
    asked: bool = False


class Views:
    """The view of a policy: a batch of agents in one step, with their beliefs and feeds.

    Attributes
    ----------
    step : int
        The current step.
    agents : (k,) int32
        Rows of agents, ascending.
    indptr : (k + 1,) int64
        The feed of the agent at position k is ``indptr[k] : indptr[k + 1]`` of ``rows``.
    rows : columns of the table exposures
        Rows shown to the agents, in feed order.
    stance, confidence : (k, P) float64
        The agents' own beliefs before the step.
    activity : (k,) float64
        Activity of each agent, relative to a mean of 1.
    member : (k,) int16
        Number of each agent's policy in the mix.
    allowed : frozenset of ActionKind
        Kinds that this run allows.
    bank : Bank
        Texts of the scenario for posts, comments and notes.
    settings : config.Actions
        Limits on texts and actions.
    context : PromptContext
        Propositions, and settings of memory and model.
    judge : callable, optional
        ``judge(rows)`` computes :attr:`believed`; None if the policy does not read it or the belief rule lacks it.
    """

    def __init__(
        self,
        world: World,
        feed: Feed,
        allowed: frozenset[ActionKind],
        bank: Bank,
        settings: ActionSettings,
        context: PromptContext | None = None,
        judge: Callable[[Mapping[str, Any]], Float] | None = None,
    ) -> None:
        self._world, self._judge = world, judge
        self.context = PromptContext() if context is None else context
        self._recalled: list[memory.Recalled] = []
        self.step = world.step + 1
        self.agents, self.indptr, self.rows = feed.agents, feed.indptr, feed.exposures
        self.stance, self.confidence = world.stance()[feed.agents], world.confidence()[feed.agents]
        self.activity = world.agents["activity"][feed.agents]
        self.member = world.agents["policy"][feed.agents]
        self.allowed, self.bank, self.settings = allowed, bank, settings

    def post(self, name: str) -> Array:
        """Return a column of the table posts, for all posts; index it with ``rows["root"]``.

        Raises ``KeyError`` for the veracity, which no policy may see, and for findings of moderators: agents see labels
        only if they are shown, in ``rows``.
        """
        if name in _HIDDEN:
            raise KeyError(f"agents do not see {name}")
        return self._world.posts[name]

    def post_stance(self, name: str) -> Array:
        """Return a column of post_stances; ``post("stances")`` and ``post("n_stances")`` give the rows of a post."""
        return self._world.post_stances[name]

    def stances_of(self, posts: Array) -> tuple[Int64, Int64]:
        """Return the rows of post_stances of some posts, and for each row the position of its post in ``posts``."""
        return self._world.stances_of(posts)

    def note_texts(self, draws: StageDraws, purpose: str, position: Array, row: Array) -> Int32:
        """Draw texts of the bank for notes on rows, written by the agents at ``position``; see ``Bank.note_texts``."""
        root = column_at(self.rows, "root", row)
        return self.bank.note_texts(self._world, draws, purpose, self.agents[position], root)

    @cached_property
    def believed(self) -> Float | None:
        """Belief of the reader in the claim of each row at this exposure, label included: (rows,) log odds.

        NaN for a row without a claim. None if ``reads`` of the policy lacks ``believed``, or the belief rule has no
        beliefs in claims.
        """
        return None if self._judge is None else self._judge(self.rows)

    def text(self, row: int) -> str:
        """Return the text of a row of texts; empty for -1."""
        return self._world.texts[row] if row >= 0 else ""

    @property
    def n_texts(self) -> int:
        """The number of existing texts; new texts of proposed actions are numbered from here."""
        return len(self._world.texts)

    def note(self, name: str) -> Array:
        """Return a column of the table notes."""
        return self._world.notes[name]

    def agent(self, name: str) -> Array:
        """Return a column of the table agents, for all agents."""
        return self._world.agents[name]

    def called(self, agent: int) -> str:
        """Return the name of an agent."""
        return memory.called(self._world, agent)

    def persona(self, k: int) -> str:
        """Return the persona of the agent at position ``k``; empty if the run has no personas."""
        return self.text(self._persona_texts.get(int(self.agents[k]), NONE))

    def memories(self, k: int) -> tuple[list[str], list[str]]:
        """Return the memories of the agent at position ``k``: interactions and reflections, the most relevant first."""
        if not self._recalled:
            settings = self.context.memory
            limits = ((MemoryKind.INTERACTION, settings.recalled), (MemoryKind.REFLECTION, settings.reflections))
            self._recalled = [memory.recall(self._world, self.agents, settings, kind, most) for kind, most in limits]
        texts = self._world.agent_memories["text"]
        interactions, reflections = (
            [self.text(int(texts[row])) for row in recalled.rows[recalled.indptr[k] : recalled.indptr[k + 1]]]
            for recalled in self._recalled
        )
        return interactions, reflections

    def own_posts(self, k: int, most: int) -> list[str]:
        """Return the latest posts by the agent at position ``k``, the newest first."""
        text, first, stop = self._written
        return [self.text(row) for row in text[first[k] : stop[k]][::-1][:most]]

    @cached_property
    def _persona_texts(self) -> dict[int, int]:
        """Agent -> row of texts, of all that have a persona."""
        personas = self._world.personas
        return dict(zip(personas["agent"].tolist(), personas["text"].tolist(), strict=True))

    @cached_property
    def _written(self) -> tuple[list[int], list[int], list[int]]:
        """Rows of texts of original posts, by author and time, and where those of each agent begin and end."""
        posts, here = self._world.posts, np.zeros(self._world.n_agents, np.bool_)
        here[self.agents] = True
        rows = np.flatnonzero((posts["kind"] == PostKind.ORIGINAL) & here[posts["author"]])
        rows = rows[np.argsort(posts["author"][rows], kind="stable")]
        first, stop = (np.searchsorted(posts["author"][rows], self.agents, side) for side in ("left", "right"))
        return posts["text"][rows].tolist(), first.tolist(), stop.tolist()

    def follows(self, agent: int, other: int) -> bool:
        """Return whether ``agent`` follows ``other``."""
        return self._world.follows.get(agent, other, NONE) != NONE

    def followed_authors(self) -> Bool:
        """Return for each row of ``rows`` whether its reader follows its author, (rows,)."""
        reader = np.repeat(self.agents, np.diff(self.indptr))
        return self._world.has(self._world.follows, reader, np.asarray(self.rows["author"]))

    def targets(self, row: Int64, kind: Array) -> Int32:
        """Return the targets of actions on ``row``: the author, the note offered, or else the root; -1 for no row."""
        target, on = np.full(row.size, NONE, np.int32), row >= 0
        target[on] = column_at(self.rows, "root", row[on])
        for column, kinds in _TARGETS.items():
            at = np.flatnonzero(kinds[kind] & on)
            target[at] = column_at(self.rows, column, row[at])
        return target

    def only(self, mask: Bool) -> Views:
        """Return the same views for some of the agents, for a mix of policies; ``mask`` (k,)."""
        part, counts = copy(self), np.diff(self.indptr)
        part.agents, part.indptr = self.agents[mask], np.r_[0, np.cumsum(counts[mask])].astype(np.int64)
        part.rows = CodedRows.of(self.rows).take(np.repeat(mask, counts))
        part.stance, part.confidence = self.stance[mask], self.confidence[mask]
        part.activity, part.member = self.activity[mask], self.member[mask]
        part._recalled = []
        for name in ("_persona_texts", "_written", "believed"):  # of other agents
            part.__dict__.pop(name, None)
        return part


COLUMNS: Mapping[str, type[np.integer[Any]]] = {
    "agent": np.int32, "kind": np.uint8, "row": np.int64, "target": np.int32, "text": np.int32, "helpful": np.int8,
    "reasoning": np.int32,
}  # fmt: skip
"""Columns of :class:`ProposedActions` with a value for each action, and their dtypes."""


@dataclass(frozen=True, slots=True)
class ProposedActions:
    """The actions that the agents of some views propose.

    Arrays are (n,), with agents ascending and the actions of one agent in the order in which it acts. Only ``examined``
    is by row of the feed.

    Attributes
    ----------
    agent : int32
    kind : uint8
        :class:`townsquare.core.actions.ActionKind`.
    row : int64
        The row of ``Views.rows`` acted on; -1 for `post` and `ignore`.
    target : int32
        What is acted on: the post shown (its root counts), the note offered, or the author; -1 for none.
    text : int32
        Row of texts; rows from ``Views.n_texts`` on are ``new_texts``; -1 for no text.
    helpful : int8
        Rating of a note: :class:`townsquare.core.enums.Rating`, or -1 for none.
    reasoning : int32
        Row of texts like ``text``.
    declared : (action, proposition, stance, strength)
        The stances that writers declare for their texts: four arrays of the same length; ``action`` int64
        ascends and indexes the arrays above.
    new_texts : tuple of str
        Texts that are not in the table texts yet.
    examined : bool, optional
        For each row of ``Views.rows``, (rows,), whether its reader examined it; None if all rows were examined.
        A row that was not examined is no exposure, and actions on it are refused.
    prompt_stats : mapping of str to array
        Columns of the table prompts, without the step, for agents whose feed was in a prompt (ascending);
        empty if there are no such agents.
    """

    agent: Int32
    kind: Byte
    row: Int64
    target: Int32
    text: Int32
    helpful: npt.NDArray[np.int8]
    reasoning: Int32
    declared: tuple[Array, Array, Array, Array]
    new_texts: tuple[str, ...] = field(default=())
    examined: Bool | None = None
    prompt_stats: Mapping[str, Array] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return int(self.agent.shape[0])


def propose(
    views: Views,
    agent: npt.ArrayLike,
    kind: npt.ArrayLike,
    row: npt.ArrayLike,
    *,
    target: npt.ArrayLike | None = None,
    text: npt.ArrayLike = NONE,
    helpful: npt.ArrayLike = NONE,
    reasoning: npt.ArrayLike = NONE,
    declared: npt.ArrayLike = (),
    new_texts: Sequence[str] = (),
) -> ProposedActions:
    """Propose actions: make :class:`ProposedActions` of columns of any dtype, or of one value for all actions.

    By default, ``target`` is the result of :meth:`Views.targets`. Each row of ``declared`` (s, 4) holds action,
    proposition, stance and strength.
    """
    kinds, rows = np.asarray(kind, np.uint8), np.asarray(row, np.int64)
    targets = views.targets(rows, kinds) if target is None else target
    action, proposition, stance, strength = np.asarray(declared, np.float64).reshape(-1, 4).T.copy()
    return ProposedActions(
        **_of_size(kinds.size, agent, kinds, rows, targets, text, helpful, reasoning),
        declared=(action.astype(np.int64), proposition.astype(np.int16), stance, strength),
        new_texts=tuple(new_texts),
    )


def no_actions() -> ProposedActions:
    """Return no actions."""
    return ProposedActions(**_of_size(0, *[0] * len(COLUMNS)), declared=no_declarations())


def _of_size(n: int, *columns: npt.ArrayLike) -> dict[str, Any]:
    """Return ``n`` values for each of :data:`COLUMNS`."""
    return {name: np.full(n, column, COLUMNS[name]) for name, column in zip(COLUMNS, columns, strict=True)}


def no_declarations() -> tuple[Array, Array, Array, Array]:
    """Return empty columns of declared stances."""
    return np.empty(0, np.int64), np.empty(0, np.int16), np.empty(0), np.empty(0)
