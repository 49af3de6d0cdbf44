"""Checks what members of families return, and reports breaches by member and step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any, TypeVar

import numba.core.errors
import numpy as np

from townsquare.core.array_types import Array, Bool
from townsquare.core.errors import ContractError

_MISTAKES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, numba.core.errors.NumbaError)
Given = TypeVar("Given")


def breach(
    family: str, name: str, got: str, allowed: str = "", do: str = "", agent: int | None = None
) -> ContractError:
    """Return the error to raise where the member ``name`` of ``family`` breaks its contract, and for which agent.

    >>> breach("ranker", "mine", "a score of nan").where
    "ranker 'mine'"
    """
    where = f"{family} {name!r}" + ("" if agent is None else f", agent {agent}")
    return ContractError(where, got=got, allowed=allowed, do=do)


def call_member(family: str, name: str, what: str, function: Callable[[], Given]) -> Given:
    """Call ``function`` of a member, named ``what``, and return its result.

    Raises
    ------
    ContractError
        In place of an error that only a mistake in the member can have caused; the cause is chained to it.
    """
    try:
        return function()
    except _MISTAKES as error:
        text = str(error)
        wrote = "read-only" in text or "readonly" in text
        did = "writes into an array it was given" if wrote else f"raised {type(error).__name__}: {text[:300]}"
        do = "return new arrays; inputs are read-only" if wrote else ""
        raise breach(family, name, f"{what} {did}", do=do) from error


def check_type(family: str, name: str, what: str, value: object, kind: type[Given]) -> Given:
    """Return what ``what`` of a member returned; refuse any other type than ``kind``."""
    if not isinstance(value, kind):
        raise breach(family, name, f"{what} returned {type(value).__name__}", kind.__name__)
    return value


def check_array(
    family: str, name: str, what: str, array: object, dtype: Any, shape: tuple[int | None, ...], *, entry: str = ""
) -> None:
    """Refuse anything but an array of this dtype and shape; None in ``shape`` is any length, ``entry`` what one is."""
    got = type(array).__name__
    if isinstance(array, np.ndarray):
        wanted = zip_longest(array.shape, shape, fillvalue=-1)
        if array.dtype == dtype and all(want in (None, have) for have, want in wanted):
            return
        got = f"{array.dtype} {array.shape}"
    lengths = ", ".join("n" if length is None else str(length) for length in shape)
    allowed = f"{np.dtype(dtype)} ({lengths}{',' * (len(shape) == 1)})"
    raise breach(family, name, f"{what} is {got}", f"{allowed}: {entry}" if entry else allowed)


def check_values(
    family: str, name: str, checks: Iterable[tuple[str, Array, Bool, str]], agents: Array | None = None, item: str = ""
) -> None:
    """Refuse the first value that is not good; ``checks`` are (what it is, values, which are good, what is allowed).

    ``agents`` (n,) says of whom each value is; ``item`` what each is about, where values are numbered.
    """
    for what, values, good, allowed in checks:
        if not good.all():
            at = int(np.argmin(good))
            got = f"{what} {values[at]}" + (item and f" of {item} {at}")
            raise breach(family, name, got, allowed, agent=None if agents is None else int(agents[at]))


def repeated(*columns: Array) -> Bool:
    """Return which rows of columns of one length repeat an earlier row, (n,).

    >>> repeated(np.array([3, 1, 3]), np.array([0, 0, 0])).tolist()
    [False, False, True]
    """
    order = np.lexsort(columns)
    out = np.zeros(order.size, np.bool_)
    out[order[1:]] = np.all([np.diff(column[order]) == 0 for column in columns], axis=0)
    return out


@contextmanager
def in_step(step: int, word: str = "step") -> Iterator[None]:
    """Add the step, or round, to a breach of a contract that is raised inside."""
    try:
        yield
    except ContractError as error:
        where = f"{error.where}, {word} {step}"
        raise ContractError(where, got=error.got, allowed=error.allowed, do=error.do) from error.__cause__
