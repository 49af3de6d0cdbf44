"""Gathers the inputs of the belief rule, block by block of agents, and advances beliefs by a step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numba as nb
import numpy as np

from townsquare.beliefs.arrays import frozen_inputs
from townsquare.beliefs.checks import FAMILY, check_result
from townsquare.beliefs.contract import (
    Authors,
    BeliefInputs,
    BeliefState,
    Contents,
    Exposed,
    Own,
    Trail,
    Veracities,
    no_contents,
    no_exposures,
    no_holdings,
    no_own,
    per_agent,
)
from townsquare.core import schema
from townsquare.core.actions import ActionKind
from townsquare.core.array_types import Array, Bool, Float, Int16, Int32
from townsquare.core.coded_rows import CodedRows, PartedRows
from townsquare.core.draws import StageDraws
from townsquare.core.enums import ActionStatus, AgentKind, PostKind
from townsquare.core.errors import SettingError
from townsquare.core.member_errors import breach, call_member, check_array
from townsquare.core.pairs import lookup, rows_between, spans
from townsquare.core.schema import NONE
from townsquare.core.threads import Part, each, in_parts
from townsquare.record.batches import Batches
from townsquare.scenario.population.question_bank import QuestionBank
from townsquare.settings.config import MemberParams
from townsquare.simulation.change import Change
from townsquare.simulation.evidence.belief_inputs import holdings_of
from townsquare.simulation.evidence.reached import by_agent, exposures_by_agent
from townsquare.simulation.world import World
from townsquare.simulation.world_kernels import offsets

_WRITTEN = np.zeros(256, np.bool_)  # by kind of post
_WRITTEN[[PostKind.ORIGINAL, PostKind.COMMENT]] = True


class _Shown(NamedTuple):
    """The columns of exposures that rules read and that differ from row to row; (m,) each."""

    code: Array
    post: Array
    rank: Array
    author: Array
    first_seen: Array


_ROOT = np.dtype(
    [("first", "i4"), ("proposition", "i4"), ("count", "i4"), ("likes", "i4"), ("stance", "f8"), ("weight", "f8")]
)
"""What rules read of a root: where its stances begin, how many it takes, likes, weight, and the first stance."""


class _Roots(NamedTuple):
    """What rules read of each root that is shown, and the stances of all of them.

    ``n_stances`` (k,) uint16 is how many stances a root takes: small enough to stay in the cache. ``root`` (k,) are
    records, ``proposition`` and ``stance`` (s,) are of all stances.
    """

    n_stances: Array
    root: Array
    proposition: Array
    stance: Array


@nb.njit(nogil=True, cache=True)
def _count(part: Part, indptr: Array, index: Array, n_stances: Array, out: Array) -> None:
    """Count the stances of the exposures of each agent into ``out[i + 1]``."""
    for i in range(part.start, part.stop):
        n = 0
        for e in range(indptr[i], indptr[i + 1]):
            n += n_stances[index[e]]
        out[i + 1] = n


@nb.njit(nogil=True, cache=True)
def _spread(
    part: Part, indptr: Array, shown: _Shown, roots: _Roots, credible: tuple[Array, Array], n_propositions: int,
    out_ptr: Array, out: tuple[Array, ...],
) -> None:  # fmt: skip
    """Write one output row for each (exposure, stance of its root): by proposition, then feed order, within each agent.

    ``credible`` says which agents have a credibility, (n_agents,) bool, and which one, float64. Few have: most look-ups
    need the flags alone, an eighth of the memory, which stay in the cache. ``out`` holds the columns of ``Exposed``
    after ``indptr``, and the exposure of each row.
    """
    code, shown_post, shown_rank, shown_author, shown_first = shown
    _, root_of, proposition_of, stance_of = roots
    has_credibility, credibility_of = credible
    proposition, post, rank, author, credibility, stance, likes, first_seen, weight, index = out
    for i in range(part.start, part.stop):
        at = out_ptr[i]
        for p in range(n_propositions):
            for e in range(indptr[i], indptr[i + 1]):
                root = root_of[code[e]]
                about, taken = root.proposition, root.stance
                for x in range(root.first, root.first + root.count):
                    if root.count > 1:
                        about, taken = np.int32(proposition_of[x]), stance_of[x]
                    if about == p:
                        a = shown_author[e]
                        proposition[at], post[at], rank[at], author[at] = p, shown_post[e], shown_rank[e], a
                        credibility[at] = credibility_of[a] if has_credibility[a] else np.nan
                        stance[at], likes[at], weight[at] = taken, root.likes, root.weight
                        first_seen[at], index[at] = shown_first[e], e
                        at += 1


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
    group_trait : int
        Number of the trait whose answers are the groups, where the rule needs groups.
    hours : float
        Length of the step.
    """

    def __init__(
        self, world: World, out: Batches, needs: frozenset[str], group_trait: int = NONE, hours: float = 24.0
    ) -> None:
        self._world, self._needs, self._hours = world, needs, hours
        self._rows = exposures_by_agent(out)
        self._changes = by_agent(out, "holdings")
        self._actions = {name: np.asarray(column) for name, column in out.get("actions").items()}
        credibility = np.asarray(world.agents["credibility"])  # NaN for persons: the rule has its own start
        self._credible = ~np.isnan(credibility), credibility
        self._roots = self._shown_roots() if "exposures" in needs else None
        if "own" in needs:
            self._own_counts, self._own_rows = self._engagement(), self._written()
        if "authors" in needs:
            self._stances = np.where(world.persons()[:, None], world.stance(), np.nan)
        if "groups" in needs:
            self._groups = _groups(world, group_trait)

    def blocks(self) -> Iterator[tuple[int, BeliefInputs]]:
        """Yield (number of the block, its inputs), read-only."""
        for number, first, stop in spans(self._world.n_agents):
            yield number, self.of_block(number, first, stop)

    def of_block(self, number: int, first: int, stop: int) -> BeliefInputs:
        """Return the inputs of one block, read-only; blocks may be asked for by several threads."""
        exposed, row = self.exposed(first, stop)
        contents = self.contents(row) if "contents" in self._needs else no_contents(0)
        own = self._own(first, stop) if "own" in self._needs else no_own(stop - first, self._world.n_propositions)
        holdings = no_holdings(stop - first)
        if "holdings" in self._needs:
            exposures = self._rows if "claim_exposures" in self._needs else None
            holdings = holdings_of(self._world, number, first, stop, self._changes, exposures)
        authors = self._authors(exposed, number, first, stop)
        return frozen_inputs(BeliefInputs(first, exposed, own, holdings, authors, contents, self._hours))

    def _shown_roots(self) -> _Roots:
        rows, row = self._rows, self._rows.per_root["root"]
        at, which = self._world.stances_of(row)
        count = np.bincount(which, minlength=row.size)
        ptr = np.cumsum(count) - count
        proposition, stance = (self._world.post_stances[name][at] for name in ("proposition", "stance"))
        root, some = np.zeros(row.size, _ROOT), count > 0
        root["first"], root["count"] = ptr, count
        root["likes"], root["weight"] = rows.per_root["likes"], rows.per_root["weight"]
        root["proposition"][some], root["stance"][some] = (column[ptr[some]] for column in (proposition, stance))
        return _Roots(count.astype(np.uint16), root, proposition, stance)

    def exposed(self, first: int, stop: int) -> tuple[Exposed, Array]:
        """Return the exposures of a block that take a stance, and which of the rows each is."""
        rows, roots = self._rows, self._roots
        if roots is None:
            return no_exposures(stop - first), np.empty(0, np.int32)
        agent = rows["agent"]
        lo, hi = rows_between(agent, first, stop)
        indptr = lo + offsets(agent[lo:hi], first, stop - first)
        out_ptr = np.zeros(stop - first + 1, np.int64)
        in_parts(_count, stop - first, indptr, rows.index, roots.n_stances, out_ptr)
        np.cumsum(out_ptr, out=out_ptr)
        m = int(out_ptr[-1])
        dtypes = ("i2", "i4", "i2", "i4", "f8", "f8", "i4", "?", "f8", "i4")  # as in Exposed; then the row
        out = tuple(np.empty(m, dtype) for dtype in dtypes)
        shown = _Shown(rows.index, *(rows[name] for name in _Shown._fields[1:]))
        in_parts(_spread, stop - first, indptr, shown, roots, self._credible, self._world.n_propositions, out_ptr, out)
        return Exposed(out_ptr, *out[:-1]), out[-1]

    def contents(self, row: Array) -> Contents:
        """Return what some of the rows say, and the labels beside them."""
        per_root, posts, code = self._rows.per_root, self._world.posts, self._rows.index[row]
        root = per_root["root"]
        is_news = posts["kind"][root] == PostKind.INJECTED
        claim = np.where(is_news, posts["text"][root], NONE).astype(np.int32)
        plausibility = np.where(is_news, posts["plausibility"][root], np.nan)
        verdict, noted = per_root["verdict"].astype(np.uint8), per_root["note"] >= 0
        return Contents(claim[code], plausibility[code], verdict[code], noted[code])

    def _authors(self, exposed: Exposed, number: int, first: int, stop: int) -> Authors:
        """Return what the rule reads of the author of each exposure; follows are those after the step's actions."""
        columns: dict[str, Array] = {}
        if "authors" in self._needs:
            columns["stance"] = self._stances[exposed.author, exposed.proposition]
        if "ties" in self._needs:
            slot = lookup(self._world.follows.blocks[number], exposed.indptr, exposed.author)
            columns["tie"] = (slot >= 0).astype(np.float64)
        if "groups" in self._needs:
            columns["group"], columns["reader_group"] = self._groups[exposed.author], self._groups[first:stop].copy()
        return Authors(columns)

    def _engagement(self) -> tuple[Int32, Int32]:
        """Likes and dislikes accepted this step, by author and proposition of the post: two (n_agents, P) arrays."""
        world, actions, n = self._world, self._actions, self._world.n_propositions
        kind = np.where(actions["status"] == ActionStatus.ACCEPTED, actions["kind"], ActionKind.IGNORE)

        def counted(which: Bool) -> Int32:
            target = actions["target"][which]
            at, post = world.stances_of(target)
            who = world.posts["author"][target[post]].astype(np.int64) * n + world.post_stances["proposition"][at]
            return np.bincount(who, minlength=world.n_agents * n).reshape(world.n_agents, n).astype(np.int32)

        liked = (kind == ActionKind.LIKE) | (kind == ActionKind.LIKE_COMMENT)
        return counted(liked), counted(kind == ActionKind.DISLIKE)

    def _written(self) -> dict[str, Array]:
        """Return stances of the posts and comments of this step, by author, proposition and post."""
        posts, start = self._world.posts, self._world.step_starts[-1]  # posts of the step that is being taken
        written = start + np.flatnonzero(_WRITTEN[posts["kind"][start:]])
        row, which = self._world.stances_of(written)
        post = written[which]
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
        indptr = offsets(self._own_rows["author"][lo:hi], first, stop - first)
        rows = {name: self._own_rows[name][lo:hi] for name in ("proposition", "post", "stance")}
        return Own(likes[first:stop], dislikes[first:stop], indptr, **rows)


