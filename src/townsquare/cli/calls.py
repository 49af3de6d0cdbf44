"""What calls of a language model came to so far, for the progress of a run."""

from __future__ import annotations

from collections import defaultdict

from townsquare.models import usage
from townsquare.models.contract import Call
from townsquare.models.usage import Usage


class Calls:
    """Counts calls as they end; ``step`` is the last step that is done, ``own_prices`` is ``serving.prices``."""

    def __init__(self, own_prices: str | None) -> None:
        self.step = 0
        self._usage = Usage(usage.of(own_prices))
        self._first: int | None = None
        self._usd: defaultdict[int, float] = defaultdict(float)  # by step
        self._usd_then = 0.0

    def done(self, step: int) -> None:
        """A step is done; what calls of the next one cost is no part of the mean."""
        self.step, self._usd_then = step, sum(usd for of, usd in self._usd.items() if of <= step)

    def add(self, call: Call) -> None:
        """Count one that has just been answered."""
        if self._first is None:
            self._first = self.step
        before = self._usage.usd
        self._usage.add(call)
        self._usd[call.step] += self._usage.usd - before

    def note(self, total: int) -> str:
        """Calls, tokens, cost so far and at the end if it goes on like this, failures; "" before the first call."""
        spent = self._usage
        if not spent.calls or self._first is None:
            return ""
        said = [f"{spent.calls:,} calls", f"{spent.tokens:,} tokens"]
        if spent.usd:
            done = self.step - self._first
            ahead = f", about ${self._usd_then / done * (total - self._first):.2f} at the end" if done > 0 else ""
            said.append(f"${spent.usd:.4f}{ahead}")
        failed = sum(spent.failures.values())
        return ", ".join(said + ([f"{failed:,} failed"] if failed else []))
