"""Retrieve an agent's strongest active records when it speaks (seeds, section 3.1, Compose response).

The k slots are shared in proportion to how many active records are for and against, so that retrieval follows the
evidence and not the stance. The paper rounds k₊ = round(k n₊ / (n₊ + n₋)) without saying what becomes of halves; here
an exact half goes to the side with fewer records, and between equal sides to the one whose strongest record is
stronger, else to the side for. Swapping the sides swaps the slots, so that rounding favors neither.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Bool, Float, Int64
from townsquare.core.errors import SettingError

DEFAULT_SLOTS = 5
"""k of the paper's table A5."""


def slots(n_pro: int, n_con: int, k: int = DEFAULT_SLOTS, *, pro_stronger: bool = True) -> tuple[int, int]:
    """Return how many of ``k`` slots go to records for and against.

    Parameters
    ----------
    n_pro, n_con : int
        Active records for and against, at least 0. With none at all the split is even.
    k : int
        At least 0.
    pro_stronger : bool
        Which side gets the half that is left between equal sides.

    Examples
    --------
    >>> slots(8, 2), slots(9, 1), slots(1, 9), slots(3, 3), slots(3, 3, pro_stronger=False), slots(0, 0)
    ((4, 1), (4, 1), (1, 4), (3, 2), (2, 3), (3, 2))
    """
    if k < 0:
        raise SettingError("retrieved records", got=str(k), allowed="a whole number of at least 0")
    if n_pro + n_con == 0:
        n_pro = n_con = 1
    whole, rest = divmod(k * n_pro, n_pro + n_con)
    half = 2 * rest - (n_pro + n_con)
    up = half > 0 or (half == 0 and (n_pro < n_con or (n_pro == n_con and pro_stronger)))
    pro = whole + int(up)
    return pro, k - pro


def retrieve(polarity: npt.ArrayLike, strength: npt.ArrayLike, active: npt.ArrayLike, k: int = DEFAULT_SLOTS) -> Int64:
    """Return places of the records to speak from: the strongest for, then the strongest against.

    Parameters
    ----------
    polarity, strength, active : (n,)
        Of one agent's records of one proposition: -1 or +1, [0, 1], bool.
    k : int
        Slots.

    Returns
    -------
    (at most k,) int64
        Strongest first within each side, equal ones in the order given. A side with fewer records than slots leaves
        slots empty: they do not go to the other side.

    Examples
    --------
    >>> retrieve([1, 1, 1, -1, 1], [0.2, 0.9, 0.5, 0.4, 0.8], [True, True, True, True, False], k=3).tolist()
    [1, 2, 3]
    """
    sign, strong, alive = np.asarray(polarity), np.asarray(strength, np.float64), np.asarray(active, np.bool_)
    pro, con = (_strongest_first(strong, alive & (sign == side)) for side in (1, -1))
    best_pro, best_con = (float(strong[side[0]]) if side.size else -1.0 for side in (pro, con))
    n_pro, n_con = slots(pro.size, con.size, k, pro_stronger=best_pro >= best_con)
    return np.concatenate([pro[:n_pro], con[:n_con]])


def _strongest_first(strength: Float, mask: Bool) -> Int64:
    at = np.flatnonzero(mask)
    return at[np.argsort(-strength[at], kind="stable")].astype(np.int64)
