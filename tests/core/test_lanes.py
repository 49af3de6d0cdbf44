"""Several numbers at once: what kernels may ask for, and what they are refused."""

from __future__ import annotations

import numba as nb
import numpy as np
import pytest
from numba.core.errors import TypingError

from townsquare.core.simd import MANY, copy_many


@nb.njit
def copied(source: np.ndarray, first: int, target: np.ndarray, at: int) -> None:
    copy_many(source, first, target, at)  # type: ignore[call-arg]


@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "f8"])
def test_sixteen_numbers_are_copied_and_no_more(dtype: str) -> None:
    source, target = np.arange(1, 41).astype(dtype), np.zeros(40, dtype)
    copied(source, 3, target, 7)
    assert target.tolist() == [0] * 7 + list(range(4, 4 + MANY)) + [0] * (33 - MANY)


def test_a_copy_into_itself_reads_first() -> None:
    numbers = np.arange(24, dtype=np.int32)
    copied(numbers, 0, numbers, 4)
    assert numbers.tolist() == [0, 1, 2, 3, *range(16), 20, 21, 22, 23]


def test_what_would_be_copied_wrongly_is_refused() -> None:
    whole = np.zeros(64, np.int32)
    for source, target in ((whole[::2], whole), (whole, whole[::2]), (whole, whole.astype(np.int64))):
        with pytest.raises(TypingError, match="contiguous and of one dtype"):
            copied(source, 0, target, 0)
