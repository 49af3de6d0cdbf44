"""Numbers and texts as readers meet them: few digits, a real minus, a dash if none exists, nothing too long."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial

MISSING = "–"
_MINUS = "\u2212"


def number(value: float | int | None, digits: int = 2, *, signed: bool = False) -> str:
    """Return a number with at most ``digits`` decimals and thousands apart; whole numbers have none.

    >>> number(1234567), number(0.5), number(-0.126, signed=True), number(float("nan"))
    ('1,234,567', '0.50', '−0.13', '–')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    plus = "+" if signed else ""
    text = f"{value:{plus},d}" if isinstance(value, int) else f"{value:{plus},.{digits}f}"
    if not isinstance(value, int) and float(text.replace(",", "")) == 0:
        text = text.lstrip("+-")
    return text.replace("-", _MINUS)


def significant(value: float | None, digits: int = 3, *, signed: bool = False) -> str:
    """Return a number of any size with so many significant digits; whole digits are kept.

    >>> significant(63.333), significant(-0.011634, signed=True), significant(18566.2)
    ('63.3', '−0.0116', '18,566')
    """
    if value is None or not math.isfinite(value) or value == 0:
        return MISSING if value is None or not math.isfinite(value) else "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return number(float(value), min(decimals, 8), signed=signed)


def with_interval(value: float, low: float, high: float, shown: Callable[[float], str] = number) -> str:
    """Return a number with its interval; the number alone if no interval exists.

    >>> with_interval(0.465, 0.45, 0.48), with_interval(0.5, float("nan"), float("nan"))
    ('0.47 [0.45, 0.48]', '0.50')
    """
    exists = math.isfinite(low) and math.isfinite(high)
    return f"{shown(value)} [{shown(low)}, {shown(high)}]" if exists else shown(value)


_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_SECONDS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("w", "week", "weeks"), 604800.0),
}


def seconds_of(text: str) -> float | None:
    """Return a length of time in seconds, the sum of numbers with units; None for anything else.

    >>> seconds_of("2 d 6 h"), seconds_of("1.5h"), seconds_of("soon"), seconds_of("6")
    (194400.0, 5400.0, None, None)
    """
    parts = _LENGTH.findall(text.lower())
    if not parts or _LENGTH.sub("", text.lower()).strip() or any(unit not in _SECONDS for _, unit in parts):
        return None
    return math.fsum(float(amount) * _SECONDS[unit] for amount, unit in parts)


def small(value: float | None) -> str:
    """Return a number of any size in about two significant digits.

    >>> small(0.00341), small(12.3), small(0.0)
    ('0.0034', '12', '0')
    """
    return significant(value, 2)


three = partial(number, digits=3)
"""A number with three decimals."""
signed_three = partial(number, digits=3, signed=True)
"""A number with its sign and three decimals."""
signed = partial(significant, signed=True)
"""A number with its sign and three significant digits."""


def percent(value: float | None) -> str:
    """Return a share of 0 to 1 in percent; small shares keep a digit, and no share rounds to nothing or all.

    >>> percent(0.1234), percent(0.004), percent(0.00001), percent(1.0)
    ('12%', '0.4%', 'under 0.1%', '100%')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    if 0 < value < 0.001:
        return "under 0.1%"
    if 0.999 < value < 1:
        return "over 99.9%"
    fine = 0 < value < 0.1 or 0.9 < value < 1
    return f"{100 * value:.1f}%" if fine else f"{100 * value:.0f}%"


def chance(p: float) -> str:
    """Return a p value; nothing where none is defined.

    >>> chance(0.04), chance(0.0002), chance(float("nan"))
    ('0.040', '<0.001', '')
    """
    return "" if math.isnan(p) else "<0.001" if p < 0.001 else number(p, 3)


def count(n: int, singular: str, plural: str = "") -> str:
    """Return ``n`` of a thing in words.

    >>> count(1, "post"), count(2, "post"), count(0, "person", "people")
    ('1 post', '2 posts', 'no people')
    """
    name = singular if n == 1 else (plural or singular + "s")
    return f"{number(n) if n else 'no'} {name}"


def capital(text: str) -> str:
    """Return a text that begins with a capital.

    >>> capital("over the whole run"), capital("")
    ('Over the whole run', '')
    """
    return text[:1].upper() + text[1:]


def listed(names: list[str]) -> str:
    """Return names in a row of words.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def printable(text: str, longest: int = 200) -> str:
    """Return text without control characters, which XML may not hold, and cut to a length.

    >>> printable("a\\x00b", 2)
    'a…'
    """
    cleaned = "".join(character if character.isprintable() else " " for character in text)
    return cleaned if len(cleaned) <= longest else cleaned[: longest - 1] + "…"


short = partial(printable, longest=40)
"""A text for a cell of a table."""
