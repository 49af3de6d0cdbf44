"""Keyed draws: every random number is a pure function of what it is for.

A draw depends on (seed, stage, step, purpose, agent, key) and on nothing else: not on the order in which draws are
made, on how many others there are, or on the block of agents that is being worked on. So a new agent, a new row of a
feed or a new kind of action shifts nobody else's draws, and the arms of a comparison share theirs.

The generator is a finalizer of SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number
generators") applied twice, once for the agent and once for the key. All of it is integer arithmetic modulo 2**64 but
for the last scaling by 2**-53, so that draws are equal on every machine. Kernels call :func:`key2` and :func:`u01`
themselves with a base made by :meth:`StageDraws.base`; they are tested against the NumPy form,
:func:`uniform_oracle`.
"""

from __future__ import annotations

import hashlib
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from townsquare.core.array_types import Float, Int64
from townsquare.core.threads import Part, in_parts

U64 = np.uint64
GOLDEN = U64(0x9E3779B97F4A7C15)
_MIX1 = U64(0xBF58476D1CE4E5B9)
_MIX2 = U64(0x94D049BB133111EB)
_MASK = (1 << 64) - 1
_SCALE = 1.0 / 9007199254740992.0  # 2**-53
LEAST = 2.0**-54  # half a unit of the draws: a draw of 0 would be an infinite normal


class Stage(IntEnum):
    """Who draws. Numbers are part of every run's identity: never renumber, only append."""

    POPULATION = 1
    GRAPH = 2
    ARRIVE = 3
    ORDER = 4
    FEED = 5
    POLICY = 6
    MODERATE = 7
    EVIDENCE = 8
    BELIEF = 9
    MEMORY = 10
    SCENARIO = 11
    DEBATE = 12


@nb.njit(inline="always", cache=True)
def mix(z: U64) -> U64:
    """Return one SplitMix64 finalizer of a uint64."""
    z = (z ^ (z >> U64(30))) * _MIX1
    z = (z ^ (z >> U64(27))) * _MIX2
    return z ^ (z >> U64(31))


@nb.njit(inline="always", cache=True)
def key2(base: U64, agent: int, key: U64) -> U64:
    """Return the 64 bits for (base, agent, key). ``agent`` is any integer, ``key`` a uint64."""
    return mix(mix(base + U64(agent) * GOLDEN) ^ key)


@nb.njit(inline="always", cache=True)
def key1(base: U64, agent: int) -> U64:
    """Return the agent's part of a draw: ``mix(key1(base, agent) ^ key)`` is ``key2(base, agent, key)``.

    For kernels that draw by many keys for one agent.
    """
    return mix(base + U64(agent) * GOLDEN)


@nb.njit(inline="always", cache=True)
def u01(bits: U64) -> float:
    """Return a float64 in [0, 1) from 64 bits."""
    return float(bits >> U64(11)) * _SCALE


def _mix_int(z: int) -> int:
    z = ((z ^ (z >> 30)) * int(_MIX1)) & _MASK
    z = ((z ^ (z >> 27)) * int(_MIX2)) & _MASK
    return z ^ (z >> 31)


