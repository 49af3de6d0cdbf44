"""What calls cost: a table of prices as data, with its date, and how tokens are estimated where a server gives none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

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


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    date: str = Field(min_length=4, max_length=20)
    source: str = Field("", max_length=1000)
    models: Mapping[str, Price]

    @field_validator("date", mode="before")
    @classmethod
    def _is_a_date(cls, given: object) -> str:
        """A year, a month such as 2026-11 or a day."""
        text = str(given)
        try:
            datetime.fromisoformat(f"{text}-01-01"[:10] if len(text) < 10 else text)
        except ValueError:
            raise ValueError("a year, a month such as 2026-11, or a day that there is") from None
        return text


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
    return read(str(files("townsquare.models") / "prices.yaml"))


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
    do = "see docs/models.md for what such a file holds"
    try:
        table = validated(_Table, read_yaml(Path(path), ModelError, LARGEST_TABLE), path, kind=ModelError)
    except ModelError as error:
        raise ModelError(error.where, got=error.got, allowed=error.allowed, do=error.do or do) from None
    return Prices(table.date, dict(table.models))


# What a run has spent on language models so far, and the limit at which it pauses.


def check_priced(budget: Budget, model: str, own_prices: str | None) -> None:
    """Refuse a budget in USD where the model has no price: it would never be reached.

    Raises
    ------
    SettingError
        With the other ways to limit a run.
    """
    if budget.usd is not None and of(own_prices).price(model.removeprefix("recorded/")) is None:
        raise SettingError(
            "budget.usd",
            got=f"{budget.usd:g}, and no price of {model}",
            do="give its price in a file (`--set serving.prices=FILE`), or limit `budget.tokens` or `budget.calls`",
        )


@dataclass
class Spent:
    """Calls that a run made, whenever that was: those answered from the store of an earlier stretch count too.

    ``calls``, ``tokens`` and ``usd`` are of calls that were paid for; ``outcomes`` counts each request by how it ended.
    """

    prices: Prices = field(default_factory=Prices)
    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    outcomes: Counter[Outcome] = field(default_factory=Counter)

    def add(self, calls: Iterable[Call]) -> None:
        """Count calls; one that another request had paid for costs nothing."""
        for call in calls:
            self.outcomes[call.outcome] += 1
            if not call.tries:
                continue
            tokens_in, tokens_out, _ = tokens_of(call)
            self.calls += 1
            self.tokens += tokens_in + tokens_out
            self.usd += self.prices.cost(call, tokens_in, tokens_out) or 0.0

    def health(self, above: float) -> str:
        """Why a run is unhealthy: which share of its calls failed, and how; "" up to ``above``.

        >>> Spent(outcomes=Counter({Outcome.OK: 8, Outcome.TIMEOUT: 2})).health(0.1)
        '2 of 10 calls failed (2 timeout)'
        """
        asked, failed = self.outcomes.total(), self.outcomes.total() - self.outcomes[Outcome.OK]
        if not failed or failed <= above * asked:
            return ""
        how = ", ".join(f"{self.outcomes[o]} {o.name.lower()}" for o in Outcome if o and self.outcomes[o])
        return f"{failed:,} of {asked:,} calls failed ({how})"

    def check(self, budget: Budget, step: int) -> None:
        """Pause where a limit is reached.

        Raises
        ------
        BudgetReached
            With what was spent and what was allowed.
        """
        limits = (
            ("calls", self.calls, budget.calls),
            ("tokens", self.tokens, budget.tokens),
            ("usd", self.usd, budget.usd),
        )
        for name, spent, allowed in limits:
            if allowed is not None and spent >= allowed:
                raise BudgetReached(
                    f"budget.{name} after step {step}",
                    got=f"{spent:.4f}" if name == "usd" else f"{spent:,}",
                    allowed=f"{allowed:g}",
                    do=f"steps up to {step} are safe; go on with `townsquare resume RUN --set budget.{name}=...`",
                )


# What calls came to: how many, how they ended, tokens, money, time; and from when on a run is unhealthy.


LEAST_CALLS = 10


@dataclass
class Tally:
    """Counts of calls.

    Attributes
    ----------
    calls : int
        Calls that members answered, failures included; not those answered from the store.
    cached : int
        Requests answered by a call that was recorded before, or by another request of the same batch.
    requests : int
        What was sent for ``calls``, tries and second questions included.
    tokens_in, tokens_out : int
        As servers counted them, or estimated (:func:`townsquare.models.usage.tokens_of`) where they did not.
    estimated : int
        Calls whose tokens are estimated.
    usd : float
        By the price table; of calls that it has a price for.
    unpriced : int
        Calls that it has none for.
    seconds : float
        Summed over calls, most of which run side by side.
    outcomes : Counter of (purpose, outcome)
        How ``calls`` ended.
    """

    prices: Prices = field(default_factory=Prices)
    calls: int = 0
    cached: int = 0
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    estimated: int = 0
    usd: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0
    outcomes: Counter[tuple[str, Outcome]] = field(default_factory=Counter)

    def add(self, call: Call) -> None:
        """Count a call that a member has just answered."""
        tokens_in, tokens_out, is_estimate = tokens_of(call)
        cost = self.prices.cost(call, tokens_in, tokens_out)
        self.calls += 1
        self.requests += call.tries
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out
        self.estimated += is_estimate
        self.seconds += call.seconds
        self.outcomes[call.purpose, call.outcome] += 1
        if cost is None:
            self.unpriced += 1
        else:
            self.usd += cost

    @property
    def tokens(self) -> int:
        """In and out."""
        return self.tokens_in + self.tokens_out

    @property
    def failures(self) -> dict[Outcome, int]:
        """Calls by the outcome that was not ``OK``."""
        found: Counter[Outcome] = Counter()
        for (_, outcome), count in self.outcomes.items():
            if outcome is not Outcome.OK:
                found[outcome] += count
        return dict(sorted(found.items()))