class ChosenRule(NamedTuple):
    """A belief rule with its parameters."""

    member: Any
    params: MemberParams

    @property
    def needs(self) -> frozenset[str]:
        """What the rule reads."""
        return frozenset(self.member.needs)


def group_trait(chosen: ChosenRule, bank: QuestionBank) -> int:
    """Return the number of the trait that a rule's setting ``group_by`` names; its answers are the groups.

    Raises
    ------
    ContractError
        The rule has no such setting.
    SettingError
        It names no trait.
    """
    by = getattr(chosen.params, "group_by", None)
    if not isinstance(by, str):
        do = 'add `group_by: str = setting("gender", "...")` to Params'
        raise breach(FAMILY, chosen.member.name, "needs 'groups' without a setting `group_by`", do=do)
    return bank.number_of(by, "beliefs.group_by", SettingError)


def _groups(world: World, trait: int) -> Int16:
    """Return the group of each agent, (n_agents,): its answer, or the band of a number; -1 for none."""
    group, rows = np.full(world.n_agents, NONE, np.int16), world.traits
    assert rows is not None, "kept from the first step on where a rule needs groups"
    of_trait = rows["trait"] == trait
    group[rows["agent"][of_trait]] = world.bank.group_of(trait, rows["value"][of_trait])
    return group


