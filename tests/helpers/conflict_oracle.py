"""The plain form of conflict resolution (seeds, section 3.1 and appendix B), for one agent and one claim at a time.

A new record is compared with the active records of its proposition and polarity. The nearest by cosine decides: below
the threshold θ the new record stays active beside it; at or above θ only the stronger of the two does, and a tie keeps
the old one. What is archived stays on record. Tests hold
:mod:`townsquare.beliefs.evidence.holding_kernels` to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.evidence.conflict import check_records, check_theta


class Resolved(NamedTuple):
    """What came of a new record.

    Attributes
    ----------
    active : bool
        Whether the new record is active; if not, it is archived at once, and ``nearest`` is the one that stood.
    archived : int
        Place of the held record that it replaced; -1 if none.
    nearest : int
        Place of the nearest active record of its polarity; -1 if there is none.
    similarity : float
        Its cosine, -1 to 1; NaN if there is none.
    """

    active: bool
    archived: int
    nearest: int
    similarity: float


def resolve_conflict(
    similarity: npt.ArrayLike,
    polarity: npt.ArrayLike,
    strength: npt.ArrayLike,
    active: npt.ArrayLike,
    new_polarity: int,
    new_strength: float,
    theta: float,
) -> Resolved:
    """Whether a new record becomes active, and which held one it replaces.

    Parameters
    ----------
    similarity : (k,) float64
        Cosine of the new claim with each held record of the proposition.
    polarity, strength, active : (k,)
        Of the held records: -1 or +1, [0, 1], bool.
    new_polarity : int
        -1 or +1.
    new_strength : float
        [0, 1].
    theta : float
        Threshold in (0, 1]: that of own claims for what the agent said itself.

    Raises
    ------
    DataError
        A polarity other than -1 and +1, or a strength outside [0, 1].
    SettingError
        θ outside (0, 1].

    Examples
    --------
    The stronger paraphrase replaces the weaker one; a tie keeps what was there.

    >>> resolve_conflict([0.9, 0.2], [1, 1], [0.4, 0.8], [True, True], 1, 0.5, 0.8)
    Resolved(active=True, archived=0, nearest=0, similarity=0.9)
    >>> resolve_conflict([0.9, 0.2], [1, 1], [0.5, 0.8], [True, True], 1, 0.5, 0.8)
    Resolved(active=False, archived=-1, nearest=0, similarity=0.9)
    """
    check_theta(theta)
    near = np.asarray(similarity, np.float64)
    held = np.asarray(strength, np.float64)
    check_records(np.append(np.asarray(polarity), new_polarity), np.append(held, new_strength))
    same = np.flatnonzero(np.asarray(active, np.bool_) & (np.asarray(polarity) == new_polarity))
    if not same.size:
        return Resolved(True, -1, -1, float("nan"))
    nearest = int(same[np.argmax(near[same])])  # the first of equals: the one that was held first
    cosine = float(near[nearest])
    if cosine < theta:
        return Resolved(True, -1, nearest, cosine)
    if new_strength > held[nearest]:
        return Resolved(True, nearest, nearest, cosine)
    return Resolved(False, -1, nearest, cosine)
