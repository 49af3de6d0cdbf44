"""Base of all settings models, in a separate file so that :mod:`townsquare.settings.config` can import models of
other files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from townsquare.core.actions import WORDS
from townsquare.core.redact import redacted

Share = Annotated[float, Field(ge=0, le=1)]
if TYPE_CHECKING:
    ActionName = str
else:
    ActionName = Literal[tuple(WORDS.values())]
"""A word of :class:`townsquare.core.actions.ActionKind`."""
Friction = dict[ActionName, Share]
"""Kind of action -> chance that one which would be accepted is given up at the second draw."""


def _in_words(value: Any) -> Any:
    """Turn truth values back into the words `true` and `false`, which YAML reads as truth values."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value


TruthWord = Annotated[Literal["true", "false"], BeforeValidator(_in_words)]
AnyTruthWord = Annotated[Literal["any", "true", "false"], BeforeValidator(_in_words)]
"""Words that YAML takes for truth values where they are not in quotes."""


ASSUMED = "assumed"
_MARKS = ("unit", "file", "names", "params_of", "allowed", "grid", "symbol", "search_to", "basis")
"""What a setting may say of itself beyond its type and limits: see :func:`setting`."""


def setting(default: Any, meaning: str, **limits: Any) -> Any:
    """Return the field of one setting.

    Parameters
    ----------
    default : object
        A value; what makes one, such as ``dict``; ``...`` where the setting must be given.
    meaning : str
        What it says, for messages and ``docs/settings.md``.
    **limits
        Limits as Pydantic takes them (``ge``, ``lt``, ``pattern``, ...), and any of: ``unit``; ``file``, where the path
        of a file is looked for (:mod:`townsquare.settings.named_files`); ``names``, what of the scenario is named
        (:mod:`townsquare.settings.references`); ``params_of``, the family whose settings it holds; ``allowed``, what
        it may be, in words; of a belief rule's number that is fitted to people, ``grid``, the values that are tried,
        ``symbol``, what tables call it, and ``search_to``, how far a search goes where the setting has no upper limit
        (:mod:`townsquare.beliefs.grids`); and ``basis``, what its default rests on: ``fitted``, ``published`` or
        ``assumed``, the first two with their source, such as ``published: SimSwarm``.
    """
    marks = {name: limits.pop(name) for name in _MARKS if name in limits} or None
    if callable(default):
        return Field(default_factory=default, description=meaning, json_schema_extra=marks, **limits)
    return Field(default, description=meaning, json_schema_extra=marks, **limits)


def marked(model: BaseModel) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Yield the key of each setting, its value, and what it says of itself beyond type and limits."""
    for name, field in type(model).model_fields.items():
        marks = field.json_schema_extra
        yield field.alias or name, getattr(model, name), marks if isinstance(marks, dict) else {}


class MemberParams(BaseModel):
    """Base of every member's ``Params``. Values cannot be changed, unknown keys are refused, and numbers are finite."""

    # A run uses few of the members whose settings are imported: the checks of the others are never made.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True, defer_build=True)

    def check_change(self, before: MemberParams) -> None:
        """Refuse a change of settings from ``before`` by an event during a run; by default, allow every change.

        Override this if the member makes lasting draws from a setting.

        Raises
        ------
        SettingError
            An event may not change this setting.
        """


@dataclass(frozen=True, slots=True)
class FamilyMember:
    """Base of the members of most families: a name, as in the registry, and the type of the member's settings.

    A member without settings has ``MemberParams`` itself.
    """

    name: str
    params: type[MemberParams]


class Section(MemberParams):
    """Base of the sections of a configuration."""


# Settings that may hold a secret by mistake: refused before anything is written, and never repeated.


_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


class NotShown(ValueError):
    """A refused value that must not be shown."""


def variable_name(name: str) -> str:
    """Return the name of an environment variable, in capitals; refuse a key: it has small letters or dashes,
    or looks like a key.

    >>> variable_name("OPENAI_API_KEY")
    'OPENAI_API_KEY'
    """
    if not _VARIABLE.fullmatch(name) or redacted(name) != name:
        raise NotShown("give the name of an environment variable, in capitals; never the key itself")
    return name


def plain_address(url: str) -> str:
    """Return a base URL without a user, a password, a query, and without a slash at its end.

    >>> plain_address("http://127.0.0.1:8000/v1/")
    'http://127.0.0.1:8000/v1'
    """
    form = "write http://HOST:PORT/v1 or https://HOST/v1, without user, password or query: keys go into the environment"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise NotShown(form) from None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or parts.query or parts.fragment:
        raise NotShown(form)
    return url.rstrip("/")
