"""What holds in every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from townsquare.threads import threads_for


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tests are small, and several run side by side: waking a second thread takes longer than their kernels."""
    with threads_for(0):
        yield