def advance(
    world: World, out: Batches, chosen: ChosenRule, draw: StageDraws, *, with_trail: bool, hours: float
) -> Change:
    """Advance every belief by a step of ``hours``: return the new state, rows of beliefs and the trail.

    Raises
    ------
    ContractError
        The rule returned something else than its contract says, see :func:`townsquare.beliefs.checks.check_result`.
    """
    rule, params = chosen
    trait = group_trait(chosen, world.bank) if "groups" in rule.needs else NONE
    step, inputs = world.step + 1, InputsOfStep(world, out, rule.needs, trait, hours)

    def move(block: tuple[int, int, int]) -> tuple[BeliefState, dict[str, Array], dict[str, Array]]:
        number, first, stop = block
        settings = per_agent(params, stop - first, world.own_settings(first, stop))
        before, given = world.belief[number], inputs.of_block(*block)
        result = call_member(FAMILY, rule.name, "step", lambda: rule.step(before, given, settings, draw))
        after, trail = check_result(rule, before, result, first, world.posts.n)
        met = {} if rule.veracities is None else _rows_of(rule.veracities(after, settings), first, step)
        return after, _rows_of(trail, first, step) if with_trail else {}, met

    moved = each(move, list(spans(world.n_agents)))
    states = [state for state, *_ in moved]
    rows: schema.ByTable = {"beliefs": belief_rows(world, states, step)}
    if with_trail and moved:
        rows["trail"] = PartedRows([trail for _, trail, _ in moved])
    if rule.veracities is not None and moved:
        rows["veracities"] = PartedRows([met for *_, met in moved])
    return Change(rows, belief=tuple(states))


