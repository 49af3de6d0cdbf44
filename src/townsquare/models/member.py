"""Members of the family ``model``: how a provider's models are named and opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from townsquare.core import registry
from townsquare.models.contract import ChatModel
from townsquare.settings.config import Model, Serving

NONE = "none"


@dataclass(frozen=True)
class ModelMember:
    """A member of the family ``model``.

    Attributes
    ----------
    name : str
        Before the slash in ``model.name``.
    servers : callable
        ``servers(rest, model)``: base URLs that would be asked, without opening anything; of a fake, its name. They
        are part of the identity of calls.
    open : callable
        ``open(rest, model, serving)``: the model at work, where ``rest`` is what follows the slash. It may look for
        keys, and connects to nothing until it is asked.
    network : bool
        Whether it asks servers.
    variable : callable
        ``variable(model, serving)``: the environment variable whose value, if it is set, servers get as the key; None
        if they get none.
    """

    name: str
    servers: Callable[[str, Model], tuple[str, ...]]
    open: Callable[[str, Model, Serving], ChatModel]
    network: bool = True
    variable: Callable[[Model, Serving], str | None] = lambda model, serving: None


def split(name: str) -> tuple[ModelMember, str]:
    """Return the member that ``provider/rest`` names, and the rest.

    Raises
    ------
    UnknownName
        No such provider.

    >>> split("faulty/0.3")[1]
    '0.3'
    """
    provider, _, rest = name.partition("/")
    member: ModelMember = registry.get("model", provider)
    return member, rest
