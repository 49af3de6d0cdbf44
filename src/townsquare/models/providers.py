"""Providers: where their servers stand, and where their keys are. Everything else is the same for all of them."""

from __future__ import annotations

from dataclasses import dataclass

from townsquare.config import Model, Serving
from townsquare.errors import SettingError
from townsquare.models.contract import ChatModel
from townsquare.models.endpoints import Endpoint, Endpoints
from townsquare.models.keys import find_key
from townsquare.models.limiter import Limiter, limits_of
from townsquare.models.line import Line
from townsquare.models.member import ModelMember
from townsquare.models.served import ServedModel
from townsquare.models.wire import HttpTransport


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
        """Base URLs that are asked.

        Raises
        ------
        SettingError
            The name of the model or the address is missing, or an address stands there twice.
        """
        if not rest:
            raise SettingError("model.name", got=repr(model.name), allowed=f"{self.name}/MODEL, as the server calls it")
        urls = tuple(url for url in model.base_url or (self.base_url,) if url)
        if not urls:
            do = "say where the server is: `--set model.base_url=http://127.0.0.1:8000/v1`"
            raise SettingError("model.base_url", got="nothing", do=do)
        if len(set(urls)) < len(urls):
            raise SettingError("model.base_url", got="the same address twice", do="name each server once")
        return urls

    def open(self, rest: str, model: Model, serving: Serving) -> ChatModel:
        """The model at work; connects to nothing yet."""
        urls = self.servers(rest, model)
        own = not model.base_url or urls == (self.base_url,)
        names = [serving.key_env] if serving.key_env else []
        if not serving.key_env and (own or not self.public):
            names = [self.key_env]
        key = find_key(names)
        if key is None and (serving.key_env or (self.public and own)):
            where = f"the key of {self.name}"
            raise SettingError(where, got="none", do=f"set {names[0]} in the environment or in the file .env")
        limits = limits_of(serving, urls)
        transport = HttpTransport(key, serving.timeout, sum(limits))
        endpoints = [Endpoint(url, Limiter(most, serving.timeout)) for url, most in zip(urls, limits, strict=True)]
        hint = f"if it is the key, set {names[0]}" if names else "if it wants a key, name its variable: serving.key_env"
        name = f"{self.name}/{rest}"
        return ServedModel(Line(name, rest, Endpoints(endpoints), transport, serving.tries, hint))


def _member(provider: Provider) -> ModelMember:
    return ModelMember(provider.name, provider.servers, provider.open)


OPENAI = _member(Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", public=True))
OLLAMA = _member(Provider("ollama", "http://127.0.0.1:11434/v1", "OLLAMA_API_KEY"))
VLLM = _member(Provider("vllm", "http://127.0.0.1:8000/v1", "VLLM_API_KEY"))
SGLANG = _member(Provider("sglang", "http://127.0.0.1:30000/v1", "SGLANG_API_KEY"))
SERVER = _member(Provider("server", "", "TOWNSQUARE_API_KEY"))
