"""Conflict resolution (seeds, section 3.1 and appendix B): of near-duplicates only the stronger stays active.

A new record is compared with the active records of its proposition and polarity. The nearest by cosine decides: below
the threshold θ the new record stays active beside it; at or above θ only the stronger of the two does, and a tie keeps
the old one. What is archived stays on record. This is the plain form, for one agent; many agents at a time go
through :mod:`townsquare.simulation.evidence.holdings_kernel`, which tests hold to this one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.core.errors import DataError, SettingError


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


def check_theta(theta: float, where: str = "theta") -> None:
    """Refuse a threshold outside (0, 1].

    >>> check_theta(0.0)
    Traceback (most recent call last):
    ...
    townsquare.core.errors.SettingError: theta: got 0.0; allowed: a number above 0 and at most 1
    """
    if not 0.0 < theta <= 1.0:
        raise SettingError(where, got=str(theta), allowed="a number above 0 and at most 1")


def check_records(polarity: npt.ArrayLike, strength: npt.ArrayLike, where: str = "argument records") -> None:
    """Refuse records without a polarity of -1 or +1, or with a strength outside [0, 1]; the first one is named.

    Raises
    ------
    DataError
        ``where`` and the number of the record, from 0.

    >>> check_records([1, 0], [0.5, 0.5])
    Traceback (most recent call last):
    ...
    townsquare.core.errors.DataError: argument records, record 1: got polarity 0; allowed: -1 or +1
    """
    sign, strong = np.asarray(polarity, np.float64), np.asarray(strength, np.float64)
    for bad, name, values, allowed in (
        (np.abs(sign) != 1.0, "polarity", sign, "-1 or +1"),
        (~((strong >= 0.0) & (strong <= 1.0)), "strength", strong, "0 to 1"),
    ):
        if bad.any():
            at = int(np.argmax(bad))
            raise DataError(f"{where}, record {at}", got=f"{name} {values[at]:g}", allowed=allowed)
