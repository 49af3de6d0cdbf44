"""How everything is printed: results on stdout, progress and complaints on stderr, foreign text made harmless."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from townsquare.core.errors import TownsquareError
from townsquare.core.redact import redacted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PIPE_WIDTH = 160  # characters: a table that goes into a file is not cut to a terminal that is not there


def safe(text: object, longest: int | None = None) -> str:
    """Text that cannot steer a terminal: on one line, and what is not printable written as an escape.

    >>> safe("red \\x1b[31m alert\\n")
    'red \\\\x1b[31m alert'
    """
    words = " ".join(str(text).split())
    shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in words)
    return shown if longest is None or len(shown) <= longest else f"{shown[: longest - 1]}…"


def complain(text: str, kind: str = "error") -> None:
    """A message on stderr, line by line, without keys and passwords."""
    lines = [safe(line) if not line.startswith(" ") else f"  {safe(line)}" for line in redacted(text).splitlines()]
    print(f"{kind}: " + "\n".join(lines), file=sys.stderr)


def explain(error: TownsquareError) -> None:
    """What went wrong, where, and what to do, each on a line of its own."""
    lines = [error.where]
    lines += [f"  got: {error.got}"] if error.got else []
    lines += [f"  allowed: {error.allowed}"] if error.allowed else []
    lines += [f"  {error.do}"] if error.do else []
    complain("\n".join(lines))


def show_json(value: object) -> None:
    """One line of JSON on stdout; undefined numbers are null."""
    print(json.dumps(_finite(value)), flush=True)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _finite(below) for key, below in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(below) for below in value]
    return value


def console(*, errors: bool = False) -> Console:
    """Where tables (stdout) or progress (stderr) go. Markup is off: brackets in a text are brackets."""
    from rich.console import Console

    stream = sys.stderr if errors else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], right: Sequence[str] = ()) -> Table:
    """A table of harmless cells; ``right`` are columns of numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(title=Text(safe(title)) if title else None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        made.add_column(Text(column), justify="right" if column in right else "left", no_wrap=column in right)
    for row in rows:
        made.add_row(*(Text(safe(cell)) for cell in row))
    return made


def number(value: float | None, digits: int = 4) -> str:
    """A number as a table shows it; a dash where it is undefined.

    >>> number(1234.5678), number(0.00012345), number(float("nan")), number(3.0)
    ('1,235', '0.0001234', '–', '3')
    """
    if value is None or not math.isfinite(value):
        return "–"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def signed(value: float | None, digits: int = 4) -> str:
    """As :func:`number`, with a plus where it is positive."""
    text = number(value, digits)
    return f"+{text}" if value is not None and value > 0 else text
