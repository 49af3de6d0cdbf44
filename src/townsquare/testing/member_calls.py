"""Call a member under check, and report its mistakes as breaches of its contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from townsquare.core import schema
from townsquare.core.errors import ContractError
from townsquare.core.member_errors import breach, call_member
from townsquare.models.contract import Outcome, Reply, Request, bound
from townsquare.models.fake import made
from townsquare.settings.config import MemberParams
from townsquare.simulation.world import World

_TABLES = ("agents", "posts", "post_stances", "notes", "note_ratings")
_STORES = ("follows", "seen", "reactions", "ratings")
Given = TypeVar("Given")


class FakeAsker:
    """Answers as ``fake`` does, a pure function of the request; without threads, stores or servers."""

    def ask(self, requests: Iterable[Request]) -> list[Reply]:
        """Return one reply a request."""
        draws = ((request, made(request, request.draw(0))) for request in requests)
        return [Reply(Outcome.OK, answer, "", "", request.identity("fake", ("fake",), 0)) for request, answer in draws]


@dataclass(frozen=True, slots=True)
class MemberUnderTest:
    """The member under check, by family, with its settings.

    Attributes
    ----------
    family : str
    member : object
        Ready to ask the fake, if it asks a language model.
    params : MemberParams
        Its settings; ``of`` takes the defaults if none are given.
    """

    family: str
    member: Any
    params: Any = None

    @classmethod
    def of(cls, family: str, member: Any, params: MemberParams | None = None) -> MemberUnderTest:
        """Return the member with settings, and with the fake to ask."""
        test = cls(family, bound(member, FakeAsker()), params)
        return test if params is not None else replace(test, params=test._default_params())

    @property
    def name(self) -> str:
        """Return the name of the member, for the messages."""
        return str(self.member.name)

    def broken(self, got: str, allowed: str = "", do: str = "") -> ContractError:
        """Return the error to raise."""
        return breach(self.family, self.name, got, allowed, do)

    def call(self, what: str, function: Callable[[], Given]) -> Given:
        """Return what ``function`` returns; its mistakes become a ContractError that names ``what``."""
        return call_member(self.family, self.name, what, function)

    def _default_params(self) -> MemberParams:
        params = self.member.params
        if not (isinstance(params, type) and issubclass(params, MemberParams)):
            raise self.broken(f"params {params!r}", "a subclass of MemberParams")
        return self.call("params", params)

    def check_same(self, what: str, first: Mapping[str, Any], second: Mapping[str, Any], allowed: str) -> None:
        """Raise if two sets of columns differ, NaN being equal to NaN."""
        for name in sorted(first.keys() | second.keys()):
            if name not in first or name not in second or not equal(first[name], second[name]):
                raise self.broken(f"{what} {name}", allowed)


def snapshot(world: World) -> dict[str, npt.NDArray[Any]]:
    """Return copies of all that a stage could change in a world, by name."""
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


def equal(first: Any, second: Any) -> bool:
    """Return equal dtype, shape and values; NaN equals NaN."""
    a, b = np.asarray(first), np.asarray(second)
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
