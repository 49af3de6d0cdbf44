"""Checks of thresholds and records before conflict resolution."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from townsquare.core.errors import DataError, SettingError


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
