"""Calling a member under check: its mistakes are told as breaches of its contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numba.core.errors
import numpy as np
import numpy.typing as npt

from townsquare import schema
from townsquare.config import MemberParams
from townsquare.errors import ContractError
from townsquare.world import World

_MISTAKES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    numba.core.errors.NumbaError,
)
_TABLES = ("agents", "posts", "post_stances", "notes")
_STORES = ("follows", "seen", "reactions", "ratings")
Given = TypeVar("Given")


@dataclass(frozen=True, slots=True)
class Suspect:
    """The member under check, by family and name, for the messages."""

    family: str
    name: str

    def broken(self, got: str, allowed: str = "", do: str = "") -> ContractError:
        """The error to raise."""
        return ContractError(f"{self.family} {self.name!r}", got=got, allowed=allowed, do=do)

    def call(self, what: str, function: Callable[[], Given]) -> Given:
        """What ``function`` returns; a mistake that it makes becomes a ContractError that says ``what`` did it."""
        try:
            return function()
        except _MISTAKES as error:
            text = str(error)
            wrote = "read-only" in text or "readonly" in text
            said = "writes into an array it was given" if wrote else f"raised {type(error).__name__}: {text[:300]}"
            do = "return new arrays; inputs are read-only" if wrote else ""
            raise self.broken(f"{what} {said}", do=do) from error

    def check_params(self, params: object) -> MemberParams:
        """Default settings of the member."""
        if not (isinstance(params, type) and issubclass(params, MemberParams)):
            raise self.broken(f"params {params!r}", "a subclass of MemberParams")
        return self.call("params", params)

    def check_same(self, what: str, one: Mapping[str, Any], two: Mapping[str, Any], allowed: str) -> None:
        """Raise if two sets of columns differ, NaN being equal to NaN."""
        for name in sorted(one.keys() | two.keys()):
            if name not in one or name not in two or not _equal(one[name], two[name]):
                raise self.broken(f"{what} {name}", allowed)


def snapshot(world: World) -> dict[str, npt.NDArray[Any]]:
    """Copies of all that a stage could change in a world, by name."""
    return {name: np.array(array) for name, array in _arrays(world)}


def _arrays(world: World) -> Iterator[tuple[str, Any]]:
    for table in _TABLES:
        for column in schema.TABLES[table].columns:
            yield f"{table}.{column.name}", getattr(world, table)[column.name]
    for store in _STORES:
        for number, block in enumerate(getattr(world, store).blocks):
            for part, array in zip(block._fields, block, strict=True):
                yield f"{store}[{number}].{part}", array
    for number, state in enumerate(world.belief):
        yield f"stance[{number}]", state.stance
        yield f"confidence[{number}]", state.confidence
    yield from (("in_degree", world.in_degree), ("newest", world.newest), ("step", world.step))
    yield "texts", len(world.texts)


def _equal(one: Any, two: Any) -> bool:
    a, b = np.asarray(one), np.asarray(two)
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