@lru_cache(maxsize=4096)
def text_key(text: str) -> int:
    """Return a stable 64-bit key of a text (BLAKE2b); never Python's salted ``hash``.

    >>> text_key("like") == text_key("like"), text_key("like") == text_key("share")
    (True, False)
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def chain(*words: int) -> int:
    """Mix whole numbers, in order, into one 64-bit key.

    >>> chain(1, 2) != chain(2, 1)
    True
    """
    z = 0
    for word in words:
        z = _mix_int((z + ((word + 1) & _MASK) * int(GOLDEN)) & _MASK)
    return z


@lru_cache(maxsize=4096)
def _base(seed: int, stage: Stage, step: int, purpose: str) -> U64:
    return U64(chain(seed, stage, step, text_key(purpose)))


@nb.njit(nogil=True, cache=True)
def _fill_bits(part: Part, base: U64, agents: Int64, keys: npt.NDArray[U64], out: npt.NDArray[U64]) -> None:
    for i in range(part.start, part.stop):
        out[i] = key2(base, agents[i], keys[i])


def bits_oracle(base: U64, agents: Int64, keys: npt.NDArray[U64]) -> npt.NDArray[U64]:
    """Return the same bits as the compiled draw, by NumPy: :func:`mix` without compilation, on arrays."""
    kernel: Any = mix
    finalize = kernel.py_func
    with np.errstate(over="ignore"):
        agent_bits = finalize(base + agents.astype(np.int64).astype(U64) * GOLDEN)
        return np.asarray(finalize(agent_bits ^ keys.astype(U64)), U64)


def uniform_oracle(base: U64, agents: Int64, keys: npt.NDArray[U64]) -> Float:
    """Return the same numbers as :meth:`StageDraws.uniform`, by NumPy."""
    return (bits_oracle(base, agents, keys) >> U64(11)).astype(np.float64) * _SCALE


class StageDraws:
    """The draws of one stage in one step.

    ``lasting=True`` draws with step 0, for properties that must not depend on when they are asked for: a verdict, an
    activity, a persona, the member of a mix.
    """

    __slots__ = ("seed", "stage", "step")

    def __init__(self, seed: int, stage: Stage, step: int) -> None:
        self.seed, self.stage, self.step = seed, stage, step

    def base(self, purpose: str, *, lasting: bool = False) -> U64:
        """Return the uint64 that kernels pass to :func:`key2` for ``purpose``."""
        return _base(self.seed, self.stage, 0 if lasting else self.step, purpose)

    def bits(
        self, purpose: str, agents: npt.ArrayLike, keys: npt.ArrayLike = 0, *, lasting: bool = False
    ) -> npt.NDArray[U64]:
        """Return 64 random bits for each (agent, key); ``agents`` and ``keys`` broadcast to one (n,) shape."""
        wide = np.asarray(agents, dtype=np.int64)
        key = np.asarray(keys).astype(U64)
        pair = np.broadcast_arrays(np.atleast_1d(wide), np.atleast_1d(key))
        out = np.empty(pair[0].shape[0], dtype=U64)
        columns = (np.ascontiguousarray(column) for column in pair)
        in_parts(_fill_bits, out.shape[0], self.base(purpose, lasting=lasting), *columns, out)
        return out

    def uniform(self, purpose: str, agents: npt.ArrayLike, keys: npt.ArrayLike = 0, *, lasting: bool = False) -> Float:
        """Return uniform float64 in [0, 1) for each (agent, key), shape (n,).

        >>> draw = Draws(7, 3)(Stage.FEED)
        >>> all_three = draw.uniform("pool", [1, 2, 3])
        >>> bool(draw.uniform("pool", [2])[0] == all_three[1])
        True
        """
        return (self.bits(purpose, agents, keys, lasting=lasting) >> U64(11)).astype(np.float64) * _SCALE

    def normal(self, purpose: str, agents: npt.ArrayLike, keys: npt.ArrayLike = 0, *, lasting: bool = False) -> Float:
        """Return standard normal float64 for each (agent, key), shape (n,), by inverse of the distribution function."""
        u = self.uniform(purpose, agents, keys, lasting=lasting)
        return np.asarray(ndtri(np.maximum(u, LEAST)))

    def integers(
        self, purpose: str, agents: npt.ArrayLike, keys: npt.ArrayLike, high: npt.ArrayLike, *, lasting: bool = False
    ) -> Int64:
        """Whole numbers in [0, high) for each (agent, key); ``high`` broadcasts and is at least 1."""
        u = self.uniform(purpose, agents, keys, lasting=lasting)
        top = np.asarray(high, dtype=np.int64)
        return np.minimum((u * top).astype(np.int64), top - 1)


class Draws:
    """All draws of one step of one run: ``Draws(seed, step)(Stage.FEED)``."""

    __slots__ = ("seed", "step")

    def __init__(self, seed: int, step: int) -> None:
        self.seed, self.step = seed, step

    def __call__(self, stage: Stage) -> StageDraws:
        return StageDraws(self.seed, stage, self.step)
