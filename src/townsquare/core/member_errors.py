"""What a member of a family did wrong, as an error that names the member and the step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numba.core.errors

from townsquare.core.errors import ContractError

_MISTAKES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    numba.core.errors.NumbaError,
)
Given = TypeVar("Given")


def breach(
    family: str, name: str, got: str, allowed: str = "", do: str = "", agent: int | None = None
) -> ContractError:
    """The error to raise where the member ``name`` of ``family`` breaks its contract, and for which agent.

    >>> breach("ranker", "mine", "a score of nan").where
    "ranker 'mine'"
    """
    where = f"{family} {name!r}" + ("" if agent is None else f", agent {agent}")
    return ContractError(where, got=got, allowed=allowed, do=do)


def call_member(family: str, name: str, what: str, function: Callable[[], Given]) -> Given:
    """What ``function`` of a member returns; ``what`` is its name.

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


@contextmanager
def in_step(step: int, word: str = "step") -> Iterator[None]:
    """Have a breach of a contract say in which step, or round, it came up."""
    try:
        yield
    except ContractError as error:
        where = f"{error.where}, {word} {step}"
        raise ContractError(where, got=error.got, allowed=error.allowed, do=error.do) from error.__cause__
