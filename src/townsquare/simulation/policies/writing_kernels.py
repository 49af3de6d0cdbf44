"""The compiled part of what agents write: the choice of an argument."""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from townsquare.core.array_types import Array
from townsquare.core.draws import U64, key2, mix, u01
from townsquare.core.threads import Part

_GOLDEN = U64(0x9E3779B97F4A7C15)


@nb.njit(nogil=True, cache=True, error_model="numpy")
def choose_arguments(
    part: Part, agents: Array, keys: Array, stance: Array, ptr: Array, entry: Array, stance_of: Array,
    proposition: Array, side: float, width: float, side_base: U64, base: U64, out: Array,
) -> None:  # fmt: skip
    """Draw an entry of the argument bank for each writer; -1 where the proposition has none.

    The side is for with chance (1 + side S)/2; within it entries are drawn with weight exp(-|s - S|/width), as the
    largest of keyed Gumbel draws. ``ptr`` (P + 1,) and ``entry`` list the bank by proposition.
    """
    for i in range(part.start, part.stop):
        p = proposition[i]
        out[i] = -1
        if p < 0:
            continue
        pro = u01(key2(side_base, agents[i], keys[i])) < (1.0 + side * stance[i]) / 2.0
        start = key2(base, agents[i], keys[i])
        for side_wanted in (pro, not pro):  # the other side only where there is none on this
            best = -np.inf
            for x in range(ptr[p], ptr[p + 1]):
                j = entry[x]
                if (stance_of[j] > 0.0) == side_wanted:
                    u = u01(mix(start + U64(j + 1) * _GOLDEN)) + 5e-17
                    value = -abs(stance_of[j] - stance[i]) / width - math.log(-math.log(u))
                    if value > best:
                        best, out[i] = value, j
            if out[i] >= 0:
                break
