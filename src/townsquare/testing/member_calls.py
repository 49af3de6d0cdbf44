"""Calling a member under check: its mistakes are told as breaches of its contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from townsquare.core import schema
from townsquare.core.errors import ContractError
from townsquare.core.member_errors import breach, call_member
from townsquare.settings.config import MemberParams
from townsquare.simulation.world import World

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
        return breach(self.family, self.name, got, allowed, do)

    def call(self, what: str, function: Callable[[], Given]) -> Given:
        """What ``function`` returns; a mistake that it makes becomes a ContractError that says ``what`` did it."""
        return call_member(self.family, self.name, what, function)

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
