"""How many calls one server is given at once: additive increase, multiplicative decrease, as networks do it."""

from __future__ import annotations

from collections.abc import Sequence

from townsquare.config import Serving
from townsquare.errors import SettingError

CUT = 0.5
SLOW_CUT = 0.8
SLOW_SHARE = 0.5


def limits_of(serving: Serving, servers: Sequence[str]) -> tuple[int, ...]:
    """The most calls that each server is given at once, in the order of ``servers``.

    Raises
    ------
    SettingError
        ``serving.limits`` names more servers, or fewer.

    >>> limits_of(Serving(limits=(16, 64)), ["http://a/v1", "http://b/v1"]), limits_of(Serving(), ["http://a/v1"])
    ((16, 64), (64,))
    """
    if not serving.limits:
        return (serving.concurrency,) * len(servers)
    if len(serving.limits) != len(servers):
        do = "give one limit for each address of model.base_url, in its order"
        raise SettingError("serving.limits", got=f"{len(serving.limits)} for {len(servers)} servers", do=do)
    return serving.limits


class Limiter:
    """The number of calls that may be under way at one server.

    It starts at the most that is allowed. When the server says that it is crowded, or a call times out, the number is
    halved; when answers take over half of the timeout, since calls wait in the server's own queue, it loses a fifth.
    One crowded moment fails many calls, so only those that were sent after the last cut may cut again. Success adds a
    call for each call up to half of where it last went wrong, from there on one for each round of calls.

    Parameters
    ----------
    most : int
        Upper end; the lower end is 1.
    timeout : float
        Seconds after which calls are given up.

    >>> limiter = Limiter(64, 60.0)
    >>> limiter.crowded(sent=1.0, now=2.0)
    >>> limiter.crowded(sent=1.5, now=2.5)
    >>> limiter.now
    32
    """

    def __init__(self, most: int, timeout: float) -> None:
        self._most = float(most)
        self._limit = float(most)
        self._threshold = float(most)
        self._slow = SLOW_SHARE * timeout
        self._last_cut = float("-inf")

    @property
    def now(self) -> int:
        """Calls that may be under way."""
        return int(self._limit)

    def went_well(self, sent: float, now: float) -> None:
        """A call that was sent at one time was answered at another; seconds of any steady clock."""
        if now - sent > self._slow:
            self._cut(SLOW_CUT, sent, now)
        elif self._limit < self._most:
            step = 1.0 if self._limit < self._threshold else 1.0 / self._limit
            self._limit = min(self._most, self._limit + step)

    def crowded(self, sent: float, now: float) -> None:
        """A call was turned away, or timed out."""
        self._cut(CUT, sent, now)

    def _cut(self, factor: float, sent: float, now: float) -> None:
        if sent <= self._last_cut:
            return
        self._last_cut = now
        self._limit = max(1.0, self._limit * factor)
        self._threshold = max(1.0, self._limit * CUT)
