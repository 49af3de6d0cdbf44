"""How everything is printed: results on stdout, progress and complaints on stderr, foreign text made harmless."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from townsquare.core.errors import TownsquareError
from townsquare.core.redact import redacted
from townsquare.core.text_table import Columns, Format, Table, table

if TYPE_CHECKING:
    from rich.console import Console

MOST_SHOWN = 5
"""Rows that were left out, of which a command complains at most."""
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


def show_json(value: object) -> int:
    """Print one line of JSON on stdout, with null for undefined numbers, and return the exit code 0."""
    from townsquare.core.documents import finite

    print(json.dumps(finite(value)), flush=True)
    return 0


def picked(record: object, *columns: str) -> dict[str, Any]:
    """Return values of a record by name; ``"people=n"`` is its ``n`` under the name ``people``."""
    return {name: getattr(record, value or name) for name, _, value in (text.partition("=") for text in columns)}


def console(*, errors: bool = False) -> Console:
    """Where tables (stdout) or progress (stderr) go. Markup is off: brackets in a text are brackets."""
    from rich.console import Console

    stream = sys.stderr if errors else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def answer(facts: Mapping[str, object], *lines: object, as_json: bool) -> int:
    """Print a result: its facts as JSON, or its lines; return the exit code 0."""
    if as_json:
        return show_json(facts)
    for line in lines:
        print(line)
    return 0


def show(caption: str, rows: Any, *columns: Columns, words: Collection[str] | None = None) -> None:
    """Print a table; the parameters are those of :func:`townsquare.core.text_table.table`."""
    show_table(table(caption, rows, *columns, words=words))


def show_table(shown: Table) -> None:
    """Print a table of harmless cells, words to the left and numbers to the right; a narrow terminal cuts no word."""
    from rich import box, table
    from rich.text import Text

    title = Text(safe(shown.caption)) if shown.caption else None
    made = table.Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for at, heading in enumerate(shown.head):
        is_number = at not in shown.words
        side: Any = "right" if is_number else "left"
        made.add_column(Text(safe(heading)), justify=side, no_wrap=is_number, overflow="fold")
    for row in shown.rows:
        made.add_row(*(Text(safe(cell)) for cell in row))
    console().print(made)


def list_some(lines: Sequence[str], kind: str, most: int, more: str) -> None:
    """Complain of the first of some lines, and say how many ``more`` there are."""
    for line in lines[:most]:
        complain(line, kind=kind)
    if len(lines) > most:
        complain(f"{len(lines) - most:,} {more}", kind=kind)


def cut(longest: int) -> Format:
    """A format for texts of which no more is shown."""
    return partial(safe, longest=longest)


def digits(most: int, *, sign: bool = False) -> Format:
    """A format for numbers with so many digits at most."""
    return partial(signed if sign else number, digits=most)


def known(format_: Format) -> Format:
    """A format that leaves the cell empty where there is no value."""
    return lambda value: "" if value is None else format_(value)


exact = "{:+.6f}".format
"""A format for contributions to a stance."""


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
