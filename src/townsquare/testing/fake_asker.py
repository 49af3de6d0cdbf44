"""A language model for conformance checks: the fake, asked without threads, stores or servers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from townsquare.models.contract import Outcome, Reply, Request, bound
from townsquare.models.fake import made

Member = TypeVar("Member")


class FakeAsker:
    """Answers as ``fake`` does, a pure function of the request and the seed."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def ask(self, requests: Iterable[Request]) -> list[Reply]:
        """One reply a request."""
        return [
            Reply(Outcome.OK, made(one, one.draw(self._seed)), "", "", one.identity("fake", ("fake",), self._seed))
            for one in requests
        ]


def with_fake(member: Member, seed: int = 0) -> Member:
    """The member itself, or if it asks a language model, with the fake to ask."""
    return bound(member, FakeAsker(seed))
