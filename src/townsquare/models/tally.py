"""What calls came to: how many, how they ended, tokens, money, time; and from when on a run is unhealthy."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from townsquare.models.contract import Call, Outcome
from townsquare.models.prices import Prices, tokens_of

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
        As servers counted them, or estimated (:func:`townsquare.models.prices.tokens_of`) where they did not.
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
