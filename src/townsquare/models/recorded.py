"""``recorded/MODEL``: only recorded answers of MODEL; no server and no key.

They are looked for in the run's own ``calls.db``, and in that of the run which ``serving.calls`` names.

The client finds recorded calls in its store by the identity they were made under, so this member bears the name and the
servers of the model it stands in for. What reaches it was never recorded.
"""

from __future__ import annotations

from townsquare.core.errors import NotRecorded, SettingError
from townsquare.models.contract import Answer, Request
from townsquare.models.member import ModelMember, split
from townsquare.settings.config import Model

NAME = "recorded"
_WHY = "settings, prompts or version differ (`townsquare branch` asks anew), or its calls stand in `serving.calls`"


class RecordedModel:
    """Stands in for a model of which only recorded calls may be used.

    Parameters
    ----------
    name : str
        Of the model that was asked.
    servers : tuple of str
        Its servers.
    """

    def __init__(self, name: str, servers: tuple[str, ...]) -> None:
        self.name, self.servers = name, servers

    async def complete(self, request: Request, draw: int | None) -> Answer:
        """Refuse, since the call was not recorded.

        Raises
        ------
        NotRecorded
            Always: the client asks for what its store does not hold.
        """
        who = f", agent {request.agent}" if request.agent >= 0 else ""
        turn = f", question {request.turn}" if request.turn else ""
        begins = request.messages[-1].content[:80] if request.messages else ""
        got = f"a request to {self.name} that was never recorded; it begins {begins!r}"
        raise NotRecorded(f"purpose {request.purpose}{who}, step {request.step}{turn}", got=got, do=_WHY)

    async def close(self) -> None:
        """Nothing to give back."""


def stand_in(model: Model) -> RecordedModel:
    """Return the stand-in for a configured model; a name that says ``recorded/`` already means the same."""
    name = model.name.removeprefix(f"{NAME}/")
    member, rest = split(name)
    return RecordedModel(name, member.servers(rest, model))


def _inner(rest: str, model: Model) -> RecordedModel:
    if not rest or rest.partition("/")[0] == NAME:
        allowed = "recorded/MODEL, such as recorded/openai/gpt-4o-mini"
        raise SettingError("model.name", got=repr(f"{NAME}/{rest}".rstrip("/")), allowed=allowed)
    return stand_in(model.model_copy(update={"name": rest}))


MODEL = ModelMember(
    NAME, lambda rest, model: _inner(rest, model).servers, lambda rest, model, serving: _inner(rest, model),
    network=False,
)  # fmt: skip
