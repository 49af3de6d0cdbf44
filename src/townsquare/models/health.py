"""Whether a run's calls went well enough: counts by purpose and outcome, and the word for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from townsquare.models.contract import Call, Outcome


@dataclass(frozen=True)
class Health:
    """How calls ended.

    Attributes
    ----------
    outcomes : mapping of (purpose, Outcome) to int
        Counted once for each request, those answered from the store included: a failure that is used twice leaves two
        agents silent.
    threshold : float
        ``serving.unhealthy_above``.

    >>> health = Health({("act", Outcome.OK): 8, ("act", Outcome.TIMEOUT): 2}, 0.1)
    >>> health.share_failed, health.unhealthy, health.said
    (0.2, True, 'unhealthy: 2 of 10 calls failed (timeout 2)')
    """

    outcomes: Mapping[tuple[str, Outcome], int]
    threshold: float

    @classmethod
    def of(cls, calls: Iterable[Call], threshold: float) -> Health:
        """Counted from calls."""
        return cls(Counter((call.purpose, call.outcome) for call in calls), threshold)

    @property
    def calls(self) -> int:
        """All of them."""
        return sum(self.outcomes.values())

    @property
    def failed(self) -> dict[str, int]:
        """Those without an answer, by the name of their outcome in small letters; most first."""
        found: Counter[str] = Counter()
        for (_, outcome), count in self.outcomes.items():
            if outcome is not Outcome.OK and count:
                found[outcome.name.lower()] += count
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    @property
    def by_purpose(self) -> dict[str, tuple[int, int]]:
        """Calls and failed calls of each purpose, by name."""
        found: dict[str, tuple[int, int]] = {}
        for (purpose, outcome), count in sorted(self.outcomes.items()):
            calls, failed = found.get(purpose, (0, 0))
            found[purpose] = (calls + count, failed + count * (outcome is not Outcome.OK))
        return found

    @property
    def share_failed(self) -> float:
        """In [0, 1]; 0 where nothing was asked."""
        return sum(self.failed.values()) / self.calls if self.calls else 0.0

    @property
    def unhealthy(self) -> bool:
        """Whether more failed than the threshold allows."""
        return self.share_failed > self.threshold

    @property
    def said(self) -> str:
        """In one line."""
        failed = ", ".join(f"{name} {count}" for name, count in self.failed.items())
        word = "unhealthy" if self.unhealthy else "healthy"
        return f"{word}: {sum(self.failed.values())} of {self.calls} calls failed" + (f" ({failed})" if failed else "")
