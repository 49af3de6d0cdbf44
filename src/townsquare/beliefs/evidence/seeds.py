"""Seed records: choose the arguments of a bank that add up to an agent's starting stance.

The seeds are the prior of the Belief Engine (section 3.1): no intercept stands beside them, so a target can only be met
as far as their number, their strengths and the anchoring let it. Ten records at a = 0.20 reach 0.72 at most. What was
attained is returned, to be recorded and to be looked at before two arms are compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.beliefs.equation import (
    STANCE_MARGIN,
    contribution,
    contributions,
    log_odds_at,
    stance_at,
    stances_of,
    sum_of,
)
from townsquare.beliefs.evidence.conflict import check_records
from townsquare.core.array_types import Float, Int64
from townsquare.core.draws import U64
from townsquare.core.errors import DataError, SettingError
from townsquare.core.threads import Part, in_parts

DEFAULT_SEEDS = 10
"""n of the paper's table A5."""
TOLERANCE = 0.01
"""A start within this distance of its target, in stance, is met."""


class Seeds(NamedTuple):
    """The seeds of one agent: ``chosen`` (n,) int64 places in the bank, ascending, and the stance they attain."""

    chosen: Int64
    log_odds: float
    stance: float


def choose_seeds(
    polarity: npt.ArrayLike,
    strength: npt.ArrayLike,
    target: float,
    anchoring: float,
    *,
    number: int = DEFAULT_SEEDS,
    prior_scale: float = 1.0,
    order: npt.ArrayLike | None = None,
    where: str = "argument bank",
) -> Seeds:
    """Return which arguments of a bank bring an agent nearest to a stance.

    From the first ``number`` in ``order``, arguments are exchanged one at a time, each time the pair that brings the
    log odds nearest to those of the target, until the stance is within :data:`TOLERANCE` or no exchange helps. So
    agents with different orders hold different seeds, and an order that already fits is kept.

    Parameters
    ----------
    polarity, strength : (m,)
        Of the bank's arguments on one proposition: -1 or +1, [0, 1].
    target : float
        S₀ in [-1, 1]; its log odds are taken at ±(1 - ε) at most.
    anchoring : float
        a, at least 0; not bounded by 1.
    number : int
        Seeds to choose, from 1 to m.
    prior_scale : float
        Factor on what each seed adds to the log odds; 1 is Equation 1.
    order : (m,), optional
        Ranks of the arguments for this agent, smallest first; by default their order in the bank. 64-bit draws are
        allowed, and equal values too.
    where : str
        For the messages.

    Raises
    ------
    DataError
        A side of the bank is empty, an argument has no polarity, or a strength is outside [0, 1].
    SettingError
        ``number`` is not from 1 to m.

    Examples
    --------
    >>> seeds = choose_seeds([1, 1, 1, -1, -1], [0.9, 0.5, 0.3, 0.8, 0.2], 0.2, 0.7, number=3)
    >>> seeds.chosen.tolist(), round(seeds.stance, 3)
    ([1, 2, 4], 0.178)
    """
    ranked = np.argsort(np.arange(np.size(polarity)) if order is None else np.asarray(order), kind="stable")
    keys = np.argsort(ranked, kind="stable").astype(U64)[None]
    own = [target], [anchoring], keys
    chosen = choose_for_many(polarity, strength, *own, number=number, prior_scale=prior_scale, where=where)[0]
    total = sum_of(prior_scale * contributions(np.asarray(polarity)[chosen], np.asarray(strength)[chosen], anchoring))
    return Seeds(chosen, total, float(stances_of([total])[0]))


