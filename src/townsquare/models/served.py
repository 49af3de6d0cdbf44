"""A model behind servers that speak OpenAI's chat completions. ``faulty`` is one too: only its transport differs."""

from __future__ import annotations

from townsquare.models.contract import Answer, Request
from townsquare.models.conversation import Conversation
from townsquare.models.ladder import Ladder
from townsquare.models.line import Line


class ServedModel:
    """A model at one server or several."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.name = line.name
        self.servers = tuple(endpoint.url for endpoint in line.endpoints.all)
        self._ladder = Ladder(line)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was learnt of the servers that a user should know, such as parameters that they do not take."""
        return tuple(self.line.notes)

    async def complete(self, request: Request, draw: int | None) -> Answer:
        """Answer one request; what servers do wrong is an outcome.

        Raises
        ------
        Unreachable
            No server answers at first contact, or all refuse the key or the model.
        """
        await self._ladder.settle()
        return await Conversation(self.line, request, draw).answer()

    async def close(self) -> None:
        """Give back connections."""
        await self._ladder.close()
        await self.line.transport.close()