def believed(world: World, shown: schema.Columns, chosen: ChosenRule, draw: StageDraws, hours: float) -> Float:
    """Return how far readers believe the claim of each row of ``shown``, (rows,) log odds, as the rule will judge it.

    NaN where a row makes no claim. ``shown`` are the rows of the table exposures that the step of ``hours`` will have,
    agents ascending; ``draw`` that of the stage in which beliefs move.
    """
    rows, (rule, params) = CodedRows.of(shown), chosen
    root, out = rows.per_root["root"], np.full(rows.n, np.nan)
    claims = (world.posts["kind"][root] == PostKind.INJECTED) & (world.posts["n_stances"][root] > 0)
    at = np.flatnonzero(claims[rows.index])
    if not at.size:
        return out
    step_rows = Batches(world.step + 1)
    step_rows.add({"exposures": rows.take(at)})
    inputs = InputsOfStep(world, step_rows, frozenset({"exposures"}))
    for number, first, stop in spans(world.n_agents):
        settings, state = per_agent(params, stop - first, world.own_settings(first, stop)), world.belief[number]
        exposed, row = inputs.exposed(first, stop)
        own = no_own(stop - first, world.n_propositions)
        given = frozen_inputs(BeliefInputs(first, exposed, own, contents=inputs.contents(row), hours=hours))
        judged = call_member(FAMILY, rule.name, "judge", partial(rule.judge, state, given, settings, draw))
        check_array(FAMILY, rule.name, "judge", judged, np.float64, row.shape)
        out[at[row]] = judged
    return out


def _rows_of(rows: Trail | Veracities, first: int, step: int) -> dict[str, Array]:
    """Return columns of a table of rows of a block whose first agent is ``first``."""
    own = {"step": np.broadcast_to(np.int32(step), rows.agent.shape), "agent": rows.agent + np.int32(first)}
    return {**rows._asdict(), **own}


def belief_rows(world: World, states: list[BeliefState], step: int) -> schema.Columns:
    """Return a row for each person and proposition, by agent and then proposition."""
    persons = np.flatnonzero(world.agents["kind"] == AgentKind.PERSON).astype(np.int32)
    p = world.n_propositions
    stance = np.concatenate([state.stance for state in states])[persons].ravel() if states else np.empty(0)
    confidence = np.concatenate([state.confidence for state in states])[persons].ravel() if states else np.empty(0)
    return schema.rows(
        "beliefs", persons.size * p, step=step, agent=np.repeat(persons, p),
        proposition=np.tile(np.arange(p), persons.size), stance=stance, confidence=confidence,
    )  # fmt: skip