def check_bank(
    polarity: npt.ArrayLike, strength: npt.ArrayLike, where: str = "argument bank"
) -> tuple[npt.NDArray[np.int8], Float]:
    """Return the columns of a proposition's arguments if each has polarity and strength and both sides occur.

    Raises
    ------
    DataError
        ``where``, with the side that is empty or the argument at fault, from 0.
    """
    sign, strong = (np.atleast_1d(np.asarray(column, np.float64)) for column in (polarity, strength))
    if sign.shape != strong.shape or sign.ndim != 1:
        allowed = "one polarity and one strength for each argument"
        raise DataError(where, got=f"{sign.shape} polarities and {strong.shape} strengths", allowed=allowed)
    check_records(sign, strong, where)
    for side, word in ((1, "for"), (-1, "against")):
        if not (sign == side).any():
            do = "add some, or start from stated stances (`beliefs.start: stated`)"
            raise DataError(where, got=f"no argument {word}", allowed="at least one on each side", do=do)
    return sign.astype(np.int8), np.ascontiguousarray(strong)


def check_number(number: int, size: int, where: str = "argument bank") -> None:
    """Refuse to choose more seeds than there are arguments, or none."""
    if not 1 <= number <= size:
        allowed = f"1 to {size}, the arguments of the {where}"
        raise SettingError("number of seeds", got=str(number), allowed=allowed, do="add arguments or take fewer seeds")


@nb.njit(cache=True, error_model="numpy")
def _choose(amounts: Float, target: float, chosen: Int64) -> None:
    """Fill ``chosen`` with rows of ``amounts``, which is in the agent's own order."""
    n, m = chosen.shape[0], amounts.shape[0]
    wanted = log_odds_at(target, 1.0, STANCE_MARGIN)
    used = np.zeros(m, np.bool_)
    total = 0.0
    for x in range(n):
        chosen[x] = x
        used[x] = True
        total += amounts[x]
    while abs(stance_at(total) - stance_at(wanted)) > TOLERANCE:
        best, out, new = abs(total - wanted) - 1e-9, -1, -1
        for x in range(n):
            for y in range(m):
                if not used[y]:
                    off = abs(total - amounts[chosen[x]] + amounts[y] - wanted)
                    if off < best:
                        best, out, new = off, x, y
        if out < 0:
            break
        total += amounts[new] - amounts[chosen[out]]
        used[chosen[out]], used[new] = False, True
        chosen[out] = new


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _choose_many(
    part: Part, sign: npt.NDArray[np.int8], strong: Float, anchoring: Float, scale: float, keys: npt.NDArray[U64],
    target: Float, chosen: Int64,
) -> None:  # fmt: skip
    for i in range(part.start, part.stop):
        order = np.argsort(keys[i], kind="mergesort")
        ranked = np.empty(order.shape[0])
        for x in range(order.shape[0]):
            ranked[x] = scale * contribution(sign[order[x]], strong[order[x]], anchoring[i])
        _choose(ranked, target[i], chosen[i])
        for x in range(chosen.shape[1]):
            chosen[i, x] = order[chosen[i, x]]
        chosen[i].sort()


def choose_for_many(
    polarity: npt.ArrayLike,
    strength: npt.ArrayLike,
    target: npt.ArrayLike,
    anchoring: npt.ArrayLike,
    keys: npt.NDArray[U64],
    *,
    number: int = DEFAULT_SEEDS,
    prior_scale: float = 1.0,
    where: str = "argument bank",
) -> Int64:
    """Run :func:`choose_seeds` for n agents: ``target`` (n,), ``keys`` (n, m) uint64 draws that order the bank.

    ``anchoring`` is one number, or (n,).

    Returns
    -------
    (n, number) int64
        Places in the bank, ascending for each agent.
    """
    sign, strong = check_bank(polarity, strength, where)
    check_number(number, sign.size, where)
    wanted = np.ascontiguousarray(target, np.float64)
    anchorings = np.ascontiguousarray(np.broadcast_to(np.asarray(anchoring, np.float64), wanted.shape))
    chosen = np.empty((wanted.size, number), np.int64)
    if wanted.size:
        order = np.ascontiguousarray(keys, U64)
        in_parts(_choose_many, wanted.size, sign, strong, anchorings, float(prior_scale), order, wanted, chosen)
    return chosen
