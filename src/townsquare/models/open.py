"""From settings to a door."""

from __future__ import annotations

from typing import Protocol

from townsquare.core.errors import SettingError
from townsquare.models import usage
from townsquare.models.client import Door, OnCall
from townsquare.models.contract import Answer, CallStore, ChatModel, Request
from townsquare.models.member import NONE, split
from townsquare.models.providers import find_key
from townsquare.models.recorded import stand_in
from townsquare.settings.config import Model, Serving

HOW_TO_CHOOSE = (
    "choose one, such as `--set model=ollama/llama3.2` or `--set model=openai/gpt-4o-mini`; "
    "`--set model=fake` answers without any; see docs/models.md"
)

SPARE = 4
"""Calls that wait for a place, beside a quarter of the places: one that is free is taken at once."""


class NoModel:
    """Where ``model`` is ``none``: whoever asks is told how to choose one."""

    name = NONE
    servers: tuple[str, ...] = ()

    async def complete(self, request: Request, draw: int | None) -> Answer:
        """Refuse.

        Raises
        ------
        SettingError
            Always.
        """
        raise SettingError(
            "model.name",
            got=f"{NONE!r}, and a question to a language model ({request.purpose})",
            do=HOW_TO_CHOOSE,
        )

    async def close(self) -> None:
        """Nothing to give back."""


def open_model(model: Model, serving: Serving) -> ChatModel:
    """The chosen model, ready to be asked; connects to nothing yet.

    Raises
    ------
    SettingError
        The name, an address or the key is missing or wrong.
    """
    if model.name == NONE:
        return NoModel()
    member, rest = split(model.name)
    return member.open(rest, model, serving)


def check_chosen(model: Model, serving: Serving) -> None:
    """Refuse what could not be asked, before anything is begun: no model, a wrong address, a missing key.

    Raises
    ------
    SettingError
        As :func:`open_model`, and for ``none``.
    """
    if model.name == NONE:
        raise SettingError("model.name", got=repr(NONE), do=HOW_TO_CHOOSE)
    open_model(model, serving)


def servers_of(model: Model) -> tuple[str, ...]:
    """The servers that would be asked: part of the identity of calls. Opens nothing and needs no key."""
    if model.name == NONE:
        return ()
    member, rest = split(model.name)
    return member.servers(rest, model)


def destination(model: Model, serving: Serving) -> str:
    """Who would be asked, at which servers, with the key of which variable, in words; "" where no server is.

    Raises
    ------
    SettingError
        As :func:`open_model`.
    """
    if model.name == NONE:
        return ""
    member, rest = split(model.name)
    if not member.network:
        return ""
    member.open(rest, model, serving)
    variable = member.variable(model, serving)
    key = f"with the key in {variable}" if variable and find_key([variable]) else "without a key"
    return f"{model.name} at {', '.join(member.servers(rest, model))}, {key}"


class Asking(Protocol):
    """Settings of anything that asks a language model."""

    @property
    def model(self) -> Model:
        """Which one."""

    @property
    def serving(self) -> Serving:
        """How it is reached."""


def open_door(
    config: Asking, store: CallStore, seed: int, *, offline: bool = False, on_call: OnCall | None = None
) -> Door:
    """A door to the configured model.

    Parameters
    ----------
    config : Config, or the settings of a debate
        Its sections ``model`` and ``serving`` are used.
    store : CallStore
        Where calls are looked up and recorded.
    seed : int
        Of the run.
    offline : bool
        Only recorded calls may answer (replay); a request without one raises ``NotRecorded``.
    on_call : callable, optional
        Called with each call after it was recorded, from another thread.

    Raises
    ------
    SettingError
        As :func:`open_model`. With ``none`` only asking raises.
    """
    model, serving = config.model, config.serving
    chat: ChatModel = stand_in(model) if offline and model.name != NONE else open_model(model, serving)
    places = sum(serving.limits) or serving.concurrency * max(1, len(chat.servers))
    at_once = places + places // 4 + SPARE
    table = usage.of(None if offline else serving.prices)  # a replay costs nothing and reads no file that a run names
    return Door(chat, store, seed, concurrency=at_once, on_call=on_call, prices=table)
