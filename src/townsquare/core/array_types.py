"""Names of the array types that annotations use, and read-only views."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bool = npt.NDArray[np.bool_]
Byte = npt.NDArray[np.uint8]
Float = npt.NDArray[np.float64]
Float32 = npt.NDArray[np.float32]
Int16 = npt.NDArray[np.int16]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


def read_only(array: Array) -> Array:
    """Return a read-only view.

    >>> read_only(np.zeros(2)).flags.writeable
    False
    """
    view = array.view()
    view.flags.writeable = False
    return view
