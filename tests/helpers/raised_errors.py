"""Errors of Townsquare by what they say, field by field: their sentences may be worded anew without a test noticing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

from townsquare.core.errors import TownsquareError

E = TypeVar("E", bound=TownsquareError)


@contextmanager
def raises_error(
    kind: type[E], *, where: str = "", got: str = "", allowed: str = "", do: str = ""
) -> Iterator[pytest.ExceptionInfo[E]]:
    """Expect an error of a kind; each pattern that is given must be found in the field of its name."""
    with pytest.raises(kind) as caught:
        yield caught
    for field, pattern in {"where": where, "got": got, "allowed": allowed, "do": do}.items():
        value = getattr(caught.value, field)
        assert re.search(pattern, value), f"{field} is {value!r}, not {pattern!r}"
