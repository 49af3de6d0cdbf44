"""Providers: addresses of servers and names of key variables."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from townsquare.core.errors import SettingError
from townsquare.models.contract import Answer, ChatModel, Request
from townsquare.models.conversation import Conversation
from townsquare.models.http import HttpTransport
from townsquare.models.member import ModelMember
from townsquare.models.probe import CapabilityProbe
from townsquare.models.servers import Backend, Endpoint, Endpoints, Limiter, limits_of
from townsquare.settings.config import Model, Serving


@dataclass(frozen=True)
class Provider:
    """Servers that speak OpenAI's chat completions.

    Attributes
    ----------
    name : str
        Before the slash in ``model.name``.
    base_url : str
        Where they stand unless ``model.base_url`` says otherwise; "" if it must.
    key_env : str
        The variable that holds the key.
    public : bool
        A service of others: it needs the key, and the key is sent to no other address, unless ``serving.key_env``
        names it.
    """

    name: str
    base_url: str
    key_env: str
    public: bool = False

    def servers(self, rest: str, model: Model) -> tuple[str, ...]:
        """Return base URLs that are asked.

        Raises
        ------
        SettingError
            The name of the model or the address is missing, or an address is there twice.
        """
        if not rest:
            raise SettingError("model.name", got=repr(model.name), allowed=f"{self.name}/MODEL, as the server calls it")
        urls = tuple(url for url in model.base_url or (self.base_url,) if url)
        if not urls:
            do = "give its address: `--set model.base_url=http://127.0.0.1:8000/v1`"
            raise SettingError("model.base_url", got="nothing", do=do)
        if len(set(urls)) < len(urls):
            raise SettingError("model.base_url", got="the same address twice", do="list each server once")
        return urls

    def variable(self, model: Model, serving: Serving) -> str | None:
        """Return the variable of the key: the user's, or the provider's own where its key may be sent."""
        if serving.key_env:
            return serving.key_env
        return self.key_env if self._is_own(model) or not self.public else None

    def _is_own(self, model: Model) -> bool:
        return not model.base_url or model.base_url == (self.base_url,)

    def open(self, rest: str, model: Model, serving: Serving) -> ChatModel:
        """Return the opened model, without connecting."""
        urls = self.servers(rest, model)
        variable = self.variable(model, serving)
        key = find_key(variable)
        if key is None and (serving.key_env or (self.public and self._is_own(model))):
            where = f"the key of {self.name}"
            raise SettingError(where, got="none", do=f"set {variable} in the environment or in the file .env")
        limits = limits_of(serving, urls)
        transport = HttpTransport(key, serving.timeout, sum(limits))
        endpoints = [Endpoint(url, Limiter(most, serving.timeout)) for url, most in zip(urls, limits, strict=True)]
        hint = f"set {variable} to a key that it takes" if variable else "name the variable of its key: serving.key_env"
        return ServedModel(Backend(f"{self.name}/{rest}", rest, Endpoints(endpoints), transport, serving.tries, hint))


def _member(provider: Provider) -> ModelMember:
    return ModelMember(provider.name, provider.servers, provider.open, variable=provider.variable)


OPENAI = _member(Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", public=True))
OLLAMA = _member(Provider("ollama", "http://127.0.0.1:11434/v1", "OLLAMA_API_KEY"))
VLLM = _member(Provider("vllm", "http://127.0.0.1:8000/v1", "VLLM_API_KEY"))
SGLANG = _member(Provider("sglang", "http://127.0.0.1:30000/v1", "SGLANG_API_KEY"))
SERVER = _member(Provider("server", "", "TOWNSQUARE_API_KEY"))


# Keys of servers come from the environment or from `.env` in the working folder and go only into one header.
#
# No message repeats the value of a variable.


FILE = ".env"
LARGEST = 64 * 1024
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*")
_PLAIN = re.compile(r"[\x21-\x7e]+")


def find_key(name: str | None) -> str | None:
    """Return the key that a variable holds, in the environment or else in ``.env``; None if it is not set.

    Raises
    ------
    SettingError
        It holds more than the characters of a key.
    """
    key = (os.environ.get(name) or _written(Path(FILE)).get(name, "")).strip() if name else ""
    if key and not _PLAIN.fullmatch(key):
        raise SettingError(str(name), got="a value with characters that no key contains", do="set it again")
    return key or None


def _written(path: Path) -> dict[str, str]:
    try:
        with path.open(encoding="utf-8") as file:
            lines = file.read(LARGEST).splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    return {match[1]: _unquoted(match[2]) for line in lines if (match := _LINE.fullmatch(line))}


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value.partition(" #")[0].rstrip()


# A model behind servers that speak OpenAI's chat completions. `faulty` is one too: only its transport differs.


class ServedModel:
    """A model at one server or several."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.name = backend.name
        self.servers = tuple(endpoint.url for endpoint in backend.endpoints.all)
        self._probe = CapabilityProbe(backend)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was learned of the servers that a user should know, such as parameters that they do not take."""
        return tuple(self.backend.notes)

    async def complete(self, request: Request, draw: int | None) -> Answer:
        """Answer one request; what servers do wrong is an outcome.

        Raises
        ------
        Unreachable
            No server answers at first contact, or all refuse the key or the model.
        """
        await self._probe.settle()
        return await Conversation(self.backend, request, draw).answer()

    async def close(self) -> None:
        """Give back connections."""
        await self._probe.close()
        await self.backend.transport.close()
