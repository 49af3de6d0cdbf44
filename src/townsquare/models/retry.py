"""When to ask a server again, and how long to wait before."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRIED = frozenset({408, 409, 423, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Statuses that may pass by themselves."""
CROWDED = frozenset({429, 503, 529})
"""Those by which a server says that it has too much to do."""
FIRST, LONGEST = 0.5, 30.0
MOST_ASKED = 600.0
"""Seconds that a server may ask us to wait; a call is given up rather than wait longer."""


def backoff(tries: int, asked: float | None, dice: random.Random) -> float:
    """Seconds to wait before the next try.

    Full jitter: even between 0 and 0.5 s x 2^(tries - 1), at most 30 s, so that thousands of calls that failed together
    do not come back together. What the server asks for is the least; a tenth more is spread on top.

    Parameters
    ----------
    tries : int
        Requests sent so far, at least 1.
    asked : float or None
        Seconds of ``Retry-After``.
    dice : random.Random
        Moves nothing but time.
    """
    if asked is not None:
        return asked + dice.uniform(0.0, min(1.0, asked / 10))
    return dice.uniform(0.0, min(LONGEST, FIRST * 2.0 ** min(tries - 1, 20)))


def asked_wait(header: str | None, milliseconds: str | None, now: datetime) -> float | None:
    """Seconds that a server asks us to wait, from ``Retry-After`` in seconds or as a date, or ``retry-after-ms``.

    None if it asks for nothing, or for something that cannot be read.

    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> [asked_wait(header, None, now) for header in ("2.5", "Thu, 01 Jan 2026 00:00:07 GMT", "soon")]
    [2.5, 7.0, None]
    """
    if not header and not milliseconds:
        return None
    for text, unit in ((milliseconds, 1000.0), (header, 1.0)):
        try:
            seconds = float(text or "") / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        date = parsedate_to_datetime(header or "")
    except (TypeError, ValueError, OverflowError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - now).total_seconds())
