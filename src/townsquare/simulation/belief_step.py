"""What moves beliefs in a step, gathered for the rule block by block: exposures that take a stance, and own posts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.beliefs.checks import FAMILY, check_result
from townsquare.beliefs.contract import (
    BeliefInputs,
    BeliefState,
    Exposed,
    Own,
    Trail,
    no_exposures,
    no_holdings,
    no_own,
    per_agent,
)
from townsquare.core import schema
from townsquare.core.coded_rows import PartedRows
from townsquare.core.draws import StageDraws
from townsquare.core.member_errors import call_member
from townsquare.core.pairs import rows_between, spans
from townsquare.core.schema import ActionKind, ActionStatus, AgentKind
from townsquare.core.threads import each
from townsquare.record.batches import Batches
from townsquare.settings.config import MemberParams
from townsquare.simulation.change import Change
from townsquare.simulation.evidence.belief_inputs import holdings_of
from townsquare.simulation.evidence.reached import by_agent, exposures_by_agent
from townsquare.simulation.world import World
from townsquare.simulation.world_kernels import offsets

Array = npt.NDArray[Any]
_LIKE, _LIKE_COMMENT, _DISLIKE = int(ActionKind.LIKE), int(ActionKind.LIKE_COMMENT), int(ActionKind.DISLIKE)
_ACCEPTED = int(ActionStatus.ACCEPTED)
_LOW = 0xFFFFFFFF
_WRITTEN = np.zeros(256, np.bool_)  # by kind of post
_WRITTEN[[schema.PostKind.ORIGINAL, schema.PostKind.COMMENT]] = True


class _Shown(NamedTuple):
    """The columns of exposures that rules read and that differ from row to row; (m,) each."""

    code: Array
    post: Array
    rank: Array
    author: Array
    first_seen: Array


class _Beside(NamedTuple):
    """What rules read of a code, side by side, and what roots say.

    ``n_stances`` (k,) uint16 is how many stances a root takes: small enough to stay in the cache. ``record`` (k, 4)
    int64, 32 bytes a code, holds where they begin and the proposition of the first, 32 bits each; how many they are and
    likes, likewise; the bits of the first stance; those of the weight. ``numbers`` is the same memory as float64.
    ``proposition`` and ``stance`` (s,) are of all stances.
    """

    n_stances: Array
    record: Array
    numbers: Array
    proposition: Array
    stance: Array


@nb.njit(parallel=True, nogil=True, cache=True)
def _count(indptr: Array, code: Array, n_stances: Array, out: Array) -> None:
    for i in nb.prange(indptr.shape[0] - 1):
        n = 0
        for e in range(indptr[i], indptr[i + 1]):
            n += n_stances[code[e]]
        out[i + 1] = n


class _Credible(NamedTuple):
    """The credibility of each agent, (n_agents,) float64, and whether it has one, bool.

    Few have. So most look-ups need the flags alone, an eighth of the memory, which stay in the cache.
    """

    has: Array
    credibility: Array


class _Said(NamedTuple):
    """What posts say: two columns of posts, two of post_stances."""

    first: Array
    n_stances: Array
    proposition: Array
    stance: Array


@nb.njit(parallel=True, nogil=True, cache=True)
def _spread(
    indptr: Array,
    lo: int,
    shown: _Shown,
    beside: _Beside,
    credible: _Credible,
    n_propositions: int,
    out_ptr: Array,
    out: tuple[Array, ...],
) -> None:
    """One output row for each (exposure, stance of its root): by proposition, then feed order, within each agent.

    ``indptr`` counts from row ``lo`` of the exposures; ``out`` holds the columns of ``Exposed`` after ``indptr``.
    """
    code, shown_post, shown_rank, shown_author, shown_first = shown
    _, record, numbers, said_proposition, said_stance = beside
    has_credibility, credibility_of = credible
    proposition, post, rank, author, credibility, stance, likes, first_seen, weight = out
    for i in nb.prange(indptr.shape[0] - 1):
        at = out_ptr[i]
        for p in range(n_propositions):
            for e in range(lo + indptr[i], lo + indptr[i + 1]):
                k = code[e]
                begin, said, n = record[k, 0] & _LOW, record[k, 0] >> 32, record[k, 1] & _LOW
                taken = numbers[k, 2]
                for x in range(begin, begin + n):
                    if n > 1:
                        said, taken = np.int64(said_proposition[x]), said_stance[x]
                    if said == p:
                        a = shown_author[e]
                        proposition[at], post[at], rank[at], author[at] = p, shown_post[e], shown_rank[e], a
                        credibility[at] = credibility_of[a] if has_credibility[a] else np.nan
                        stance[at], likes[at], weight[at] = taken, record[k, 1] >> 32, numbers[k, 3]
                        first_seen[at] = shown_first[e]
                        at += 1


@nb.njit(cache=True)
def _count_liked(
    kind: Array, status: Array, target: Array, author: Array, said: _Said, likes: Array, dislikes: Array
) -> None:
    """Add one to ``likes`` or ``dislikes`` (n_agents, P) for each stance of a post that was liked or disliked."""
    first, n_stances, proposition, _ = said
    for x in range(kind.shape[0]):
        liked = kind[x] == _LIKE or kind[x] == _LIKE_COMMENT
        if status[x] == _ACCEPTED and (liked or kind[x] == _DISLIKE):
            p = target[x]
            for row in range(first[p], first[p] + n_stances[p]):
                if liked:
                    likes[author[p], proposition[row]] += 1
                else:
                    dislikes[author[p], proposition[row]] += 1


class InputsOfStep:
    """The inputs of one step for every block of agents.

    Parameters
    ----------
    world : World
        After the actions and the review of the step.
    out : Batches
        The rows of the step so far.
    needs : frozenset of str
        What the rule uses; the rest stays empty.
    """

    def __init__(self, world: World, out: Batches, needs: frozenset[str]) -> None:
        self._world, self._needs = world, needs
        self._rows = exposures_by_agent(out)
        self._changes = by_agent(out, "holdings")
        self._actions = {name: np.asarray(column) for name, column in out.get("actions").items()}
        credibility = np.asarray(world.agents["credibility"])  # NaN for persons: the rule has its own start
        self._credible = _Credible(~np.isnan(credibility), credibility)
        self._beside = self._beside_codes() if "exposures" in needs else None
        if "own" in needs:
            self._own_counts, self._own_rows = self._engagement(), self._written()

    def blocks(self) -> Iterator[tuple[int, BeliefInputs]]:
        """(number of the block, its inputs), read-only."""
        for number, first, stop in spans(self._world.n_agents):
            yield number, self.of_block(number, first, stop)

    def of_block(self, number: int, first: int, stop: int) -> BeliefInputs:
        """The inputs of one block, read-only; blocks may be asked for by several threads."""
        beside = self._beside
        exposed = no_exposures(stop - first) if beside is None else self._exposed(beside, first, stop)
        own = self._own(first, stop) if "own" in self._needs else no_own(stop - first, self._world.n_propositions)
        holdings = no_holdings(stop - first)
        if "holdings" in self._needs:
            holdings = holdings_of(
                self._world, number, first, stop, self._changes, self._rows, with_showings="showings" in self._needs
            )
        frozen: BeliefInputs = _frozen(BeliefInputs(first, exposed, own, holdings))
        return frozen

    def _beside_codes(self) -> _Beside:
        rows, posts = self._rows, self._world.posts
        root = rows.beside["root"]
        count = posts["n_stances"][root].astype(np.int64)
        ptr = np.r_[0, np.cumsum(count)]
        row = np.repeat(posts["stances"][root] - ptr[:-1], count) + np.arange(ptr[-1])
        proposition, stance = (self._world.post_stances[name][row] for name in ("proposition", "stance"))
        record = np.zeros((root.size, 4), np.int64)
        numbers, some = record.view(np.float64), count > 0
        record[:, 0], record[:, 1] = ptr[:-1], rows.beside["likes"].astype(np.int64) << 32 | count
        record[some, 0] |= proposition[ptr[:-1][some]].astype(np.int64) << 32
        numbers[some, 2], numbers[:, 3] = stance[ptr[:-1][some]], rows.beside["weight"]
        return _Beside(count.astype(np.uint16), record, numbers, proposition, stance)

    def _exposed(self, beside: _Beside, first: int, stop: int) -> Exposed:
        rows = self._rows
        agent = rows["agent"]
        lo, hi = rows_between(agent, first, stop)
        indptr = offsets(agent[lo:hi], first, stop - first)
        out_ptr = np.zeros(stop - first + 1, np.int64)
        _count(indptr, rows.code[lo:hi], beside.n_stances, out_ptr)
        np.cumsum(out_ptr, out=out_ptr)
        m = int(out_ptr[-1])
        dtypes = ("i2", "i4", "i2", "i4", "f8", "f8", "i4", "?", "f8")  # of the columns of Exposed, in its order
        out = tuple(np.empty(m, dtype) for dtype in dtypes)
        shown = _Shown(rows.code, *(rows[name] for name in _Shown._fields[1:]))
        _spread(indptr, lo, shown, beside, self._credible, self._world.n_propositions, out_ptr, out)
        return Exposed(out_ptr, *out)

    def _engagement(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Likes and dislikes accepted this step, by author and proposition of the post: two (n_agents, P) arrays."""
        world, actions = self._world, self._actions
        likes, dislikes = (np.zeros((world.n_agents, world.n_propositions), np.int32) for _ in range(2))
        posts, stances = world.posts, world.post_stances
        said = _Said(posts["stances"], posts["n_stances"], stances["proposition"], stances["stance"])
        _count_liked(actions["kind"], actions["status"], actions["target"], posts["author"], said, likes, dislikes)
        return likes, dislikes

    def _written(self) -> dict[str, Array]:
        """Stances of the posts and comments of this step, by author, proposition and post."""
        posts, start = self._world.posts, self._world.step_starts[-1]  # posts of the step that is being taken
        mine = start + np.flatnonzero(_WRITTEN[posts["kind"][start:]])
        count = posts["n_stances"][mine].astype(np.int64)
        post = np.repeat(mine, count)
        row = posts["stances"][post] + np.arange(post.size) - np.repeat(np.cumsum(count) - count, count)
        proposition, author = self._world.post_stances["proposition"][row], posts["author"][post]
        order = np.lexsort((post, proposition, author))
        return {
            "author": author[order],
            "proposition": proposition[order],
            "post": post[order].astype(np.int32),
            "stance": self._world.post_stances["stance"][row[order]],
        }

    def _own(self, first: int, stop: int) -> Own:
        likes, dislikes = self._own_counts
        lo, hi = rows_between(self._own_rows["author"], first, stop)
        return Own(
            likes=likes[first:stop],
            dislikes=dislikes[first:stop],
            indptr=offsets(self._own_rows["author"][lo:hi], first, stop - first),
            **{name: self._own_rows[name][lo:hi] for name in ("proposition", "post", "stance")},
        )


