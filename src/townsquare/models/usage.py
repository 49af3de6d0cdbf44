"""Prices, token estimates, usage and budgets of language model calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator

from townsquare.core.documents import read_yaml
from townsquare.core.errors import BudgetReached, ModelError, SettingError
from townsquare.models.contract import Call, Outcome
from townsquare.settings.config import Budget
from townsquare.settings.problems import validated

CHARACTERS_A_TOKEN = 4
LARGEST_TABLE = 1_000_000
_MILLION = 1_000_000


class Price(BaseModel):
    """USD for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)

    tokens_in: float = Field(ge=0, alias="in")
    tokens_out: float = Field(ge=0, alias="out")


class Prices(BaseModel):
    """Prices by model.

    A model is found by its name as asked for, or by the longest entry that its name begins with: ``openai/gpt-4o-mini``
    is the price of ``openai/gpt-4o-mini-2024-07-18`` too. An entry ``ollama/`` holds for every model of that provider.

    >>> table = Prices(date="2026-01", models={"openai/gpt-4o-mini": Price(tokens_in=0.15, tokens_out=0.6)})
    >>> table.price("openai/gpt-4o-mini-2024-07-18").tokens_out
    0.6
    >>> table.price("openai/other") is None
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    date: str = Field(min_length=4, max_length=20)
    source: str = Field("", max_length=1000)
    models: Mapping[str, Price]
    _found: dict[str, Price | None] = PrivateAttr(default_factory=dict)

    @field_validator("date", mode="before")
    @classmethod
    def _is_a_date(cls, given: object) -> str:
        """Return a year, a month such as 2026-11 or a day."""
        text = str(given)
        try:
            datetime.fromisoformat(f"{text}-01-01"[:10] if len(text) < 10 else text)
        except ValueError:
            raise ValueError("a year, a month such as 2026-11, or a day that there is") from None
        return text

    def price(self, model: str) -> Price | None:
        """Return the price of a model, or None if the table has none."""
        if model not in self._found:
            fitting = [name for name in self.models if _covers(name, model)]
            self._found[model] = self.models[max(fitting, key=len)] if fitting else None
        return self._found[model]

    def cost(self, call: Call, tokens_in: int, tokens_out: int) -> float | None:
        """Return USD of a call with these tokens; None where no price is known."""
        price = self.price(call.model)
        return None if price is None else (price.tokens_in * tokens_in + price.tokens_out * tokens_out) / _MILLION


def _covers(entry: str, model: str) -> bool:
    """Return whether an entry is a model, a dated version of it, or its whole provider."""
    if not model.startswith(entry):
        return False
    rest = model[len(entry) :]
    return not rest or entry.endswith("/") or (rest[0] in "-@:" and rest[1:2].isdigit())


def estimate(text: str) -> int:
    """Return tokens of a text by the stated rule: characters / 4, rounded up.

    >>> estimate("Hello, world")
    3
    """
    return -(-len(text) // CHARACTERS_A_TOKEN)


def tokens_of(call: Call) -> tuple[int, int, bool]:
    """Return tokens in and out of a call, and whether one of them is an estimate."""
    tokens_in = call.tokens_in if call.tokens_in >= 0 else estimate(call.request)
    tokens_out = call.tokens_out if call.tokens_out >= 0 else estimate(call.text)
    return tokens_in, tokens_out, call.tokens_in < 0 or call.tokens_out < 0


@cache
def bundled() -> Prices:
    """Return the bundled price table."""
    return read(str(files("townsquare.models") / "prices.yaml"))


def of(path: str | None) -> Prices:
    """Return the price table of ``serving.prices``, or the bundled table."""
    return bundled() if path is None else read(path)


def read(path: Path | str) -> Prices:
    """Return a price table from a file.

    Raises
    ------
    ModelError
        The file is not there, or is no table of prices.
    """
    do = "see docs/models.md for what such a file holds"
    try:
        return validated(Prices, read_yaml(Path(path), ModelError, LARGEST_TABLE), path, kind=ModelError)
    except ModelError as error:
        raise ModelError(error.where, got=error.got, allowed=error.allowed, do=error.do or do) from None


# Usage of a run and its budget.


def check_priced(budget: Budget, model: str, own_prices: str | None) -> None:
    """Refuse a budget in USD for a model without a price.

    Raises
    ------
    SettingError
        With the other ways to limit a run.
    """
    if budget.usd is not None and of(own_prices).price(model.removeprefix("recorded/")) is None:
        do = "give its price in a file (`--set serving.prices=FILE`), or limit `budget.tokens` or `budget.calls`"
        raise SettingError("budget.usd", got=f"{budget.usd:g}, but {model} has no price", do=do)


def too_many_failed(asked: int, failed: int, above: float) -> bool:
    """Return whether a run is unhealthy: more than the share ``above`` of its calls failed."""
    return failed > above * asked


@dataclass
class Usage:
    """Usage of calls: counts, outcomes, tokens and cost.

    Attributes
    ----------
    prices : Prices, optional
        Without them nothing has a price.
    calls : int
        Calls that were paid for, failures included.
    cached : int
        Requests answered by a call that was recorded before, or by another request of the same batch.
    requests : int
        What was sent for ``calls``, tries and second questions included.
    tokens_in, tokens_out : int
        As servers counted them, or estimated (:func:`tokens_of`) where they did not.
    estimated : int
        Calls whose tokens are estimated.
    usd : float
        By the price table; of calls that it has a price for.
    unpriced : int
        Calls that it has none for.
    outcomes : Counter of Outcome
        How requests ended.
    """

    prices: Prices | None = None
    calls: int = 0
    cached: int = 0
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    estimated: int = 0
    usd: float = 0.0
    unpriced: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)

    def add(self, call: Call) -> None:
        """Count a call; one that another request had paid for costs nothing."""
        self.outcomes[call.outcome] += 1
        if not call.tries:
            self.cached += 1
            return
        tokens_in, tokens_out, is_estimate = tokens_of(call)
        cost = self.prices.cost(call, tokens_in, tokens_out) if self.prices else None
        self.calls += 1
        self.requests += call.tries
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out
        self.estimated += is_estimate
        self.unpriced += cost is None
        self.usd += cost or 0.0

    @property
    def tokens(self) -> int:
        """Return the tokens in and out."""
        return self.tokens_in + self.tokens_out

    @property
    def failures(self) -> dict[Outcome, int]:
        """Return how many requests ended with each outcome that is not ``OK``."""
        return {outcome: self.outcomes[outcome] for outcome in Outcome if outcome and self.outcomes[outcome]}

    def health(self, above: float) -> str:
        """Say which share of the calls failed, and how; "" up to the share ``above``.

        >>> Usage(outcomes=Counter({Outcome.OK: 8, Outcome.TIMEOUT: 2})).health(0.1)
        '2 of 10 calls failed (2 timeout)'
        """
        asked, failed = self.outcomes.total(), sum(self.failures.values())
        if not too_many_failed(asked, failed, above):
            return ""
        how = ", ".join(f"{count} {outcome.name.lower()}" for outcome, count in self.failures.items())
        return f"{failed:,} of {asked:,} calls failed ({how})"

    def check(self, budget: Budget, step: int) -> None:
        """Raise if a limit is reached.

        Raises
        ------
        BudgetReached
            With what was spent and what was allowed.
        """
        for name in ("calls", "tokens", "usd"):
            spent, allowed = getattr(self, name), getattr(budget, name)
            if allowed is not None and spent >= allowed:
                got = f"{spent:.4f}" if name == "usd" else f"{spent:,}"
                do = f"steps up to {step} are saved; resume with `townsquare resume RUN --set budget.{name}=...`"
                raise BudgetReached(f"budget.{name} after step {step}", got=got, allowed=f"{allowed:g}", do=do)
