"""Arrays as belief rules hand them to compiled kernels.

Numba compiles a kernel again for every mix of writable and read-only, contiguous and strided arguments. Rules pass
their inputs through here first, so that each kernel is compiled once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.contract import DTYPES, AgentParams, BeliefInputs, BeliefState
from townsquare.core.array_types import Array, Float, Int64
from townsquare.core.pairs import PairBlock

Table = npt.NDArray[np.void]
"""Settings by name: one record an agent, or one record for all."""
AgentSettings = Any
"""One record of a table of settings; kernels read its fields by name."""


class Beliefs(NamedTuple):
    """Beliefs of a block before the step; each (n, P) float64."""

    stance: Float
    confidence: Float
    start: Float


Columns = TypeVar("Columns", bound=NamedTuple)


class Moved(NamedTuple):
    """Output of a kernel: the belief after the step, and each part of the move.

    ``stance``, ``confidence``, ``anchor`` and ``clip`` are (n, P); ``exposure`` and ``trust`` (as read) are (m,) and
    ``own`` is (k,). All float64; the parts of an agent and proposition sum to its move. ``retracted`` is (m,), or (0,)
    of a rule that takes nothing back.
    """

    stance: Float
    confidence: Float
    exposure: Float
    trust: Float
    own: Float
    anchor: Float
    clip: Float
    retracted: Float


def read_only(array: npt.ArrayLike, dtype: npt.DTypeLike) -> Array:
    """Return ``array`` as a contiguous read-only view of ``dtype``; copies only where dtype or layout differ.

    >>> import numpy as np
    >>> read_only(np.zeros(2), "f8").flags.writeable
    False
    """
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def columns(kind: type[Columns], part: object) -> Columns:
    """Return the columns of ``part`` that ``kind`` names, each as :func:`read_only` of its dtype."""
    return kind._make(read_only(getattr(part, name), DTYPES[name]) for name in kind._fields)


def pairs_of(block: PairBlock) -> PairBlock:
    """Return the same pairs with float64 values, each array as :func:`read_only`."""
    parts: tuple[Array, ...] = block
    return PairBlock(*(read_only(column, dtype) for column, dtype in zip(parts, ("i8", "i4", "f8"), strict=True)))


def settings(params: AgentParams, names: tuple[str, ...], n_agents: int) -> Table:
    """Return the settings ``names`` as records, float64: one an agent, or a single one where all agents share them.

    Kernels read record ``i % rows``, so that a million agents with equal settings cost no million records. A limit that
    is not set is infinite; a switch is 0 or 1.

    >>> import numpy as np
    >>> settings({"pull": np.array([0.1, 0.2]), "anchor": np.zeros(2)}, ("pull", "anchor"), 2)["pull"]
    array([0.1, 0.2])
    """
    values = [np.asarray(np.inf if params[name] is None else params[name], dtype=np.float64) for name in names]
    shared = all(value.strides in ((), (0,)) for value in values)
    rows = min(n_agents, 1) if shared else n_agents
    table = np.zeros(max(rows, 1), np.dtype([(name, np.float64) for name in names], align=True))
    for name, value in zip(names, values, strict=True):
        table[name][:rows] = value.ravel()[:rows] if shared else value
    return read_only(table, table.dtype)


def unmoved(state: BeliefState, n_rows: int, n_own: int) -> Moved:
    """Return arrays for a kernel's results: stance and confidence unset, parts of the move 0, trust NaN."""
    shape = state.stance.shape
    parts = np.zeros(n_rows), np.full(n_rows, np.nan), np.zeros(n_own), np.zeros(shape), np.zeros(shape), np.zeros(0)
    return Moved(np.empty(shape), np.empty(shape), *parts)


def frozen_state(state: BeliefState) -> BeliefState:
    """Make the arrays of a state read-only, and return the state."""
    for array in (state.stance, state.confidence, state.start, *state.arrays.values()):
        array.flags.writeable = False
    return state


def frozen_inputs(inputs: BeliefInputs) -> BeliefInputs:
    """Make the arrays of inputs read-only, and return the inputs."""
    for _, array in leaves(inputs):
        array.flags.writeable = False
    return inputs


def leaves(value: object, name: str = "") -> list[tuple[str, Array]]:
    """Return every array in a state, inputs or settings, with a name to report it by."""
    if isinstance(value, np.ndarray):
        return [(name, value)]
    if isinstance(value, Mapping):
        parts = list(value.items())
    elif isinstance(value, tuple):
        parts = list(zip(value._fields, value, strict=True))  # type: ignore[attr-defined]
    elif is_dataclass(value):
        parts = [(field.name, getattr(value, field.name)) for field in fields(value)]
    else:
        return []
    return [leaf for field, part in parts for leaf in leaves(part, f"{name}.{field}" if name else str(field))]


def owners(indptr: Int64) -> Int64:
    """Return whose row each row of a CSR is."""
    return np.repeat(np.arange(indptr.shape[0] - 1), np.diff(indptr))


def offsets_of(counts: npt.ArrayLike) -> Int64:
    """Return the row pointers of a CSR from how many rows each has."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def gather(indptr: Int64, agents: Int64) -> tuple[Int64, Int64]:
    """Return the CSR of ``agents``, in that order, and which rows of the old one it takes.

    >>> [part.tolist() for part in gather(np.array([0, 2, 3]), np.array([1, 0]))]
    [[0, 1, 3], [2, 0, 1]]
    """
    counts = np.diff(indptr)[agents]
    offsets = offsets_of(counts)
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    return offsets, np.repeat(indptr[:-1][agents], counts) + within


def take_state(state: BeliefState, agents: Int64) -> BeliefState:
    """Return the beliefs of ``agents`` alone, in that order."""

    def taken(block: PairBlock) -> PairBlock:
        offsets, rows = gather(block.indptr, agents)
        return PairBlock(offsets, block.key[rows], block.value[rows])

    beliefs = Beliefs(*(getattr(state, name)[agents] for name in Beliefs._fields))
    arrays = {name: array[agents] for name, array in state.arrays.items()}
    pairs = {name: taken(block) for name, block in state.pairs.items()}
    return BeliefState(*beliefs, arrays, pairs)


def join_states(first: BeliefState, second: BeliefState) -> BeliefState:
    """Return the agents of one state followed by those of another, copied."""

    def both(a: PairBlock, b: PairBlock) -> PairBlock:
        indptr = np.concatenate([a.indptr, b.indptr[1:] + a.indptr[-1]])
        return PairBlock(indptr, np.concatenate([a.key, b.key]), np.concatenate([a.value, b.value]))

    joined = (np.concatenate([getattr(first, name), getattr(second, name)]) for name in Beliefs._fields)
    beliefs = Beliefs(*joined)
    arrays = {name: np.concatenate([first.arrays[name], second.arrays[name]]) for name in first.arrays}
    pairs = {name: both(first.pairs[name], second.pairs[name]) for name in first.pairs}
    return BeliefState(*beliefs, arrays, pairs)
