"""One shape for everything that a belief rule hands to its compiled kernels.

Numba compiles a kernel anew for every mix of writable and read-only, contiguous and strided arguments. Rules pass
their inputs through here first, so that each kernel is compiled once.

Kernels take these tuples of arrays whole. In a body of ``prange``, a write to a field of a tuple has no effect (Numba
issues 5872, 7135 and 10338): there, unpack the tuple before the loop or call a compiled function with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.contract import AgentParams, BeliefState, Exposed, Float, Own
from townsquare.core.pairs import PairBlock

Any1 = npt.NDArray[Any]


class Shown(NamedTuple):
    """The columns of :class:`~townsquare.beliefs.contract.Exposed` that kernels read; (n + 1,), then (m,) each."""

    indptr: npt.NDArray[np.int64]
    proposition: npt.NDArray[np.int16]
    stance: Float
    likes: npt.NDArray[np.int32]
    first_seen: npt.NDArray[np.bool_]
    weight: Float


class Written(NamedTuple):
    """The columns of :class:`~townsquare.beliefs.contract.Own` that kernels read; (n + 1,), (k,), (k,), then (n, P)."""

    indptr: npt.NDArray[np.int64]
    proposition: npt.NDArray[np.int16]
    stance: Float
    likes: npt.NDArray[np.int32]
    dislikes: npt.NDArray[np.int32]


class Held(NamedTuple):
    """What a block believes before the step; each (n, P) float64."""

    stance: Float
    confidence: Float
    start: Float


class Moved(NamedTuple):
    """What a kernel writes: the belief after the step, and each part of the move.

    ``stance``, ``confidence``, ``anchor`` and ``clip`` are (n, P); ``exposure`` and ``trust`` (as read) are (m,) and
    ``own`` is (k,). All float64; the parts of an agent and proposition sum to its move.
    """

    stance: Float
    confidence: Float
    exposure: Float
    trust: Float
    own: Float
    anchor: Float
    clip: Float


def read_only(array: npt.ArrayLike, dtype: npt.DTypeLike) -> Any1:
    """``array`` as a contiguous read-only view of ``dtype``; copies only where dtype or layout differ.

    >>> import numpy as np
    >>> read_only(np.zeros(2), "f8").flags.writeable
    False
    """
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def settings(params: AgentParams, names: tuple[str, ...], n_agents: int) -> Float:
    """The settings ``names`` as columns, float64: one row an agent, or a single row where all agents share them.

    Kernels read row ``i % rows``, so that a million agents with equal settings cost no million rows.

    >>> import numpy as np
    >>> settings({"pull": np.array([0.1, 0.2]), "anchor": np.zeros(2)}, ("pull", "anchor"), 2)
    array([[0.1, 0. ],
           [0.2, 0. ]])
    """
    values = [np.asarray(params[name], dtype=np.float64) for name in names]
    shared = all(value.strides in ((), (0,)) for value in values)
    rows = min(n_agents, 1) if shared else n_agents
    out = np.zeros((max(rows, 1), len(names)))
    for column, value in enumerate(values):
        out[:rows, column] = value.ravel()[:rows] if shared else value
    return read_only(out, np.float64)


def shown(exposures: Exposed) -> Shown:
    """What kernels read of the exposures."""
    return Shown(
        read_only(exposures.indptr, np.int64),
        read_only(exposures.proposition, np.int16),
        read_only(exposures.stance, np.float64),
        read_only(exposures.likes, np.int32),
        read_only(exposures.first_seen, np.bool_),
        read_only(exposures.weight, np.float64),
    )


def written(own: Own) -> Written:
    """What kernels read of the agents' own posts."""
    return Written(
        read_only(own.indptr, np.int64),
        read_only(own.proposition, np.int16),
        read_only(own.stance, np.float64),
        read_only(own.likes, np.int32),
        read_only(own.dislikes, np.int32),
    )


def held(state: BeliefState) -> Held:
    """What kernels read of the state."""
    return Held(
        read_only(state.stance, np.float64),
        read_only(state.confidence, np.float64),
        read_only(state.start, np.float64),
    )


def unmoved(state: BeliefState, n_rows: int, n_own: int) -> Moved:
    """Room for a kernel's results: stance and confidence still to be written, every part of the move 0, trust NaN."""
    shape = state.stance.shape
    return Moved(
        stance=np.empty(shape),
        confidence=np.empty(shape),
        exposure=np.zeros(n_rows),
        trust=np.full(n_rows, np.nan),
        own=np.zeros(n_own),
        anchor=np.zeros(shape),
        clip=np.zeros(shape),
    )


def frozen_state(state: BeliefState) -> BeliefState:
    """Make the arrays of a state read-only, and return the state."""
    for array in (state.stance, state.confidence, state.start, *state.arrays.values()):
        array.flags.writeable = False
    return state


def slice_state(state: BeliefState, lo: int, hi: int) -> BeliefState:
    """Return the agents ``lo`` to ``hi`` (excluded) of a state, as views."""

    def cut(block: PairBlock) -> PairBlock:
        a, b = int(block.indptr[lo]), int(block.indptr[hi])
        return PairBlock(block.indptr[lo : hi + 1] - a, block.key[a:b], block.value[a:b])

    return BeliefState(
        stance=state.stance[lo:hi],
        confidence=state.confidence[lo:hi],
        start=state.start[lo:hi],
        arrays={name: array[lo:hi] for name, array in state.arrays.items()},
        pairs={name: cut(block) for name, block in state.pairs.items()},
    )


def join_states(one: BeliefState, two: BeliefState) -> BeliefState:
    """Return the agents of one state followed by those of another, copied."""

    def both(a: PairBlock, b: PairBlock) -> PairBlock:
        indptr = np.concatenate([a.indptr, b.indptr[1:] + a.indptr[-1]])
        return PairBlock(indptr, np.concatenate([a.key, b.key]), np.concatenate([a.value, b.value]))

    return BeliefState(
        stance=np.concatenate([one.stance, two.stance]),
        confidence=np.concatenate([one.confidence, two.confidence]),
        start=np.concatenate([one.start, two.start]),
        arrays={name: np.concatenate([one.arrays[name], two.arrays[name]]) for name in one.arrays},
        pairs={name: both(one.pairs[name], two.pairs[name]) for name in one.pairs},
    )
