"""Check what a belief rule returns, in every step of a run and in the conformance check.

One pass over each array. What takes longer, or needs several calls of the rule, is in :mod:`townsquare.testing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numba as nb
import numpy as np

from townsquare.beliefs.arrays import read_only
from townsquare.beliefs.contract import BeliefRule, BeliefState, Trail
from townsquare.core.array_types import Array, Float
from townsquare.core.enums import TrailKind
from townsquare.core.errors import ContractError
from townsquare.core.member_errors import breach, check_array
from townsquare.core.pairs import PairBlock
from townsquare.core.schema import NONE, TABLES

FAMILY = "belief rule"
TOLERANCE = 1e-12
LOG_ODDS = "log_odds"
ANY_POST = int(np.iinfo(np.int32).max)
_DTYPES = {column.name: np.dtype(column.dtype) for column in TABLES["trail"].columns if column.name != "step"}


def check_result(
    rule: BeliefRule, before: BeliefState, result: object, first: int = 0, n_posts: int = ANY_POST
) -> tuple[BeliefState, Trail]:
    """Return what ``step`` returned, if it follows the contract.

    Checked: types, shapes and dtypes; stances in [-1, 1] and confidences in [0, 1], none NaN; the start is unchanged;
    the names and dtypes of what else is kept; the stance of a rule in log odds is that of its log odds; rows of the
    trail name agents of the block, propositions, kinds and posts that there can be, with finite amounts and a
    trust in [0, 1] or NaN; amounts sum, per agent and proposition, to the move.

    Parameters
    ----------
    rule : BeliefRule
        Whose result it is.
    before : BeliefState
        Of the block, before the step.
    result : object
        What came.
    first : int
        Row of agents of the block's first agent, for the message.
    n_posts : int
        How many posts there are.

    Raises
    ------
    ContractError
        Names the rule, the agent and the value.
    """
    parts = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
    after, trail = parts[0], parts[1]
    if not isinstance(after, BeliefState) or not isinstance(trail, Trail):
        raise _breach(rule, f"step returned {type(result).__name__}", "(BeliefState, Trail)")
    check_state(rule, before, after, first)
    _check_trail(rule, before, after, trail, first, n_posts)
    return after, trail


def _breach(rule: BeliefRule, got: str, allowed: str, agent: int | None = None) -> ContractError:
    return breach(FAMILY, rule.name, got, allowed, agent=agent)


def check_state(rule: BeliefRule, before: BeliefState, after: BeliefState, first: int = 0) -> None:
    """Check the state after a step, see :func:`check_result`."""
    shape = before.stance.shape
    check_beliefs(rule, after, shape, first)
    if after.start is not before.start and not np.array_equal(after.start, before.start):
        raise _breach(rule, "step changed start", "the stance at birth")
    had, has = _kinds(before), _kinds(after)
    if had != has:
        words = [{name: str(dtype) for name, dtype in kinds.items()} for kinds in (had, has)]
        got = f"step turned arrays and pairs {words[0]} into {words[1]}"
        raise _breach(rule, got, "the names and dtypes that init gave")


def check_beliefs(rule: BeliefRule, state: object, shape: tuple[int, ...], first: int = 0) -> None:
    """Check the beliefs of a block of ``shape`` (n, P), after ``init`` or ``step``."""
    if not isinstance(state, BeliefState):
        raise _breach(rule, f"a state that is {type(state).__name__}", "BeliefState")
    for name, low in (("stance", -1.0), ("confidence", 0.0), ("start", -1.0)):
        _check_numbers(rule, name, getattr(state, name), low, shape, first)
    arrays: Mapping[str, Any] = state.arrays
    pairs: Mapping[str, Any] = state.pairs
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.shape[:1] != shape[:1]:
            raise _breach(rule, f"array {name!r} has shape {np.shape(array)}", f"first axis {shape[0]}")
    for name, block in pairs.items():
        rows = (int(block.indptr[-1]),) if isinstance(block, PairBlock) and len(block.indptr) else None
        if rows is None or block.n_agents != shape[0] or not block.key.shape == block.value.shape[:1] == rows:
            raise _breach(rule, f"pairs {name!r} are no block of {shape[0]} agents", "rows by agent")
    if rule.unit == "log odds":
        _check_log_odds(rule, state, first)


def _check_numbers(rule: BeliefRule, name: str, array: Any, low: float, shape: tuple[int, ...], first: int) -> None:
    check_array(FAMILY, rule.name, name, array, np.float64, shape)
    if array.size and not (array.min() >= low and array.max() <= 1.0):  # NaN is neither
        row, proposition = (int(at[0]) for at in np.nonzero(~((array >= low) & (array <= 1.0))))
        got = f"{name} leaves its range: {array[row, proposition]} for proposition {proposition}"
        raise _breach(rule, got, f"{low:g} to 1 and no NaN", agent=first + row)


def _check_log_odds(rule: BeliefRule, state: BeliefState, first: int) -> None:
    """Check that a rule in log odds keeps them and that its stance follows from them."""
    odds = state.arrays.get(LOG_ODDS)
    if odds is None or odds.shape != state.stance.shape or odds.dtype != np.float64:
        got = f"unit 'log odds' and arrays {sorted(state.arrays)}"
        raise _breach(rule, got, "an (n, P) float64 array 'log_odds'")
    off = ~(np.abs(state.stance - np.tanh(odds.astype(np.float64) / 2.0)) <= TOLERANCE)
    if off.any():
        row, proposition = (int(at[0]) for at in np.nonzero(off))
        value = f"{state.stance[row, proposition]} at log odds {odds[row, proposition]} for proposition {proposition}"
        raise _breach(rule, f"a stance other than that of its log odds: {value}", "2σ(L) − 1", agent=first + row)


def _kinds(state: BeliefState) -> dict[str, np.dtype[Any]]:
    arrays = {name: array.dtype for name, array in state.arrays.items()}
    return arrays | {f"pairs {name}": block.value.dtype for name, block in state.pairs.items()}


def _check_trail(
    rule: BeliefRule, before: BeliefState, after: BeliefState, trail: Trail, first: int, n_posts: int
) -> None:
    m = np.shape(trail.amount)
    for name, dtype in _DTYPES.items():
        check_array(FAMILY, rule.name, f"trail.{name}", getattr(trail, name), dtype, m if len(m) == 1 else (None,))
    total, size = np.zeros_like(after.stance), np.ones_like(after.stance)
    columns = tuple(read_only(getattr(trail, name), dtype) for name, dtype in _DTYPES.items())
    bad = first_bad_row(columns, len(TrailKind), n_posts, total, size)
    if bad >= 0:
        raise _bad_row(rule, trail, bad, after.stance.shape, first, n_posts)
    old, new = _in_unit(rule, before), _in_unit(rule, after)
    off = np.abs(total - (new - old))
    if not bool((off <= TOLERANCE * (size + np.abs(old))).all()):
        row, proposition = (int(at[0]) for at in np.nonzero(~(off <= TOLERANCE * (size + np.abs(old)))))
        moved, accounted = new[row, proposition] - old[row, proposition], total[row, proposition]
        got = f"the trail does not sum to the move: {accounted} to {moved} for proposition {proposition}"
        raise _breach(rule, got, f"to {TOLERANCE:g} in {rule.unit}", agent=first + row)


def _bad_row(
    rule: BeliefRule, trail: Trail, row: int, shape: tuple[int, ...], first: int, n_posts: int
) -> ContractError:
    """Return which number of a row of the trail is at fault."""
    tops = (("agent", 0, shape[0]), ("proposition", 0, shape[1]), ("kind", 0, len(TrailKind)), ("post", NONE, n_posts))
    agent = None
    for name, least, top in tops:
        value = int(getattr(trail, name)[row])
        if not least <= value < top:
            return _breach(rule, f"trail.{name} outside its range: {value}", f"{least} to {top - 1}", agent=agent)
        agent = first + int(trail.agent[row])
    if not np.isfinite(trail.amount[row]):
        return _breach(rule, f"trail.amount is {trail.amount[row]}", "a finite number", agent=agent)
    got = f"trail.trust outside its range: {trail.trust[row]}"
    return _breach(rule, got, "0 to 1, NaN where there is none", agent=agent)


def _in_unit(rule: BeliefRule, state: BeliefState) -> Float:
    """Return what the trail accounts for."""
    odds: Array = state.stance if rule.unit == "stance" else state.arrays[LOG_ODDS]
    return odds.astype(np.float64, copy=False)


# The compiled part of :mod:`townsquare.beliefs.checks`: a trail has many rows, and NumPy takes a pass a column.


@nb.njit(nogil=True, cache=True)
def first_bad_row(trail: tuple[Array, ...], n_kinds: int, n_posts: int, total: Array, size: Array) -> int:
    """Return the first row that a trail cannot have, -1 if none exists.

    ``trail`` are the seven columns of :class:`townsquare.beliefs.contract.Trail`; ``total`` and ``size`` (n, P) get the
    sum of the amounts, and of their sizes, added. A NaN in ``trust`` represents none.
    """
    agent, proposition, kind, _, post, amount, trust = trail
    for x in range(agent.shape[0]):
        i, p = agent[x], proposition[x]
        there = (i >= 0) & (i < total.shape[0]) & (p >= 0) & (p < total.shape[1])
        known = (kind[x] < n_kinds) & (post[x] >= -1) & (post[x] < n_posts)
        fair = np.isfinite(amount[x]) & (not trust[x] < 0.0) & (not trust[x] > 1.0)
        if not (there & known & fair):
            return x
        total[i, p] += amount[x]
        size[i, p] += abs(amount[x])
    return -1
