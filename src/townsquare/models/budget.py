"""What a run has spent on language models so far, and the limit at which it pauses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from townsquare.config import Budget
from townsquare.errors import BudgetReached, SettingError
from townsquare.models import prices as price_tables
from townsquare.models.contract import Call, Outcome
from townsquare.models.prices import Prices, tokens_of


def check_priced(budget: Budget, model: str, own_prices: str | None) -> None:
    """Refuse a budget in USD where the model has no price: it would never be reached.

    Raises
    ------
    SettingError
        With the other ways to limit a run.
    """
    if budget.usd is not None and price_tables.of(own_prices).price(model.removeprefix("recorded/")) is None:
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