def _frozen(part: Any) -> Any:
    """The same, with every array in it read-only."""
    for name in part.__slots__:
        value = getattr(part, name)
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        elif hasattr(value, "__slots__"):
            _frozen(value)
    return part


def advance(
    world: World, out: Batches, rule: Any, params: MemberParams, draw: StageDraws, *, with_trail: bool = True
) -> Change:
    """One step of every belief: the new state, a row of beliefs for each person and proposition, and the trail.

    Raises
    ------
    ContractError
        The rule returned something else than its contract says, see :func:`townsquare.beliefs.checks.check_result`.
    """
    step, inputs = world.step + 1, InputsOfStep(world, out, rule.needs)

    def move(block: tuple[int, int, int]) -> tuple[BeliefState, dict[str, Array]]:
        number, first, stop = block
        settings = per_agent(params, stop - first, world.own_settings(first, stop))
        before, given = world.belief[number], inputs.of_block(*block)
        result = call_member(FAMILY, rule.name, "step", lambda: rule.step(before, given, settings, draw))
        after, trail = check_result(rule, before, result, first, world.posts.n)
        return after, _trail_rows(trail._replace(agent=trail.agent + np.int32(first)), step) if with_trail else {}

    moved = each(move, list(spans(world.n_agents)))
    states = [state for state, _ in moved]
    rows: dict[str, schema.Columns] = {"beliefs": belief_rows(world, states, step)}
    if with_trail and moved:
        rows["trail"] = PartedRows([trail for _, trail in moved])
    return Change(rows, belief=tuple(states))


def _trail_rows(trail: Trail, step: int) -> dict[str, Array]:
    """Columns of the table trail."""
    return {"step": np.broadcast_to(np.int32(step), trail.agent.shape), **trail._asdict()}


def belief_rows(world: World, states: list[BeliefState], step: int) -> schema.Columns:
    """A row for each person and proposition, by agent and then proposition."""
    persons = np.flatnonzero(world.agents["kind"] == AgentKind.PERSON).astype(np.int32)
    p = world.n_propositions
    stance = np.concatenate([state.stance for state in states])[persons].ravel() if states else np.empty(0)
    confidence = np.concatenate([state.confidence for state in states])[persons].ravel() if states else np.empty(0)
    return schema.rows(
        "beliefs", persons.size * p, step=step, agent=np.repeat(persons, p),
        proposition=np.tile(np.arange(p), persons.size), stance=stance, confidence=confidence,
    )  # fmt: skip
