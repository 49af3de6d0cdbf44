"""What calls cost: a table of prices as data, with its date, and how tokens are estimated where a server gives none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from townsquare.errors import ModelError
from townsquare.models.contract import Call

CHARACTERS_A_TOKEN = 4
LARGEST_TABLE = 1_000_000
_MILLION = 1_000_000


class Price(BaseModel):
    """USD for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)

    tokens_in: float = Field(ge=0, alias="in")
    tokens_out: float = Field(ge=0, alias="out")


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    date: str = Field(min_length=4, max_length=20)
    source: str = Field("", max_length=1000)
    models: Mapping[str, Price]


@dataclass(frozen=True)
class Prices:
    """Prices by model.

    A model is found by its name as asked for, or by the longest entry that its name begins with: ``openai/gpt-4o-mini``
    is the price of ``openai/gpt-4o-mini-2024-07-18`` too. An entry ``ollama/`` holds for every model of that provider.

    >>> table = Prices("2026-01", {"openai/gpt-4o-mini": Price(tokens_in=0.15, tokens_out=0.6)})
    >>> table.price("openai/gpt-4o-mini-2024-07-18").tokens_out
    0.6
    >>> table.price("openai/other") is None
    True
    """

    date: str = ""
    models: Mapping[str, Price] = field(default_factory=dict)
    _found: dict[str, Price | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def price(self, model: str) -> Price | None:
        """The price of a model, or None if the table has none."""
        if model not in self._found:
            fitting = [name for name in self.models if _covers(name, model)]
            self._found[model] = self.models[max(fitting, key=len)] if fitting else None
        return self._found[model]

    def cost(self, call: Call, tokens_in: int, tokens_out: int) -> float | None:
        """USD of a call with these tokens; None where no price is known."""
        price = self.price(call.model)
        return None if price is None else (price.tokens_in * tokens_in + price.tokens_out * tokens_out) / _MILLION


def _covers(entry: str, model: str) -> bool:
    """Whether an entry is a model, a dated version of it, or its whole provider."""
    if not model.startswith(entry):
        return False
    rest = model[len(entry) :]
    return not rest or entry.endswith("/") or (rest[0] in "-@:" and rest[1:2].isdigit())


def estimate(text: str) -> int:
    """Tokens of a text by the stated rule: characters / 4, rounded up.

    >>> estimate("Hello, world")
    3
    """
    return -(-len(text) // CHARACTERS_A_TOKEN)


def tokens_of(call: Call) -> tuple[int, int, bool]:
    """Tokens in and out of a call, and whether one of them is an estimate."""
    tokens_in = call.tokens_in if call.tokens_in >= 0 else estimate(call.request)
    tokens_out = call.tokens_out if call.tokens_out >= 0 else estimate(call.text)
    return tokens_in, tokens_out, call.tokens_in < 0 or call.tokens_out < 0


@cache
def bundled() -> Prices:
    """The table that comes with Townsquare; its date says how old it is."""
    text = files("townsquare.models").joinpath("prices.yaml").read_text(encoding="utf-8")
    return _read(text, "prices.yaml")


def of(path: str | None) -> Prices:
    """The table of ``serving.prices``: a file of the user's own, or the one that comes along."""
    return bundled() if path is None else read(path)


def read(path: Path | str) -> Prices:
    """A table of your own, which is used instead.

    Raises
    ------
    ModelError
        The file is not there, or is no table of prices.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(str(path), got=str(error), do="see docs/models.md for what such a file holds") from error
    return _read(text, str(path))


def _read(text: str, where: str) -> Prices:
    do = "see docs/models.md for what such a file holds"
    if len(text) > LARGEST_TABLE:
        raise ModelError(where, got=f"{len(text)} characters", allowed=f"{LARGEST_TABLE} at most", do=do)
    try:
        values: Any = yaml.safe_load(text)
        if isinstance(values, dict) and "date" in values:
            values["date"] = str(values["date"])
        table = _Table.model_validate(values)
    except (yaml.YAMLError, ValidationError, RecursionError) as error:
        raise ModelError(where, got=str(error)[:500], allowed="date, and models with `in` and `out`", do=do) from error
    return Prices(table.date, dict(table.models))
