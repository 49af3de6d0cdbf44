"""Open the model of the settings `model` and `serving`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

from townsquare.core.errors import SettingError
from townsquare.core.extras import library
from townsquare.models import usage
from townsquare.models.client import ModelClient, OnCall
from townsquare.models.contract import Answer, CallStore, ChatModel, Request
from townsquare.models.member import NONE, split
from townsquare.models.providers import find_key
from townsquare.models.recorded import stand_in
from townsquare.models.store import Layered, MemoryCalls, SqliteCalls
from townsquare.settings.config import Config, Model, Serving

HOW_TO_CHOOSE = "choose one, such as `--set model=ollama/llama3.2`, or `model=fake` to try; see docs/models.md"

SPARE = 4
"""Extra calls that wait for a free slot, so that slots never idle."""


class NoModel:
    """The model ``none``: refuses every request and says how to choose a model."""

    name = NONE
    servers: tuple[str, ...] = ()

    async def complete(self, request: Request, draw: int | None) -> Answer:
        """Refuse.

        Raises
        ------
        SettingError
            Always.
        """
        got = f"{NONE!r}, but a language model is called ({request.purpose})"
        raise SettingError("model.name", got=got, do=HOW_TO_CHOOSE)

    async def close(self) -> None:
        """Nothing to give back."""


class Asking(Protocol):
    """Settings of anything that calls a language model."""

    @property
    def model(self) -> Model:
        """Which one."""

    @property
    def serving(self) -> Serving:
        """How it is reached."""


def open_model(model: Model, serving: Serving) -> ChatModel:
    """Return the chosen model, without connecting.

    Raises
    ------
    SettingError
        The name, an address or the key is missing or wrong.
    MissingExtra
        The extra ``models`` is not installed.
    """
    if model.name == NONE:
        return NoModel()
    library("jsonschema_rs", f"model.name {model.name}")  # every reply is checked: refuse before the first step
    member, rest = split(model.name)
    return member.open(rest, model, serving)


def check_model(config: Config) -> None:
    """Refuse a missing model, a wrong address, and a missing key or price before a run begins.

    Raises
    ------
    SettingError
        As :func:`open_model`, for ``none``, and for a budget in USD where the model has no price.
    """
    if config.model.name == NONE:
        raise SettingError("model.name", got=repr(NONE), do=HOW_TO_CHOOSE)
    open_model(config.model, config.serving)
    usage.check_priced(config.budget, config.model.name, config.serving.prices)


def destination(model: Model, serving: Serving) -> str:
    """Return the model, servers and key variable in words; "" if no server is used.

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
    key = f"with the key in {variable}" if find_key(variable) else "without a key"
    return f"{model.name} at {', '.join(member.servers(rest, model))}, {key}"


def client_of(
    config: Asking, store: CallStore, seed: int, *, offline: bool = False, on_call: OnCall | None = None
) -> ModelClient:
    """Return a client of the configured model over a store of the caller's own; :func:`model_client` opens both.

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
    return ModelClient(chat, store, seed, concurrency=at_once, on_call=on_call, prices=table)


@contextmanager
def model_client(
    config: Asking,
    seed: int,
    calls: Path | None = None,
    *,
    past: Path | None = None,
    offline: bool = False,
    on_call: OnCall | None = None,
) -> Iterator[ModelClient]:
    """Open a client of the configured model and the store of its calls; both are closed at the end.

    Parameters
    ----------
    config : Config, or the settings of a debate
        Its sections ``model`` and ``serving`` are used.
    seed : int
        Of the run.
    calls : Path, optional
        The file ``calls.db`` in which calls are looked up and recorded; in memory without one.
    past : Path, optional
        Another such file, or a run, whose calls are used too; ``serving.calls`` if not given.
    offline : bool
        Only calls that ``calls`` holds may answer (replay), and the file is not written to; a request without one
        raises ``NotRecorded``.
    on_call : callable, optional
        Called with each call after it was recorded, from another thread.

    Raises
    ------
    ModelError
        A file cannot be opened, or is not there.
    SettingError
        As :func:`open_model`. With ``none`` only asking raises.
    """
    other = None if offline else past or config.serving.calls
    below = None if other is None else SqliteCalls(other, read_only=True)
    first = MemoryCalls() if calls is None else SqliteCalls(calls, read_only=offline)
    store = first if below is None else Layered(first, below)
    with closing(store), client_of(config, store, seed, offline=offline, on_call=on_call) as client:
        yield client
